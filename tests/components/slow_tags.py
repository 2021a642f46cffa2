"""The decoder of `tags` as defined: the states of `sequence`, and a prediction from each."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from synmt.model.translation import TranslationModel
from synmt.nn.encoding import Encoded


@torch.inference_mode()
def slow_log_probabilities(model: TranslationModel, ids: Sequence[int], source: Encoded, of_tags: bool) -> Tensor:
    """Return the log-probabilities of all tokens, or of all tags, after the prefix `ids`, which includes the begin of
    sentence, [T] or [G]. source: a single encoded sentence."""
    network = model.network
    state = network.decode(network.embed(torch.tensor([ids])), source.states, source.cross)[0, -1]
    head: Any = model.decoder.heads["tag"]
    weight, bias = (head.weight, head.bias) if of_tags else (network.output_weight, network.output_bias)
    logits = weight @ state + bias
    return logits.double().log_softmax(dim=0)
