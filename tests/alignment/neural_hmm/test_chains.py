"""The forward–backward algorithm on tensors, compared with sums over all alignments, one by one."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from synmt.alignment.chains import Chains, Emissions, LogEmissions, agreed


def evidence(linked: Tensor, unlinked: Tensor, moves: Tensor, start: Tensor) -> Tensor:
    """Return p(y | x) of one pair; linked [I,J] and unlinked [I] are logarithms, moves [J,J] and start [J] are not.

    An alignment consists of the place before the first subword, and of the origin of each subword, J for none.
    """
    length, size = linked.shape
    total = linked.new_zeros(())
    for first in range(size):
        for choice in product(range(size + 1), repeat=length):
            at, chance = first, start[first]
            for i, j in enumerate(choice):
                if j == size:
                    chance = chance * unlinked[i].exp()
                elif i == 0:
                    chance = chance * linked[i, j].exp() * (j == first)
                else:
                    chance, at = chance * moves[at, j] * linked[i, j].exp(), j
            total = total + chance
    return total


def drawn(seed: int, length: int, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    linked, moves = 2 * torch.randn(length, size, generator=random), torch.randn(size, size, generator=random)
    unlinked, start = torch.randn(length, generator=random) - 2, torch.randn(size, generator=random)
    return linked, unlinked, moves.softmax(dim=1), start.softmax(dim=0)


def padded(own: tuple[Tensor, Tensor, Tensor, Tensor], rows: int, columns: int) -> Chains:
    """Return a batch of two: the pair, with padding, and a larger random pair."""
    linked, unlinked, moves, start = own
    length, size = linked.shape
    words = LogEmissions(
        torch.randn(2, length + rows, size + columns),
        torch.randn(2, length + rows),
        torch.arange(length + rows).expand(2, -1) < torch.tensor([[length], [length + rows]]),
    )
    wide = Chains(
        words, torch.rand(2, size + columns, size + columns), torch.full((2, size + columns), 1 / (size + columns))
    )
    words.linked[0, :length, :size], words.unlinked[0, :length] = linked, unlinked
    wide.transitions[0], wide.start[0], words.linked[0, :, size:] = 0, 0, -torch.inf
    wide.transitions[0, :size, :size], wide.start[0, :size] = moves, start
    return wide


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_posteriors_are_the_gradient_of_the_sum_over_all_alignments(
    seed: int, length: int, size: int, rows: int, columns: int
) -> None:
    own = drawn(seed, length, size)
    linked, unlinked, moves, start = (each.double().requires_grad_() for each in own)
    likelihood = evidence(linked, unlinked, moves, start).log()
    of_links, of_none, of_moves = torch.autograd.grad(likelihood, [linked, unlinked, moves], allow_unused=True)
    found = padded(own, rows, columns).posteriors()
    assert float(found.likelihood[0]) == pytest.approx(float(likelihood.detach()), abs=1e-4)
    torch.testing.assert_close(found.links[0, :length, :size], of_links.float(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.unlinked[0, :length], of_none.float(), atol=1e-5, rtol=1e-4)
    taken = torch.zeros(size, size) if of_moves is None else (of_moves * moves).float().detach()  # ∂/∂ log p(j | j′)
    torch.testing.assert_close(found.expected_transitions()[0, :size, :size], taken, atol=1e-5, rtol=1e-4)
    assert not found.links[0, length:].any() and not found.links[0, :, size:].any()
    assert not found.expected_transitions()[0, size:].any() and not found.expected_transitions()[0, :, size:].any()
    torch.testing.assert_close(found.unlinked[0, length:], torch.ones(rows))


def in_numpy(chains: Chains) -> Chains:
    words = chains.emissions
    assert isinstance(words, LogEmissions)
    emissions = LogEmissions(*(each.numpy() for each in (words.linked, words.unlinked, words.real)))
    return Chains(emissions, chains.transitions.numpy(), chains.start.numpy())


def in_tables(chains: Chains) -> Chains:
    words = chains.emissions
    assert isinstance(words, LogEmissions)
    likely = words.linked.exp() * words.real.unsqueeze(2)
    none = words.unlinked.exp().where(words.real, 1.0)
    return Chains(Emissions(likely.numpy(), none.numpy()), chains.transitions.numpy(), chains.start.numpy())


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_scores_and_tables_on_arrays_and_tensors_agree(seed: int, length: int, size: int, steps: int) -> None:
    """The recursion gives the same results with both sources of probabilities and both libraries, after any number of
    steps of agreement."""
    torch.manual_seed(seed)
    directions = padded(drawn(seed, length, size), 2, 1), padded(drawn(seed + 1, size, length), 1, 2)
    expected = agreed(directions, steps)
    for change in (in_numpy, in_tables):
        for found, each in zip(agreed((change(directions[0]), change(directions[1])), steps), expected, strict=True):
            for name in ("links", "unlinked", "likelihood"):
                own = torch.as_tensor(getattr(found, name))
                torch.testing.assert_close(own, getattr(each, name), atol=1e-4, rtol=1e-3)
            torch.testing.assert_close(
                torch.as_tensor(found.expected_transitions()), each.expected_transitions(), atol=1e-4, rtol=1e-3
            )


def test_agreement_moves_both_directions_by_their_difference() -> None:
    there, back = drawn(1, 3, 2), drawn(2, 2, 3)
    forward, backward = padded(there, 0, 0), padded(back, 0, 0)
    found = agreed((forward, backward), 1)
    before = forward.posteriors(), backward.posteriors()
    surplus = before[1].links[0].T - before[0].links[0]
    for each, own, more, alone in zip(found, (there, back), (surplus, -surplus.T), before, strict=True):
        linked = (own[0] + more).double().requires_grad_()
        (expected,) = torch.autograd.grad(evidence(linked, *(part.double() for part in own[1:])).log(), linked)
        torch.testing.assert_close(each.links[0], expected.float(), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(each.likelihood, alone.likelihood)


def test_many_steps_make_both_directions_agree() -> None:
    forward, backward = padded(drawn(3, 3, 4), 0, 0), padded(drawn(4, 4, 3), 0, 0)
    apart = []
    for steps in (0, 100):
        there, back = agreed((forward, backward), steps)
        apart.append(float((there.links[0] - back.links[0].T).abs().max()))
    assert apart[0] > 0.3 and apart[1] < 0.01


def test_tiny_probabilities_stay_finite() -> None:
    linked, unlinked, moves, start = drawn(5, 40, 3)
    found = padded((1000 * linked, unlinked - 50000, moves, start), 2, 2).posteriors()
    assert bool(found.links.isfinite().all()) and bool(found.likelihood.isfinite().all())
    assert float(found.links[0].sum(dim=1)[:40].min()) > 0.99
