"""Growing graphs, compared with the worked numbers and the formula."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from synmt.components.arcs import GRAPH, NEVER, graph, graph_numbers
from synmt.components.contract import Automaton
from synmt.components.decoder.gcn import Gcn, convolved
from synmt.components.decoder.parent import Parent
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.arc_tokens import ArcStyle, read_tokens
from synmt.trees.transitions import State
from tests import tiny
from tests.nn.slow_decoder import slow_convolution

CPU = torch.device("cpu")
COALS = "Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt"


Graph = dict[str, Tensor]


def example(length: int | None = None) -> Graph:
    """Return the graph of the worked example, whose token k (from 0) is at position k + 1, or of a prefix of it."""
    entries = read_tokens(COALS)
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *dict.fromkeys(entries)], [])
    automaton = Automaton(State(ArcStyle()), [], ArcStyle(), [(tuple(GRAPH), graph_numbers(vocabulary))])
    fields = automaton.fields(entries)
    return graph({name: torch.tensor([row[:length]]) for name, row in fields.items()})


def cut(whole: Graph, length: int) -> Graph:
    """Return a whole graph as the decoder cuts it to a prefix."""
    return {"births": whole["births"][:, :length, :length], "labels": whole["labels"][:, :length]}


def bias_of(fields: Graph) -> Tensor:
    """Return the bias that the head of `parent` adds to its logits, [m,m]."""
    found: Tensor = tiny.run_of(tiny.part_of(Parent()), fields).call("bias")
    assert not found[:, 1:].any()
    return found[0, 0]


def parents_seen(bias: Tensor) -> dict[int, list[int]]:
    """Return the tokens that each token of the worked example sees, counted from 0."""
    return {q - 1: [k - 1 for k in row.isfinite().nonzero().flatten().tolist()] for q, row in enumerate(bias)}


def test_parents_in_the_worked_example() -> None:
    seen = parents_seen(bias_of(example()))
    assert seen.pop(-1) == [-1]  # the begin of sentence sees itself
    assert seen == {
        0: [0, 2, 3], 1: [1, 2, 3], 2: [2], 3: [2, 3], 4: [4, 5, 6],
        5: [2, 5, 7], 6: [5, 6], 7: [2, 7], 8: [2, 8, 9], 9: [2, 9],
    }  # fmt: skip


def test_parents_are_visible_from_their_birth_on() -> None:
    """The test looks at `the`, token 4, when the last input is token t; before t = 4, this position does not exist."""
    prefixes = {t: bias_of(cut(example(), t + 2)) for t in range(3, 10)}
    assert 4 not in parents_seen(prefixes[3])
    assert {t: parents_seen(prefixes[t])[4] for t in range(4, 8)} == {4: [4], 5: [4], 6: [4, 5, 6], 7: [4, 5, 6]}


def test_every_row_of_a_parent_head_sees_something() -> None:
    for length in range(1, 12):
        assert bias_of(cut(example(), length)).isfinite().any(dim=-1).all()


def test_the_graph_of_a_prefix_equals_the_whole_one_cut() -> None:
    whole = example()
    for length in range(1, 1 + whole["births"].shape[1]):
        assert torch.equal(bias_of(example(length)), bias_of(cut(whole, length)))
    assert (whole["births"] < NEVER).sum() == 14


def new_convolution(width: int, labels: int, gates: bool) -> Any:
    """Return the parameters of a convolution for a number of labels, with no arc among them."""
    known = [f" LEFT-ARC:{number}" for number in range(1, labels)]
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *known], [])
    component = Gcn(layers=1, labels=bool(labels), gates=gates)
    return component.parameters(replace(tiny.CONFIG, width=width, heads=1), vocabulary)["layers"][0]


def worked_convolution() -> tuple[Any, Tensor, Graph]:
    """h_0 depends on h_1 by an edge with label 1; W are I, 2I and 3I, ŵ = 0, b = (.1, .2), b̂ = .5."""
    convolution = new_convolution(2, 2, True)
    with torch.no_grad():
        convolution["weights"].copy_(torch.eye(2) * torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1))
        for name, value in (("gates", 0.0), ("label_bias", torch.tensor([0.1, 0.2])), ("gate_label_bias", 0.5)):
            convolution[name].copy_(torch.as_tensor(value))
    fields = {"births": torch.tensor([[[NEVER, 9], [NEVER, NEVER]]]), "labels": torch.tensor([[1, 0]])}
    return convolution, torch.tensor([[[1.0, -1.0], [0.5, 2.0]]], requires_grad=True), fields


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("paper", [[2.495935, 2.359248], [2.057165, 2.0]]),
        ("reference", [[1.0 + 2.0, -1.0], [0.5 + 0.934705, 2.0 + 3.614329]]),
    ],
)
def test_worked_numbers_of_both_variants(variant: str, expected: list[list[float]]) -> None:
    convolution, states, fields = worked_convolution()
    found = convolved(convolution, states, fields["births"], fields["labels"], variant)[0]
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("variant", "slope"), [("paper", 1.867378), ("reference", 0.0)])
def test_only_the_paper_s_variant_passes_messages(variant: str, slope: float) -> None:
    convolution, states, fields = worked_convolution()
    convolved(convolution, states, fields["births"], fields["labels"], variant)[0, 0, 0].backward()
    assert states.grad is not None
    assert states.grad[0, 1].tolist() == pytest.approx([slope, 0.0], abs=1e-6)


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize("labels", [0, 5])
@pytest.mark.parametrize("gates", [True, False])
def test_the_convolution_equals_the_formula(variant: str, labels: int, gates: bool) -> None:
    """On the worked example, and on positions without edges."""
    torch.manual_seed(0)
    convolution = new_convolution(6, labels, gates)
    for name, parameter in convolution.items():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    fields = example()
    births, of_positions = fields["births"][0], fields["labels"][0]
    edges = [
        (parent, child, int(of_positions[child]), int(births[child, parent]))
        for child, parent in (births < NEVER).nonzero().tolist()
    ]
    states = torch.randn(2, 11, 6)
    both = torch.stack([births, torch.full_like(births, NEVER)]), torch.stack([of_positions, 0 * of_positions])
    found = convolved(convolution, states, *both, variant)
    torch.testing.assert_close(found[0], slow_convolution(convolution, states[0], edges, variant))
    torch.testing.assert_close(found[1], slow_convolution(convolution, states[1], [], variant))


def test_without_edges_only_the_position_itself_matters() -> None:
    convolution, states = new_convolution(4, 3, False), torch.randn(1, 6, 4)
    expected = states + (states @ convolution["weights"][0].t()).relu()
    never, none = torch.full((1, 6, 6), NEVER), torch.zeros(1, 6, dtype=torch.int64)
    torch.testing.assert_close(convolved(convolution, states, never, none, "paper"), expected)
