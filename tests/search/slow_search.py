"""Beam search in its simplest form: one sentence, no cache, lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from synmt.components.decoder.tags import read_tag
from synmt.components.output import Hypothesis
from synmt.model.target import TargetSide
from synmt.model.translation import TranslationModel
from synmt.nn.decoders import CausalDecoder
from synmt.nn.encoding import Encoded, SourceBatch
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN, Vocabulary
from synmt.trees.arc_tokens import Kind, Token, arc_labels
from synmt.trees.transitions import SUBWORDS, Constraints, State
from tests.components.slow_compose import slow_states
from tests.components.slow_tags import slow_log_probabilities
from tests.components.test_tag_search import spells_a_tree
from tests.nn.slow_decoder import slow_state


@dataclass
class SlowArcs:
    """A target side that writes arcs, and its vocabulary."""

    side: TargetSide
    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        self.style = self.side.style
        self.tokens = [self.style.token(entry) for entry in self.vocabulary.target]
        self.labels = {label: number for number, label in enumerate(arc_labels(self.vocabulary.target), 1)}


def slow_arcs(side: TargetSide, vocabulary: Vocabulary) -> SlowArcs | None:
    return SlowArcs(side, vocabulary) if side.linearization.trees else None


@torch.inference_mode()
def slow_beam_search(
    model: TranslationModel,
    source: SourceBatch,
    config: SearchConfig,
    transitions: SlowArcs | None = None,
    others: Sequence[tuple[TranslationModel, SourceBatch]] = (),
) -> list[Hypothesis]:
    """Search with one model, or with several models by the mean of their probabilities of the next token."""
    encoded = model.encode(source)
    has_tags = transitions is not None and transitions.side.linearization.trees == "apart"
    words = int(source.words[0])
    limit = subwords = words + config.max_length_offset
    if config.max_length_ratio is not None:
        limit = subwords = max(1, min(limit, int(words * config.max_length_ratio)))
    if transitions is not None and not has_tags:
        style = transitions.style
        limit = subwords + (subwords - 1 + style.root_arc) * (1 + style.split) + 1
    prefixes: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 1):
        candidates = []
        for ids, score in prefixes:
            if transitions is not None and has_tags:
                log_p = slow_log_probabilities(model, [model.begin, *ids], encoded, False)
            else:
                all_logits = [next_logits(model, ids, encoded, transitions)]
                all_logits += [next_logits(other, ids, other.encode(form), None) for other, form in others]
                log_p = torch.stack([logits.double().softmax(dim=0) for logits in all_logits]).mean(dim=0).log()
            log_p[UNKNOWN] = float("-inf")
            end = float(log_p[END])
            if length == 1 or length - 1 < words * config.min_length_ratio:
                log_p[END] = float("-inf")
            new = [not repeats([*ids, token], config.no_repeat) for token in range(len(log_p))]
            if config.no_repeat and not any(new[token] for token in log_p.isfinite().nonzero().flatten().tolist()):
                log_p[END] = end  # a translation may be too short if it would repeat itself otherwise
            for token, value in enumerate(log_p.tolist()):
                may = transitions is None or may_follow(ids, token, transitions, config, subwords, limit)
                if value > float("-inf") and may and new[token]:
                    candidates.append(([*ids, token], score + value))
        candidates.sort(key=lambda candidate: -candidate[1])
        for ids, score in candidates[: config.beam]:
            if ids[-1] == END and len(finished) < config.beam:
                finished.append(Hypothesis(ids[:-1], score, score / config.penalty(length)))
        prefixes = [candidate for candidate in candidates if candidate[0][-1] != END][: config.beam]
        if len(finished) >= config.beam or not prefixes:
            break
    else:
        finished += [Hypothesis(ids, score, score / config.penalty(limit)) for ids, score in prefixes]
    if transitions is not None and has_tags:
        finished = [with_tags(model, each, encoded, transitions, config.constraints) for each in finished]
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)


def repeats(ids: Sequence[int], count: int) -> bool:
    """Return whether the last `count` tokens occur earlier, in the same order."""
    sequences = [tuple(ids[start : start + count]) for start in range(len(ids) - count + 1)] if count else []
    return ids[-1] != END and sequences[-1:] != [] and sequences[-1] in sequences[:-1]


def with_tags(
    model: TranslationModel, hypothesis: Hypothesis, encoded: Encoded, vocabulary: SlowArcs, constraints: Constraints
) -> Hypothesis:
    """Return the hypothesis with the likeliest tags after its words, among all tags or only those that form a tree."""
    known = vocabulary.vocabulary.labels["tag"]
    ends = [place for place, number in enumerate(hypothesis.ids) if vocabulary.tokens[number].kind == Kind.WORD]
    ids = [[model.begin, *hypothesis.ids[: 1 + place]] for place in ends]
    of_tags = [slow_log_probabilities(model, each, encoded, True).tolist() for each in ids]
    ways = list(product(range(len(known)), repeat=len(ends)))
    scored = sorted(ways, key=lambda way: -sum(each[tag] for each, tag in zip(of_tags, way, strict=True)))
    if constraints == "strict":
        scored = [way for way in scored if spells_a_tree([tag for each in way if (tag := read_tag(known[each]))])]
    rest = dict(zip(ends, scored[0], strict=True))
    labels = [known[rest[place]] if place in rest else "" for place, _ in enumerate(hypothesis.ids)]
    total = sum(each[tag] for each, tag in zip(of_tags, scored[0], strict=True))
    return Hypothesis(hypothesis.ids, hypothesis.log_probability + total, hypothesis.score, labels)


def next_logits(model: TranslationModel, ids: Sequence[int], encoded: Encoded, transitions: SlowArcs | None) -> Tensor:
    prefix = [model.begin, *ids]
    if transitions is not None and "compose" in transitions.side.components:
        string = " ".join(spelled(transitions.tokens[index], transitions.style.split) for index in ids)
        state = slow_states(model, transitions.side, prefix, string, encoded)[-1]
    elif isinstance(model.decoder, CausalDecoder):
        state = model.network.decode(model.network.embed(torch.tensor([prefix])), encoded.states, encoded.cross)[0, -1]
    else:
        edges = []
        for arc in arcs_of(ids, transitions) if transitions else []:
            assert transitions is not None
            edges += [(*edge, transitions.labels.get(arc.label, 0), arc.birth) for edge in arc.edges()]
        state = slow_state(model, prefix, edges, encoded)
    return state @ model.network.output_weight.t() + model.network.output_bias


def spelled(token: Token, split: bool) -> str:
    """Return a token of this kind as text."""
    if token.kind in (Kind.OPEN, Kind.WORD):
        return "x@@" if token.kind == Kind.OPEN else "x"
    sides = {Kind.LEFT: "LEFT-ARC", Kind.RIGHT: "RIGHT-ARC", Kind.LABEL: "ARC"}
    side = sides.get(token.kind, "ARC" if split else "RIGHT-ARC")  # otherwise the root's arc, or its second half
    return f"{side}:{token.label}" if token.label else side


def arcs_of(ids: Sequence[int], transitions: SlowArcs) -> list:
    state, arcs = State(transitions.style), []
    for index in ids:
        state = state.after(transitions.tokens[index])
        arcs += [state.arc] if state.arc else []
    return arcs


def may_follow(
    ids: Sequence[int], token: int, transitions: SlowArcs, config: SearchConfig, subwords: int, limit: int
) -> bool:
    if transitions.side.linearization.trees == "apart":
        kind = transitions.tokens[token].kind
        was_open = bool(ids) and transitions.tokens[ids[-1]].kind == Kind.OPEN
        return not ((kind == Kind.END and was_open) or (kind == Kind.OPEN and len(ids) + 1 == limit))
    state = State(transitions.style)
    for index in ids:
        state = state.after(transitions.tokens[index])
    kind = transitions.tokens[token].kind
    left = subwords - sum(bool(transitions.tokens[index].kind & SUBWORDS) for index in ids)
    if kind & SUBWORDS and (left == 0 or (left == 1 and kind == Kind.OPEN)):
        return False
    return bool(kind & state.allowed(config.constraints, limit - len(ids)))
