"""synmt train"""

from pathlib import Path

import msgspec
import pytest

from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from tests import tiny
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt
from tests.cli.conftest import TINY
from tests.cli.corpora import write_pairs


def test_a_model_folder_is_complete(mask_model: Path) -> None:
    names = {path.relative_to(mask_model).as_posix() for path in mask_model.rglob("*") if path.is_file()}
    assert sum(name.startswith("checkpoint/update-") for name in names) == 2
    names = {name for name in names if "/" not in name}
    assert names == tiny.MODEL_FILES | {"log.tsv"}
    config = msgspec.json.decode((mask_model / "config.json").read_bytes())
    assert config["model"]["source"] == {
        "mask": {"per_layer": False, "tree": "constituency", "relations": "", "hard": False}
    }
    assert config["training"]["pairs"] == 20
    assert "--epochs" in config["training"]["command"]


def test_the_log_is_a_table(mask_model: Path) -> None:
    header, *rows = [line.split("\t") for line in (mask_model / "log.tsv").read_text().splitlines()]
    assert header[:3] == ["update", "epoch", "seconds"]
    assert all(len(row) == len(header) for row in rows)
    assert float(rows[-1][header.index("valid_bleu")]) > 50


def test_training_reads_pairs_from_a_pipe(tmp_path: Path) -> None:
    """Mask records and text form one table on standard input; the merges come from a file of codes."""
    write_pairs(tmp_path)
    shell("cat train.de | synmt bpe learn --merges 20 > codes", tmp_path)
    options = " ".join([*TINY, "--updates", "2"])
    options = options.replace("--merges 200", "").replace("--preset small", "")  # `small` is the default
    done = shell(
        f"synmt make-masks train.jsonl | paste - train.de"
        f" | synmt train --model mask --tsv - --codes codes --out model {options}",
        tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "")
    note = "synmt train: --preset small, which suits a CPU; --preset few-pairs suits fewer than 3,000 pairs\n"
    assert note in done.stderr
    assert (tmp_path / "model" / "codes.bpe").read_text() == (tmp_path / "codes").read_text()
    assert (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.parametrize("messages", ["2>&-", "2> >(exec true)"])  # closed, and a pipe that nobody reads
def test_training_needs_no_reader_of_its_messages(messages: str, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    options = " ".join([*TINY, "--updates", "2", "--source train.jsonl --target train.de --out model"])
    done = shell(f"(sleep 1; exec python -m synmt train {options}) {messages}", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("options", "languages"),
    [
        ("", ["en", "de"]),  # the suffix of train.de names a language, that of train.jsonl does not
        ("--source-language fi", ["fi", "de"]),
        ("--target-language fi", ["en", "fi"]),
        ("--tokenizer none", ["en", "de"]),
    ],
)
def test_file_names_determine_the_languages(options: str, languages: list[str], tmp_path: Path) -> None:
    write_pairs(tmp_path)
    small = " ".join([*TINY, "--updates", "1"])
    done = shell(f"synmt train --source train.jsonl --target train.de --out model {small} {options}", tmp_path)
    said = f"synmt train: target text is tokenized as {languages[1]}\n"  # and records have their own words
    assert (said in done.stderr) == ("none" not in options)
    assert "suits a CPU" not in done.stderr
    assert msgspec.json.decode((tmp_path / "model" / "config.json").read_bytes())["model"]["languages"] == languages


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ("--source train.jsonl --target missing", "missing: No such file or directory"),
        ("--tsv train.de", "train.de:1: expected `source TAB target` or `source ||| target`, found 1 column"),
        ("--source train.jsonl --target short.de", "train.jsonl: 20 lines, short.de: 19 lines"),
        ("--source train.jsonl --target latin.de", "latin.de:2: not UTF-8"),
        ("--source empty --target empty", "empty: no sentence pairs to train on"),
        (
            "--source train.jsonl --target train.de --max-length 1",
            "train.jsonl: no sentence pairs to train on: left out 20 pairs over 1 subwords (train.jsonl:1,",
        ),
        ("--source train.jsonl --target train.de --codes train.de", "train.de: line 1: not a pair of BPE symbols"),
        ("--source train.jsonl --target train.de --device cuda:99", "device cuda:99"),
        (
            "--model pascal --source train.jsonl --target train.de",
            "train.jsonl: no sentence has any dependency heads, and pascal reads",
        ),
    ],
)
def test_bad_input_gives_one_line_of_error(tmp_path: Path, options: str, cause: str) -> None:
    write_pairs(tmp_path)
    texts = (tmp_path / "train.de").read_bytes().splitlines(keepends=True)
    (tmp_path / "short.de").write_bytes(b"".join(texts[:-1]))
    (tmp_path / "latin.de").write_bytes(texts[0] + "schläft\n".encode("latin-1") + b"".join(texts[2:]))
    (tmp_path / "empty").touch()
    done = shell(f"synmt train --model mask {options} --out model", tmp_path)
    assert is_one_line_of_error(done, "synmt train: ", cause)
    assert not (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ("--source train.jsonl", "give both --source and --target, or one --tsv"),
        ("--source train.jsonl --target train.jsonl --dev-source train.de", "give both --dev-source and --dev-target"),
        ("--source train.de --target train.jsonl --width 15", "width 15 does not divide into 4 heads"),
        ("--model mask+linearized --source train.jsonl --target train.de", "mask and linearized cannot be"),
        ("--model mask+tree --source train.jsonl --target train.de", "'tree' is not one of sequence, transitions"),
        ("--pascal-heads 1 --source train.jsonl --target train.de", "it belongs to pascal: add --model pascal"),
        (
            "--model pascal --pascal-layer 9 --source train.jsonl --target train.de",
            "takes 2 heads of layer 9, but the network has 4 layers",
        ),
        (
            "--model sequence --tree-dropout 0.1 --source train.jsonl --target train.de",
            "--tree-dropout needs an encoder that reads trees (linearized, mask, ",
        ),
        ("--model mask+pascal+mask --tsv x", "mask+pascal+mask has mask more than once"),
    ],
)
def test_wrong_usage_gives_one_line(tmp_path: Path, options: str, cause: str) -> None:
    write_pairs(tmp_path)
    system = "" if "-syntax" in options else "--model mask"
    done = shell(f"synmt train {system} {options} --out model", tmp_path)
    assert is_wrong_usage(done, "synmt train: ", cause, "(synmt train -h)")
    assert not (tmp_path / "model").exists()


def test_a_language_has_a_code() -> None:
    done = synmt("train", "--target-language", "German", "--out", "x")
    assert done.returncode == 2
    assert "'German' is not a language code such as en" in done.stderr


def test_unknown_systems_are_wrong_usage() -> None:
    done = synmt("train", "--model", "recurrent", "--out", "x")
    assert done.returncode == 2
    assert "'recurrent' is not one of" in done.stderr


def test_damaged_checkpoints_are_reported(mask_model: Path, tmp_path: Path) -> None:
    shell(
        f"cp -r {mask_model} model && rm -r model/checkpoint/* && head -c 1000 model/model.safetensors > cut", tmp_path
    )
    (tmp_path / "cut").replace(tmp_path / "model" / "checkpoint" / "update-7.safetensors")
    write_pairs(tmp_path)
    options = " ".join(TINY)
    done = shell(
        f"synmt train --model mask --source train.jsonl --target train.de --target-language de {options}"
        " --dev-source train.jsonl --dev-target train.de --out model --resume",
        tmp_path,
    )
    assert is_one_line_of_error(done, "model/checkpoint/update-7.safetensors: ")


def test_the_command_can_start_from_a_model(mask_model: Path, tmp_path: Path) -> None:
    data = ["--source", mask_model.parent / "train.jsonl", "--target", mask_model.parent / "train.de"]
    more = ["--init", mask_model, *data, "--batch-tokens", "200", "--epochs", "1", "--seed", "3", "--out"]
    done = synmt("train", *more, tmp_path / "begun")
    assert done.returncode == 0, done.stderr
    assert ModelFolder.open(tmp_path / "begun", ModelConfig).config.network.width == 32
    wider = synmt("train", *more, tmp_path / "x", "--width", "64")
    assert is_wrong_usage(wider, "synmt train: ", "--width has no effect with --init")
    begins = ["train", *data, "--out", tmp_path / "x", "--init"]
    assert is_one_line_of_error(synmt(*begins, tmp_path / "nothing"), "synmt train: ", "nothing/config.json: No such")
