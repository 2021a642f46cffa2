"""Named masks: the general formula of McDonald & Chiang, and the words that rows belong to."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch

from synmt.components.encoder.mask import Mask
from synmt.components.encoder.named_masks import NamedMasks
from synmt.model.source import source_side
from synmt.trees.record import ParseRecord, RecordError, read_record, write_record
from tests import tiny

CONFIG = replace(tiny.CONFIG, encoder_layers=3)
RECORD = '{"tokens": ["NP", "my", "father"], "parents": [-1, 0, 0], "masks": {"up": ["100", "110", "101"]}}'


def paper(strengths: list[float]) -> float:
    """Return −exp(Σ_m s^m M^m), with the sum over the masks that contain a pair."""
    return -math.exp(sum(strengths))


def added(strengths: list[float]) -> float:
    return -sum(map(math.exp, strengths))


@pytest.mark.parametrize(("form", "bias_of"), [("paper", paper), ("sum", added)])
def test_overlapping_masks(form: Any, bias_of: Callable[[list[float]], float]) -> None:
    part = tiny.part_of(NamedMasks(names="a+b", form=form), CONFIG)
    torch.nn.init.normal_(part.strengths)
    masks = {"a": torch.rand(1, 4, 4) < 0.5, "b": torch.rand(1, 4, 4) < 0.5}
    edits = tiny.edits_of(masks, part)
    assert len(edits) == 3 and all(edit is edits[0] for edit in edits)
    assert edits[0].bias is not None
    bias = edits[0].bias.detach()
    for head in range(2):
        for query in range(4):
            for key in range(4):
                holding = [
                    float(part.strengths[head, number].detach())
                    for number, name in enumerate("ab")
                    if masks[name][0, query, key]
                ]
                assert float(bias[0, head, query, key]) == pytest.approx(bias_of(holding), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("form", ["paper", "sum"])
def test_together_with_the_nine_relations(form: Any) -> None:
    tree = tiny.part_of(Mask(per_layer=True), CONFIG)
    part = tiny.part_of(NamedMasks(names="a", form=form), CONFIG)
    torch.nn.init.normal_(tree.strengths)
    torch.nn.init.normal_(part.strengths)
    fields = {"parents": torch.tensor([[-1, 0, 0]]), "ends": torch.tensor([[3, 2, 3]])}
    relation = [[0, 2, 2], [1, 0, 4], [1, 3, 0]]  # a root with two children: self, parent, child, left, right
    fields["a"] = torch.rand(1, 3, 3) < 0.5
    for layer, edit in enumerate(tiny.edits_of(fields, tree, part)):
        assert edit.bias is not None
        for head, query, key in product(range(2), range(3), range(3)):
            strength = float(tree.strengths.detach()[layer, head, relation[query][key]])
            more = [float(part.strengths.detach()[head, 0])] * bool(fields["a"][0, query, key])
            bias = paper([strength, *more]) if form == "paper" else added([strength, *more])
            assert float(edit.bias.detach()[0, head, query, key]) == pytest.approx(bias, abs=1e-5)


def test_the_paper_is_the_default() -> None:
    side = source_side({"named-masks": {"names": "a"}})
    component = side.components["named-masks"]
    assert isinstance(component, NamedMasks) and component.form == "paper"


def matrix(system: str, record: ParseRecord, name: str) -> list[str]:
    side = source_side({system: {}, "named-masks": {"names": name}})
    found = side.features(record, tiny.segment).values[name]
    return ["".join("01"[int(cell)] for cell in row) for row in found]


def test_rows_for_nodes_and_for_words() -> None:
    nodes = read_record(RECORD)
    assert matrix("mask", nodes, "up") == ["1000", "1100", "1011", "1011"]  # NP my fat@@ her
    assert matrix("sequence", nodes, "up") == ["100", "011", "011"]
    words = read_record('{"tree": "(NP my father)", "masks": {"up": ["10", "11"]}}')
    assert matrix("sequence", words, "up") == ["100", "111", "111"]
    assert matrix("mask", words, "up") == ["0000", "0100", "0111", "0111"]


def test_records_keep_their_masks() -> None:
    record = ParseRecord(tokens=["a", "b"], masks={"m": ["10", "01"]})
    assert read_record(write_record(record)) == record


@pytest.mark.parametrize(
    ("masks", "cause"),
    [
        ('["10", "01"]', r"Expected `object`, got `array` - at `\$.masks`"),
        ('{"m": "10"}', "mask 'm': Expected `array`, got `str`"),
        ('{"m": ["1"]}', "mask 'm' has 1 rows"),
        ('{"m": ["10", "0"]}', "a row that is not 2 characters"),
        ('{"m": ["10", "0x"]}', "a row that is not 2 characters"),
    ],
)
def test_masks_of_the_wrong_size_are_reported(masks: str, cause: str) -> None:
    with pytest.raises(RecordError, match=cause):
        read_record(f'{{"tokens": ["a", "b"], "masks": {masks}}}')


def test_missing_masks_are_reported() -> None:
    with pytest.raises(ValueError, match="need names"):
        source_side({"named-masks": {}})
    with pytest.raises(ValueError, match="each once"):
        source_side({"named-masks": {"names": "a+a"}})
    with pytest.raises(ValueError, match="has no mask 'm'"):
        matrix("sequence", read_record(RECORD), "m")
