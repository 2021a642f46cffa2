"""Trees of translations, where a decoder says them beside its words.

Shapes: R hypotheses of s tokens, G tags, d width.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from synmt.decoding.hypotheses import NOTHING, Arcs, ArcVocabulary, Hypothesis
from synmt.model.target import TargetSide
from synmt.model.translation import EncodedSource, TranslationModel
from synmt.text.vocabulary import END, Vocabulary
from synmt.trees.arc_tokens import Kind
from synmt.trees.best_tags import Numbers, TagSearch
from synmt.trees.tags import read_tag
from synmt.trees.transition_state import Constraints


def arcs_of(side: TargetSide, vocabulary: Vocabulary, count: int | None = None) -> Arcs | None:
    """Return how a search writes the arcs of a target side, None of one that has none; count: as in TagVocabulary."""
    if side.writes_tags:
        return TagVocabulary(side, vocabulary, count)
    return ArcVocabulary(side, vocabulary) if side.writes_arcs else None


class TagVocabulary:
    """A target vocabulary that ends with tags. count: how many hypotheses of a sentence get their tags, the best; None
    for all."""

    def __init__(self, side: TargetSide, vocabulary: Vocabulary, count: int | None = None) -> None:
        self.first = len(vocabulary.target) - side.tags(vocabulary)
        self.search = TagSearch([tag for tag in map(read_tag, vocabulary.target) if tag])
        self.ends_word = [side.style.token(entry).kind == Kind.WORD for entry in vocabulary.target]
        self.is_open = torch.tensor([side.style.token(entry).kind == Kind.OPEN for entry in vocabulary.target])
        self.count = count

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: torch.device) -> "WholeWords":
        return WholeWords(subwords, self.is_open[: self.first].to(device))

    def finished(
        self, model: TranslationModel, encoded: EncodedSource, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each sentence with the tags after their words, and the probability of both;
        scores stay those of the words. If of none, return them all as they are.

        With `strict`, the tags are those of the likeliest tree; else the likeliest of each word, whatever they make.
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
        self, model: TranslationModel, encoded: EncodedSource, hypotheses: Sequence[list[int]], sentences: list[int]
    ) -> list[Numbers]:
        """Return the log-probabilities of the tags of each word of each hypothesis, [n,G]."""
        rows = torch.tensor(sentences, device=encoded.states.device)
        bias = None if encoded.bias is None else encoded.bias[rows]
        longest = max(map(len, hypotheses))
        inputs = torch.tensor([[model.begin, *ids, *[0] * (longest - len(ids))] for ids in hypotheses])
        ends = [[1 + place for place, each in enumerate(ids) if self.ends_word[each]] for ids in hypotheses]
        states = model.decoder.read(model.network, inputs.to(rows.device), None, encoded.states[rows], bias)
        network, places = model.network, [(row, end) for row, of_row in enumerate(ends) for end in of_row]
        at_ends = states[tuple(torch.tensor(places).t())].float()
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


class WholeWords:
    """Hypotheses that say words, the last of which is complete.

    left [B·K]: how many tokens may follow; open [B·K]: whether a word is not complete.
    """

    def __init__(self, limits: Sequence[int], is_open: Tensor) -> None:
        self.limits, self.is_open = limits, is_open
        self.left = torch.tensor(limits, device=is_open.device)
        self.open = torch.zeros_like(self.left, dtype=torch.bool)

    def forbid(self, logits: Tensor) -> None:
        rows = logits.view(len(self.left), -1)
        rows[:, END].masked_fill_(self.open, float("-inf"))
        last = self.left < 2
        if last.any():
            rows.masked_fill_(last.unsqueeze(1) & self.is_open, float("-inf"))

    def last_tokens(self) -> Tensor:
        return NOTHING

    def advance(self, rows: Tensor, tokens: Tensor) -> Tensor:
        self.left, self.open = self.left[rows] - 1, self.is_open[tokens]
        return NOTHING
