"""All components obey the laws that other packages can check theirs by."""

import dataclasses
from typing import Any

import pytest
import torch

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.components.contract import EncoderComponent
from synmt.testing import check_component

MORE: dict[str, dict[str, Any]] = {
    "named-masks": {"names": "near"}, "distance": {"fixed": True},
    "mask": {"tree": "dependency"}, "pascal": {"weighting": "add-log-density", "heads": 1},
    "supervised-heads": {"teach": "previous+parent@1"}, "gcn-encoder": {"layers": 2},
}  # fmt: skip
MORE = {name: each for name, each in MORE.items() if name.partition(",")[0] in ENCODER_COMPONENTS}


@pytest.mark.parametrize("name", [*ENCODER_COMPONENTS, *MORE])
def test_components_of_encoders_obey_the_laws(name: str) -> None:
    kind = ENCODER_COMPONENTS[name.partition(",")[0]]
    check_component(kind(**MORE.get(name, {})))


@pytest.mark.parametrize("name", DECODER_COMPONENTS)
def test_components_of_decoders_obey_the_laws(name: str) -> None:
    check_component(DECODER_COMPONENTS[name]())


def test_a_component_that_breaks_a_law_is_told_which() -> None:
    @dataclasses.dataclass(frozen=True)
    class Uneven(EncoderComponent):
        """Its bias depends on how long the longest sentence of the batch is."""

        def bias(self, run: Any) -> torch.Tensor:
            return torch.ones(1, 1, 1, len(run.queries)).cumsum(dim=3) * len(run.queries)

    with pytest.raises(AssertionError, match="the loss of a batch is not the sum over its sentences"):
        check_component(Uneven())

    @dataclasses.dataclass(frozen=True)
    class Idle(EncoderComponent):
        def bias(self, run: Any) -> torch.Tensor:
            return torch.ones(1, 1, 1, 1)

    with pytest.raises(AssertionError, match="the hooks have no effect"):
        check_component(Idle())
