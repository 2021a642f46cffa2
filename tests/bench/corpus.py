"""Random sentence pairs with both kinds of trees, which every system can read."""

from dataclasses import dataclass

import numpy as np

from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary, structural
from synmt.trees.constituency import Tree
from synmt.trees.record import ParseRecord

MEAN_LENGTH = 20  # words per sentence; lengths vary as in captions and news (log-normal)
LABELS = [f"l{i}" for i in range(40)]
SHARED = [f"t{i}" for i in range(6000)]  # words that both languages have
WORDS = [*SHARED, *(f"s{i}" for i in range(2000))]
MASKS = ("near", "left")


@dataclass(frozen=True)
class Sentences:
    """sources: parse records; targets: lists of words."""

    sources: list[ParseRecord]
    targets: list[list[str]]


def random_sentences(count: int, seed: int = 7, length: int = 0) -> Sentences:
    """Return sentence pairs whose words follow Zipf's law. length: of every sentence; 0 for lengths around the mean."""
    random = np.random.default_rng(seed)
    sizes = np.clip(random.lognormal(np.log(MEAN_LENGTH), 0.4, (2, count)), 3, 4 * MEAN_LENGTH).astype(int)
    if length:
        sizes[:] = length
    return Sentences(
        [_record(_words(size, WORDS, random), random) for size in sizes[0]],
        [_words(size, SHARED, random) for size in sizes[1]],
    )


def _words(size: int, known: list[str], random: np.random.Generator) -> list[str]:
    return [known[rank - 1] for rank in np.minimum(random.zipf(1.3, size), len(known))]


def _record(words: list[str], random: np.random.Generator) -> ParseRecord:
    tree = Tree([], [])
    _grow(tree, words, -1, random)
    size = len(words)
    order = random.permutation(size).tolist()
    heads = [0] * size
    for place, word in enumerate(order[1:], 1):
        heads[word] = order[random.integers(place)] + 1
    masks = {
        "near": ["".join("01"[abs(key - query) < 3] for key in range(size)) for query in range(size)],
        "left": ["".join("01"[key <= query] for key in range(size)) for query in range(size)],
    }
    deprels = random.choice(LABELS, size).tolist()
    return ParseRecord(tokens=words, tree=tree, heads=heads, deprels=deprels, masks=masks)


def _grow(tree: Tree, words: list[str], parent: int, random: np.random.Generator) -> None:
    """Add words below a node: a part of speech above a single word, two or three constituents above several."""
    node = len(tree.nodes)
    tree.nodes.append(str(random.choice(LABELS)))
    tree.parents.append(parent)
    if len(words) == 1:
        tree.nodes.append(words[0])
        tree.parents.append(node)
        return
    children = min(len(words), int(random.integers(2, 4)))
    cuts = sorted(1 + random.choice(len(words) - 1, children - 1, replace=False))
    for start, end in zip([0, *cuts], [*cuts, len(words)], strict=True):
        _grow(tree, words[start:end], node, random)


def vocabulary() -> Vocabulary:
    """Return a vocabulary of 8000 words, three quarters of them also target words, and of all tree symbols."""
    brackets = [structural(token) for token in (*(f"({label}" for label in LABELS), ")")]
    read = [structural(token) for token in (*LABELS, "<translate>", "<parse>")]
    target = [END_TOKEN, UNKNOWN_TOKEN, *SHARED, *brackets]
    return Vocabulary(target, [*WORDS[len(SHARED) :], *read], {"deprels": LABELS})


VOCABULARY = vocabulary()
