"""Networks compute on one device, and get the numbers of a CPU on a simulated GPU, and on a real one if there is one.

A simulated GPU rejects the same mistakes as a real one. It cannot show how a real GPU rounds or draws random numbers.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.utils.backend_registration

from synmt.device import local_device, sent
from synmt.streams import BadInput, WrongUsage
from tests.cli.commands import output_of, warm_command
from tests.training.runs import with_target_trees, write_corpus

pytestmark = pytest.mark.skipif(
    not hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="this PyTorch has no backends in Python",
)
SIZES = "--width 16 --feedforward 32 --encoder-layers 2 --decoder-layers 2 --heads 4 --merges 20"
UNDRAWN = "--dropout 0 --attention-dropout 0 --activation-dropout 0 --word-dropout 0"
SHORT = f"{SIZES} --tokenizer none --epochs 1 --batch-tokens 40 --report-every 1 {UNDRAWN}"
SYSTEMS = {
    "tree encoders": "--model mask+lisa+pascal+label-features --pascal-heads 1",
    "linearized to bitran": "--model linearized+bitran",
    "multitask": "--model multitask",
    "tree decoders": "--model parent+gcn",
}
ALIGNERS = ["mask-align", "shift-aet", "add-sgd", "bao-guided", "mtl-fullc"]
DEVICES = ["gpu", *(["cuda"] if torch.cuda.is_available() else [])]  # the simulated one, and a real one


def on_device(device: str, arguments: str) -> str:
    start = warm_command("tests.pretended_gpu") if device == "gpu" else [sys.executable, "-m", "synmt"]
    command = [*start, *arguments.split(), "--device", device]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def losses(log: Path) -> list[float]:
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    columns = [rows[0].index(name) for name in ("loss", "valid_loss")]
    return [float(row[column]) for row in rows[1:] for column in columns if row[column]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("system", "precision"), [(name, "fp32") for name in SYSTEMS] + [("tree encoders", "bf16")])
def test_training_equals_that_on_a_cpu(system: str, precision: str, device: str, tmp_path: Path) -> None:
    data = with_target_trees(write_corpus(tmp_path, copies=2))
    train = (
        f"train {SYSTEMS[system]} {SHORT} --select loss --precision {precision} --source {data.source}"
        f" --target {data.target} --dev-source {data.source} --dev-target {data.target} --out {tmp_path}"
    )
    on_device(device, f"{train}/gpu")
    output_of(*f"{train}/cpu".split())
    there, here = losses(tmp_path / "gpu" / "log.tsv"), losses(tmp_path / "cpu" / "log.tsv")
    exact = precision == "fp32" and device == "gpu"  # a real one multiplies in TF32
    assert here and there == pytest.approx(here, rel=1e-4 if exact else 0.02)


@pytest.mark.parametrize("device", DEVICES)
def test_translations_equal_those_on_a_cpu(device: str, tmp_path: Path) -> None:
    data = with_target_trees(write_corpus(tmp_path, copies=2))
    options = f"--model parent+gcn {SHORT} --source {data.source} --target {data.target}"
    output_of(*f"train {options} --out {tmp_path}/model".split())
    translate = f"translate --precision fp32 --beam 2 {tmp_path}/model {data.source}"
    assert on_device(device, translate).encode() == output_of(*translate.split())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", ALIGNERS)
def test_links_equal_those_on_a_cpu(method: str, device: str, tmp_path: Path) -> None:
    data = with_target_trees(write_corpus(tmp_path, copies=2))
    pairs, guide = tmp_path / "pairs", tmp_path / "guide"
    sides = [Path(name).read_text().splitlines() for name in (data.source, str(data.target))]
    pairs.write_text("".join(f"{x}\t{y}\n" for x, y in zip(*sides, strict=True)))
    guide.write_text("0-0\n" * len(sides[0]))
    fit = f"align --method {method} {SHORT} --precision fp32 --scores {pairs}".replace("--report-every 1", "")
    if method in ("mask-align", "mtl-fullc"):
        fit += f" --guide {guide}"
    assert on_device(device, fit).encode() == output_of(*fit.split())


def test_a_device_has_a_number() -> None:
    """PyTorch's functions for threads and processes refuse a GPU without one."""
    code = "from tests import pretended_gpu; held = pretended_gpu.set_up()\n"
    code += "from synmt.device import local_device\nwith pretended_gpu.EveryOperation(): print(local_device('gpu'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.stdout == "gpu:0\n", done.stderr[-3000:]


@pytest.mark.parametrize("name", ["tpu", "cuda:x", ""])
def test_an_unknown_device_is_wrong_usage(name: str) -> None:
    with pytest.raises(WrongUsage, match=f"^--device cannot be '{name}'; use auto, cpu, cuda or cuda:N$"):
        local_device(name)


def test_a_device_that_computes_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="device meta: computes nothing"):
        local_device("meta")


def test_tensors_are_not_copied_on_a_cpu() -> None:
    """On a CPU they are not copied. cuDNN's attention, which makes a new plan for each shape, is not used."""
    device = local_device("cpu")
    tensor = torch.arange(3)
    assert sent(tensor, device) is tensor
    assert not torch.backends.cuda.cudnn_sdp_enabled()
