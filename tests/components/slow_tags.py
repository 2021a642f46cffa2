"""The decoder of `tags` as defined: the states of `sequence`, and a prediction from each."""

from collections.abc import Sequence

import torch
from torch import Tensor

from synmt.model.translation import TranslationModel
from synmt.nn.encoding import Encoded


@torch.inference_mode()
def slow_log_probabilities(
    model: TranslationModel, ids: Sequence[int], tags: set[int], source: Encoded, of_tags: bool
) -> Tensor:
    """Return the log-probabilities of all entries after the prefix `ids`, which includes the begin of sentence, [T].
    They are −∞ for tags, or with `of_tags` for all other entries. source: a single encoded sentence."""
    network = model.network
    words = torch.tensor([[number for number in ids if number not in tags]])
    state = network.decode(network.embed(words), source.states, source.cross)[0, -1]
    logits = network.output_weight @ state + network.output_bias
    other = torch.tensor([(number in tags) != of_tags for number in range(len(logits))])
    return logits.double().masked_fill(other, float("-inf")).log_softmax(dim=0)
