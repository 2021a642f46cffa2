"""The head that predicts parents: worked numbers, gradients, gold parents."""

from typing import Any

import pytest
import torch

from synmt.components.contract import SOME_HEADS, subwords
from synmt.components.encoder import lisa
from synmt.components.encoder.lisa import Lisa, parent_scores
from synmt.nn.hooks import SideRun
from synmt.trees.record import UNATTACHED, ParseRecord
from tests import tiny

MONKEY = ParseRecord(tokens=["The", "monkey", "eats", "a", "banana"], heads=[2, 3, 0, 5, 3])
Batch = tuple[dict[str, torch.Tensor], torch.Tensor | None]
WEIGHTS = torch.tensor([[[0.2, 0.8], [0.3, 0.7]]])


def head(train: Any = "predicted", test: Any = "predicted", weight: float = 1.0) -> Any:
    torch.manual_seed(0)
    return tiny.part_of(Lisa(weight=weight, train_parents=train, test_parents=test))


def batch(parents: list[list[int]], padding: torch.Tensor | None = None) -> Batch:
    rows = torch.tensor(parents)
    return {"parent_subwords": rows, "word_starts": torch.ones_like(rows)}, padding


def run(part: Any, source: Batch, states: torch.Tensor) -> tuple[torch.Tensor, SideRun]:
    this = tiny.run_of(part, *source)
    return part.component.weights(this, 1, states)[:, 0], this


def loss(this: SideRun) -> torch.Tensor:
    found: torch.Tensor = this.call("loss")
    return found


def uas(this: SideRun) -> tuple[int, int]:
    found: tuple[int, int] = this.call("accuracies")["uas"]()
    return found


def test_subwords_point_to_the_first_subword_of_the_parent() -> None:
    split = subwords(MONKEY, lambda word: ["mon@@", "key"] if word == "monkey" else [word])
    columns = {"parent_subwords": [1, 3, 3, 3, 5, 3], "word_starts": [1, 1, 0, 1, 1, 1]}
    assert Lisa().read(MONKEY, split) == columns
    assert Lisa().read(ParseRecord(tokens=["a"]), subwords(ParseRecord(tokens=["a"]), list)) == {
        "parent_subwords": [-1],
        "word_starts": [0],
    }


def test_a_word_of_many_subwords_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words, the first of three subwords, of which the last two are wrong: one word of two is right."""
    module = head()
    likely = torch.tensor([[3, 1, 1, 1]])
    monkeypatch.setattr(lisa, "parent_scores", lambda run, states: torch.nn.functional.one_hot(likely, 4).float())
    source = batch([[3, 3, 3, 3]])
    source[0]["word_starts"] = torch.tensor([[1, 0, 0, 1]])
    _, this = run(module, source, torch.zeros(1, 4, 16))
    assert uas(this) == (1, 2)


def test_the_loss_of_the_worked_example(monkeypatch: pytest.MonkeyPatch) -> None:
    module = head(weight=0.5)
    monkeypatch.setattr(lisa, "parent_scores", lambda run, states: WEIGHTS.log())
    weights, this = run(module, batch([[1, 1]]), torch.zeros(1, 2, 16))
    torch.testing.assert_close(weights, WEIGHTS)
    torch.testing.assert_close(loss(this), torch.tensor(0.5 * 2 * 0.289909), atol=1e-6, rtol=0)
    assert uas(this) == (2, 2)


def test_padding_and_structure_have_no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    module = head()
    monkeypatch.setattr(lisa, "parent_scores", lambda run, states: torch.zeros(1, 3, 3))
    padding = torch.tensor([[False, False, True]])
    weights, this = run(module, batch([[1, -1, -1]], padding), torch.zeros(1, 3, 16))
    torch.testing.assert_close(weights[0, 0], torch.tensor([0.5, 0.5, 0.0]))
    torch.testing.assert_close(loss(this), torch.tensor(0.5).log().neg())
    assert uas(this)[1] == 1


def test_scores_are_biaffine() -> None:
    module = head()
    states = torch.randn(1, 4, 16)
    found = parent_scores(tiny.run_of(module, batch([[0] * 4])[0]), states)
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
        return (weights * output).sum() + loss(this)

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
    columns = Lisa().read(partial, subwords(partial, lambda word: [word]))
    assert columns == {"parent_subwords": [2, -1, 2], "word_starts": [1, 1, 1]}
    states = torch.randn(1, 3, 16)
    _, found = run(head(), batch([[2, -1, 2]]), states)
    losses = [run(head(), batch([[2, -1, -1]]), states)[1], run(head(), batch([[-1, -1, 2]]), states)[1]]
    torch.testing.assert_close(loss(found), sum(loss(each) for each in losses))
