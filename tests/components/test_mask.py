"""The worked numbers of McDonald & Chiang's formula, and its laws."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.contract import Layout
from synmt.components.encoder.mask import Mask, relations
from synmt.data.batches import Sources
from synmt.model.source import source_side
from synmt.model.translation import TranslationModel
from synmt.nn.attention import Recorder
from synmt.nn.transformer import EncoderLayer
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.constituency import subtree_ends
from synmt.trees.linearization import RELATIONS, relation_matrix
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.trees.strategies import parents

STRENGTHS = [0.5, -1, 1, 0, -0.5, 0, 0, 2, 1.5]  # self parent child l-sib r-sib anc desc l-other r-other
LOGITS = torch.tensor([[0.2, -0.1, 0.4], [0, 0.3, -0.2], [1, 0.5, 0]])


def batch_of(parent_lists: list[list[int]]) -> dict[str, torch.Tensor]:
    length = max(map(len, parent_lists))

    def padded(rows: list[list[int]]) -> torch.Tensor:
        return torch.tensor([row + [0] * (length - len(row)) for row in rows])

    return {"parents": padded(parent_lists), "ends": padded([subtree_ends(row) for row in parent_lists])}


def masks(heads: int = 1, layers: int = 1, **options: Any) -> Any:
    return tiny.part_of(Mask(**options), replace(tiny.CONFIG, heads=heads, encoder_layers=layers))


def masks_with(strengths: list[float]) -> Any:
    found = masks()
    found.strengths.data[0, 0] = torch.tensor(strengths)
    return found


def bias_of(part: Any, fields: dict[str, torch.Tensor]) -> torch.Tensor:
    bias = tiny.edits_of(fields, part)[0].bias
    assert bias is not None
    return bias


def test_bias_and_weights_of_the_worked_example() -> None:
    """The tree is (X a b)."""
    bias = bias_of(masks_with(STRENGTHS), batch_of([[-1, 0, 0]]))[0, 0]
    expected_bias = [[-1.648721, -2.718282, -2.718282], [-0.367879, -1.648721, -0.606531], [-0.367879, -1, -1.648721]]
    torch.testing.assert_close(bias, torch.tensor(expected_bias), atol=1e-6, rtol=0)
    weights = (LOGITS + bias).softmax(dim=1)
    expected = [[0.597602, 0.151922, 0.250476], [0.495074, 0.185650, 0.319276], [0.701977, 0.226282, 0.071741]]
    torch.testing.assert_close(weights, torch.tensor(expected), atol=1e-6, rtol=0)


def test_gradient_of_the_worked_example() -> None:
    part = masks_with(STRENGTHS)
    bias = bias_of(part, batch_of([[-1, 0, 0]]))[0, 0]
    (LOGITS + bias).softmax(dim=1)[0, 1].backward()
    assert part.strengths.grad is not None
    expected = torch.tensor([0.149685, 0, -0.246789, 0, 0, 0, 0, 0, 0])
    torch.testing.assert_close(part.strengths.grad[0, 0], expected, atol=1e-6, rtol=0)


def test_with_zero_strengths_attention_is_plain() -> None:
    bias = bias_of(masks_with([0.0] * 9), batch_of([[-1, 0, 0]]))[0, 0]
    torch.testing.assert_close(bias, torch.full((3, 3), -1.0))
    torch.testing.assert_close((LOGITS + bias).softmax(dim=1), LOGITS.softmax(dim=1))


def test_strong_masks_on_all_other_relations_give_the_identity() -> None:
    bias = bias_of(masks_with([-9.0] + [9.0] * 8), batch_of([[-1, 0, 0]]))[0, 0]
    torch.testing.assert_close((LOGITS + bias).softmax(dim=1), torch.eye(3))


def test_the_gradient_matches_finite_differences() -> None:
    batch = batch_of([[-1, 0, 1, 1, 0, 4], [-1, 0, 0]])
    part = masks(heads=2).double()
    torch.nn.init.normal_(part.strengths)
    weights = torch.randn(2, 2, 6, 6)

    def loss(strengths: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            part.strengths.copy_(strengths)
        return (bias_of(part, batch) * weights).sum()

    start = part.strengths.detach().clone()
    loss(start).backward()
    assert part.strengths.grad is not None
    gradient = part.strengths.grad.clone()
    step = 1e-2
    for cell in torch.cartesian_prod(torch.arange(2), torch.arange(9)).tolist():
        shift = torch.zeros_like(start)
        shift[0, cell[0], cell[1]] = step
        slope = (loss(start + shift) - loss(start - shift)) / (2 * step)
        assert slope.item() == pytest.approx(gradient[0, cell[0], cell[1]].item(), rel=1e-2, abs=1e-3)


@given(parents(max_nodes=20), parents(max_nodes=20))
def test_relations_on_the_device_equal_those_of_the_trees(first: list[int], second: list[int]) -> None:
    batch = batch_of([first, second])
    cells = relations(batch["parents"], batch["ends"])
    for row, parent_list in enumerate([first, second]):
        n = len(parent_list)
        assert cells[row, :n, :n].tolist() == relation_matrix(parent_list).tolist()


def test_strengths_are_trained_and_saved() -> None:
    data, vocabulary = tiny.corpus("mask")
    model = tiny.model("mask", vocabulary)
    source, target = data.batch(range(4), torch.device("cpu"))
    model.loss(source, target).total.backward()
    strengths = dict(model.named_parameters())["source_parts.mask.strengths"]
    assert strengths.shape == (1, tiny.CONFIG.heads, 9)
    assert strengths.grad is not None
    assert strengths.grad.abs().min() > 0
    assert "source_parts.mask.strengths" in model.state_dict()


def test_layers_can_have_separate_strengths() -> None:
    for per_layer, count in ((True, 3), (False, 1)):
        edits = tiny.edits_of(batch_of([[-1, 0, 0]]), masks(2, 3, per_layer=per_layer))
        assert len({id(edit) for edit in edits}) == count


def test_with_zero_strengths_the_model_is_plain_on_the_preorder() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("mask")
    model = tiny.model("mask", vocabulary)
    model.get_parameter("source_parts.mask.strengths").data.zero_()
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, torch.device("cpu"))
    masked = model.encode(batch).states
    model.source_parts.clear()
    plain = model.encode(batch).states
    assert batch.padding is not None
    real = ~batch.padding
    torch.testing.assert_close(masked[real], plain[real], atol=1e-6, rtol=1e-5)


def heads_of_tree(parent_list: list[int], order: list[int]) -> list[int]:
    """Return the heads of a dependency tree whose nodes have this order in the sentence."""
    place = {node: position for position, node in enumerate(order, 1)}
    return [place[parent_list[node]] if parent_list[node] >= 0 else 0 for node in order]


@given(parent_list=parents(10), data=st.data())
def test_relations_in_a_dependency_tree_equal_those_of_a_walk(parent_list: list[int], data: st.DataObject) -> None:
    n = len(parent_list)
    heads = heads_of_tree(parent_list, data.draw(st.permutations(range(n))))
    words = [word for word in range(n) for _ in range(data.draw(st.integers(1, 2)))]
    words.insert(data.draw(st.integers(0, len(words))), -1)  # a token that is not a word
    record = ParseRecord(tokens=["w"] * n, heads=heads)
    columns = Mask(tree="dependency").read(record, Layout([""] * len(words), words))
    rows = {name: torch.tensor([column]) for name, column in columns.items()}
    found = relations(rows["parents"], rows["ends"], rows["nodes"], rows["orders"])[0]

    def ancestors(word: int) -> list[int]:
        return [] if heads[word] == 0 else [heads[word] - 1, *ancestors(heads[word] - 1)]

    def relation(query: int, key: int) -> str:
        q, k = words[query], words[key]
        side = "left" if key < query else "right"
        if query == key:
            return "self"
        if min(q, k) < 0:
            return f"{side}-other"
        if heads[q] - 1 == k:
            return "parent"
        if heads[k] - 1 == q:
            return "child"
        if heads[q] == heads[k]:
            return f"{side}-sib"
        return "anc" if k in ancestors(q) else "desc" if q in ancestors(k) else f"{side}-other"

    for query in range(len(words)):
        for key in range(len(words)):
            assert RELATIONS[found[query, key]] == relation(query, key)


def test_masks_over_dependencies_read_only_words_and_leave_other_tokens_alone() -> None:
    side = source_side({"mask": {"tree": "dependency"}, "linearized": {}})
    assert side.needs(training=False) == {"tree", "heads"}
    with pytest.raises(ValueError, match="cannot be combined"):
        source_side({"mask": {}, "linearized": {}})


@pytest.mark.parametrize("names", ["parent+child", "self", "right-other+left-sib+desc"])
def test_omitted_relations_have_no_strength(names: str) -> None:
    """The result equals that of nine masks of which only these have non-zero strengths, in the order of their names."""
    batch = batch_of([[-1, 0, 1, 1, 0, 4], [-1, 0, 0]])
    some, whole, listed = masks(2, 2, relations=names), masks(2, 2), names.split("+")
    assert some.strengths.shape == (1, 2, len(listed))
    torch.nn.init.normal_(some.strengths)
    for number, name in enumerate(listed):
        whole.strengths.data[:, :, RELATIONS.index(name)] = some.strengths.data[:, :, number]
    torch.testing.assert_close(bias_of(some, batch), bias_of(whole, batch))


@pytest.mark.parametrize("tree", ["constituency", "dependency"])
def test_a_head_with_a_hard_mask_sees_its_relation_and_itself(tree: str) -> None:
    """The test compares three heads, query by query, with two relations besides self."""
    config = replace(tiny.CONFIG, heads=3, width=24)
    side = source_side({"mask": {"tree": tree, "hard": True, "relations": "self+parent+right-sib"}})
    features = [side.features(record, tiny.segment) for record in tiny.records()]
    known = {token for each in features for token in each.tokens}
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN], sorted(known))
    model = TranslationModel(config, side, tiny.TARGET_SYSTEMS["sequence"], vocabulary).eval()
    layers = [layer.attention for layer in model.network.encoder.layers if isinstance(layer, EncoderLayer)]
    batch = Sources.encode(features, vocabulary).batch(range(4), vocabulary.padding, torch.device("cpu"))
    with Recorder(layers) as recorder:
        states = model.encode(batch).states
    assert torch.isfinite(states).all()
    for record, each, weights in zip(tiny.records(), features, recorder.weights[0], strict=True):
        n = len(each.tokens)
        if tree == "constituency":
            cells = relation_matrix(each.values["parents"].tolist())
        else:
            rows = [torch.from_numpy(each.values[name]).long()[None] for name in ("parents", "ends", "nodes", "orders")]
            cells = relations(*rows)[0].numpy()
        for head, name in enumerate(["parent", "right-sib", "parent"]):
            seen = (cells == RELATIONS.index(name)) | (cells == 0)
            assert (weights[head, :n, :n] > 0).tolist() == seen.tolist(), record
    torch.testing.assert_close(model.encode(batch).states, states)


@pytest.mark.parametrize(
    "options",
    [{"relations": "parents"}, {"relations": "self+self"}, {"hard": True, "per_layer": True},
     {"hard": True, "relations": "self"}],
)  # fmt: skip
def test_invalid_masks(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="relations"):
        Mask(**options)
