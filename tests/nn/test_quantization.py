"""Int8 products compared with exact products, with the instructions of this CPU and of older CPUs."""

import ast
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.nn.quantization import Int8Linear, quantize
from synmt.search.translation import load
from synmt.streams import BadInput
from tests import tiny
from tests.cli.commands import FORKS

CPU = torch.device("cpu")
LARGEST = 64  # largest rounded weight; rounded states are between 0 and 255
HERE = Path(__file__)


def saturated(sums: Tensor) -> Tensor:
    """Return the sums as 16-bit integers, clamped at their limits."""
    return sums.clamp(-(2**15), 2**15 - 1)


def product_without_vnni(states: Tensor, weights: Tensor) -> Tensor:
    """Multiply states of 0…255 [n,d] by rounded weights [T,d] → [n,T], with saturated sums of pairs like vpmaddubsw.
    Which products a kernel pairs depends on its memory layout. This function sorts the products, which pairs the two
    largest and the two smallest, so if a sum saturates in any layout, one does here."""
    products = states.unsqueeze(1) * weights
    products = torch.nn.functional.pad(products, (0, products.shape[2] % 2)).sort(dim=2).values
    return saturated(products.unflatten(2, (-1, 2)).sum(dim=3)).sum(dim=2)


def rounded_weights(product: Int8Linear) -> Tensor:
    return torch.ops.quantized.linear_unpack(product.packed)[0].int_repr().long()


def test_sums_of_two_products_fit_in_16_bits() -> None:
    """The test tries every state and weight with the extremes of the second product, so values in between fit, too."""
    products = torch.outer(torch.arange(256), torch.arange(-LARGEST, LARGEST + 1)).flatten()
    for other in (products.min(), products.max()):
        sums = products + other
        assert torch.equal(saturated(sums), sums)
    full = torch.full((1, 4), 255)
    assert product_without_vnni(full, torch.full((1, 4), 127)).item() == 2 * 32767 < 4 * 255 * 127


FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.lists(FINITE, min_size=3, max_size=3), min_size=1, max_size=4))
def test_every_row_is_rounded_to_64_steps_in_either_direction(rows: list[list[float]]) -> None:
    """The smallest scale is the smallest normal number, so rows of smaller numbers have fewer steps."""
    weight = torch.tensor(rows)
    rounded = rounded_weights(Int8Linear(weight, torch.zeros(len(rows))))
    scales = (weight.double().abs().amax(dim=1, keepdim=True) / LARGEST).clamp(min=torch.finfo(torch.float32).tiny)
    assert int(rounded.abs().max()) <= LARGEST
    assert ((rounded - weight / scales).abs() <= 0.5 + 1e-4).all()


@given(st.integers(1, 40), st.integers(2, 140), st.integers(1, 70), st.sampled_from([1, 8, 127]), st.integers(0, 2**31))
def test_products_of_integers_are_exact(lines: int, width: int, rows: int, steps: int, seed: int) -> None:
    """States are from −127 to 128 and weights from −64 to 64, so both scales are 1; with 1 step, only the extremes
    occur. A CPU without VNNI must give the same numbers; on a CPU with VNNI, the twin replaces it."""
    torch.manual_seed(seed)

    def drawn(least: int, most: int, *shape: int) -> Tensor:
        return (least + (most - least) * torch.randint(steps + 1, shape) / steps).round().long()

    states, weight, bias = drawn(-127, 128, lines, width), drawn(-64, 64, rows, width), drawn(-9999, 9999, rows)
    weight[:, 0] = LARGEST
    states.view(-1)[0], states.view(-1)[1] = -127, 128
    product = Int8Linear(weight.float(), bias.float())
    assert torch.equal(rounded_weights(product), weight)
    exact = states @ weight.t() + bias
    assert torch.equal(product(states.float()).long(), exact)
    assert torch.equal(product_without_vnni(states + 127, weight) - 127 * weight.sum(dim=1) + bias, exact)


def test_a_product_equals_that_of_the_rounded_numbers() -> None:
    """Each row of weights is rounded to −64 … 64, and states to 256 steps between the smallest and the largest,
    including 0."""
    torch.manual_seed(0)
    weight, bias, states = torch.randn(5, 7) * torch.rand(5, 1) * 10, torch.randn(5), torch.randn(2, 3, 7) * 4
    weight[2] = 0
    scales = (weight.abs().amax(dim=1, keepdim=True) / LARGEST).clamp(min=1e-30)
    step = (float(states.max()) - float(states.min())) / 255
    rounded = (states / step).round() * step @ ((weight / scales).round() * scales).t() + bias
    found = Int8Linear(weight, bias)(states)
    torch.testing.assert_close(found, rounded, atol=float(step * weight.abs().sum(dim=1).max()) / 2, rtol=0)
    torch.testing.assert_close(found[..., 2], bias[2].expand(2, 3))
    exact = states @ weight.t() + bias
    assert 0 < (found - exact).norm() < 0.02 * exact.norm()


@pytest.mark.parametrize("target", ["sequence", "compose", "parent+gcn", "tags"])
def test_a_model_in_int8_gives_similar_results(target: str) -> None:
    """Every product of the network is quantized, including that of the prefixes' last positions and the output
    layer."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    batch = corpus.batch([0, 1, 3], CPU)
    with torch.inference_mode():
        source = model.encode(batch[0])
        exact, _ = model.decoder(model.network, batch[1], source)
        logits = model.network.logits(exact)
        quantize(model.network)
        assert not any(type(part) is torch.nn.Linear for part in model.network.modules())
        assert 0 < (model.network.logits(exact) - logits).norm() < 0.02 * logits.norm()
        source = model.encode(batch[0])
        found, _ = model.decoder(model.network, batch[1], source)
    assert 0 < (found - exact).norm() < 0.05 * exact.norm()


def test_nan_is_not_rounded() -> None:
    with pytest.raises(FloatingPointError):
        Int8Linear(torch.ones(2, 3), torch.zeros(2))(torch.tensor([[0.0, float("nan"), 1.0]]))


def test_missing_kernels_are_reported_before_the_model_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synmt.search.translation.ENGINE", "missing")
    with pytest.raises(BadInput, match="int8: needs a PyTorch build with oneDNN"):
        load(cast(ModelFolder[ModelConfig], None), CPU, "int8")


def int8_tests(files: Iterable[Path]) -> list[str]:
    """Return all tests that mention int8, Int8Linear or quantize."""
    return [
        f"{file}::{node.name}"
        for file in files
        for text in [file.read_text()]
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if re.search(r"\b(int8|Int8Linear|quantize)\b", source := ast.get_source_segment(text, node) or "")
        if "ctranslate2" not in source  # CTranslate2 has its own int8
    ]


@pytest.mark.skipif("ONEDNN_MAX_CPU_ISA" in os.environ, reason="runs the other tests with each instruction set")
@pytest.mark.parametrize(
    ("instructions", "files"),
    [("SSE41", [HERE]), ("AVX2", sorted(HERE.parents[1].rglob("test_*.py"))), ("AVX512_CORE", [HERE])],
    ids=["SSE41", "AVX2", "AVX512_CORE"],
)
def test_int8_passes_its_tests_without_vnni(instructions: str, files: list[Path], tmp_path: Path) -> None:
    """oneDNN is told to use only the kernels of a CPU with these instructions."""
    child = FORKS.Process(target=_pass, args=(int8_tests(files), instructions, tmp_path / "output"))
    child.start()
    child.join()
    assert child.exitcode == 0, (tmp_path / "output").read_text()


def _pass(tests: list[str], instructions: str, output: Path) -> None:
    """Run tests with the kernels of other instructions, which oneDNN chooses when it is first used."""
    os.environ["ONEDNN_MAX_CPU_ISA"] = instructions
    with output.open("w") as stream:
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "synmt", *tests]))
