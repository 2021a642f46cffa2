"""Growing graphs, compared with the worked numbers and the formula."""

import pytest
import torch
from torch import Tensor

from synmt.ideas.target.arcs.graph import NEVER, Graph, GraphReading, TreeParents
from synmt.ideas.target.gcn.convolution import GraphConvolution
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.arc_tokens import ArcStyle, read_entries
from tests.nn.slow_decoder import slow_convolution

CPU = torch.device("cpu")
COALS = "Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt"


def example() -> Graph:
    """Return the graph of the worked example, whose token k (from 0) is at position k + 1."""
    entries = read_entries(COALS)
    reading = GraphReading(ArcStyle(), Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *dict.fromkeys(entries)], []))
    columns = {name: torch.from_numpy(each).long().unsqueeze(0) for name, each in reading.columns(entries).items()}
    return reading.tensors(columns, 1 + len(entries))


def bias_of(graph: Graph) -> Tensor:
    """Return the bias that the head of `parent` adds to its logits, [m,m]."""
    edit = TreeParents((0,))(graph)
    assert edit.heads == (0,) and edit.bias is not None
    return edit.bias[0, 0]


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
    rows = torch.tensor([0])
    prefixes = {t: bias_of(example().prefixes(rows, t + 2)) for t in range(3, 10)}
    assert 4 not in parents_seen(prefixes[3])
    assert {t: parents_seen(prefixes[t])[4] for t in range(4, 8)} == {4: [4], 5: [4], 6: [4, 5, 6], 7: [4, 5, 6]}


def test_every_row_of_a_parent_head_sees_something() -> None:
    for length in range(1, 12):
        assert bias_of(example().prefixes(torch.tensor([0]), length)).isfinite().any(dim=-1).all()


def test_a_graph_that_grows_token_by_token_equals_the_whole_one() -> None:
    whole = example()
    graph = Graph.empty(1, 1, CPU)
    for position in range(1, whole.births.shape[1]):
        graph = graph.grown()
        child, parent = (whole.births[0] == position).nonzero().unbind(1)
        columns = [torch.zeros_like(child), parent, child, whole.labels[0, child], torch.full_like(child, position)]
        graph.add(torch.stack(columns, dim=1))
        now = whole.prefixes(torch.tensor([0]), position + 1)
        assert torch.equal(graph.births, now.births)
    assert torch.equal(graph.labels, whole.labels)
    assert (whole.births < NEVER).sum() == 14


def worked_convolution(variant: str) -> tuple[GraphConvolution, Tensor, Graph]:
    """h_0 depends on h_1 by an edge with label 1; W are I, 2I and 3I, ŵ = 0, b = (.1, .2), b̂ = .5."""
    convolution = GraphConvolution(2, 2, True, variant)  # type: ignore[arg-type]
    with torch.no_grad():
        convolution.weights.copy_(torch.eye(2) * torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1))
        for name, value in (("gates", 0.0), ("label_bias", torch.tensor([0.1, 0.2])), ("gate_label_bias", 0.5)):
            getattr(convolution, name).copy_(torch.as_tensor(value))
    graph = Graph.empty(1, 2, CPU)
    graph.add(torch.tensor([[0, 1, 0, 1, 9]]))
    return convolution, torch.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True), graph


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("paper", [[2.495935, 2.359248], [2.057165, 2.0]]),
        ("reference", [[1.0 + 2.0, -1.0], [0.5 + 0.934705, 2.0 + 3.614329]]),
    ],
)
def test_worked_numbers_of_both_variants(variant: str, expected: list[list[float]]) -> None:
    convolution, states, graph = worked_convolution(variant)
    torch.testing.assert_close(convolution(states, [graph]), torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("variant", "slope"), [("paper", 1.867378), ("reference", 0.0)])
def test_only_the_paper_s_variant_passes_messages(variant: str, slope: float) -> None:
    convolution, states, graph = worked_convolution(variant)
    convolution(states, [graph])[0, 0].backward()
    assert states.grad is not None
    assert states.grad[1].tolist() == pytest.approx([slope, 0.0], abs=1e-6)


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize("labels", [0, 5])
@pytest.mark.parametrize("gates", [True, False])
def test_the_convolution_equals_the_formula(variant: str, labels: int, gates: bool) -> None:
    """On the worked example, and on positions without edges before and after it."""
    torch.manual_seed(0)
    convolution = GraphConvolution(6, labels, gates, variant)  # type: ignore[arg-type]
    for name, parameter in convolution.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter)
    graph = example()
    edges = [
        (parent, child, int(graph.labels[0, child]), int(graph.births[0, child, parent]))
        for child, parent in (graph.births[0] < NEVER).nonzero().tolist()
    ]
    states = torch.randn(5 + 11, 6)
    found = convolution(states, [Graph.empty(5, 1, CPU), graph])
    torch.testing.assert_close(found[:5], slow_convolution(convolution, states[:5], []))
    torch.testing.assert_close(found[5:], slow_convolution(convolution, states[5:], edges))


def test_without_edges_only_the_position_itself_matters() -> None:
    convolution = GraphConvolution(4, 3, False, "paper")
    states = torch.randn(6, 4)
    expected = states + (states @ convolution.weights[0].t()).relu()
    torch.testing.assert_close(convolution(states, [Graph.empty(2, 3, CPU)]), expected)
