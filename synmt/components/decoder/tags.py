"""`tags`: a decoder of words that also predicts the tree, with one tag per word.

The decoder writes words, as in `sequence`, and a tag for each word: its relation, and how many arcs follow
it. After word t, the decoder's state h_t predicts both the next token and the tag:

    word t+1   softmax of E · h_t
    tag t      softmax of U · h_t, if a word ends at t

E contains the embeddings of words, and U is an output layer for tags. The decoder never reads tags, so it finds words
with the search of `sequence`, at the same cost. The tree is a second task of the same decoder, and `weight` weights its
loss. The output has the likeliest tree: tags are independent given the words, so an exact search finds the best tags
that form a tree.

The idea is our own. Nădejde et al. (2017), "Predicting Target Language CCG Supertags Improves Neural Machine
Translation" (WMT), write supertags between the words or learn them in another decoder. García-Martínez, Barrault &
Bougares (2016), "Factored Neural Machine Translation Architectures" (IWSLT), write lemmas and factors in parallel.
Neither predicts trees.

A tree is one tag per word: `John nsubj/0/0 put root/1/0 coals obj/0/1`.

In a string of transitions (synmt.trees.transitions), the arcs between two words come in order: first the arcs that
attach earlier words to the last word, then the arcs that attach the last word, or an earlier one, to a word further
left. The relation of an arc belongs to the dependent. A word's own relation and the numbers of arcs in each direction
after it therefore determine everything: a tree is a labelling of its words (Gómez-Rodríguez, Strzyz & Vilares 2020, "A
Unifying Theory of Transition-based and Sequence Labeling Parsing", COLING). A tag is known as soon as its word is,
whereas `transitions` names a word's relation only when the word is attached.

Among the labels of the vocabulary, a tag is `ARCS:relation/left/right`.

First, a search finds words. One run over them gives the log-probabilities of their tags. Then an exact search over all
stacks finds the best tags that form a tree. Only the number of words waiting on the stack decides which tags may
follow. A tree also has exactly one root: when the root is read, all earlier words attach to it, at any depth, and it
stays at the bottom of the stack. A state is therefore a depth, before or after the root, and a tag leads from one state
to another (Viterbi).

Shapes: R hypotheses, S sentences of n words, G tags, d width.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from synmt.components.contract import (
    JOINER,
    ArcStyle,
    Automaton,
    DecoderComponent,
    Field,
    Kind,
    ParseRecord,
    Vocabulary,
    WordState,
    setting,
)
from synmt.components.linearization import Linearization
from synmt.components.output import Hypothesis, Output, read_string
from synmt.text.vocabulary import is_structural
from synmt.trees.arc_tokens import ROOT_RELATION
from synmt.trees.transitions import Constraints, transitions_of_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    Numbers = NDArray[np.float32]
    Places = NDArray[np.int64]

BEFORE, AFTER = 0, 1  # relative to the root
_TAG, _FIELD = "ARCS:", "tag"
_STYLE = ArcStyle()


class Tag(NamedTuple):
    """relation: of the word to its head, `root` if it has none; left, right: the numbers of arcs after the word."""

    relation: str
    left: int
    right: int

    @property
    def label(self) -> str:
        return f"{_TAG}{self.relation}/{self.left}/{self.right}"

    @property
    def arcs(self) -> int:
        """Return how many words leave the stack after this word."""
        return self.left + self.right


def read_tag(label: str) -> Tag | None:
    """Return the tag of a label, None if it is no tag."""
    if not label.startswith(_TAG):
        return None
    relation, *counts = label[len(_TAG) :].rsplit("/", 2)
    if len(counts) < 2 or not relation or not all(each.isascii() and each.isdecimal() for each in counts):
        return None
    return Tag(relation, *map(int, counts))


def tags_of(transitions: Iterable[str]) -> list[Tag]:
    """Return a tag for each word of a string of transitions that spells a tree."""
    tags: list[Tag] = []
    stack: list[int] = []  # indices of words
    for each in transitions:
        token = _STYLE.token(each)
        if token.kind & (Kind.LEFT | Kind.RIGHT):
            is_right = token.kind == Kind.RIGHT
            word = stack.pop(-1 if is_right else -2)
            tags[word] = tags[word]._replace(relation=token.label)
            last = tags[-1]
            tags[-1] = last._replace(left=last.left + (not is_right), right=last.right + is_right)
        elif token.kind == Kind.WORD:
            stack.append(len(tags))
            tags.append(Tag(ROOT_RELATION, 0, 0))
    return tags


def transitions_of_tags(subwords: Iterable[str], labels: Iterable[str]) -> list[str]:
    """Return subwords with the arcs of their tags as a string of transitions. labels: of each subword.

    Invalid parts are skipped: an arc that lacks one of its words, and a tag of a subword that ends no word. A word
    without a tag is a root.
    """
    written: list[str] = []
    stack: list[str] = []  # the relation of each waiting word
    for token, label in zip(subwords, labels, strict=True):
        written.append(token)
        if not _ends_word(token):
            continue
        tag = read_tag(label) or Tag(ROOT_RELATION, 0, 0)
        for _ in range(min(tag.left, len(stack))):
            written += _STYLE.left(stack.pop())
        stack.append(tag.relation)
        for _ in range(min(tag.right, len(stack) - 1)):
            written += _STYLE.right(stack.pop())
    return written


def _ends_word(token: str) -> bool:
    return not is_structural(token) and not token.endswith(JOINER)


@dataclass(frozen=True)
class TagLinearization(Linearization):
    """Words, whose tags are labels."""

    trees = "apart"
    needs = frozenset({"heads", "deprels"})

    def state(self) -> WordState:
        return WordState()

    def output(self, vocabulary: Vocabulary, automaton: Automaton | None, trees: int | None = None) -> "TagOutput":
        assert automaton
        return TagOutput(vocabulary, automaton, trees)


@dataclass(frozen=True)
class Tags(DecoderComponent):
    """Words, each with a tag that encodes its arcs."""

    cites: ClassVar[tuple[str, ...]] = ("synmt",)

    weight: float = setting(0.3, "weight of the loss of tags in the total")

    prefixes = False
    writes = TagLinearization

    def linearization(self, style: ArcStyle) -> TagLinearization:
        return TagLinearization()

    def reads(self) -> Mapping[str, Field]:
        return {_FIELD: Field("label")}

    def read(self, record: ParseRecord, tokens: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Raise TreeNotDerivable for a tree that tags cannot express."""
        if not record.tokens:
            return {_FIELD: [""] * (1 + len(tokens))}
        tags = iter(tags_of(transitions_of_record(record, lambda word: ["word"], _STYLE)))
        return {_FIELD: ["", *(next(tags).label if _ends_word(token) else "" for token in tokens)]}

    def loss_weight(self) -> float:
        return self.weight


class TagOutput(Output):
    """Writes words, and their tags as labels.

    count: how many hypotheses per sentence get tags, best first; None for all.
    """

    def __init__(self, vocabulary: Vocabulary, automaton: Automaton, count: int | None = None) -> None:
        super().__init__(automaton)
        self.labels = vocabulary.labels.get(_FIELD, [])
        self.search = TagSearch([read_tag(label) or Tag(label, 0, 0) for label in self.labels])
        self.ends_word = [token.kind == Kind.WORD for token in automaton.tokens]
        self.count, self.writes_trees = count, count != 0

    def read(self, tokens: Sequence[str], labels: Sequence[str] = ()) -> tuple[ParseRecord, list[str] | None]:
        return read_string(transitions_of_tags(tokens, labels), _STYLE) if self.writes_trees else super().read(tokens)

    def finished(
        self, model: Any, encoded: Any, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each sentence with the tags of their words; log-probabilities include the tags.
        Scores still rate only the words. If count is 0, return all hypotheses unchanged.

        With `strict`, the tags form the likeliest tree; otherwise each word gets its likeliest tag, even if they form
        no tree.
        """
        if self.count == 0:
            return found
        found = [hypotheses[: self.count] for hypotheses in found]
        sentences = [number for number, hypotheses in enumerate(found) for _ in hypotheses]
        flat = [each for hypotheses in found for each in hypotheses]
        of_words = self._of_words(model, encoded, [each.ids for each in flat], sentences) if flat else []
        result: list[list[Hypothesis]] = [[] for _ in found]
        trees = self.search.trees(of_words) if flat and constraints == "strict" else [None] * len(flat)
        for sentence, hypothesis, numbers, tree in zip(sentences, flat, of_words, trees, strict=True):
            result[sentence].append(self._with_tags(hypothesis, numbers, tree))
        return result

    def _of_words(
        self, model: Any, encoded: Any, hypotheses: Sequence[list[int]], sentences: list[int]
    ) -> "list[Numbers]":
        """Return the log-probabilities of the tags of each word of each hypothesis, [n,G]."""
        import numpy as np
        import torch
        import torch.nn.functional as F

        rows = torch.tensor(sentences, device=encoded.states.device)
        longest = max(map(len, hypotheses))
        inputs = torch.tensor([[model.begin, *ids, *[0] * (longest - len(ids))] for ids in hypotheses])
        ends = [[1 + place for place, each in enumerate(ids) if self.ends_word[each]] for ids in hypotheses]
        states = model.decoder.read(
            model.network, inputs.to(rows.device), self._fields(hypotheses), encoded.select(rows)
        )
        places = [(row, end) for row, of_row in enumerate(ends) for end in of_row]
        at_ends = states[tuple(torch.tensor(places, dtype=torch.int64).view(-1, 2).t())].float()
        with torch.autocast(states.device.type, enabled=False):
            logits = F.linear(at_ends, model.decoder.heads[_FIELD].weight, model.decoder.heads[_FIELD].bias)
        return list(np.split(logits.log_softmax(dim=1).cpu().numpy(), np.cumsum([len(each) for each in ends])[:-1]))

    def _fields(self, hypotheses: Sequence[list[int]]) -> "dict[str, Tensor]":
        """Return the fields that other components of the decoder read."""
        import torch

        assert self.automaton
        rows = []
        for ids in hypotheses:
            state = self.automaton.start
            rows.append([self.automaton.numbers(state)])
            for token in ids:
                state = state.after(self.automaton.tokens[token])
                rows[-1].append(self.automaton.numbers(state))
        longest = max(map(len, rows))
        return {
            name: torch.tensor([[each[name] for each in row] + [0] * (longest - len(row)) for row in rows])
            for name in rows[0][0]
        }

    def _with_tags(self, hypothesis: Hypothesis, numbers: "Numbers", tree: Sequence[int] | None) -> Hypothesis:
        import numpy as np

        tags = numbers.argmax(axis=1).tolist() if tree is None else tree
        rest = iter(tags)
        labels = [self.labels[next(rest)] if self.ends_word[token] else "" for token in hypothesis.ids]
        of_tags = float(numbers[np.arange(len(tags)), tags].sum())
        return replace(hypothesis, labels=labels, log_probability=hypothesis.log_probability + of_tags)


class TagSearch:
    """An exact search for the likeliest tree. tags [G]: all tags that a word can have."""

    def __init__(self, tags: Sequence[Tag]) -> None:
        import numpy as np

        self.taken = np.array([tag.arcs for tag in tags])  # words that leave the stack
        self.counts = sorted(set(self.taken.tolist()))
        is_root = np.array([tag.relation == ROOT_RELATION for tag in tags])
        to_the_right = np.array([tag.right > 0 for tag in tags])
        # Per move: the sides of the root before and after it, whether the stack may then have one word, or more, and
        # the tags that make it. The root stays on the stack: if only the root is left, the last word is attached to it.
        self.moves = [
            (BEFORE, BEFORE, (True, True), ~is_root),
            (BEFORE, AFTER, (True, False), is_root & ~to_the_right),
            (AFTER, AFTER, (True, False), ~is_root & to_the_right),
            (AFTER, AFTER, (False, True), ~is_root),
        ]

    def trees(self, log_probabilities: "Sequence[Numbers]") -> list[list[int] | None]:
        """Return the tags of the likeliest tree of each sentence, given [n,G] for each; None if no tags form a tree."""
        import numpy as np

        lengths = np.array([len(each) for each in log_probabilities])
        padded = np.full((len(lengths), lengths.max(), len(self.taken)), -np.inf, np.float32)
        for row, each in zip(padded, log_probabilities, strict=True):
            row[: len(each)] = each
        bests = [self._best(padded, tags) for _, _, _, tags in self.moves]
        scores = np.full((len(lengths), 2, 1 + lengths.max()), -np.inf, np.float32)  # by depth
        scores[:, BEFORE, 0] = 0.0
        final, origins = np.full(len(lengths), -np.inf), []
        for word in range(lengths.max()):
            scores, origin = self._step(scores, [best[:, word] for best, _ in bests])
            origins.append(origin)
            final[lengths == word + 1] = scores[lengths == word + 1, AFTER, 1]
        return [
            self._way(row, length, origins, bests) if np.isfinite(final[row]) else None
            for row, length in enumerate(lengths.tolist())
        ]

    def _best(self, log_probabilities: "Numbers", allowed: "NDArray[np.bool_]") -> "tuple[Numbers, Places]":
        """Return the best of some tags for each number of words taken, and its index, [S,n,C] each."""
        import numpy as np

        size = (*log_probabilities.shape[:2], len(self.counts))
        best, chosen = np.full(size, -np.inf, np.float32), np.zeros(size, np.int64)
        for place, count in enumerate(self.counts):
            tags = (allowed & (self.taken == count)).nonzero()[0]
            if len(tags):
                chosen[:, :, place] = tags[log_probabilities[:, :, tags].argmax(axis=2)]
                best[:, :, place] = np.take_along_axis(log_probabilities, chosen[:, :, place, None], axis=2)[:, :, 0]
        return best, chosen

    def _step(self, scores: "Numbers", bests: "Sequence[Numbers]") -> "tuple[Numbers, Places]":
        """Return the scores [S,2,D] after one more word, and the move and count by which each is reached.

        bests: of each move, [S,C].
        """
        import numpy as np

        new = np.full_like(scores, -np.inf)
        origins = np.full(scores.shape, -1, np.int64)
        for number, (start, goal, (alone, among_others), _) in enumerate(self.moves):
            for place, count in enumerate(self.counts):
                # The stack grows by one word and loses `count`.
                first, last = 1 if alone else 2, min(scores.shape[2], scores.shape[2] - count + 1)
                depths = slice(first, max(first, last if among_others else min(2, last)))
                found = scores[:, start, depths.start + count - 1 : depths.stop + count - 1]
                found = found + bests[number][:, place, None]
                better = found > new[:, goal, depths]
                np.copyto(new[:, goal, depths], found, where=better)
                np.copyto(origins[:, goal, depths], number * len(self.counts) + place, where=better)
        return new, origins

    def _way(
        self, row: int, length: int, origins: "Sequence[Places]", bests: "Sequence[tuple[Numbers, Places]]"
    ) -> list[int]:
        """Return the tags on the best path."""
        side, depth, tags = AFTER, 1, []
        for word in range(length - 1, -1, -1):
            number, place = divmod(int(origins[word][row, side, depth]), len(self.counts))
            tags.append(int(bests[number][1][row, word, place]))
            side, depth = self.moves[number][0], depth + self.counts[place] - 1
        return tags[::-1]
