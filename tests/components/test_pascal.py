"""The worked numbers of parent-scaled self-attention, and its laws."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.contract import subwords
from synmt.components.encoder.pascal import Pascal, Weighting, parent_factors
from synmt.model.source import source_side
from synmt.nn.attention import PLAIN, Edit, edited_attention
from synmt.trees.record import UNATTACHED, ParseRecord
from tests import tiny

MONKEY = ParseRecord(tokens=["The", "monkey", "eats", "a", "banana"], heads=[2, 3, 0, 5, 3])
SCORES = torch.tensor([1, -2, 3, 0.5, -1])


def segment(word: str) -> list[str]:
    return ["mon@@", "key"] if word == "monkey" else [word]


def positions(record: ParseRecord) -> list[float]:
    columns = Pascal().read(record, subwords(record, segment))
    return [doubled / 2 for doubled in columns["parent_positions"]]


def assert_near(found: torch.Tensor, expected: list[float] | list[list[float]]) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-6, rtol=0)


def test_parents_of_whole_words() -> None:
    found = Pascal().read(MONKEY, subwords(MONKEY, lambda word: [word]))
    assert found == {"parent_positions": [2, 4, 4, 8, 4]}
    factors = parent_factors(torch.tensor([[1.0, 2, 2, 4, 2]]), 1.0)[0]
    assert_near(factors[0], [0.241971, 0.398942, 0.241971, 0.053991, 0.004432])
    assert_near(factors[3], [0.000134, 0.004432, 0.053991, 0.241971, 0.398942])


def test_parents_of_subwords() -> None:
    assert positions(MONKEY) == [1.5, 3, 3, 3, 5, 3]
    factors = parent_factors(torch.tensor([positions(MONKEY)]), 1.0)[0]
    assert_near(factors[0], [0.129518, 0.352065, 0.352065, 0.129518, 0.017528, 0.000873])
    assert_near(factors[4], [0.000001, 0.000134, 0.004432, 0.053991, 0.241971, 0.398942])


def test_a_word_without_a_head_keeps_its_own_attention() -> None:
    partial = ParseRecord(tokens=MONKEY.tokens, heads=[2, UNATTACHED, 0, 5, 3])
    assert Pascal().read(partial, subwords(partial, segment)) == {"parent_positions": [3, -1, -1, 6, 10, 6]}


def test_a_row_worked_by_hand() -> None:
    scaled = SCORES * parent_factors(torch.tensor([[2.0] * 5]), 1.0)[0, 0]
    assert_near(scaled, [0.053991, -0.483941, 1.196827, 0.120985, -0.053991])
    assert_near(scaled.softmax(0), [0.149554, 0.087333, 0.468950, 0.159917, 0.134246])
    padded = scaled.masked_fill(torch.arange(5) == 4, float("-inf"))
    assert_near(padded.softmax(0), [0.172745, 0.100875, 0.541666, 0.184714, 0])


def test_a_negative_logit_at_the_parent_becomes_the_smallest_weight() -> None:
    """The paper does the same; adding the log density instead would keep the parent ahead of equal logits."""
    scores = SCORES.clone()
    scores[2] = -3
    weights = (scores * parent_factors(torch.tensor([[2.0] * 5]), 1.0)[0, 0]).softmax(0)
    assert_near(weights, [0.260610, 0.152184, 0.074605, 0.278667, 0.233935])
    logs = parent_factors(torch.tensor([[2.0] * 5]), 1.0, "add-log-density")[0, 0]
    assert (torch.full((5,), -3.0) + logs).softmax(0).argmax() == 2


@pytest.mark.parametrize(
    ("variance", "expected"),
    [(4, [0.120985, 0.176033, 0.199471, 0.176033, 0.120985]), (25, [0.073654, 0.078209, 0.079788, 0.078209, 0.073654])],
)
def test_other_variances(variance: float, expected: list[float]) -> None:
    assert_near(parent_factors(torch.tensor([[2.0] * 5]), variance)[0, 0], expected)


def test_parent_only() -> None:
    factors = parent_factors(torch.tensor([[2.0, 1.5, 2, 2, 2]]), 1.0, "parent-only")[0]
    assert factors[1].tolist() == [0, 1, 1, 0, 0]
    assert_near((SCORES * factors[0]).softmax(0), [0.041519, 0.041519, 0.833925, 0.041519, 0.041519])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_parent_is_in_the_middle_of_its_subwords(counts: list[int], random: object) -> None:
    n = len(counts)
    heads = [0, *(random.randint(1, number) for number in range(1, n))]  # type: ignore[attr-defined]
    record = ParseRecord(tokens=[str(number) for number in range(n)], heads=heads)
    layout = subwords(record, lambda word: ["x"] * counts[int(word)])
    found = Pascal().read(record, layout)["parent_positions"]
    for token, word in enumerate(layout.words):
        parent = heads[word] - 1 if heads[word] else word
        own = [place for place, other in enumerate(layout.words) if other == parent]
        assert found[token] / 2 == sum(own) / len(own)


CONFIG = replace(tiny.CONFIG, encoder_layers=3, heads=4)


def scaling(weighting: Weighting = "multiply", dropout: float = 0.0) -> Any:
    """Scale two of four heads in the second of three layers."""
    return tiny.part_of(Pascal(layer=2, weighting=weighting, dropout=dropout), CONFIG)


def scale_of(edit: Edit, heads: int = 2) -> torch.Tensor:
    """Return the scale of the last heads; that of the others is 1."""
    assert edit.scale is not None and (edit.scale[:, :-heads] == 1).all()
    return edit.scale[:, -heads:]


def batch(rows: list[list[int]]) -> dict[str, torch.Tensor]:
    return {"parent_positions": torch.tensor(rows)}


def slow_scaled_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    """Compute attention sentence by sentence and head by head; the last heads are scaled."""
    output = torch.zeros_like(value)
    for sentence in range(query.shape[0]):
        for head in range(query.shape[1]):
            logits = query[sentence, head] @ key[sentence, head].T / query.shape[-1] ** 0.5
            scaled = head - (query.shape[1] - scale.shape[1])
            if scaled >= 0:
                logits = logits * scale[sentence, scaled]
            output[sentence, head] = logits.softmax(dim=-1) @ value[sentence, head]
    return output


def test_the_last_heads_are_scaled_by_the_parents_of_their_sentence() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 3, 8).unbind(0)
    edits = tiny.edits_of(batch([[2, 4, 4], [0, 0, 2]]), scaling())
    assert edits[0] is edits[2]
    found = edited_attention(query, key, value, edits[1], torch.zeros(2, 3, 32), 0.0)
    torch.testing.assert_close(found, slow_scaled_attention(query, key, value, scale_of(edits[1])))


def test_with_all_rows_ignored_attention_is_plain() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 3, 8).unbind(0)
    nearly_one = 1 - 1e-9
    edit = tiny.edits_of(batch([[2, 4, 4], [0, 0, 2]]), scaling(dropout=nearly_one).train())[1]
    ones = Edit(scale=torch.ones(2, 4, 3, 3))
    plain = edited_attention(query, key, value, ones, torch.zeros(2, 3, 32), 0)
    found = edited_attention(query, key, value, edit, torch.zeros(2, 3, 32), 0.0)
    torch.testing.assert_close(found, plain)
    assert scale_of(tiny.edits_of(batch([[2, 4, 4]]), scaling(dropout=nearly_one).eval())[1]).unique().numel() > 1


def test_parents_are_ignored_row_by_row_in_each_head() -> None:
    torch.manual_seed(0)
    scale = scale_of(tiny.edits_of(batch([[2] * 200]), scaling(dropout=0.5).train())[1])
    plain = (scale == 1).all(dim=3)
    assert plain.shape == (1, 2, 200)
    assert 0.3 < plain.float().mean() < 0.7
    assert (plain[:, 0] != plain[:, 1]).any()


def test_labels_among_the_words_keep_their_own_attention() -> None:
    """With `mask`, the encoder also reads node labels, which have no parent among the words."""
    side = source_side({"mask": {}, "pascal": {}})
    found = side.features(tiny.records()[0], tiny.segment)
    words = [not token.startswith(" ") for token in found.tokens]
    assert [position >= 0 for position in found.values["parent_positions"]] == words
    scale = scale_of(tiny.edits_of(batch([found.values["parent_positions"].tolist()]), scaling())[1])
    assert (scale[0, 0] == 1).all(dim=1).tolist() == [not word for word in words]


def test_several_layers_have_separate_heads() -> None:
    """Each layer is scaled as if it were the only one; layers between them stay plain."""
    config = replace(tiny.CONFIG, encoder_layers=4, heads=8, width=32)
    component = Pascal(heads=3, layers="1:2+4", variance=2.0)
    assert component.owned_heads(config) == {1: (6, 7), 4: (5, 6, 7)}
    source = batch([[2, 4, 4], [0, 0, -1]])
    found = tiny.edits_of(source, tiny.part_of(component, config))
    for layer, heads in ((1, 2), (4, 3)):
        alone = tiny.edits_of(source, tiny.part_of(Pascal(layer=layer, heads=heads, variance=2.0), config))
        torch.testing.assert_close(scale_of(found[layer - 1], heads), scale_of(alone[layer - 1], heads))
    assert found[1] is found[2] is PLAIN


def test_rows_are_ignored_independently_in_each_layer() -> None:
    torch.manual_seed(0)
    part = tiny.part_of(Pascal(layers="1:1+2:1", dropout=0.5)).train()
    first, second = (scale_of(edit, 1) for edit in tiny.edits_of(batch([[2] * 200]), part))
    assert ((first == 1).all(dim=3) != (second == 1).all(dim=3)).any()


@pytest.mark.parametrize("layers", ["1:", "x", "1:2:3", "0", "1+1:2", "-1", "1++2", "1:0", "1:300000000", "300"])
def test_invalid_layers(layers: str) -> None:
    with pytest.raises(ValueError, match="layers cannot be"):
        Pascal(layers=layers)


@pytest.mark.parametrize(
    ("components", "cause"),
    [
        ({"pascal": {"layers": "1:2+3"}}, "takes 2 heads of layer 3, but the network has 2 layers of 2 heads"),
        ({"pascal": {"layer": 3}}, "takes 2 heads of layer 3, but the network has 2 layers of 2 heads"),
        ({"pascal": {"heads": 3}}, "takes 3 heads of layer 1, but the network has 2 layers of 2 heads"),
        ({"pascal": {}, "lisa": {}}, "pascal and lisa both take head 1 of layer 1"),
    ],
)
def test_heads_and_layers_that_the_network_lacks(components: dict[str, dict[str, int]], cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        source_side(components).check_network(tiny.CONFIG)
