"""All components obey the laws that other packages can check theirs by."""

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.components.contract import NO_DISTANCE, EncoderComponent, Field, Layout, ParseRecord, setting
from synmt.components.fields import tree_distances
from synmt.testing import check_component
from synmt.trees.record import UNATTACHED

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


class Read(EncoderComponent):
    def reads(self) -> dict[str, Field]:
        return {"attached": Field()}

    def read(self, record: ParseRecord, layout: Layout) -> dict[str, Any]:
        return {"attached": [int(bool(record.heads))] * len(layout.tokens)}

    def bias(self, run: Any) -> torch.Tensor:
        return run.fields["attached"].cumsum(dim=1)[:, None, None, :].float()


class Misspelled(EncoderComponent):
    def biases(self, run: Any) -> None: ...


class Unused(EncoderComponent):
    def reads(self) -> dict[str, Field]:
        return {"unused": Field()}


class OfNoRecord(EncoderComponent):
    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"head"})


class Undecorated(EncoderComponent):
    weight: float = setting(1.0, "of nothing")


class Everywhere(EncoderComponent):
    training_only = True

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"heads"})


class Constant(EncoderComponent):
    def reads(self) -> dict[str, Field]:
        return {"one": Field()}

    def read(self, record: ParseRecord, layout: Layout) -> dict[str, Any]:
        return {"one": [1] * len(layout.tokens)}

    def loss(self, run: Any) -> torch.Tensor:
        return run.fields["one"].sum().float()


class OfNoHead(EncoderComponent):
    def loss(self, run: Any) -> torch.Tensor:
        return run.attended[1].logits(0).sum()


class OfNumbers(EncoderComponent):
    def parameters(self, config: Any, labels: Any) -> dict[str, Any]:
        return {"slope": 0.1}

    def bias(self, run: Any) -> None: ...


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Read, "the field attached differs without trees, but needs names no field"),
        (Misspelled, "defines biases, which is not a hook; did you mean bias"),
        (Unused, "declares fields, but defines no hook"),
        (OfNoRecord, "needs head, which is not a field of a record"),
        (Undecorated, "must be a frozen dataclass"),
        (Everywhere, "is for training only"),
        (Constant, "the hooks change no gradient of the network"),
        (OfNoHead, "reads the attention of layer 1, where its component owns no head"),
        (OfNumbers, "parameter slope is a float, not a tensor or a module"),
    ],
)
def test_a_component_without_effect_is_refused(kind: type[EncoderComponent], said: str) -> None:
    with pytest.raises((AssertionError, TypeError, ValueError), match=said):
        check_component(kind())


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(*(st.integers(UNATTACHED, word) for word in range(n)))))
def test_distances_are_the_lengths_of_paths(heads: tuple[int, ...]) -> None:
    """Also in pieces of a tree, and with several roots, which hang from node 0."""
    arcs = {(word, head) for word, head in enumerate(heads, 1) if head != UNATTACHED}
    arcs |= {(head, word) for word, head in arcs}
    for start, row in enumerate(tree_distances(heads), 1):
        found, reached = {start: 0}, [start]
        for node in reached:
            for near in (b for a, b in arcs if a == node and b not in found):
                found[near] = found[node] + 1
                reached.append(near)
        assert row == [found.get(word, NO_DISTANCE) for word in range(1, len(heads) + 1)]
