"""Prepared data give the batches of text, are found again by what they were made of, and are refused otherwise."""

import os
import shutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import orjson
import pytest
import torch

from synmt.model.config import ModelConfig
from synmt.model.files import locked
from synmt.model.folder import ModelFolder
from synmt.model.records import SentencePair
from synmt.model.source import source_side
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import BadInput, BadLines, Line, Notes, WrongUsage
from synmt.text.tokenization import Words
from synmt.training import bitext, ids
from synmt.training.bitext import Bitext, read_bitext
from synmt.training.ids import TextPairs
from synmt.training.preparation import Counts, encode_corpus, training_examples
from synmt.training.prepared import DESCRIPTION
from synmt.training.run import PairFiles, TrainingText, train
from synmt.trees.record import ParseRecord, write_record
from tests import tiny
from tests.training.runs import DROPPING, SHORT, run, with_target_trees, write_corpus
from tests.training.test_run import assert_same_tensors, log_rows, newest

ONE = replace(SHORT, updates=1)
CPU = torch.device("cpu")


def masked(pairs: int) -> list[SentencePair]:
    """The tiny corpus with a mask of each name, again and again, with one pair in the way that is too long."""
    lines = Line("", "a", 1), Line("", "b", 1)
    sources = [replace(each, masks=tiny.masks(len(each.tokens))) for each in tiny.records()]
    both = [SentencePair(*each, lines) for each in zip(sources, tiny.target_records(), strict=True)]
    long = SentencePair(sources[0], replace(both[0].target, tokens=["x"] * 99, heads=[], deprels=[]), lines)
    return [*both, *[long] * (both[0].target.heads == []), *both * pairs][:pairs]


def parts(found: Any) -> list[Any]:
    """All that a batch consists of."""
    if isinstance(found, torch.Tensor):
        return [(found.dtype, found.tolist())]
    if isinstance(found, tuple | list):
        return [part for each in found for part in parts(each)]
    if is_dataclass(found):
        return [part for each in fields(found) for part in (each.name, *parts(getattr(found, each.name)))]
    own = found if isinstance(found, dict) else getattr(found, "__dict__", None)
    return [found] if own is None else [part for each in own.items() for part in parts(each)]


@pytest.mark.parametrize(
    ("source", "target"),
    [*((system, "sequence") for system in tiny.SYSTEMS), *(("sequence", target) for target in tiny.TARGET_SYSTEMS)],
)
@pytest.mark.parametrize(("tree_dropout", "subword_dropout"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.4)])
def test_batches_from_a_disk_are_those_of_memory(
    source: str,
    target: str,
    tree_dropout: float,
    subword_dropout: float,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(ids, "WINDOW", 5)
    config = ModelConfig(
        source_side(tiny.SYSTEMS[source]), tiny.TARGET_SYSTEMS[target], ("en", "de"), "none", tiny.CONFIG
    )
    pairs = Bitext(masked(23))
    text, notes = TextPairs(pairs, Words("none"), Notes("train"), 1, subword_dropout), Notes("train")
    bpe = text.joint_bpe(30)
    counts = Counts.of(training_examples(pairs, config, bpe, dropout=subword_dropout))
    vocabulary = counts.vocabulary(config.target)
    assert text.vocabulary(config, bpe) == vocabulary
    plan = PrefixPlan(2, 50)
    training = replace(
        SHORT, prefixes=2, prefix_tokens=50, max_length=6, tree_dropout=tree_dropout, subword_dropout=subword_dropout
    )
    examples = training_examples(pairs, config, bpe, bare=tree_dropout > 0, dropout=subword_dropout)
    in_memory = encode_corpus(examples, config, vocabulary, training.max_length, notes, plan, tree_dropout)
    on_disk = text.corpus(ModelFolder(tmp_path, config, bpe, (vocabulary,), {}), training)
    assert list(text.notes) == list(notes)
    assert 0 < len(on_disk) == len(in_memory)
    for epoch in range(2):
        batches = list(in_memory.shuffled_batches(30, 1, epoch))
        assert list(on_disk.shuffled_batches(30, 1, epoch)) == batches
        for batch in batches:
            assert on_disk.parts(batch) == in_memory.parts(batch)
            torch.manual_seed(1)
            first = parts(on_disk.batch(batch, CPU))
            torch.manual_seed(1)
            assert first == parts(in_memory.batch(batch, CPU))
    words = on_disk.shuffled_batches(7, 1, 0, "source-words")
    assert list(words) == list(in_memory.shuffled_batches(7, 1, 0, "source-words"))


def test_a_training_on_prepared_data_is_the_one_on_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When they are made, when they are there, and when it goes on with them, with other seeds beside it."""
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    lines = Path(str(data.target)).read_text().splitlines()
    Path(str(data.target)).write_text("\n".join(["", *lines[1:]]) + "\n")
    config = replace(SHORT, validate_every=3)
    text = run(tmp_path / "text", data, config=config)
    said = sorted(capsys.readouterr().err.splitlines())
    made = run(tmp_path / "made", data, config=config, prepared=kept)
    of_text = capsys.readouterr().err.replace(str(tmp_path / "made"), str(tmp_path / "text"))
    assert sorted(of_text.splitlines()) == said
    files = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    other = run(tmp_path / "other", data, config=replace(SHORT, seed=2), prepared=kept)
    assert other.training["data"] == text.training["data"] == made.training["data"]
    run(tmp_path / "again", data, config=replace(config, updates=3), prepared=kept)
    capsys.readouterr()
    again = run(tmp_path / "again", data, config=config, prepared=kept, resume=True)
    assert {line for line in said if "left out" in line} <= {*capsys.readouterr().err.splitlines()}
    assert files == {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    for folder in (made, again):
        assert_same_tensors(text.parameters, folder.parameters)
        assert_same_tensors(newest(text), newest(folder))
        assert log_rows(text) == log_rows(folder)
        assert folder.config == text.config and folder.config.words == text.config.words
        assert (folder.vocabulary, folder.bpe.codes) == (text.vocabulary, text.bpe.codes)


def test_text_need_not_be_there_when_a_model_has_been_trained(tmp_path: Path) -> None:
    """A run that was begun without prepared data goes on with them."""
    data = write_corpus(tmp_path)
    whole = run(tmp_path / "whole", data)
    run(tmp_path / "part", data, config=replace(SHORT, updates=2))
    part = run(tmp_path / "part", data, prepared=tmp_path / "kept", resume=True)
    assert_same_tensors(whole.parameters, part.parameters)


def test_several_processes_prepare_what_one_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Records with trees in both files, with a bad line, some sentences without a tree, and a tree that is lifted."""
    for module in (bitext, ids):
        monkeypatch.setattr(module, "WINDOW", 7)
    data = with_target_trees(write_corpus(tmp_path))
    lines = Path(data.source).read_text().splitlines()
    bare = write_record(ParseRecord(text="not parsed", tokens=["not", "parsed"]))
    Path(data.source).write_text("\n".join([bare, *lines[1:17], "{", "{}", *lines[19:31], bare]) + "\n")
    targets = Path(str(data.target)).read_text().splitlines()
    crossed = ParseRecord(
        text="a b c d", tokens=[*"abcd"], heads=[0, 4, 1, 1], deprels=["root", "rel1", "rel1", "rel2"]
    )
    Path(str(data.target)).write_text("\n".join([*targets[:20], write_record(crossed), *targets[21:]]) + "\n")
    found = []
    for jobs in (1, 2):
        kept = tmp_path / f"kept{jobs}"
        folder = run(
            tmp_path / f"{jobs}", data, "pascal", ONE, target="gcn", on_error="blank", prepared=kept, jobs=jobs
        )
        files = {path.name: path.read_bytes() for path in kept.iterdir()}
        found.append((files, folder.parameters.read_bytes()))
    assert found[0] == found[1]
    said = orjson.loads(found[0][0][DESCRIPTION])
    assert (said["bad"], said["pairs"]) == ({"bad line": 1}, 30)
    assert "2 of 30 source sentences have no dependency heads, and are read without" in said["notes"]
    assert sum("the arcs of 1 target trees cross" in note for note in said["notes"]) == 1
    with pytest.raises(BadInput, match=r"train.jsonl:18: "):
        run(tmp_path / "3", data, "pascal", ONE, target="gcn", prepared=tmp_path / "other", jobs=2)


def test_text_is_read_by_several_processes_as_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitext, "WINDOW", 3)
    words = ["Hello, world.", "", "it's  e.g. (2,5)"]
    lines = [(Line(words[n % 3], "a", n), Line(words[n % 2], "b", n)) for n in range(20)]
    config = ModelConfig(
        source_side({"sequence": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "moses", DROPPING
    )
    notes = [Notes("train"), Notes("train")]
    one, two = (read_bitext(lines, config, note, jobs=jobs) for jobs, note in zip((1, 2), notes, strict=True))
    assert (list(one), one.checksum) == (list(two), two.checksum)
    assert len(one) == 7 and list(notes[0]) == list(notes[1])


def append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("change", "option"),
    [(lambda data: append(data.source, "{}\n"), "--source"), (lambda data: append(str(data.target), "\n"), "--target")],
)
def test_text_that_has_changed_is_refused(change: Callable[[PairFiles], None], option: str, tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    run(tmp_path / "first", data, config=ONE, prepared=kept)
    change(data)
    with pytest.raises(BadInput, match=f"kept: was prepared from another {option}; name another --prepared"):
        run(tmp_path / "second", data, config=ONE, prepared=kept)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    first = run(tmp_path / "first", data, config=ONE, prepared=kept)
    table = tmp_path / "table.tsv"
    table.write_text("a\tb\n")
    others: list[tuple[str, dict[str, Any]]] = [
        ("--merges", {"config": replace(ONE, merges=21)}),
        ("--max-length", {"config": replace(ONE, max_length=21)}),
        ("--tree-dropout", {"config": replace(ONE, tree_dropout=0.1)}),
        ("--subword-dropout", {"config": replace(ONE, subword_dropout=0.1)}),
        ("--on-error", {"on_error": "blank"}),
        ("--init", {"start": first}),
        ("system, or other options of its ideas", {"system": "pascal"}),
        ("system, or other options of its ideas", {"target": "transitions"}),
        ("--tsv", {"data": PairFiles(str(table))}),
    ]
    for what, changed in others:
        with pytest.raises(BadInput, match=f"kept: was prepared from another {what};"):
            run(tmp_path / "second", **{"data": data, "config": ONE, "prepared": kept, **changed})
    codes = tmp_path / "codes"
    codes.write_text(first.bpe.codes)
    for model, why in (
        (first.config, "--codes"),
        (replace(first.config, tokenizer="moses"), "--tokenizer"),
        (replace(first.config, languages=("en", "fr")), "language"),
    ):
        with pytest.raises(BadInput, match=f"kept: was prepared from another {why};"):
            given = str(codes) if why == "--codes" else None
            train(tmp_path / "second", data, None, model, ONE, given, False, "cpu", prepared=kept)
    with pytest.raises(WrongUsage, match="--prepared: standard input"):
        run(tmp_path / "second", PairFiles("-"), config=ONE, prepared=kept, dev=data)
    run(tmp_path / "network", data, config=replace(ONE, learning_rate=1e-3), network=tiny.CONFIG, prepared=kept)


def numbers(path: Path, values: Any) -> None:
    np.save(path, np.array(values))


def edited(kept: Path, **changed: Any) -> None:
    said = orjson.loads((kept / DESCRIPTION).read_bytes())
    (kept / DESCRIPTION).write_bytes(orjson.dumps({**said, **changed}))


def with_checksum(kept: Path, number: int, change: Callable[[Any], Any]) -> None:
    """Change the numbers of an array, as one does who knows how checksums are made."""
    import hashlib

    path = kept / f"{number}.npy"
    values = change(np.load(path))
    np.save(path, values)
    arrays = orjson.loads((kept / DESCRIPTION).read_bytes())["arrays"]
    name = list(arrays)[number]
    arrays[name][0] = hashlib.blake2b(values.tobytes(), digest_size=16).hexdigest()
    edited(kept, arrays=arrays)


def elsewhere(path: Path) -> None:
    shutil.move(path, path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (lambda kept: os.truncate(kept / "0.npy", (kept / "0.npy").stat().st_size - 4), "0.npy: "),
        (lambda kept: os.truncate(kept / "0.npy", 5), "0.npy: "),
        (lambda kept: (kept / "0.npy").write_bytes((kept / "0.npy").read_bytes()[:-1] + b"\x01"), "0.npy: damaged"),
        (lambda kept: (kept / "1.ends.npy").unlink(), "1.ends.npy: No such file"),
        (lambda kept: elsewhere(kept / "0.npy"), "0.npy: leads out of the folder"),
        (lambda kept: numbers(kept / "0.npy", [{"an": "object"}]), "0.npy: "),
        (lambda kept: numbers(kept / "0.npy", [1.0]), "0.npy: 1 dimensions of float64, not one of int32"),
        (lambda kept: with_checksum(kept, 0, lambda ids: ids + 99), "kept: an id that is none of"),
        (lambda kept: with_checksum(kept, 0, lambda ids: ids[1:]), "kept: .* numbers in rows of"),
        (lambda kept: append(str(kept / "vocab.target.txt"), "new\n"), "their checksum is another"),
        (lambda kept: (kept / DESCRIPTION).write_text("{"), f"{DESCRIPTION}: unexpected"),
        (lambda kept: (kept / DESCRIPTION).write_text("{}"), f"{DESCRIPTION}: the field 'format' is missing"),
        (lambda kept: edited(kept, format=99), f"{DESCRIPTION}: was prepared in format 99, and this synmt"),
        (lambda kept: edited(kept, pairs=-1), f"{DESCRIPTION}: -1 pairs"),
        (lambda kept: edited(kept, arrays={"../x": ["a", "b"]}), "0.npy: damaged"),
        (lambda kept: edited(kept, arrays={}), "no sentence pairs"),
    ],
)
def test_a_folder_that_is_damaged_is_refused(damage: Callable[[Path], None], cause: str, tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    run(tmp_path / "first", data, config=ONE, prepared=kept)
    damage(kept)
    with pytest.raises(BadInput, match=cause):
        run(tmp_path / "second", data, config=ONE, prepared=kept)


def test_what_was_left_half_made_is_made_anew_and_what_is_none_is_left_alone(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    kept.mkdir()
    (kept / "9.npy").write_text("half")
    run(tmp_path / "first", data, config=ONE, prepared=kept)
    assert not (kept / "9.npy").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("dear")
    with pytest.raises(BadInput, match=r"mine: holds thesis\.txt, and no prepared data"):
        run(tmp_path / "second", data, config=ONE, prepared=mine)
    assert (mine / "thesis.txt").read_text() == "dear"


def test_a_process_waits_for_another_that_prepares(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    kept.mkdir()
    model = ModelConfig(source_side({"sequence": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", DROPPING)
    text = TrainingText(data, model, SHORT, None, None, 1)
    found = []
    waiting = Thread(target=lambda: found.append(text.kept(kept, Notes("train"), BadLines())))
    with locked(kept):
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive() and not (kept / DESCRIPTION).exists()
    waiting.join()
    assert len(found[0]) == 32


def test_pairs_without_anything_to_learn_are_refused(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    for name in ("kept", ""):
        with pytest.raises(BadInput, match="no sentence pairs to train on"):
            run(tmp_path / "out", data, config=replace(ONE, max_length=1), prepared=tmp_path / name if name else None)
    empty = tmp_path / "empty"
    empty.write_text("")
    with pytest.raises(BadInput, match="no sentence pairs to train on"):
        run(tmp_path / "out", PairFiles(str(empty), str(empty)), config=ONE, prepared=tmp_path / "none", dev=data)
