"""Training that diverges, or whose data changes or is useless, ends with an error."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from shlex import split
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file

from synmt.model.files import locked
from synmt.streams import BadInput
from synmt.training.distribution import Processes
from synmt.training.fit import FIXED
from synmt.training.run import PairFiles
from synmt.training.update import Updater
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, synmt
from tests.conftest import Noted
from tests.training.runs import SHORT, run, with_target_trees, write_corpus


def training_of(folder: Path) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode((folder / "config.json").read_bytes())["training"]
    return fields


@pytest.mark.parametrize("select", ["loss", "bleu", "chrf"])
@pytest.mark.parametrize("rate", [1.0, 10.0, 100.0])
def test_a_diverging_run_ends_in_an_error_or_finite_numbers(rate: float, select: Any, tmp_path: Path) -> None:
    config = replace(SHORT, learning_rate=rate, warmup=0, clip=0.0, select=select)
    try:
        run(tmp_path / "model", write_corpus(tmp_path), config=config)
    except BadInput as error:
        assert "not finite at update" in str(error) or "the validation gives" in str(error)
        assert "--learning-rate" in str(error)
    for path in (tmp_path / "model").rglob("*.safetensors"):
        assert all(tensor.float().isfinite().all() for tensor in load_file(path).values()), path
    if rate == 100.0:
        with pytest.raises(BadInput):
            run(tmp_path / "other", write_corpus(tmp_path), config=config)


@pytest.mark.parametrize("setting", FIXED)
def test_a_run_resumes_with_its_own_order_of_the_data(setting: str, tmp_path: Path) -> None:
    data, out = write_corpus(tmp_path), tmp_path / "model"
    run(out, data, config=replace(SHORT, updates=3))
    before = (out / "config.json").read_bytes()
    names = {"select": "chrf", "batch_by": "sentences", "subword_dropout": 0.1}
    other: Any = {setting: names.get(setting) or getattr(SHORT, setting) + 1}
    changed = replace(SHORT, **other)
    with pytest.raises(BadInput, match=f"model: was trained with --{setting.replace('_', '-')} .*, not"):
        run(out, data, config=changed, resume=True)
    assert (out / "config.json").read_bytes() == before


def test_other_settings_may_change_and_the_change_is_recorded(tmp_path: Path) -> None:
    data, out = write_corpus(tmp_path), tmp_path / "model"
    run(out, data, config=replace(SHORT, updates=3))
    assert "changes" not in training_of(out)
    run(out, data, config=replace(SHORT, updates=5), resume=True)
    run(out, data, config=replace(SHORT, updates=7, learning_rate=1e-3), resume=True)
    training = training_of(out)
    assert (training["updates"], training["learning_rate"]) == (7, 1e-3)
    first, second = training["changes"]
    assert first == {"update": 3, "before": {"updates": 3}}
    assert second == {"update": 5, "before": {"updates": 5, "learning_rate": SHORT.learning_rate}}
    run(out, data, config=replace(SHORT, updates=7, learning_rate=1e-3), resume=True)
    assert training_of(out) == training


def test_two_training_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    data, out = write_corpus(tmp_path), tmp_path / "model"
    run(out, data, config=replace(SHORT, updates=1))
    with locked(out), pytest.raises(BadInput, match="model: another process is writing to this folder"):
        run(out, data, resume=True)
    run(out, data, resume=True)


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_of_a_model_have_normal_permissions(umask: int, tmp_path: Path) -> None:
    data, before = write_corpus(tmp_path), os.umask(umask)
    try:
        run(tmp_path / "model", data, config=replace(SHORT, updates=1))
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o666 & ~umask}


def test_validation_needs_pairs(tmp_path: Path) -> None:
    data, empty = write_corpus(tmp_path), tmp_path / "empty"
    empty.write_text("\n\n")
    with pytest.raises(BadInput, match="no sentence pairs to validate on"):
        run(tmp_path / "model", data, dev=PairFiles(str(empty), str(empty)))


def test_a_refused_command_leaves_nothing_behind(tmp_path: Path) -> None:
    """Once the mistake is corrected, the same folder can be used."""
    data, out = write_corpus(tmp_path), tmp_path / "model"
    with pytest.raises(BadInput, match="no sentence pairs to train on"):
        run(out, data, config=replace(SHORT, merges=1, max_length=1))
    run(out, data, config=replace(SHORT, updates=1))


def test_refusals_take_one_line(tmp_path: Path) -> None:
    """Warnings, for example about pairs that are left out, come only after all checks have passed."""
    (tmp_path / "a.en").write_text("a b\n\nb c\n" + "a " * 300 + "\n")
    (tmp_path / "a.de").write_text("x y\nx\n\ny\n")
    (tmp_path / "dev.de").write_text("x y\n{\n")
    pairs = f"--source {tmp_path}/a.en --target {tmp_path}/a.de"
    out = f"--out {tmp_path}/model --width 8 --heads 2 --preset small --epochs 1 --device cpu"
    dev = f"--dev-source {tmp_path}/dev.de --dev-target {tmp_path}/nowhere"
    done = synmt(*split(f"train {pairs} {dev} {out}"))
    assert is_one_line_of_error(done, "nowhere: No such file")
    done = synmt(*split(f"train {pairs} {out}"))
    assert done.returncode == 0
    left_out, tokenizers, too_long, begun, ended = done.stderr.splitlines()
    assert left_out.startswith("synmt train: left out 2 pairs with an empty side (")
    assert too_long.startswith("synmt train: left out 1 pair over 256 subwords (")
    assert tokenizers == "synmt train: source text is tokenized as en, target text as de"
    assert begun.startswith("synmt train: 2 pairs, ") and begun.endswith(" source words from words")
    assert ended == f"synmt train: saved update 1 of 1 in {tmp_path}/model; synmt translate {tmp_path}/model < SOURCES"
    paste = "\n".join(f"{x}\t{y}" for x, y in [("a b", "x y"), ("a " * 300, "y")])
    fit = f"--method naive-att --out {tmp_path}/aligner --width 8 --heads 2 --device cpu"
    done = synmt("align", *split(f"{fit} --cross-attention last"), text=paste)
    assert is_wrong_usage(done, "does not attend to the source")


def test_an_update_without_target_tokens_is_refused(tmp_path: Path) -> None:
    """The commands never make such a batch; it would cause a division by zero."""
    from tests import tiny

    made, vocabulary = tiny.corpus("sequence")
    updater = Updater(tiny.model("sequence", vocabulary), made, SHORT, Processes(0, 1, torch.device("cpu")))
    before = [parameter.detach().clone() for parameter in updater.parameters]
    with pytest.raises(BadInput, match="update 7 has no target tokens to learn from"):
        updater(updater.step([], 7), 0.1)
    assert all(torch.equal(a, b) for a, b in zip(before, updater.parameters, strict=True))


def test_words_of_one_letter_have_no_merges(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("a b c\nb c a\n" * 4)
    data = PairFiles(str(tmp_path / "letters"), str(tmp_path / "letters"))
    folder = run(tmp_path / "model", data, "sequence", replace(SHORT, updates=2))
    assert folder.bpe.segment("ab") == ("a@@", "b")


def test_the_longest_pairs_have_the_maximum_length(tmp_path: Path, noted: Noted) -> None:
    (tmp_path / "words").write_text("a b c\na b c d\n" * 2)
    data = PairFiles(str(tmp_path / "words"), str(tmp_path / "words"))
    run(tmp_path / "model", data, "sequence", replace(SHORT, updates=1, max_length=3))
    assert "left out 2 pairs over 3 subwords" in noted()


@pytest.mark.parametrize("side", [0, 1])
def test_pairs_with_bad_lines_can_be_left_out_and_counted(side: int, tmp_path: Path, noted: Noted) -> None:
    data = with_target_trees(write_corpus(tmp_path))
    bad = Path([data.source, data.target or ""][side])
    lines = bad.read_bytes().splitlines(keepends=True)
    lines[2:6] = b'{"tokens": "a"}\n', b"{\n", b"\xff\n", b"\0\n"
    bad.write_bytes(b"".join(lines))
    with pytest.raises(BadInput, match=f"{bad.name}:[35]: "):
        run(tmp_path / "model", data, "mask", target="transitions")
    noted()
    run(tmp_path / "model", data, "mask", target="transitions", dev=data, on_error="blank")
    said = noted()
    assert "8 bad lines left empty" in said.splitlines()  # four for training, and the same four for validation
    assert said.count("left out 4 pairs with an empty side") == 1  # reported once, since both bitexts are the same
    assert training_of(tmp_path / "model")["pairs"] == len(lines) - 4


def test_relations_missing_from_training_are_reported(tmp_path: Path, noted: Noted) -> None:
    data = with_target_trees(write_corpus(tmp_path))
    dev = PairFiles(data.source, str(tmp_path / "dev.jsonl"))
    text = Path(data.target or "").read_text()
    Path(dev.target or "").write_text(text.replace('"rel2"', '"topic"').replace("vater", "vater@@"))
    run(tmp_path / "same", data, target="transitions", dev=data)
    assert "relations to validate" not in noted()
    run(tmp_path / "other", data, target="transitions", dev=dev)
    assert "relations of validation targets that do not occur in training: topic" in noted().splitlines()
