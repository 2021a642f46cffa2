"""Whole runs on a tiny corpus."""

import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from synmt.data.bitext import read_bitext
from synmt.data.corpus import Corpus
from synmt.device import bf16_slowdown
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translation, Translator
from synmt.streams import BadInput
from synmt.streams.process import Interrupted
from synmt.training.checkpoint import checkpoints
from synmt.training.distribution import LossModule, Processes
from synmt.training.loop import CHECKPOINTS, Trainer, ahead
from synmt.training.run import PairFiles
from synmt.training.update import Update, Updater
from synmt.trees.arc_tokens import write_tokens
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.cli.commands import output_of
from tests.conftest import Noted
from tests.training.runs import LEARNING, SHORT, UNTIMED, run, with_target_trees, write_corpus

T = TypeVar("T")


def log_rows(folder: ModelFolder) -> list[list[str]]:
    lines = (folder.path / "log.tsv").read_text().splitlines()
    return [[line.split("\t")[column] for column in UNTIMED] for line in lines]


def newest(folder: ModelFolder) -> Path:
    return checkpoints(folder.path / CHECKPOINTS)[0]


def assert_same_tensors(first: Path, second: Path) -> None:
    a, b = load_file(first), load_file(second)
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


SYSTEMS = ["sequence", "linearized", "mask", "pascal", "lisa", "label-features", "multitask", "mask+pascal"]


def learnt(
    out: Path,
    data: PairFiles,
    system: str,
    target: str = "sequence",
    prefixes: int = 0,
    records: Sequence[ParseRecord] = tuple(tiny.records()),
) -> list[Translation]:
    """Train a model, and return its greedy translations of the training sources, `records`."""
    config = replace(LEARNING, prefixes=prefixes, prefix_tokens=100)
    folder = run(out, data, system, config, target=target, network=tiny.CONFIG)
    translator = Translator.open(folder, torch.device("cpu"), SearchConfig(beam=1), TranslateConfig())
    sources = [translator.features(record) for record in records]
    return [best for best, *_ in translator.translate(sources)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_training_memorizes_its_pairs(system: str, tmp_path: Path) -> None:
    found = learnt(tmp_path / "model", write_corpus(tmp_path, 2), system)
    assert [each.tokens for each in found] == tiny.TARGETS


@pytest.mark.parametrize(
    ("system", "target", "prefixes"),
    [
        ("sequence", "transitions", 0),
        ("mask", "compose", 0),
        ("sequence", "bitran", 0),
        ("mask+pascal", "parent", 3),
        ("sequence", "gcn", 0),
        ("pascal", "parent+gcn", 2),
    ],
)
def test_decoders_memorize_their_pairs_and_trees(system: str, target: str, prefixes: int, tmp_path: Path) -> None:
    found = learnt(tmp_path / "model", with_target_trees(write_corpus(tmp_path, 2)), system, target, prefixes)
    assert [each.tokens for each in found] == tiny.TARGETS
    if target in tiny.TREE_SYSTEMS:
        trees = [(record.heads, record.deprels) for record in tiny.target_records()]
        assert [(each.heads, each.deprels) for each in found] == trees


def test_a_resumed_run_samples_the_same_prefixes(tmp_path: Path) -> None:
    data = with_target_trees(write_corpus(tmp_path, 4))
    config = replace(SHORT, validate_every=3, prefixes=2)
    whole = run(tmp_path / "whole", data, "sequence", config, target="gcn")
    run(tmp_path / "part", data, "sequence", replace(config, updates=3), target="gcn")
    resumed = run(tmp_path / "part", data, "sequence", config, resume=True, target="gcn")
    assert_same_tensors(newest(whole), newest(resumed))
    assert log_rows(whole) == log_rows(resumed)


def test_the_cost_of_sampling_prefixes_is_reported(tmp_path: Path, noted: Noted) -> None:
    data, config = with_target_trees(write_corpus(tmp_path, 2)), replace(SHORT, updates=1, prefixes=2)
    run(tmp_path / "gcn", data, "sequence", config, target="gcn")
    assert "each update learns from 2 tokens of each target, not from all" in noted().splitlines()
    run(tmp_path / "compose", data, "sequence", config, target="compose")
    assert "each update learns" not in noted()


@pytest.mark.parametrize(("times", "said"), [(8.6, True), (0.5, False)])
def test_a_cpu_that_is_slow_in_bf16_is_reported(
    times: float, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted
) -> None:
    assert 0.01 < bf16_slowdown(torch.device("cpu")) < 1000
    monkeypatch.setattr("synmt.training.run.bf16_slowdown", lambda device: times)
    run(tmp_path / "model", write_corpus(tmp_path, 2), config=replace(SHORT, updates=1, precision="bf16"))
    note = "on this CPU, layers take 9 times as long in bf16 as in fp32"
    assert (note in noted().splitlines()) == said


def test_target_trees_without_a_string_are_counted(tmp_path: Path, noted: Noted) -> None:
    data = with_target_trees(write_corpus(tmp_path, 2))
    lines = Path(str(data.target)).read_text().splitlines()
    lines[3] = '{"tokens": ["a", "b", "c", "d"], "heads": [3, 4, 0, 3], "deprels": ["x", "x", "root", "x"]}'
    lines[4] = '{"tokens": ["a", "b"], "heads": [0, 0], "deprels": ["root", "root"], "sentences": [1, 1]}'
    Path(str(data.target)).write_text("\n".join(lines) + "\n")
    run(tmp_path / "model", data, "sequence", replace(SHORT, updates=1), target="transitions")
    place = data.source
    said = noted()
    assert f"left out 1 pair whose target tree has several roots ({place}:5)" in said
    assert "the crossing arcs of 1 target tree are lifted" in said


def test_all_formats_of_a_target_train_the_same_model(tmp_path: Path) -> None:
    """A target can be given as records or as lines of `synmt transitions`; for a decoder of words, as records or
    text."""
    data = write_corpus(tmp_path, 2)
    entries = [tiny.TARGET_SYSTEMS["parent"].tokens(each, tiny.whole) for each in tiny.target_records() * 2]
    (tmp_path / "arcs").write_text("".join(f"{write_tokens(each)}\n" for each in entries))
    config = replace(SHORT, updates=2)
    records = with_target_trees(data)
    for target, other in (("parent", PairFiles(data.source, str(tmp_path / "arcs"))), ("bitran", data)):
        first = run(tmp_path / f"{target}1", records, "sequence", config, target=target)
        second = run(tmp_path / f"{target}2", other, "sequence", config, target=target)
        assert_same_tensors(first.parameters, second.parameters)


def test_the_same_seed_gives_the_same_model(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    first, second = run(tmp_path / "first", data), run(tmp_path / "second", data)
    assert_same_tensors(first.parameters, second.parameters)
    other = run(tmp_path / "other", data, config=replace(SHORT, seed=2))
    assert not torch.equal(*(load_file(made.parameters)["network.embedding"] for made in (first, other)))


@pytest.mark.parametrize("interrupted_after", [3, 7])
def test_a_resumed_run_equals_an_uninterrupted_one(interrupted_after: int, tmp_path: Path) -> None:
    """The run is interrupted within an epoch, and at a checkpoint that is older than the last logged update."""
    data = write_corpus(tmp_path)
    config = replace(SHORT, validate_every=interrupted_after, epochs=2)
    whole = run(tmp_path / "whole", data, config=config)
    part = run(tmp_path / "part", data, config=replace(config, updates=interrupted_after))
    with (part.path / "log.tsv").open("a") as log:
        log.write("99\trows\tof\ta\tlost\trun\t\t\n")
    resumed = run(tmp_path / "part", data, config=config, resume=True)
    assert_same_tensors(whole.parameters, resumed.parameters)
    assert_same_tensors(newest(whole), newest(resumed))
    assert log_rows(whole) == log_rows(resumed)


def test_the_log_records_what_was_trained_on(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    folder = run(tmp_path / "model", data, dev=data, config=replace(SHORT, epochs=2, report_every=1))
    header, *lines = (line.split("\t") for line in (folder.path / "log.tsv").read_text().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    pairs = len(Path(data.source).read_text().splitlines())
    targets = [line.split() for line in Path(str(data.target)).read_text().splitlines()]
    tokens = sum(len(folder.bpe.segment(word)) for words in targets for word in words) + pairs  # an end per pair
    reports = [row for row in rows if row["loss"]]
    for epoch in (1, 2):
        last = next(row for row in reports if int(row["epoch"]) == epoch)
        assert (int(last["sentences"]), int(last["tokens"])) == (epoch * pairs, epoch * tokens)
    assert all(float(row["gradient_norm"]) > 0 for row in reports)
    for row in rows:
        if row["valid_loss"]:
            assert float(row["valid_perplexity"]) == pytest.approx(np.exp(float(row["valid_loss"])), rel=1e-4)


def test_a_run_ends_when_its_time_is_over_even_within_an_epoch(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    short = run(tmp_path / "short", data, config=replace(SHORT, minutes=1e-9))
    assert newest(short).name == "update-1.safetensors" and short.parameters.exists()
    long = run(tmp_path / "long", data, config=replace(SHORT, minutes=60.0))
    assert int(newest(long).stem.removeprefix("update-")) > 3
    assert log_rows(long) == log_rows(run(tmp_path / "unlimited", data, config=SHORT))


@pytest.mark.parametrize("clip", [0.0, 1e-3])
def test_the_norm_covers_the_whole_gradient(clip: float) -> None:
    data, vocabulary = tiny.corpus("sequence")
    config = replace(SHORT, word_dropout=0.0, clip=clip)
    updater = Updater(tiny.model("sequence", vocabulary), data, config, Processes(0, 1, torch.device("cpu")))
    _, _, norm = updater(updater.step([[0, 1]], 1), 0.0)
    left = math.sqrt(sum(float((gradient**2).sum()) for gradient in updater.gradients))
    assert left == pytest.approx(clip or float(norm), rel=1e-3) and float(norm) > 1e-2


def test_accumulated_batches_have_the_gradient_of_one_batch(tmp_path: Path) -> None:
    """Without dropout, an update of four batches equals one of the four together up to rounding."""
    from synmt.model.translation import TranslationModel
    from tests import tiny

    def gradients(batches: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        data, vocabulary = tiny.corpus("mask")
        model: TranslationModel = tiny.model("mask", vocabulary)
        config = replace(SHORT, word_dropout=0.0, clip=0.0)
        updater = Updater(model, data, config, Processes(0, 1, torch.device("cpu")))
        updater(updater.step(batches, 1), learning_rate=0.0)
        return [gradient.clone() for gradient in updater.gradients]

    for apart, together in zip(gradients([[0], [1], [2], [3]]), gradients([[0, 1, 2, 3]]), strict=True):
        torch.testing.assert_close(apart, together, atol=1e-6, rtol=1e-4)


def test_two_processes_train_the_same_model_as_one(tmp_path: Path) -> None:
    """torchrun trains with two processes for half of the run; then one process continues alone and accumulates two
    batches. This equals a run in which one process accumulates two batches from the start, including dropout."""
    data = write_corpus(tmp_path, copies=3)
    arguments = (
        f"train --model mask --preset small --source {data.source} --target {data.target} --tokenizer none"
        " --width 16 --feedforward 32 --heads 2 --encoder-layers 1 --decoder-layers 1 --dropout 0.1"
        " --word-dropout 0.1 --merges 20 --batch-tokens 40 --epochs 2 --average 1 --device cpu"
    ).split()
    alone = [*arguments, "--accumulate", "2", "--out"]
    output_of(*alone, tmp_path / "one")
    two = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two += ["-m", "synmt", *arguments, "--out", str(tmp_path / "two"), "--updates", "4"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(two, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    output_of(*alone, tmp_path / "two", "--resume")
    a = load_file(tmp_path / "one" / "model.safetensors")
    b = load_file(tmp_path / "two" / "model.safetensors")
    for name in a:
        torch.testing.assert_close(a[name], b[name], atol=1e-5, rtol=1e-4)


@dataclass(frozen=True)
class Late(Processes):
    """The second of two processes, which looks at the folder after the first has begun to train. The first found an
    empty folder."""

    def from_first(self, value: float) -> float:
        return 0.0

    def sum(self, tensor: torch.Tensor) -> None:
        pass

    def loss_module(self, model: torch.nn.Module) -> torch.nn.Module:
        return LossModule(model, self.device)

    def divided(self, items: Iterable[T]) -> Iterator[tuple[bool, T]]:
        return ((True, item) for item in items)

    def gathered(self, own: T) -> list[T]:
        return [own, own]


def test_a_late_process_starts_with_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_corpus(tmp_path)
    folder = run(tmp_path / "model", data)
    updates: list[int] = []

    def note(self: Updater, step: Update, rate: float) -> tuple[torch.Tensor, int, torch.Tensor]:
        updates.append(step.number)
        return torch.ones(()), 1, torch.ones(())

    # the check comes before the first process has written anything
    monkeypatch.setattr("synmt.training.run.check_free", lambda path, resume: None)
    monkeypatch.setattr(
        "synmt.training.run.joined_processes", lambda name: nullcontext(Late(1, 2, torch.device("cpu")))
    )
    monkeypatch.setattr(Updater, "__call__", note)
    run(folder.path, data)
    assert updates[:2] == [1, 2]


class Stopped(Late):
    """The first of two processes; a signal stops the other one in each validation."""

    def gathered(self, own: T) -> "list[T | None]":  # type: ignore[override]
        return [own, None]


def test_a_signal_to_one_process_stops_all_in_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Stopped(0, 2, torch.device("cpu"))
    monkeypatch.setattr("synmt.training.run.joined_processes", lambda name: nullcontext(processes))
    with pytest.raises(Interrupted, match="stopped in the validation after update 3; the same command with --resume"):
        run(tmp_path / "model", write_corpus(tmp_path), config=replace(SHORT, updates=3))
    assert [path.name for path in checkpoints(tmp_path / "model" / CHECKPOINTS)] == ["update-3.safetensors"]


def test_errors_in_batches_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even if a thread builds the batch; the thread ends with the run."""
    build, built = Corpus.batch, list[None]()

    def batch(self: Corpus, *arguments: Any) -> Any:
        built.append(None)
        if len(built) == 4:
            raise BadInput("damaged", "columns")
        return build(self, *arguments)

    monkeypatch.setattr(Corpus, "batch", batch)
    monkeypatch.setattr(Trainer, "_upcoming", lambda self: ahead(self._steps()))
    with pytest.raises(BadInput, match=r"^columns: damaged$"):
        run(tmp_path / "model", write_corpus(tmp_path))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")]


def test_batches_are_read_once_per_epoch_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is resumed with another number of processes × accumulated batches continues at the same place in the
    data."""
    data = write_corpus(tmp_path)
    read: list[list[int]] = []

    step = Updater.step

    def note(self: Updater, batches: list[list[int]], number: int) -> Update:
        read.extend(batches)
        return step(self, batches, number)

    monkeypatch.setattr(Updater, "step", note)
    run(tmp_path / "model", data, config=replace(SHORT, epochs=2))
    whole = list(read)
    read.clear()
    for number, (accumulate, updates) in enumerate([(1, 2), (4, 3), (2, 5), (3, 0)]):
        config = replace(SHORT, epochs=2, accumulate=accumulate, updates=updates)
        run(tmp_path / "other", data, config=config, resume=number > 0)
    assert read == whole
    assert sorted(index for batch in read for index in batch) == sorted([*range(32), *range(32)])


def test_runs_are_not_overwritten_or_resumed_by_mistake(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    with pytest.raises(BadInput, match="no run to resume"):
        run(tmp_path / "model", data, resume=True)
    run(tmp_path / "model", data, config=replace(SHORT, updates=1))
    with pytest.raises(BadInput, match="--resume"):
        run(tmp_path / "model", data)
    with pytest.raises(BadInput, match=r"was trained with source mask, not sequence$"):
        run(tmp_path / "model", data, system="sequence", resume=True)
    with pytest.raises(BadInput, match=r"was trained with network dropout 0\.2, not 0\.0$"):
        run(tmp_path / "model", data, network=tiny.CONFIG, resume=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput, match="was trained with dev"):
        run(tmp_path / "model", data, resume=True, dev=write_corpus(tmp_path / "other", copies=1))
    Path(str(data.target)).write_text(Path(str(data.target)).read_text().replace("vater", "mutter"))
    with pytest.raises(BadInput, match="was trained with data"):
        run(tmp_path / "model", data, resume=True)


def test_a_model_made_meanwhile_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, other, out = write_corpus(tmp_path), tmp_path / "other", tmp_path / "model"
    run(other, data, config=replace(SHORT, updates=1))

    def read(*given: Any) -> Any:
        shutil.copytree(other, out, dirs_exist_ok=True)
        return read_bitext(*given)

    monkeypatch.setattr("synmt.training.run.read_bitext", read)
    with pytest.raises(BadInput, match="already has a model"):
        run(out, data)
    assert ModelFolder.open(out, ModelConfig).training["updates"] == 1


def test_pairs_that_change_while_they_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, once the old pairs are back, later runs would find the columns of the others."""
    data = write_corpus(tmp_path)
    targets = (tmp_path / "train.de").read_text()

    def read(*given: Any) -> Any:
        (tmp_path / "train.de").write_text(targets.replace("ist", "war"))
        return read_bitext(*given)

    monkeypatch.setattr("synmt.training.run.read_bitext", read)
    with pytest.raises(BadInput, match=r"train\.de: has changed while it was read"):
        run(tmp_path / "model", data, prepared=tmp_path / "columns")
    monkeypatch.setattr("synmt.training.run.read_bitext", read_bitext)
    (tmp_path / "train.de").write_text(targets)
    assert "ist" in run(tmp_path / "model", data, prepared=tmp_path / "columns").vocabulary.target


def test_a_run_with_another_order_of_batches_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_corpus(tmp_path)
    run(tmp_path / "model", data, config=replace(SHORT, updates=1))
    monkeypatch.setattr("synmt.data.batches.order_by_lengths", lambda source, _: np.arange(len(source)))
    with pytest.raises(BadInput, match="ordered the batches differently"):
        run(tmp_path / "model", data, resume=True)


def test_pairs_of_different_lengths_are_refused(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    with Path(str(data.target)).open("a") as target:
        target.write("eins zu viel\n")
    with pytest.raises(BadInput, match=r"33 lines|32 lines"):
        run(tmp_path / "model", data)


def test_empty_sides_are_counted(tmp_path: Path, noted: Noted) -> None:
    data = write_corpus(tmp_path)
    lines = Path(str(data.target)).read_text().splitlines()
    lines[2] = ""
    Path(str(data.target)).write_text("\n".join(lines) + "\n")
    folder = run(tmp_path / "model", data)
    assert folder.training["pairs"] == 31
    assert "left out 1 pair with an empty side" in noted()


def test_a_table_is_read_like_the_input_of_aligners(tmp_path: Path, noted: Noted) -> None:
    """An empty line is a pair without words, and `|||` separates columns like a tab."""
    table = tmp_path / "pairs.tsv"
    table.write_text("a b\tx y\n\nb a ||| y x\n" * 4)
    folder = run(tmp_path / "model", PairFiles(str(table)), "sequence", config=replace(SHORT, updates=1))
    assert folder.training["pairs"] == 8
    assert f"left out 4 pairs with an empty side ({table}:2, {table}:5, {table}:8, …)" in noted()


def test_nothing_to_train_on(tmp_path: Path) -> None:
    for name in ("empty.en", "empty.de"):
        (tmp_path / name).write_text("")
    with pytest.raises(BadInput, match="no sentence pairs"):
        run(tmp_path / "model", PairFiles(str(tmp_path / "empty.en"), str(tmp_path / "empty.de")))


def test_sources_that_are_not_records_are_reported(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    lines = Path(data.source).read_text().splitlines()
    lines[4] = lines[4][:-9]
    Path(data.source).write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match=r"train\.jsonl:5: not JSON"):
        run(tmp_path / "model", data)
