"""Masks by the label of the lowest node above two words, compared with a walk through the tree."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.contract import Layout
from synmt.components.encoder.label_masks import LabelMasks, kinds
from synmt.model.source import source_side
from synmt.trees.constituency import Tree, read_brackets, split_leaves
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.trees.strategies import trees


def ancestors(tree: Tree, node: int) -> list[int]:
    """Return the ancestors of a node, from the lowest to the root."""
    above = tree.parents[node]
    return [] if above < 0 else [above, *ancestors(tree, above)]


@given(trees(), st.integers(1, 3), st.data())
def test_labels_and_sides_equal_those_of_a_walk_through_the_tree(tree: Tree, most: int, data: st.DataObject) -> None:
    """Words have up to three subwords, and there are tokens between them that are not words."""
    if len(tree) == 1:
        tree = Tree(["X", *tree.nodes], [-1, 0])

    def segment(word: str) -> list[str]:
        return [word] * (1 + len(word) % most)

    record = ParseRecord(tokens=tree.leaves(), tree=tree)
    split = split_leaves(tree, segment)
    leaves = [node for node, leaf in enumerate(split.is_leaf()) if leaf]
    words = [word for word, token in enumerate(record.tokens) for _ in segment(token)]
    nodes: list[int] = list(leaves)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(words)))
        words.insert(place, -1)
        nodes.insert(place, -1)
    layout = Layout(["t"] * len(words), words)
    names = sorted(set(tree.nodes))
    found = LabelMasks().read(record, layout)
    labels, depths = [1 + names.index(label) if label else 0 for label in found["lowest"]], found["lowest_depths"]
    count = 1 + len(names)
    cells = kinds(torch.tensor([depths]), torch.tensor([labels]), count)[0]
    for query, q in enumerate(nodes):
        for key, k in enumerate(nodes):
            if q < 0 or k < 0:
                expected = 2 * count + 1
            elif query == key:
                expected = 0
            else:
                lowest = next(node for node in ancestors(split, q) if node in ancestors(split, k))
                expected = 1 + 2 * (1 + names.index(split.nodes[lowest])) + (key < query)
            assert cells[query, key] == expected


def test_a_sentence_worked_by_hand() -> None:
    tree = read_brackets("(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))")
    features = source_side({"label-masks": {}}).features(ParseRecord(tokens=tree.leaves(), tree=tree), tiny.segment)
    assert features.tokens == ["He", "is", "my", "fat@@", "her", "."]
    assert features.values["lowest"] == ["S", "VP", "NP", "NN", "S", ""]
    assert features.values["lowest_depths"][:5].tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("count", [2, 127, 128, 300])
def test_many_labels_are_possible(count: int) -> None:
    cells = kinds(torch.tensor([[0, 0]]), torch.tensor([[count - 1, 0]]), count)
    assert cells.tolist() == [[[0, 2 * count - 1], [2 * count, 0]]]
    config = replace(tiny.CONFIG, heads=1, encoder_layers=1)
    part = tiny.part_of(LabelMasks(), config, {"lowest": ["X"] * (count - 1)})
    part.strengths.data[0, 0] = torch.arange(2 * count + 1) / 100
    fields = {"lowest_depths": torch.tensor([[0, 0]]), "lowest": torch.tensor([[count - 1, 0]])}
    penalty = tiny.run_of(part, fields).call("penalty")
    expected = torch.tensor([[0.0, 2 * count - 1], [2 * count, 0.0]]) / 100
    torch.testing.assert_close(penalty[0, 0], expected.clamp(max=10).exp())


def test_with_zero_strengths_the_model_is_plain() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("label masks")
    model = tiny.model("label masks", vocabulary)
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, torch.device("cpu"))
    masked = model.encode(batch).states
    model.get_parameter("source_parts.label-masks.strengths").data.zero_()
    zero = model.encode(batch).states
    model.source_parts.clear()
    assert batch.padding is not None
    real = ~batch.padding
    torch.testing.assert_close(zero[real], model.encode(batch).states[real], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(masked[real], zero[real])
