import pytest
import torch

from synmt.nn.lowering import lowered
from synmt.training.distribution import Processes
from tests import tiny

CPU = torch.device("cpu")


@pytest.mark.parametrize("source", ["sequence", "lisa", "pascal", "label-features"])
@pytest.mark.parametrize("target", ["sequence", "parent+gcn"])
def test_losses_and_gradients_are_those_of_autocast(source: str, target: str) -> None:
    """Twin: autocast casts each parameter where it is used."""
    corpus, vocabulary = tiny.corpus(source, target)
    model, batch = tiny.model(source, vocabulary, target=target), corpus.batch([0, 1, 2], CPU)
    found = []
    for compute in (model.loss, Processes(0, 1, CPU).loss_module(model)):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = compute(*batch)
        loss.total.backward()
        grads = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
        found.append((loss.total.detach(), grads))
    (one, ours), (other, theirs) = found
    torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert ours.keys() <= theirs.keys()
    for name, each in theirs.items():
        torch.testing.assert_close(each, ours.get(name, torch.zeros_like(each)), rtol=0, atol=0)


def test_only_products_under_autocast_are_cast() -> None:
    _, vocabulary = tiny.corpus("lisa")
    model = tiny.model("lisa", vocabulary)
    assert not lowered(model)
    with torch.autocast("cpu", torch.bfloat16):
        cast = lowered(model)
    assert {each.dtype for each in cast.values()} == {torch.bfloat16}
    assert set(cast) < {name for name, _ in model.named_parameters()}
    assert not any("norm" in name or "embedding" in name or "parts" in name for name in cast)
