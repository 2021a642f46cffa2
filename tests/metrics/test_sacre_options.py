"""Every option of sacreBLEU's metrics has one here, with the number and signature of the command `sacrebleu`."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from signal import SIGPIPE, getsignal, signal
from typing import Any

import pytest
import sacrebleu

from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.metrics.translations import bleu
from tests.cli.commands import is_wrong_usage, synmt

HYPOTHESES = [
    "Der Hund bellte mich an.",
    "(Guten Tag!)",
    "我喜欢你的猫。",
    "私は　学生です。",
    "A-B: it's 3.5 &amp; more",
    "x",
]
REFERENCES = [
    "Der Hund, er bellt mich an.",
    "Guten Tag .",
    "我很喜欢猫。",
    "私は生徒です。",
    "a - b: It's 3,5 & more.",
    "x y",
]
# Options of `sacrebleu`, each with the options here, and the metric.
SAME = {
    "": [("", "bleu"), ("", "chrf"), ("", "ter")],
    "--smooth-method floor": [("--smooth-method floor", "bleu")],
    "--smooth-method add-k": [("--smooth-method add-k", "bleu")],
    "--smooth-method none": [("--smooth-method none", "bleu")],
    "--smooth-method exp": [("--smooth-method exp", "bleu")],
    "--smooth-method floor --smooth-value 0.3": [("--smooth-method floor --smooth-value 0.3", "bleu")],
    "--smooth-method add-k --smooth-value 2": [("--smooth-method add-k --smooth-value 2", "bleu")],
    **{f"--tokenize {name}": [(f"--tokenize {name}", "bleu")] for name in ("13a", "intl", "char", "zh", "none")},
    "--lowercase": [("--case lower", "bleu")],
    "--force": [("", "bleu")],
    "--chrf-char-order 4": [("--chrf-char-order 4", "chrf")],
    "--chrf-word-order 1": [("", "chrf+")],
    "--chrf-word-order 2": [("", "chrf++")],
    "--chrf-beta 3": [("--chrf-beta 3", "chrf")],
    "--chrf-whitespace": [("--chrf-whitespace", "chrf")],
    "--chrf-lowercase": [("--case lower", "chrf")],
    "--chrf-eps-smoothing": [("--chrf-average script", "chrf")],
    "--ter-case-sensitive": [("--case mixed", "ter")],
    "--ter-normalized": [("--ter-normalized", "ter")],
    "--ter-no-punct": [("--ter-no-punct", "ter")],
    "--ter-normalized --ter-asian-support": [("--ter-normalized --ter-asian-support", "ter")],
    "--ter-no-punct --ter-asian-support": [("--ter-no-punct --ter-asian-support", "ter")],
    "--ter-normalized --ter-no-punct --ter-asian-support": [
        ("--ter-normalized --ter-no-punct --ter-asian-support", "ter")
    ],
}


class Stop(Exception):
    pass


def test_no_option_of_sacrebleu_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = getsignal(SIGPIPE)
    from sacrebleu.sacrebleu import parse_args  # lets SIGPIPE end the process, so that later tests would crash

    signal(SIGPIPE, before)
    parsers: list[argparse.ArgumentParser] = []

    def stop(parser: argparse.ArgumentParser) -> None:
        parsers.append(parser)
        raise Stop

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    with pytest.raises(Stop):
        parse_args()
    groups = [group for group in parsers[0]._action_groups if group.title and "related arguments" in group.title]
    options = {each.option_strings[0] for group in groups for each in group._group_actions}
    ours = {word for line in SAME for word in line.split() if word.startswith("--")}
    of_metrics = {
        each for each in options if each.startswith(("--smooth", "--tok", "--lower", "--force", "--chrf", "--ter"))
    }
    assert of_metrics == ours and len(of_metrics) == 15


EACH = [(theirs, ours, metric) for theirs, several in SAME.items() for ours, metric in several]
ALL = """
import json, os, sys
from sacrebleu.sacrebleu import main
for arguments in json.loads(sys.argv[1]):
    if not os.fork():
        sys.argv[1:] = arguments
        main()
        sys.exit()
    os.wait()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("found", HYPOTHESES), ("ref", REFERENCES)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return f"{folder}/found", f"{folder}/ref"


@pytest.fixture(scope="module")
def expected(files: tuple[str, str]) -> list[dict[str, Any]]:
    """Return what the command prints in each case, computed by forks of one process."""
    found, ref = files
    asked = [
        [ref, "-i", found, "-m", metric.rstrip("+"), "-f", "json", "-w", "10", *theirs.split()]
        for theirs, _, metric in EACH
    ]
    done = subprocess.run([sys.executable, "-c", ALL, json.dumps(asked)], capture_output=True, text=True, check=True)
    return [json.loads(f"{{{each}") for each in done.stdout.split("{")[1:]]


@pytest.mark.parametrize("case", range(len(EACH)), ids=[f"{metric} {theirs}" for theirs, _, metric in EACH])
def test_numbers_and_signatures_are_those_of_the_command(
    case: int, files: tuple[str, str], expected: list[dict[str, Any]]
) -> None:
    (_, ours, metric), (found, ref) = EACH[case], files
    done = synmt("score", found, "-r", ref, "-m", metric, "--format", "jsonl", *ours.split())
    row = json.loads(done.stdout)
    assert (row["metric"], row["signature"]) == (expected[case]["name"], expected[case]["signature"])
    assert row["score"] == pytest.approx(expected[case]["score"], abs=1e-9)


@pytest.mark.parametrize("name", ["spm", "flores101", "flores200", "spBLEU-1K"])
def test_sentencepiece_tokenizers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    model = tmp_path / "models" / Path(tokenizer_spm.SPM_MODELS[name]["url"]).name
    with model.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(REFERENCES * 5), model_writer=file, vocab_size=70, hard_vocab_limit=False,
            minloglevel=2,
        )  # fmt: skip
    found = corpus_score(bleu(MetricConfig(name)), HYPOTHESES, [REFERENCES])  # type: ignore[arg-type]
    metric = sacrebleu.metrics.BLEU(tokenize=name)
    assert found.score == metric.corpus_score(HYPOTHESES, [REFERENCES]).score > 0
    assert found.signature == str(metric.get_signature())
    assert f"|tok:{'flores101' if name == 'spm' else name}|" in found.signature


def test_all_tokenizers_of_sacrebleu_are_known() -> None:
    for name in sacrebleu.metrics.BLEU.TOKENIZERS:
        assert MetricConfig(name).tokenize == name  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ("-m ter --ter-asian-support", "--ter-asian-support needs --ter-normalized or --ter-no-punct"),
        ("-m bleu --smooth-value 1", "--smooth-value needs --smooth-method floor or --smooth-method add-k"),
        ("-m chrf --smooth-method floor", "chrf does not use --smooth-method"),
        ("-m bleu --ter-normalized", "bleu does not use --ter-normalized"),
        ("-m ter --chrf-whitespace", "ter does not use --chrf-whitespace"),
    ],
)
def test_options_without_effect_are_refused(options: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("a\n")
    assert is_wrong_usage(synmt("score", "-r", tmp_path / "ref", *options.split(), text="a\n"), cause)


@pytest.mark.parametrize(
    ("options", "lines", "said"),
    [
        ("-m ter", "今天天气很好。", "--ter-normalized --ter-asian-support"),
        ("-m ter", "きょうはいい天気です。", "--ter-normalized --ter-asian-support"),
        ("-m bleu", "ภาษาไทยไม่มีช่องว่าง", "--tokenize zh or --tokenize ja-mecab"),
        ("-m bleu,ter --tokenize zh --ter-normalized --ter-asian-support", "今天天气很好。", ""),
        ("-m ter,bleu", "今天 天气 很 好 。", ""),
        ("-m ter,bleu", "Heute ist das Wetter gut.", ""),
        ("-m ter,bleu", "Ja.", ""),
        ("-m chrf", "今天天气很好。", ""),
    ],
)
def test_a_text_without_spaces_is_announced_once(options: str, lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(f"{lines}\n" * 30)
    done = synmt("score", tmp_path / "text", tmp_path / "text", "-r", tmp_path / "text", *options.split())
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compares whole sentences") == done.stderr.count("\n") == bool(said), done.stderr
    assert said in done.stderr
