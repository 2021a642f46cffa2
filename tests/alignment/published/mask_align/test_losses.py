import numpy as np
import pytest
import torch

from synmt.alignment.published.mask_align.model import agreement_loss, entropy_loss

FORWARD = torch.tensor([[0.60, 0.10, 0.05, 0.05], [0.02, 0.70, 0.10, 0.03], [0.01, 0.30, 0.50, 0.05]])
BACKWARD = torch.tensor([[0.55, 0.05, 0.02], [0.10, 0.60, 0.20], [0.02, 0.15, 0.60], [0.05, 0.02, 0.03]])
CELLS = torch.ones(1, 3, 4, dtype=torch.bool)


def losses(forward: torch.Tensor, backward: torch.Tensor, cells: torch.Tensor) -> dict[str, float]:
    return {
        "agreement": float(agreement_loss(forward, backward, cells)),
        **{
            f"{name} {form}": float(entropy_loss(weights, shape, 0.05, form))
            for name, weights, shape in (("forward", forward, cells), ("backward", backward, cells.transpose(1, 2)))
            for form in ("paper", "code")
        },
    }


WORKED = {
    "agreement": 0.003117,
    "forward paper": 1.003897,
    "backward paper": 0.863694,
    "forward code": 0.250974,
    "backward code": 0.287898,
}


def test_worked_numbers() -> None:
    assert losses(FORWARD[None], BACKWARD[None], CELLS) == pytest.approx(WORKED, abs=1e-6)


def test_worked_totals_of_both_forms() -> None:
    found = losses(FORWARD[None], BACKWARD[None], CELLS)
    nll = 2.0 + 3.0
    paper = nll + 5 * found["agreement"] + found["forward paper"] + found["backward paper"]
    code = nll / 2 + 5 * found["agreement"] + found["forward code"] + found["backward code"]
    assert (paper, code) == pytest.approx((6.883174, 3.054456), abs=1e-6)


def test_padding_changes_nothing_and_has_no_gradient() -> None:
    forward, backward = torch.zeros(1, 5, 6), torch.zeros(1, 6, 5)
    forward[0, :3, :4], backward[0, :4, :3] = FORWARD, BACKWARD
    cells = torch.zeros(1, 5, 6, dtype=torch.bool)
    cells[0, :3, :4] = True
    assert losses(forward, backward, cells) == pytest.approx(WORKED, abs=1e-6)
    forward.requires_grad_()
    (agreement_loss(forward, backward, cells) + entropy_loss(forward, cells, 0.05, "paper")).backward()
    gradient = forward.grad
    assert gradient is not None and gradient.isfinite().all()
    assert (gradient[0, :3, :4] != 0).all()


def test_agreement_has_a_lower_bound_without_a_leak() -> None:
    """For two target words and one source word, W_xy is [1, 1]ᵀ without a leak, and W_yx sums to 1."""
    cells = torch.ones(1, 2, 1, dtype=torch.bool)
    ones = torch.ones(1, 2, 1)
    floor = min(
        float(agreement_loss(ones, torch.tensor([[[a, 1 - a]]]), cells)) for a in np.linspace(0, 1, 101).tolist()
    )
    assert floor == pytest.approx(0.25)
    assert float(agreement_loss(torch.tensor([[[0.9], [0.1]]]), torch.tensor([[[0.9, 0.1]]]), cells)) == 0
