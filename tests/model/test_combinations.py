"""Every encoder works with every decoder."""

import pytest
import torch

from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from tests import tiny

CPU = torch.device("cpu")


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
@pytest.mark.parametrize("system", tiny.SYSTEMS)
def test_batches_equal_single_sentences_in_training(system: str, target: str) -> None:
    data, vocabulary = tiny.corpus(system, target)
    model = tiny.model(system, vocabulary, target=target)
    together = model.loss(*data.batch([0, 1, 3], CPU)).total
    alone = [model.loss(*data.batch([index], CPU)).total for index in (0, 1, 3)]
    torch.testing.assert_close(together, torch.stack(alone).sum(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(
    ("system", "target"),
    [(system, "parent+gcn") for system in tiny.SYSTEMS]
    + [("all but multitask", target) for target in tiny.TARGET_SYSTEMS if target != "parent+gcn"],
)
def test_batches_equal_single_sentences_in_search(system: str, target: str) -> None:
    """Search only sees the states of an encoder, so each side is tested with one component of the other side."""
    data, vocabulary = tiny.corpus(system, target)
    model = tiny.model(system, vocabulary, target=target)
    side, config = tiny.TARGET_SYSTEMS[target], SearchConfig(beam=2, max_length_offset=2)
    transitions = side.output(vocabulary)
    found = beam_search(model, data.sources.batch([0, 1], vocabulary.padding, CPU), config, transitions)
    for index, hypotheses in enumerate(found):
        (one,) = beam_search(model, data.sources.batch([index], vocabulary.padding, CPU), config, transitions)
        assert [each.ids for each in hypotheses] == [each.ids for each in one]
