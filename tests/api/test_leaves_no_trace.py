"""The Python functions do not change the state of the process."""

import gc
import inspect
import locale
import logging
import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch

import synmt
from tests import hostile
from tests.cli.commands import RECORD

PAIRS = [("das kleine Haus", "the small house"), ("das Haus", "the house"), ("ein Haus", "a house")] * 5
TINY: dict[str, Any] = dict(
    preset="small",
    training=synmt.TrainingConfig(epochs=1, merges=20),
    network=synmt.TransformerConfig(width=16, feedforward=16, heads=2, encoder_layers=1, decoder_layers=1),
    device="cpu",
)
SAMPLES = synmt.SearchConfig(sample=True, top_k=3)
QUICK = synmt.SignificanceConfig(resamples=100)
SENTENCE = "He is my father ."

# For each function, calls in a folder that contains a model and an aligner.
CASES: dict[str, list[Callable[[], Any]]] = {
    "parse": [
        lambda: list(synmt.parse([SENTENCE])),
        lambda: list(synmt.parse([SENTENCE], "benepar+udpipe")),
        lambda: next(synmt.parse([SENTENCE] * 2)),
    ],
    "align": [
        lambda: list(synmt.align(PAIRS, "hmm")),
        lambda: list(synmt.align(PAIRS, "auto", training=synmt.TrainingConfig(epochs=1), device="cpu")),
        lambda: list(synmt.align(PAIRS, "mask-align", **TINY)),
        lambda: list(synmt.align(PAIRS, "shift-att", **TINY)),
        lambda: synmt.align([], "hmm"),
    ],
    "Aligner.load": [lambda: synmt.Aligner.load("aligner", device="cpu")],
    "Aligner.link": [lambda: list(synmt.Aligner.load("aligner", device="cpu").link(PAIRS))],
    "link": [lambda: list(synmt.link("aligner", PAIRS, device="cpu"))],
    "Model.load": [lambda: synmt.Model.load("good", device="cpu", precision="int8")],
    "Model.translate": [
        lambda: list(synmt.Model.load("good", device="cpu").translate([RECORD], synmt.SearchConfig(beam=2))),
        lambda: list(synmt.Model.load("good", device="cpu").translate([RECORD], SAMPLES)),
    ],
    "Model.n_best": [lambda: list(synmt.Model.load("good", device="cpu").n_best([RECORD], 2))],
    "Model.logprob": [lambda: list(synmt.Model.load("good", device="cpu").logprob([(RECORD, "Er ist")]))],
    "Model.attention": [
        lambda: synmt.Model.load("good", device="cpu").attention(RECORD)._repr_svg_(),
        lambda: synmt.Model.load("good", device="cpu").attention(RECORD, side="target", head=1).save("picture.png"),
    ],
    "logprob": [lambda: list(synmt.logprob("good", [(RECORD, "Er ist")], device="cpu"))],
    "project": [
        lambda: list(synmt.project([(RECORD, "Er ist", "0-0")])),
        lambda: list(synmt.project([(RECORD, "Er ist")], "aligner", device="cpu")),
    ],
    "markup": [
        lambda: list(synmt.markup([("<b>He</b> is", "Er ist", "0-0")])),
        lambda: list(synmt.markup([("<b>He</b> is", "Er ist")], "aligner")),
    ],
    "strip_markup": [lambda: list(synmt.strip_markup(["<b>He</b> is"]))],
    "query": [lambda: list(synmt.query([RECORD], synmt.Query(synmt.WordQuery(relation="obj"))))],
    "score": [
        lambda: synmt.score(["a b c d"], ["a b c e"], metrics=["bleu", "chrf", "ter", "ribes"]),
        lambda: synmt.score([RECORD], [RECORD], metrics=["uas", "las"]),
        lambda: synmt.score([RECORD], [RECORD], metrics="evalb"),
        lambda: synmt.score(["0-0"], ["0-0"], metrics="aer"),
        lambda: synmt.score(["a"], ["a"], ["b"]),
    ],
    "read_record": [lambda: synmt.read_record(RECORD)],
    "segment_test": [lambda: synmt.segment_test({"one": [1.0, 2.0], "other": [2.0, 3.0]}, QUICK)],
    "sign_test": [lambda: synmt.sign_test({"one": [1.0, 2.0], "other": [2.0, 3.0]})],
    "significance": [lambda: synmt.significance({"one": ["a b"], "other": ["b a"]}, ["a b"], test=QUICK)],
    "symmetrize": [lambda: list(synmt.symmetrize("links", PAIRS[:1]))],
    "train": [lambda: synmt.train(PAIRS, out=TemporaryDirectory().name, **TINY)],
    "translate": [lambda: list(synmt.translate("good", [RECORD], synmt.SearchConfig(beam=2), device="cpu"))],
    "write_record": [lambda: synmt.write_record(synmt.read_record(RECORD))],
}


def state() -> dict[str, object]:
    """Return the state that other code in the process may rely on."""
    loggers = [logging.getLogger(), *map(logging.getLogger, sorted(logging.root.manager.loggerDict))]
    return {
        "random": random.getstate(),
        "numpy's random numbers": [np.asarray(part).tolist() for part in np.random.get_state()],
        "numpy's errors": np.geterr(),
        "torch's random numbers": torch.get_rng_state().tolist(),
        "the default type": torch.get_default_dtype(),
        "the default device": str(torch.get_default_device()),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "precision of products": torch.get_float32_matmul_precision(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "environment": dict(os.environ),
        "warnings": list(warnings.filters),
        "levels of logging": {each.name: each.level for each in loggers if each.level},
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL),
        "directory": Path.cwd(),
        "garbage collection": (gc.get_threshold(), gc.isenabled()),
        "recursion": sys.getrecursionlimit(),
        "exception hook": sys.excepthook,
        "umask": (mask := os.umask(0), os.umask(mask))[0],
    }


def difference(name: str, before: Any, after: Any) -> str:
    if isinstance(before, dict):
        before, after = before.items(), after.items()
    if "random" in name or not isinstance(before, Collection):
        return f"{name}: now {str(after)[:100]}"
    return f"{name}: without {[x for x in before if x not in after]}, with {[x for x in after if x not in before]}"


def changes(call: Callable[[], Any]) -> list[str]:
    before = state()
    with suppress(synmt.BadInput):
        call()
    after = state()
    return [difference(name, before[name], after[name]) for name in before if before[name] != after[name]]


def _changes(folder: Path, call: Callable[[], Any], said: Path) -> None:
    """Write the changes that a first call makes in a fresh process, and those of a second call.

    The first call imports libraries, which may add filters for their own warnings and variables of their own, but must
    not remove any.
    """
    try:
        os.chdir(folder)
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        added = "environment: without [], ", "warnings: without [], "
        first = [each for each in changes(call) if not each.startswith(added)]
        said.write_text("\n".join([*first, *changes(call)]))
    except BaseException:
        said.write_text(traceback.format_exc())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    hostile.good_folder(folder / "good")
    hostile.good_aligner(folder / "aligner")
    (folder / "links").write_text("0-0\n")
    return folder


def test_all_functions_have_a_case() -> None:
    names = set()
    for name in dir(synmt):
        each = getattr(synmt, name)
        if inspect.isfunction(each):
            names.add(name)
        elif name in ("Aligner", "Model"):
            methods = inspect.getmembers(each, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
            names |= {f"{name}.{method}" for method, _ in methods if not method.startswith("_")}
    assert names == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_functions_leave_the_process_unchanged(name: str, folder: Path, tmp_path: Path) -> None:
    said = []
    for call in CASES[name]:
        child = get_context("fork").Process(target=_changes, args=(folder, call, tmp_path / "changes"))
        child.start()
        child.join()
        said.append((tmp_path / "changes").read_text())
    assert said == [""] * len(said)


def test_the_callers_random_numbers_are_undisturbed() -> None:
    random.seed(5)
    torch.manual_seed(5)
    expected = [(random.random(), float(torch.rand(()))) for _ in range(21)][-1]
    random.seed(5)
    torch.manual_seed(5)
    pairs = ((f"{random.random()} a", f"{float(torch.rand(()))} b") for _ in range(20))
    assert len(list(synmt.align(pairs, "mask-align", **TINY))) == 20
    assert (random.random(), float(torch.rand(()))) == expected
