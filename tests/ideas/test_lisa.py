"""The head that predicts parents: worked numbers, gradients, gold parents."""

import pytest
import torch

from synmt.ideas.source import SOME_HEADS, subwords
from synmt.ideas.source.lisa import Lisa
from synmt.ideas.source.lisa.attention import ParentHead, Parents
from synmt.nn.encoding import EncoderPass, SourceBatch
from synmt.trees.record import UNATTACHED, ParseRecord
from tests import tiny

MONKEY = ParseRecord(tokens=["The", "monkey", "eats", "a", "banana"], heads=[2, 3, 0, 5, 3])
WEIGHTS = torch.tensor([[[0.2, 0.8], [0.3, 0.7]]])


def head(train: Parents = "predicted", test: Parents = "predicted", weight: float = 1.0) -> ParentHead:
    torch.manual_seed(0)
    return ParentHead(tiny.CONFIG, 1, weight, train, test)


def batch(parents: list[list[int]], padding: torch.Tensor | None = None) -> SourceBatch:
    ids = torch.tensor(parents)
    return SourceBatch(ids, padding, torch.tensor([1]), {"parent_subwords": ids, "word_starts": torch.ones_like(ids)})


def run(module: ParentHead, source: SourceBatch, states: torch.Tensor) -> tuple[torch.Tensor, EncoderPass]:
    encoding = module(source)
    (own,) = encoding.edits[0].heads
    assert own.heads == (0,) and own.replace is not None
    return own.replace(states), encoding


def test_subwords_point_to_the_first_subword_of_the_parent() -> None:
    split = subwords(MONKEY, lambda word: ["mon@@", "key"] if word == "monkey" else [word])
    columns = {"parent_subwords": [1, 3, 3, 3, 5, 3], "word_starts": [1, 1, 0, 1, 1, 1]}
    assert Lisa().columns(MONKEY, split) == columns
    assert Lisa().columns(ParseRecord(tokens=["a"]), subwords(ParseRecord(tokens=["a"]), list)) == {
        "parent_subwords": [-1],
        "word_starts": [0],
    }


def test_a_word_of_many_subwords_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words, the first of three subwords, of which the last two are wrong: one word of two is right."""
    module = head()
    likely = torch.tensor([[3, 1, 1, 1]])
    monkeypatch.setattr(module, "scores", lambda states: torch.nn.functional.one_hot(likely, 4).float())
    source = batch([[3, 3, 3, 3]])
    source.columns["word_starts"] = torch.tensor([[1, 0, 0, 1]])
    _, this = run(module, source, torch.zeros(1, 4, 16))
    assert this.accuracies["uas"]() == (1, 2)


def test_the_loss_of_the_worked_example(monkeypatch: pytest.MonkeyPatch) -> None:
    module = head(weight=0.5)
    monkeypatch.setattr(module, "scores", lambda states: WEIGHTS.log())
    weights, this = run(module, batch([[1, 1]]), torch.zeros(1, 2, 16))
    torch.testing.assert_close(weights, WEIGHTS)
    torch.testing.assert_close(this.losses[0](), torch.tensor(0.5 * 2 * 0.289909), atol=1e-6, rtol=0)
    assert this.accuracies["uas"]() == (2, 2)


def test_padding_and_structure_have_no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    module = head()
    monkeypatch.setattr(module, "scores", lambda states: torch.zeros(1, 3, 3))
    padding = torch.tensor([[False, False, True]])
    weights, this = run(module, batch([[1, -1, 0]], padding), torch.zeros(1, 3, 16))
    torch.testing.assert_close(weights[0, 0], torch.tensor([0.5, 0.5, 0.0]))
    torch.testing.assert_close(this.losses[0](), torch.tensor(0.5).log().neg())
    assert this.accuracies["uas"]()[1] == 1


def test_scores_are_biaffine() -> None:
    module = head()
    states = torch.randn(1, 4, 16)
    found = module.scores(states)
    projected = torch.nn.functional.leaky_relu(module.projection(states[0]), 0.01)
    for q in range(4):
        for k in range(4):
            query = torch.cat([projected[q, :8], torch.ones(1)])
            torch.testing.assert_close(found[0, q, k], query @ module.biaffine @ projected[k, 8:])


def test_gradients_match_finite_differences() -> None:
    module = head().double()
    states = torch.randn(2, 3, 16, dtype=torch.float64, requires_grad=True)
    source = batch([[1, 2, -1], [0, 0, 1]])
    output = torch.randn(2, 3, 3, dtype=torch.float64)

    def total(states: torch.Tensor, biaffine: torch.Tensor) -> torch.Tensor:
        module.biaffine = torch.nn.Parameter(biaffine)
        weights, this = run(module, source, states)
        return (weights * output).sum() + this.losses[0]()

    total(states, module.biaffine.detach()).backward()
    assert states.grad is not None and module.biaffine.grad is not None
    table, gradient = module.biaffine.detach().clone(), module.biaffine.grad.clone()
    step = 1e-3
    for row, column in [(0, 0), (3, 5), (8, 7)]:
        shift = torch.zeros_like(table)
        shift[row, column] = step
        slope = (total(states.detach(), table + shift) - total(states.detach(), table - shift)) / (2 * step)
        assert slope.item() == pytest.approx(gradient[row, column].item(), rel=1e-2, abs=1e-3)
    for place in [(0, 0, 0), (1, 2, 9)]:
        moved = torch.zeros_like(states)
        moved[place] = step
        slope = (total(states.detach() + moved, table) - total(states.detach() - moved, table)) / (2 * step)
        assert slope.item() == pytest.approx(states.grad[place].item(), rel=1e-2, abs=1e-3)


def test_gold_and_mixed_parents() -> None:
    states = torch.randn(1, 400, 16)
    source = batch([[3] * 399 + [-1]])
    predicted, _ = run(head().eval(), source, states)
    gold, _ = run(head(test="gold").eval(), source, states)
    assert (gold[0, :399].argmax(dim=1) == 3).all() and (gold[0, :399].max(dim=1).values == 1).all()
    torch.testing.assert_close(gold[0, 399], predicted[0, 399])
    mixed, _ = run(head(train="mixed").train(), source, states)
    share = (mixed[0, :399, 3] == 1).float().mean()
    assert 0.35 < share < 0.65
    translating, _ = run(head(test="mixed").eval(), source, states)
    torch.testing.assert_close(translating[0, :399:2], gold[0, :399:2])  # the same ones each time
    torch.testing.assert_close(translating[0, 1:399:2], predicted[0, 1:399:2])


def test_heads_are_needed_only_where_they_are_used() -> None:
    assert Lisa().needs(training=True) == {SOME_HEADS}
    assert Lisa().needs(training=False) == set()
    assert Lisa(test_parents="gold").needs(training=False) == {SOME_HEADS}


def test_words_without_a_head_add_no_loss() -> None:
    partial = ParseRecord(tokens=["a", "b", "c"], heads=[3, UNATTACHED, 0])
    columns = Lisa().columns(partial, subwords(partial, lambda word: [word]))
    assert columns == {"parent_subwords": [2, -1, 2], "word_starts": [1, 1, 1]}
    states = torch.randn(1, 3, 16)
    _, found = run(head(), batch([[2, -1, 2]]), states)
    losses = [run(head(), batch([[2, -1, -1]]), states)[1], run(head(), batch([[-1, -1, 2]]), states)[1]]
    torch.testing.assert_close(found.losses[0](), sum(each.losses[0]() for each in losses))
