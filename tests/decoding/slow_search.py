"""Beam search as one would write it on a blackboard: one sentence, no cache, lists."""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.decoding.beam import Hypothesis
from synmt.decoding.config import SearchConfig
from synmt.decoding.hypotheses import ArcVocabulary
from synmt.model.translation import EncodedSource, TranslationModel
from synmt.nn.decoders import CausalDecoder
from synmt.nn.encoding import SourceBatch
from synmt.text.vocabulary import END, UNKNOWN
from synmt.trees.arc_tokens import Kind, Token
from synmt.trees.transition_graph import edges_of_arcs
from synmt.trees.transition_state import SUBWORDS, State
from tests.nn.slow_decoder import slow_state
from tests.systems.slow_compose import slow_states
from tests.systems.slow_tags import slow_log_probabilities, slow_tagged_states


@torch.inference_mode()
def slow_beam_search(
    model: TranslationModel, source: SourceBatch, config: SearchConfig, transitions: ArcVocabulary | None = None
) -> list[Hypothesis]:
    if transitions is not None and transitions.side.writes_tags:
        return slow_tag_search(model, source, config, transitions)
    encoded = model.encode(source)
    limit = subwords = int(source.words[0]) + config.max_length_offset
    if transitions is not None:
        style = transitions.style
        limit = subwords + (subwords - 1 + style.root_arc) * (1 + style.split) + 1
    prefixes: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 1):
        candidates = []
        for ids, score in prefixes:
            log_p = next_logits(model, ids, encoded, transitions).double().log_softmax(dim=0)
            log_p[UNKNOWN] = float("-inf")
            if length == 1:
                log_p[END] = float("-inf")
            for token, value in enumerate(log_p.tolist()):
                may = transitions is None or may_follow(ids, token, transitions, config, subwords, limit)
                if value > float("-inf") and may:
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
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)


def slow_tag_search(
    model: TranslationModel, source: SourceBatch, config: SearchConfig, vocabulary: ArcVocabulary
) -> list[Hypothesis]:
    """Of words, each with its likeliest tag; the last with the likeliest that leaves one word."""
    encoded = model.encode(source)
    taken = {number: int(left) + int(right) for number, left, right in _tags(vocabulary)}
    subwords = int(source.words[0]) + config.max_length_offset
    prefixes: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[Hypothesis] = []
    for length in range(1, subwords + 2):
        candidates = []
        for ids, score in prefixes:
            for tagged, of_tag, may_end in tags_after(model, ids, encoded, vocabulary, taken, config):
                state = slow_tagged_states(model, [model.begin, *tagged], set(taken), encoded)[-1]
                of_words = slow_log_probabilities(model, state, set(taken), False)
                of_words[UNKNOWN] = float("-inf")
                for token, value in enumerate(of_words.tolist()):
                    ends = token == END
                    is_open = vocabulary.tokens[token].kind == Kind.OPEN
                    left = subwords + 1 - length
                    may = may_end and length > 1 if ends else may_end is not True and left > is_open
                    if value > float("-inf") and (may or (ends and may_end is None and length > 1)):
                        candidates.append(([*tagged, token], score + of_tag + value))
        candidates.sort(key=lambda candidate: -candidate[1])
        for ids, score in candidates[: config.beam]:
            if ids[-1] == END and len(finished) < config.beam:
                finished.append(Hypothesis(ids[:-1], score, score / config.penalty(length)))
        prefixes = [candidate for candidate in candidates if candidate[0][-1] != END][: config.beam]
        if len(finished) >= config.beam or not prefixes:
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)


def _tags(vocabulary: ArcVocabulary) -> list[tuple[int, str, str]]:
    return [
        (number, entry.rsplit("/", 2)[1], entry.rsplit("/", 2)[2])
        for number, entry in enumerate(vocabulary.entries)
        if entry.startswith(" ARCS:")
    ]


def tags_after(
    model: TranslationModel,
    ids: list[int],
    encoded: EncodedSource,
    vocabulary: ArcVocabulary,
    taken: dict[int, int],
    config: SearchConfig,
) -> list[tuple[list[int], float, bool | None]]:
    """Hypotheses with the tag after their last word, its log-probability, and whether the end may follow, and that
    alone: True; None: anything."""
    if not ids or vocabulary.tokens[ids[-1]].kind == Kind.OPEN:
        return [(ids, 0.0, None if config.constraints == "none" else False)]
    depth = 0
    for number in ids:
        if number in taken:
            depth = max(1, depth - taken[number])
        elif vocabulary.tokens[number].kind != Kind.OPEN:
            depth += 1
    state = slow_tagged_states(model, [model.begin, *ids], set(taken), encoded)[-1]
    of_tags = slow_log_probabilities(model, state, set(taken), True).tolist()
    if config.constraints == "none":
        legal, closing = list(taken), []
    else:
        legal = [tag for tag in taken if taken[tag] < depth]
        closing = [tag for tag in legal if taken[tag] == depth - 1]
    if config.constraints == "strict":
        legal = [tag for tag in legal if depth - taken[tag] in taken.values()]
    found: list[tuple[list[int], float, bool | None]] = []
    strict = config.constraints == "strict"
    for tags, may_end in ((legal, False if strict else None), (closing if strict else [], True)):
        if tags:
            best = max(tags, key=lambda tag: of_tags[tag])
            found.append(([*ids, best], of_tags[best], may_end))
    return found


def next_logits(
    model: TranslationModel, ids: Sequence[int], encoded: EncodedSource, transitions: ArcVocabulary | None
) -> Tensor:
    prefix = [model.begin, *ids]
    if transitions is not None and transitions.side.writes_tags:
        tags = {number for number, _, _ in _tags(transitions)}
        writes_tag = bool(ids) and ids[-1] not in tags and transitions.tokens[ids[-1]].kind == Kind.WORD
        state = slow_tagged_states(model, prefix, tags, encoded)[-1]
        return slow_log_probabilities(model, state, tags, writes_tag)
    if transitions is not None and transitions.side.reads_stacks:
        string = " ".join(spelled(transitions.tokens[index]) for index in ids)
        state = slow_states(model, transitions.side, prefix, string, encoded)[-1]
    elif isinstance(model.decoder, CausalDecoder):
        state = model.network.decode(model.network.embed(torch.tensor([prefix])), encoded.states, encoded.bias)[0, -1]
    else:
        edges = []
        for arc in arcs_of(ids, transitions) if transitions else []:
            assert transitions is not None
            found = edges_of_arcs([arc], transitions.labels)
            columns = (each.tolist() for each in (found.parents, found.children, found.labels, found.births))
            edges += list(zip(*columns, strict=True))
        state = slow_state(model, prefix, edges, encoded)
    return state @ model.network.output_weight.t() + model.network.output_bias


def spelled(token: Token) -> str:
    """Any token of this kind, as text."""
    if token.kind in (Kind.OPEN, Kind.WORD):
        return "x@@" if token.kind == Kind.OPEN else "x"
    side = {Kind.LEFT: "LEFT-ARC", Kind.RIGHT: "RIGHT-ARC", Kind.LABEL: "ARC"}.get(token.kind)
    return f"{side or 'ARC'}:{token.label}" if token.label else str(side)


def arcs_of(ids: Sequence[int], transitions: ArcVocabulary) -> list:
    state, arcs = State(transitions.style), []
    for index in ids:
        state = state.after(transitions.tokens[index])
        arcs += [state.arc] if state.arc else []
    return arcs


def may_follow(
    ids: Sequence[int], token: int, transitions: ArcVocabulary, config: SearchConfig, subwords: int, limit: int
) -> bool:
    state = State(transitions.style)
    for index in ids:
        state = state.after(transitions.tokens[index])
    kind = transitions.tokens[token].kind
    left = subwords - sum(bool(transitions.tokens[index].kind & SUBWORDS) for index in ids)
    if kind & SUBWORDS and (left == 0 or (left == 1 and kind == Kind.OPEN)):
        return False
    return bool(kind & state.allowed(config.constraints, limit - len(ids)))
