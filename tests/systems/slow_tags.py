"""The decoder of `tags` as its definition says it: a state for each step, one entry after the other."""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.model.translation import EncodedSource, TranslationModel
from synmt.nn.tagged import TaggedDecoder


@torch.inference_mode()
def slow_tagged_states(model: TranslationModel, ids: Sequence[int], tags: set[int], source: EncodedSource) -> Tensor:
    """The states [t,d] that predict what follows each of t entries, from the begin of sentence on; source: of one
    sentence."""
    network, decoder = model.network, model.decoder
    assert isinstance(decoder, TaggedDecoder)
    size = network.config.width**0.5
    words = [number for number in ids if number not in tags]
    before = [
        ids[place - 1] if ids[place - 1] in tags else None for place in range(1, len(ids)) if ids[place] not in tags
    ]
    inputs = []
    for place, (word, tag) in enumerate(zip(words, [None, *before], strict=True)):
        vector = network.embedding[word] * size + network.positions(place + 1, place)[0]
        inputs.append(vector if tag is None else vector + network.embedding[tag] * size)
    hidden = network.decode(torch.stack(inputs)[None], source.states, source.bias)[0]
    states, step = [], -1
    for number in ids:
        if number in tags:
            states.append(hidden[step] + decoder.after.weight @ (network.embedding[number] * size))
        else:
            step += 1
            states.append(hidden[step])
    return torch.stack(states)


@torch.inference_mode()
def slow_log_probabilities(model: TranslationModel, state: Tensor, tags: set[int], of_tags: bool) -> Tensor:
    """Of all entries after a state [d], if that predicts a tag, or else a word: [T], −∞ for those of the other kind."""
    logits = model.network.output_weight @ state + model.network.output_bias
    other = torch.tensor([(number in tags) != of_tags for number in range(len(logits))])
    return logits.double().masked_fill(other, float("-inf")).log_softmax(dim=0)
