"""Products in int8 against the ones that they round."""

import pytest
import torch

from synmt.nn.quantization import Int8Linear, quantize
from tests import tiny

CPU = torch.device("cpu")


def test_a_product_is_that_of_the_rounded_numbers() -> None:
    """Weights by row to −127 … 127; states to 256 steps between the least and the largest of them, zero among these."""
    torch.manual_seed(0)
    weight, bias, states = torch.randn(5, 7) * torch.rand(5, 1) * 10, torch.randn(5), torch.randn(2, 3, 7) * 4
    weight[2] = 0
    scales = (weight.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-30)
    step = (float(states.max()) - float(states.min())) / 255
    rounded = (states / step).round() * step @ ((weight / scales).round() * scales).t() + bias
    found = Int8Linear(weight, bias)(states)
    torch.testing.assert_close(found, rounded, atol=float(step * weight.abs().sum(dim=1).max()) / 2, rtol=0)
    torch.testing.assert_close(found[..., 2], bias[2].expand(2, 3))
    exact = states @ weight.t() + bias
    assert 0 < (found - exact).norm() < 0.02 * exact.norm()


@pytest.mark.parametrize("target", ["sequence", "compose", "parent+gcn", "tags"])
def test_a_model_in_int8_says_about_what_it_said(target: str) -> None:
    """In every product of the network, that of the prefixes' last positions and the output among them."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    batch = corpus.batch([0, 1, 3], CPU)
    with torch.inference_mode():
        source = model.encode(batch[0])
        exact = model.decoder(model.network, batch[1], source.states, source.bias)
        logits = model.network.logits(exact)
        quantize(model.network)
        assert not any(type(part) is torch.nn.Linear for part in model.network.modules())
        assert 0 < (model.network.logits(exact) - logits).norm() < 0.02 * logits.norm()
        source = model.encode(batch[0])
        found = model.decoder(model.network, batch[1], source.states, source.bias)
    assert 0 < (found - exact).norm() < 0.05 * exact.norm()


def test_what_is_no_number_is_not_rounded() -> None:
    with pytest.raises(FloatingPointError):
        Int8Linear(torch.ones(2, 3), torch.zeros(2))(torch.tensor([[0.0, float("nan"), 1.0]]))
