"""`supervised-heads`: chosen encoder heads learn where to attend, in training only.

After Strubell, Verga, Andor, Weiss & McCallum (2018), "Linguistically-Informed Self-Attention for Semantic Role
Labeling", EMNLP, but without a biaffine scorer and without replacing any weights; in translation, Deguchi, Tamura &
Ninomiya (2019), "Dependency-Based Self-Attention for Transformer NMT", RANLP, supervise a head in this way.

Head h of layer l is an ordinary head. The loss rewards the attention that each token t of a word pays to the subwords
G(t) of the words it is taught:

    L = L_translation − λ Σ_h Σ_t log Σ_{j ∈ G_h(t)} A_h[t, j]

A_h is the head's softmax before dropout. No parameter is added, and the forward pass does not change, so the trained
model is a plain Transformer: it translates without a parser, at the speed of `sequence`, and can be exported.

Each head is taught one pattern. Three depend on position alone:

    previous   the word before; the first word attends to itself
    next       the word after; the last word attends to itself
    self       the word itself

Two depend on the dependency tree:

    parent     the head of the word; the root attends to itself
    children   the dependents of the word, together; a word that has none is not taught

Two are controls, which a claim about syntax has to beat:

    shuffled-parent   the parent after the words of the tree have changed places at random
    random            another word of the sentence

Both draw from a generator seeded by the words, so a sentence has the same targets in every epoch and in every run.
A word without a head, or a sentence without a tree, adds no loss to the heads that are taught trees.
"""

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import SOME_HEADS, Heads, Layout, SourceIdea
from synmt.trees.record import UNATTACHED, ParseRecord

if TYPE_CHECKING:
    from synmt.systems.supervised_heads.attention import HeadSupervision

NOTHING = -1  # in place of the index of a word


def _parents(record: ParseRecord) -> list[int]:
    """Return the index of each word's head, its own for a root, NOTHING for a word that has none."""
    if not record.heads:
        return [NOTHING] * len(record.tokens)
    return [NOTHING if head == UNATTACHED else head - 1 if head else word for word, head in enumerate(record.heads)]


def _shuffled_parents(record: ParseRecord) -> list[int]:
    places = list(range(len(record.tokens)))
    _generator(record).shuffle(places)
    parents = [NOTHING] * len(places)
    for word, parent in enumerate(_parents(record)):
        parents[places[word]] = NOTHING if parent == NOTHING else places[parent]
    return parents


def _random_others(record: ParseRecord) -> list[int]:
    last, generator = len(record.tokens) - 1, _generator(record)
    if last < 1:
        return [NOTHING] * len(record.tokens)
    drawn = [generator.randrange(last) for _ in record.tokens]
    return [other + (other >= word) for word, other in enumerate(drawn)]


def _generator(record: ParseRecord) -> random.Random:
    return random.Random(zlib.crc32(" ".join(record.tokens).encode()))


def _near(step: int) -> Callable[[ParseRecord], list[int]]:
    """Return the pattern of the word that many places away, or of the word itself at the edge of the sentence."""

    def words(record: ParseRecord) -> list[int]:
        count = len(record.tokens)
        return [word + step if 0 <= word + step < count else word for word in range(count)]

    return words


Pattern = Callable[[ParseRecord], list[int]]  # for each word the index of one, or NOTHING
PATTERNS: Mapping[str, Pattern] = {
    "previous": _near(-1), "next": _near(1), "self": _near(0), "parent": _parents, "children": _parents,
    "shuffled-parent": _shuffled_parents, "random": _random_others,
}  # fmt: skip
OF_TREES = frozenset({"parent", "children", "shuffled-parent"})
REVERSED = frozenset({"children"})  # the pattern gives the words that are to attend to this one


class Taught(NamedTuple):
    """One supervised head. layer is counted from 1, head from 0."""

    pattern: str
    layer: int
    head: int


@dataclass(frozen=True)
class SupervisedHeads(SourceIdea):
    """Columns: `taught_words`, the number of each token's word, from 1; for each pattern the number of the word that
    it gives, as `taught_parent`. Both are 0 for tokens that are no words and for padding, the latter also for words
    that are not taught."""

    training_only = True

    teach: str = setting(
        "previous",
        f"what each head learns to attend to, joined by +: {', '.join(PATTERNS)}; parent@3 is in layer 3,"
        " parent@3.2 its second head",
    )
    layer: int = setting(2, "encoder layer of heads that name none", 1, 256)
    weight: float = setting(0.3, "of the loss of attention: λ")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.taught

    @property
    def taught(self) -> list[Taught]:
        """Return the heads, each with its pattern; one without a number is the first of its layer that is free.

        Raises ValueError for an unknown pattern, and for a head that is taught twice.
        """
        named = [self._read(part) for part in self.teach.split("+")]
        taken = {(layer, head) for _, layer, head in named if head is not None}
        found = []
        for pattern, layer, head in named:
            if head is None:
                head = next(each for each in range(len(named)) if (layer, each) not in taken)
                taken.add((layer, head))
            found.append(Taught(pattern, layer, head))
        if len({each[1:] for each in found}) < len(found):
            raise ValueError(f"teach cannot be {self.teach!r}: a head is taught twice")
        return found

    def _read(self, part: str) -> tuple[str, int, int | None]:
        """Return pattern, layer and head of a part such as `parent@3.2`."""
        pattern, at, place = part.partition("@")
        layer, dot, head = place.partition(".")
        numbers = [layer] * bool(at) + [head] * bool(dot)
        if pattern not in PATTERNS or not all(each.isascii() and each.isdigit() and int(each) for each in numbers):
            raise ValueError(f"teach cannot be {part!r}; patterns are {', '.join(PATTERNS)}, places such as @3 or @3.2")
        return pattern, int(layer) if at else self.layer, int(head) - 1 if dot else None

    def needs(self, training: bool) -> frozenset[str]:
        of_trees = any(each.pattern in OF_TREES for each in self.taught)
        return frozenset({SOME_HEADS}) if training and of_trees else frozenset()

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        found = {"taught_words": [word + 1 for word in layout.words]}
        for name in {each.pattern: None for each in self.taught}:
            words = [word + 1 for word in PATTERNS[name](record)]
            found[f"taught_{name}"] = [words[word] if word >= 0 else 0 for word in layout.words]
        return found

    def owned_heads(self, config: TransformerConfig) -> Heads:
        owned: dict[int, tuple[int, ...]] = {}
        for _, layer, head in self.taught:
            owned[layer] = (*owned.get(layer, ()), head)
        return owned

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "HeadSupervision":
        from synmt.systems.supervised_heads.attention import HeadSupervision

        return HeadSupervision(config.encoder_layers, self.taught, REVERSED, self.weight)
