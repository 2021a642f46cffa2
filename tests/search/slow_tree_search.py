"""The search of synmt.search.tree_search in its simplest form: one sentence, no cache, lists. Also a search of all
possible strings, for vocabularies that allow few."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from synmt.components.output import Hypothesis
from synmt.model.translation import TranslationModel
from synmt.nn.encoding import Encoded, SourceBatch
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN
from synmt.trees.arc_tokens import Kind
from synmt.trees.transitions import SUBWORDS
from tests.search.slow_search import SlowArcs, may_follow, next_logits


@dataclass
class Candidate:
    ids: list[int]
    log_probability: float
    total: float


class Blackboard:
    """The search for translations of one sentence."""

    def __init__(self, model: TranslationModel, source: SourceBatch, config: SearchConfig, arcs: SlowArcs) -> None:
        self.model, self.config, self.arcs = model, config, arcs
        self.encoded: Encoded = model.encode(source)
        self.subwords = int(source.words[0]) + config.max_length_offset
        style = arcs.style
        self.limit = self.subwords + (self.subwords - 1 + style.root_arc) * (1 + style.split) + 1

    def continuations(self, ids: list[int]) -> Iterator[tuple[float, int]]:
        log_p = next_logits(self.model, ids, self.encoded, self.arcs).double().log_softmax(dim=0).tolist()
        for token, value in enumerate(log_p):
            may = may_follow(ids, token, self.arcs, self.config, self.subwords, self.limit)
            if may and token != UNKNOWN and (ids or token != END):
                yield value, token

    def words(self, ids: list[int]) -> tuple[int, ...]:
        return tuple(token for token in ids if self.is_word(token))

    def is_word(self, token: int) -> bool:
        return bool(self.arcs.tokens[token].kind & (SUBWORDS | Kind.END))

    def has_ended(self, ids: list[int]) -> bool:
        return ids[-1] == END or len(ids) == self.limit


@torch.inference_mode()
def slow_tree_search(
    model: TranslationModel, source: SourceBatch, config: SearchConfig, arcs: SlowArcs
) -> list[Hypothesis]:
    board, beam = Blackboard(model, source, config, arcs), config.beam
    finished: list[Hypothesis] = []
    moving = [Candidate([], 0.0, 0.0)]
    while moving and len(finished) < beam:
        waiting: list[Candidate] = []
        while moving:
            children: list[Candidate] = []
            for parent in moving:
                found = sorted(board.continuations(parent.ids), reverse=True)
                words = [each for each in found if board.is_word(each[1])][: 2 * beam]
                written = [each for each in found if not board.is_word(each[1])][:beam]
                for value, token in words:
                    child = Candidate([*parent.ids, token], parent.log_probability + value, parent.total + value)
                    merge(board, waiting, child)
                children += [
                    Candidate([*parent.ids, token], parent.log_probability + value, parent.total + value)
                    for value, token in written
                ]
            waiting.sort(key=lambda each: -each.total)
            still_open = [each for each in waiting if not board.has_ended(each.ids)][:beam]
            waiting = still_open + [each for each in waiting if board.has_ended(each.ids)][:beam]
            children.sort(key=lambda each: -each.total)
            for child in children:
                if board.has_ended(child.ids):
                    merge(board, waiting, child)
            moving = [each for each in children if not board.has_ended(each.ids)]
            if len(still_open) == beam:
                moving = [each for each in moving if each.total > still_open[-1].total]
            moving = moving[:beam]
        waiting.sort(key=lambda each: -each.total)
        for each in waiting[:beam]:
            if board.has_ended(each.ids):
                score = each.total / config.penalty(len(board.words(each.ids)))
                ids = each.ids[:-1] if each.ids[-1] == END else each.ids
                finished.append(Hypothesis(ids, each.log_probability, score))
        moving = [each for each in waiting if not board.has_ended(each.ids)][:beam]
    return sorted(finished, key=lambda each: -each.score)


def merge(board: Blackboard, waiting: list[Candidate], new: Candidate) -> None:
    for place, old in enumerate(waiting):
        same = board.words(old.ids) == board.words(new.ids)
        if same and board.has_ended(old.ids) == board.has_ended(new.ids):
            total = math.log(math.exp(old.total) + math.exp(new.total))
            best = old if old.log_probability >= new.log_probability else new
            waiting[place] = Candidate(best.ids, best.log_probability, total)
            return
    waiting.append(new)


@torch.inference_mode()
def all_translations(
    model: TranslationModel, source: SourceBatch, config: SearchConfig, arcs: SlowArcs
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return for each possible sequence of words the log-probability of all its trees together and of the best one."""
    board = Blackboard(model, source, config, arcs)
    found: dict[tuple[int, ...], list[float]] = {}
    strings: list[tuple[list[int], float]] = [([], 0.0)]
    while strings:
        ids, log_probability = strings.pop()
        if ids and board.has_ended(ids):
            found.setdefault(board.words(ids), []).append(log_probability)
        else:
            strings += [([*ids, token], log_probability + value) for value, token in board.continuations(ids)]
    return {words: (math.log(math.fsum(map(math.exp, values))), max(values)) for words, values in found.items()}
