"""Beam search as one would write it on a blackboard: one sentence, no cache, lists."""

import torch

from synmt.decoding.beam import Hypothesis, SearchConfig
from synmt.nn.encoding import SourceBatch
from synmt.systems.translation import TranslationModel
from synmt.text.vocabulary import END, UNKNOWN


@torch.inference_mode()
def slow_beam_search(model: TranslationModel, source: SourceBatch, config: SearchConfig) -> list[Hypothesis]:
    encoded = model.encode(source)
    limit = int(source.words[0]) + config.extra_length
    prefixes: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 1):
        candidates = []
        for ids, score in prefixes:
            states = model.network.decode(torch.tensor([[model.begin, *ids]]), encoded.states, encoded.bias)
            log_p = (states[0, -1] @ model.network.output_weight.t() + model.network.output_bias).double()
            log_p[UNKNOWN] = float("-inf")
            if length == 1:
                log_p[END] = float("-inf")
            for token, value in enumerate(log_p.log_softmax(dim=0).tolist()):
                if value > float("-inf"):
                    candidates.append(([*ids, token], score + value))
        candidates.sort(key=lambda candidate: -candidate[1])
        for ids, score in candidates[: config.beam]:
            if ids[-1] == END and len(finished) < config.beam:
                finished.append(Hypothesis(ids[:-1], score, score / config.penalty(length)))
        prefixes = [candidate for candidate in candidates if candidate[0][-1] != END][: config.beam]
        if len(finished) >= config.beam:
            break
    else:
        finished += [Hypothesis(ids, score, score / config.penalty(limit)) for ids, score in prefixes]
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)
