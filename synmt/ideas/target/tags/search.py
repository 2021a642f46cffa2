"""The search for tags: the likeliest tree of a sentence whose tags are independent.

First, a search finds words. One run over them gives the log-probabilities of their tags. Then an exact search over all
stacks finds the best tags that form a tree. Only the number of words waiting on the stack decides which tags may
follow. A tree also has exactly one root: when the root is read, all earlier words attach to it, at any depth, and it
stays at the bottom of the stack. A state is therefore a depth, before or after the root, and a tag leads from one state
to another (Viterbi).

Shapes: R hypotheses, S sentences of n words, G tags, d width.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from synmt.ideas.target import Hypotheses, Hypothesis, Output
from synmt.ideas.target.arcs.search import read_string
from synmt.ideas.target.tags.strings import Tag, read_tag, transitions_of_tags
from synmt.text.vocabulary import END, Vocabulary
from synmt.trees.arc_tokens import ROOT_RELATION, ArcStyle, Kind
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import Constraints

Numbers = NDArray[np.float32]
Places = NDArray[np.int64]
BEFORE, AFTER = 0, 1  # relative to the root


class TagOutput(Output):
    """Writes targets with a vocabulary that ends with `tags` tags.

    count: how many hypotheses per sentence get tags, best first; None for all.
    """

    def __init__(self, vocabulary: Vocabulary, tags: int, count: int | None = None) -> None:
        self.first = len(vocabulary.target) - tags
        self.search = TagSearch([tag for tag in map(read_tag, vocabulary.target) if tag])
        kinds = [ArcStyle().token(entry).kind for entry in vocabulary.target]
        self.ends_word = [kind == Kind.WORD for kind in kinds]
        self.is_open = torch.tensor([kind == Kind.OPEN for kind in kinds])
        self.count, self.writes_trees = count, count != 0

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: torch.device) -> "WholeWords":
        return WholeWords(subwords, self.is_open[: self.first].to(device))

    def read(self, entries: Sequence[str]) -> tuple[ParseRecord, list[str] | None]:
        return read_string(transitions_of_tags(entries), ArcStyle()) if self.writes_trees else super().read(entries)

    def finished(
        self, model: Any, encoded: Any, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each sentence with a tag after each word; log-probabilities include the tags.
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
    ) -> list[Numbers]:
        """Return the log-probabilities of the tags of each word of each hypothesis, [n,G]."""
        rows = torch.tensor(sentences, device=encoded.states.device)
        bias = None if encoded.bias is None else encoded.bias[rows]
        longest = max(map(len, hypotheses))
        inputs = torch.tensor([[model.begin, *ids, *[0] * (longest - len(ids))] for ids in hypotheses])
        ends = [[1 + place for place, each in enumerate(ids) if self.ends_word[each]] for ids in hypotheses]
        states = model.decoder.read(model.network, inputs.to(rows.device), {}, encoded.states[rows], bias)
        network, places = model.network, [(row, end) for row, of_row in enumerate(ends) for end in of_row]
        at_ends = states[tuple(torch.tensor(places, dtype=torch.int64).view(-1, 2).t())].float()
        with torch.autocast(states.device.type, enabled=False):
            logits = F.linear(at_ends, network.output_weight[self.first :], network.output_bias[self.first :])
        return list(np.split(logits.log_softmax(dim=1).cpu().numpy(), np.cumsum([len(each) for each in ends])[:-1]))

    def _with_tags(self, hypothesis: Hypothesis, numbers: Numbers, tree: Sequence[int] | None) -> Hypothesis:
        tags = numbers.argmax(axis=1).tolist() if tree is None else tree
        rest = iter(tags)
        ids = [
            entry
            for token in hypothesis.ids
            for entry in ([token, self.first + next(rest)] if self.ends_word[token] else [token])
        ]
        of_tags = float(numbers[np.arange(len(tags)), tags].sum())
        return replace(hypothesis, ids=ids, log_probability=hypothesis.log_probability + of_tags)


class WholeWords(Hypotheses):
    """Hypotheses of words that end with a complete word.

    left [B·K]: how many tokens may follow; open [B·K]: whether the last word is incomplete.
    """

    def __init__(self, limits: Sequence[int], is_open: Tensor) -> None:
        super().__init__(limits)
        self.is_open = is_open
        self.left = torch.tensor(limits, device=is_open.device)
        self.open = torch.zeros_like(self.left, dtype=torch.bool)

    def forbid(self, logits: Tensor) -> None:
        rows = logits.view(len(self.left), -1)
        rows[:, END].masked_fill_(self.open, float("-inf"))
        last = self.left < 2
        if last.any():
            rows.masked_fill_(last.unsqueeze(1) & self.is_open, float("-inf"))

    def advance(self, rows: Tensor, tokens: Tensor) -> None:
        self.left, self.open = self.left[rows] - 1, self.is_open[tokens]


class TagSearch:
    """An exact search for the likeliest tree. tags [G]: all tags that a word can have."""

    def __init__(self, tags: Sequence[Tag]) -> None:
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

    def trees(self, log_probabilities: Sequence[Numbers]) -> list[list[int] | None]:
        """Return the tags of the likeliest tree of each sentence, given [n,G] for each; None if no tags form a tree."""
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

    def _best(self, log_probabilities: Numbers, allowed: NDArray[np.bool_]) -> tuple[Numbers, Places]:
        """Return the best of some tags for each number of words taken, and its index, [S,n,C] each."""
        size = (*log_probabilities.shape[:2], len(self.counts))
        best, chosen = np.full(size, -np.inf, np.float32), np.zeros(size, np.int64)
        for place, count in enumerate(self.counts):
            tags = (allowed & (self.taken == count)).nonzero()[0]
            if len(tags):
                chosen[:, :, place] = tags[log_probabilities[:, :, tags].argmax(axis=2)]
                best[:, :, place] = np.take_along_axis(log_probabilities, chosen[:, :, place, None], axis=2)[:, :, 0]
        return best, chosen

    def _step(self, scores: Numbers, bests: Sequence[Numbers]) -> tuple[Numbers, Places]:
        """Return the scores [S,2,D] after one more word, and the move and count by which each is reached.

        bests: of each move, [S,C].
        """
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
        self, row: int, length: int, origins: Sequence[Places], bests: Sequence[tuple[Numbers, Places]]
    ) -> list[int]:
        """Return the tags on the best path."""
        side, depth, tags = AFTER, 1, []
        for word in range(length - 1, -1, -1):
            number, place = divmod(int(origins[word][row, side, depth]), len(self.counts))
            tags.append(int(bests[number][1][row, word, place]))
            side, depth = self.moves[number][0], depth + self.counts[place] - 1
        return tags[::-1]
