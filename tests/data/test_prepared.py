"""Columns on disk give the same batches as in memory, are computed once, and are found by their inputs."""

import errno
import importlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, get_args

import msgspec
import pytest
import torch
from safetensors.numpy import load_file

from synmt.data import bitext, preparation, prepared
from synmt.data.bitext import Bitext, read_bitext
from synmt.data.preparation import Frequencies, encode_corpus, open_corpus, prepare, training_examples
from synmt.data.prepared import DESCRIPTION, SCHEMA, fingerprint, limit
from synmt.data.records import SentencePair
from synmt.data.rows import write_shard
from synmt.model.config import ModelConfig
from synmt.model.files import locked
from synmt.model.fingerprint import differing, digest
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures, SourceSide, source_side
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import BadInput, BadLines, Line, Notes, WrongUsage
from synmt.streams.paths import cache_folder
from synmt.training.config import TrainingConfig
from synmt.training.fit import Recipe
from synmt.training.run import PairFiles, TrainingText
from synmt.trees.record import ParseRecord, write_record
from tests import tiny
from tests.conftest import Noted
from tests.training.runs import DROPPING, SHORT, run, with_target_trees, write_corpus
from tests.training.test_run import assert_same_tensors, log_rows, newest

ONE = replace(SHORT, updates=1)
CPU = torch.device("cpu")
SHARD = "0.source.safetensors"


def masked(pairs: int) -> list[SentencePair]:
    """Return the tiny corpus, repeated, with all named masks and one pair that is too long."""
    lines = Line("", "a", 1), Line("", "b", 1)
    sources = [replace(each, masks=tiny.masks(len(each.tokens))) for each in tiny.records()]
    both = [SentencePair(*each, lines) for each in zip(sources, tiny.target_records(), strict=True)]
    long = SentencePair(sources[0], replace(both[0].target, tokens=["x"] * 99, heads=[], deprels=[]), lines)
    return [*both, *[long] * (both[0].target.heads == []), *both * pairs][:pairs]


def parts(found: Any) -> list[Any]:
    """Return all parts of a batch."""
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
def test_batches_from_disk_equal_those_from_memory(
    source: str,
    target: str,
    tree_dropout: float,
    subword_dropout: float,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(preparation, "WINDOW", 5)
    config = ModelConfig(
        source_side(tiny.SYSTEMS[source]), tiny.TARGET_SYSTEMS[target], ("en", "de"), "none", tiny.CONFIG
    )
    pairs = Bitext(masked(23))
    notes, of_disk = Notes(), Notes()
    bpe = pairs.joint_bpe(30)
    counts = Frequencies.of(training_examples(pairs, config, bpe, dropout=subword_dropout))
    vocabulary = counts.vocabulary(config.target)
    plan = PrefixPlan(2, 50)
    training = replace(
        SHORT, prefixes=2, prefix_tokens=50, max_length=6, tree_dropout=tree_dropout, subword_dropout=subword_dropout
    )
    examples = training_examples(pairs, config, bpe, bare=tree_dropout > 0, dropout=subword_dropout)
    in_memory = encode_corpus(examples, config, vocabulary, training.max_length, notes, plan)
    in_memory.tree_dropout = tree_dropout
    found, checksums = prepare(tmp_path, pairs, config, bpe, training, of_disk)
    assert found == vocabulary
    on_disk = open_corpus(tmp_path, checksums, config, vocabulary, training)
    assert list(of_disk) == list(notes)
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
    words = on_disk.shuffled_batches(7, 1, 0, "subwords")
    assert list(words) == list(in_memory.shuffled_batches(7, 1, 0, "subwords"))


def test_training_on_prepared_data_equals_training_on_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], noted: Noted
) -> None:
    """This holds when the columns are made, reused or used by a resumed run, also alongside runs with other seeds."""
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    lines = Path(str(data.target)).read_text().splitlines()
    Path(str(data.target)).write_text("\n".join(["", *lines[1:]]) + "\n")
    config = replace(SHORT, validate_every=3, epochs=1)
    text = run(tmp_path / "text", data, config=config)
    notes, said = noted(), sorted(capsys.readouterr().err.splitlines())
    made = run(tmp_path / "made", data, config=config, prepared=kept)
    of_text = capsys.readouterr().err.replace(str(tmp_path / "made"), str(tmp_path / "text"))
    assert noted() == notes and sorted(of_text.splitlines()) == said
    files = {path: path.stat().st_mtime_ns for path in kept.glob("*/*")}
    other = run(tmp_path / "other", data, config=replace(config, seed=2), prepared=kept)
    assert other.training["data"] == text.training["data"] == made.training["data"]
    run(tmp_path / "again", data, config=replace(config, updates=3), prepared=kept)
    noted()
    again = run(tmp_path / "again", data, config=config, prepared=kept, resume=True)
    assert "left out" in notes and noted() == notes
    assert files == {path: path.stat().st_mtime_ns for path in kept.glob("*/*")}
    for folder in (made, again):
        assert_same_tensors(text.parameters, folder.parameters)
        assert_same_tensors(newest(text), newest(folder))
        assert log_rows(text) == log_rows(folder)
        assert folder.config == text.config and folder.config.words == text.config.words
        assert (folder.vocabulary, folder.bpe.codes) == (text.vocabulary, text.bpe.codes)


def test_text_is_no_longer_needed_after_training(tmp_path: Path) -> None:
    """A run that began without prepared data can be resumed with them."""
    data = write_corpus(tmp_path)
    whole = run(tmp_path / "whole", data)
    run(tmp_path / "part", data, config=replace(SHORT, updates=2))
    part = run(tmp_path / "part", data, prepared=tmp_path / "kept", resume=True)
    assert_same_tensors(whole.parameters, part.parameters)


def test_several_processes_prepare_the_same_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both files have records with trees, a bad line, some sentences without a tree, and a tree to be lifted."""
    for module in (bitext, preparation):
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
        files = {path.name: path.read_bytes() for path in only(kept).iterdir()}
        found.append((files, folder.parameters.read_bytes()))
    assert found[0] == found[1]
    said = msgspec.json.decode(found[0][0][DESCRIPTION])
    assert (said["bad"], said["pairs"]) == ({"bad line": 1}, 30)
    assert "2 of 30 source sentences are read although they have no dependency heads" in said["notes"]
    assert sum(note.startswith("the crossing arcs of 1 target tree ") for note in said["notes"]) == 1
    with pytest.raises(BadInput, match=r"train.jsonl:18: "):
        run(tmp_path / "3", data, "pascal", ONE, target="gcn", prepared=tmp_path / "other", jobs=2)


def test_several_processes_read_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitext, "WINDOW", 3)
    words = ["Hello, world.", "", "it's  e.g. (2,5)"]
    lines = [(Line(words[n % 3], "a", n), Line(words[n % 2], "b", n)) for n in range(20)]
    config = ModelConfig(
        source_side({"sequence": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "moses", DROPPING
    )
    notes = [Notes(), Notes()]
    one, two = (read_bitext(lines, config, note, jobs=jobs) for jobs, note in zip((1, 2), notes, strict=True))
    assert (list(one), one.checksum) == (list(two), two.checksum)
    assert len(one) == 7 and list(notes[0]) == list(notes[1])


def append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


def only(kept: Path) -> Path:
    """Return the only folder of columns."""
    (folder,) = kept.iterdir()
    return folder


def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Count the sentences whose columns this process computes, by task and text."""
    found = Counter[tuple[str, str]]()
    features = SourceSide.features

    def counting(side: SourceSide, record: ParseRecord, segment: Any, task: Any = "translate") -> SourceFeatures:
        found[task, " ".join(record.tokens)] += 1
        return features(side, record, segment, task)

    monkeypatch.setattr(SourceSide, "features", counting)
    return found


def corpora(folder: Path, target: str = "sequence") -> tuple[PairFiles, PairFiles, Counter[str]]:
    """Return pairs for training, other pairs for validation, and how often each source occurs in the former."""
    data = write_corpus(folder)
    data = with_target_trees(data) if tiny.TARGET_SYSTEMS[target].linearization.trees else data
    records = [msgspec.json.decode(line) for line in Path(data.source).read_text().splitlines()]
    (folder / "dev").write_text('{"text": "dev", "tokens": ["dev"]}\n' * len(records))
    sources = Counter(" ".join(each["tokens"]) for each in records)
    return data, PairFiles(str(folder / "dev"), data.target), sources


@pytest.mark.parametrize("system", ["sequence", "mask", "linearized", "multitask", "lisa"])
@pytest.mark.parametrize("target", ["sequence", "transitions", "tags"])
def test_columns_are_computed_once_per_pair_and_task(
    system: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another seed, another network or --resume does not compute them again."""
    data, dev, sources = corpora(tmp_path, target)
    found = computed(monkeypatch)
    run(tmp_path / "first", data, system, ONE, target=target, dev=dev)
    assert without_dev(found) == {
        (task, each): n for task in source_side({system: {}}).tasks for each, n in sources.items()
    }
    found.clear()
    run(tmp_path / "second", data, system, replace(ONE, seed=2), target=target, dev=dev, network=tiny.CONFIG)
    run(tmp_path / "first", data, system, replace(ONE, updates=2), target=target, dev=dev, resume=True)
    assert found and not without_dev(found)


def without_dev(found: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {key: count for key, count in found.items() if key[1] != "dev"}


def test_processes_that_start_together_compute_columns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of torchrun, for example, all use them at the same time."""
    together = Barrier(3)
    data, _, sources = corpora(tmp_path)
    model = ModelConfig(source_side({"mask": {}}), tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", DROPPING)
    text, found, lengths = TrainingText(data, model, Recipe(SHORT)), computed(monkeypatch), list[int]()

    def prepare() -> None:
        with text.prepared(None, Notes(), BadLines()) as pairs:
            lengths.append(pairs.count)
            together.wait()

    threads = [Thread(target=prepare) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [32] * 3 and found == {("translate", each): count for each, count in sources.items()}


def test_processes_that_start_together_make_the_folders_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None may take a folder that another has just made for something else, and give up the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    together = Barrier(8, timeout=60)

    def folders(_: int) -> list[Path]:
        found = []
        for number in range(100):
            together.wait()
            found.append(cache_folder("columns", str(number)))
        return found

    with ThreadPoolExecutor(8) as pool:
        assert all(len(each) == 100 for each in pool.map(folders, range(8)))


def test_columns_depend_on_everything_that_affects_them_and_nothing_else(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    first = run(tmp_path / "first", data, config=ONE, prepared=kept)
    codes = tmp_path / "codes"
    codes.write_text(first.bpe.codes)
    model = first.config
    same: dict[str, Any] = dict(
        files=data.options(), model=model, training=ONE, codes=None, start=None, on_error="fail"
    )
    before = fingerprint(**same)

    def other(**changed: Any) -> list[str]:
        return differing(before, fingerprint(**{**same, **changed}))

    assert other(files={"--tsv": data.source}) == ["--tsv", "--source", "--target"]
    assert other(codes=str(codes)) == ["--codes", "--merges"]
    assert other(start=first) == ["--init", "--merges"]
    assert other(on_error="blank") == ["--on-error"]
    assert other(model=replace(model, tokenizer="moses")) == ["--tokenizer"]
    assert other(model=replace(model, languages=("en", "fr"))) == ["language"]
    assert other(model=replace(model, network=tiny.CONFIG)) == []
    for name, value, said in (
        ("_versions", lambda: "sacremoses 0", "versions of libraries"),
        ("_code_of_others", lambda model: {"package component.py": "1"}, "code of components"),
        ("SCHEMA", SCHEMA + 1, "schema"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prepared, name, value)
            assert other() == [said]
    others = "system, or other options of its components"
    assert other(model=replace(model, source=source_side({"pascal": {}})))[0] == others
    assert other(model=replace(model, target=tiny.TARGET_SYSTEMS["transitions"]))[0] == others
    decide = {"merges": "--merges", "max_length": "--max-length", "tree_dropout": "--tree-dropout"}
    decide["subword_dropout"] = "--subword-dropout"
    for field in fields(TrainingConfig):
        value = getattr(ONE, field.name)
        changed = [each for each in (get_args(field.type) or ()) if each != value] or [not value, value + 1]
        changed = changed[:1] if isinstance(value, bool | str) else [0.5 if isinstance(value, float) else value + 1]
        if changed[0] == value or (isinstance(value, str) and not get_args(field.type)):
            continue
        option = decide.get(field.name)
        assert other(training=replace(ONE, **{field.name: changed[0]})) == ([option] if option else []), field.name
    append(data.source, "{}\n")
    assert other() == ["--source"]


def test_other_options_and_other_text_have_other_columns(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    for number, config in enumerate((ONE, replace(ONE, precision="fp32", seed=3), replace(ONE, max_length=21)), 1):
        run(tmp_path / f"{number}", data, config=config, prepared=kept)
        assert len(list(kept.iterdir())) == max(1, number - 1)
    append(data.source, "{}\n")
    append(str(data.target), "\n")
    run(tmp_path / "more", data, config=ONE, prepared=kept)
    assert len(list(kept.iterdir())) == 3


def test_pairs_that_can_be_read_only_once_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="--prepared: standard input"):
        run(tmp_path / "model", PairFiles("-"), prepared=tmp_path / "kept", dev=write_corpus(tmp_path))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    data, pipe = write_corpus(tmp_path), tmp_path / "pipe"
    os.mkfifo(pipe)
    text = Path(data.source).read_bytes()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, text)
        piped = run(tmp_path / "piped", replace(data, source=str(pipe)), config=ONE, dev=data)
    direct = run(tmp_path / "direct", data, config=ONE)
    assert (piped.path / "model.safetensors").read_bytes() == (direct.path / "model.safetensors").read_bytes()


def test_the_cache_removes_the_least_recently_used_columns(tmp_path: Path) -> None:
    """It keeps columns in use and columns just made, whatever their size."""
    folders = [tmp_path / name for name in "abcd"]
    for age, folder in enumerate(folders):
        folder.mkdir()
        (folder / SHARD).write_bytes(bytes(100))
        os.utime(folder, (age, age))
    with locked(folders[0], shared=True):
        limit(tmp_path, 250, folders[3])
        assert [folder.exists() for folder in folders] == [True, False, False, True]
        limit(tmp_path, 0, folders[3])
    assert [folder.exists() for folder in folders] == [True, False, False, True]
    limit(tmp_path, 0, folders[3])
    assert [folder.exists() for folder in folders] == [False, False, False, True]


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("of the user")


def as_link(path: Path, to: Path) -> None:
    path.rename(to)
    path.symlink_to(to)


def as_bad_link(path: Path, to: str) -> None:
    shutil.rmtree(path)
    path.symlink_to(to)


def of_another(path: Path) -> None:
    try:
        os.chown(path, 65534, -1, follow_symlinks=False)
    except PermissionError:
        pytest.skip("only root can give a folder away")


def link_of_another(path: Path) -> None:
    as_link(path, path.with_name("elsewhere"))
    of_another(path)


# What can be wrong with a folder of the cache.
FAULTS: dict[str, Callable[[Path], object]] = {
    "a file": as_file,
    "a link to nothing": lambda path: as_bad_link(path, "nothing"),
    "a link to itself": lambda path: as_bad_link(path, path.name),
    "writable by all": lambda path: path.chmod(0o777),
    "writable by the group": lambda path: path.chmod(0o720),
    "another user's": of_another,
    "another user's link": link_of_another,
}
USELESS = "the columns are not saved, since the cache cannot be used: "
Cached = tuple[PairFiles, Path, Path]


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Cached:
    """Return pairs, a cache with their columns, and the parameters of a model trained on these."""
    folder = tmp_path_factory.mktemp("cached")
    data = write_corpus(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        trained = run(folder / "model", data, config=ONE)
    return data, folder / "cache", trained.parameters


@pytest.fixture
def own_cache(cached: Cached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that cache, which training now uses."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(cached[1], tmp_path / "cache"))


def retrained(cached: Cached, out: Path, noted: Noted) -> list[str]:
    """Train the model again, check that it is the same, and return what is noted about the cache."""
    noted()
    assert_same_tensors(cached[2], run(out, cached[0], config=ONE).parameters)
    return [line for line in noted().splitlines() if "cache" in line or "computed again" in line]


def test_the_cache_is_private(cached: Cached, own_cache: Path, tmp_path: Path, noted: Noted) -> None:
    assert retrained(cached, tmp_path / "model", noted) == []
    folders = [path for path in (cached[1], *cached[1].rglob("*")) if path.is_dir()]
    assert [path.stat().st_mode & 0o777 for path in folders] == [0o700] * 4


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_cache_that_others_may_have_written_is_not_used(
    fault: str, depth: int, cached: Cached, own_cache: Path, tmp_path: Path, noted: Noted
) -> None:
    columns = own_cache / "synmt" / "columns"
    FAULTS[fault]([columns.parent, columns, only(columns)][depth - 1])
    before = {path: path.lstat().st_mtime_ns for path in own_cache.rglob("*")}
    (said,) = retrained(cached, tmp_path / "model", noted)
    assert said.startswith(USELESS) and str(own_cache) in said
    assert {path: path.lstat().st_mtime_ns for path in own_cache.rglob("*")} == before


def test_links_of_the_user_are_followed(cached: Cached, own_cache: Path, tmp_path: Path, noted: Noted) -> None:
    as_link(own_cache / "synmt", tmp_path / "large-disk")
    assert retrained(cached, tmp_path / "model", noted) == []


@pytest.mark.parametrize("home", ["c", "./c", ".", ""])
def test_a_relative_cache_is_ignored(
    home: str, cached: Cached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted
) -> None:
    """As the specification of XDG_CACHE_HOME asks. A relative HOME is no home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert retrained(cached, tmp_path / "model", noted) == []
    assert {path.name for path in tmp_path.iterdir()} == {"home", "model"}
    assert only(tmp_path / "home" / ".cache" / "synmt" / "columns").is_dir()
    monkeypatch.setenv("HOME", "c")
    (said,) = retrained(cached, tmp_path / "other", noted)
    assert said.startswith(f"{USELESS}the home folder c is a relative path")


def test_an_unwritable_cache_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    run(tmp_path / "model", write_corpus(tmp_path), config=ONE)
    assert USELESS in noted()
    with pytest.raises(BadInput, match="file/"):
        run(tmp_path / "other", write_corpus(tmp_path), config=ONE, prepared=tmp_path / "file")


@pytest.mark.parametrize("calls", [0, 1, 7])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_full_disk_falls_back_and_leaves_nothing_behind(
    number: int, calls: int, cached: Cached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: Noted
) -> None:
    """calls: the number of writes to the cache that succeed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(preparation, "WINDOW", 5)
    done = Counter[str]()

    def write(path: Path, *arguments: Any) -> str:
        done["writes"] += path.is_relative_to(tmp_path / "cache")
        if path.is_relative_to(tmp_path / "cache") and done["writes"] > calls:
            raise OSError(number, os.strerror(number))
        return write_shard(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "write_shard", write)
        (said,) = retrained(cached, tmp_path / "model", noted)
    assert said.startswith(USELESS) and os.strerror(number) in said
    left = [path for path in (tmp_path / "cache").rglob("*") if path.name not in ("synmt", "columns")]
    assert left == [] and done["writes"] == calls + 1
    assert retrained(cached, tmp_path / "other", noted) == []


def test_whatever_changes_in_the_cache_is_noticed(
    cached: Cached, own_cache: Path, tmp_path: Path, noted: Noted
) -> None:
    """Every value of the description, and every file: cut, lengthened, or with an altered byte."""
    folder = only(own_cache / "synmt" / "columns")
    known = msgspec.json.decode((folder / DESCRIPTION).read_bytes())["fingerprint"]
    config = ModelFolder.open(cached[2].parent, ModelConfig).config
    whole = {path: path.read_bytes() for path in folder.iterdir()}

    def is_noticed() -> bool:
        try:
            prepared.open_pairs(folder, known, config, ONE)
        except BadInput:
            return True
        return False

    assert not is_noticed()
    description = folder / DESCRIPTION
    said = msgspec.json.decode(whole.pop(description))
    texts = [b"", b"{", b"[]", b"null", b"1", b"[" * 10**5, b"\xff", b'{"schema": 4}']
    for name, value in said.items():
        texts.append(msgspec.json.encode({key: each for key, each in said.items() if key != name}))
        values: list[Any] = [None, -1, 0, 1e300, "", "x", [], {}, [[]], {"x": 1}]
        others = [other for other in values if other != value]
        texts += [msgspec.json.encode({**said, name: other}) for other in others]
    for text in texts:
        description.write_bytes(text)
        assert is_noticed(), text[:200]
    description.write_bytes(msgspec.json.encode(said))
    for path, data in {path: data for path, data in whole.items() if data}.items():
        middle = len(data) // 2
        for place in (middle, len(data) - 1):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            assert is_noticed(), path
        for change in (b"", data[:5], data[:middle], data[:-1]):
            path.write_bytes(change)
            assert is_noticed() or change + b"\n" == data, path
        path.write_bytes(data)
    assert not is_noticed()
    (folder / SHARD).write_bytes(b"")
    (said_of_it,) = retrained(cached, tmp_path / "model", noted)
    assert f"{SHARD}: " in said_of_it and said_of_it.endswith("; the columns were computed again")


def test_a_description_that_cannot_be_replaced(cached: Cached, own_cache: Path, tmp_path: Path, noted: Noted) -> None:
    folder = only(own_cache / "synmt" / "columns")
    (folder / DESCRIPTION).unlink()
    (folder / DESCRIPTION).mkdir()
    (said,) = retrained(cached, tmp_path / "model", noted)
    assert said.startswith(USELESS) and DESCRIPTION in said


def edited(kept: Path, **changed: Any) -> None:
    """Change the description and its checksum, as an attacker could."""
    said = {**msgspec.json.decode((kept / DESCRIPTION).read_bytes()), **changed}
    del said["checksum"]
    (kept / DESCRIPTION).write_bytes(msgspec.json.encode({**said, "checksum": digest(said)}))


def replaced(kept: Path, **changed: Any) -> None:
    """Change arrays of a shard and its checksum, as an attacker could; None removes an array."""
    arrays = {**load_file(kept / SHARD), **changed}
    checksum = write_shard(kept / SHARD, {name: each for name, each in arrays.items() if each is not None})
    ((_, target),) = msgspec.json.decode((kept / DESCRIPTION).read_bytes())["shards"]
    edited(kept, shards=[[checksum, target]])


def array(kept: Path, name: str) -> Any:
    return load_file(kept / SHARD)[name]


def huge(starts: Any) -> Any:
    """Return places of rows whose lengths overflow to small numbers."""
    starts[1:-1:2] = -(2**63)
    return starts


def elsewhere(path: Path) -> None:
    shutil.move(path, path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (lambda kept: os.truncate(kept / SHARD, (kept / SHARD).stat().st_size - 4), f"{SHARD}: damaged"),
        (lambda kept: os.truncate(kept / SHARD, 5), f"{SHARD}: damaged"),
        (lambda kept: (kept / SHARD).write_bytes((kept / SHARD).read_bytes()[:-1] + b"\x01"), f"{SHARD}: damaged"),
        (lambda kept: (kept / "0.target.safetensors").unlink(), "0.target.safetensors: No such file"),
        (lambda kept: elsewhere(kept / SHARD), f"{SHARD}: leads out of the folder"),
        (lambda kept: append(str(kept / "vocab.target.txt"), "new\n"), "their checksum does not match"),
        (lambda kept: (kept / DESCRIPTION).write_text("{"), f"{DESCRIPTION}: not JSON: "),
        (lambda kept: (kept / DESCRIPTION).write_text("{}"), f"{DESCRIPTION}: the field 'schema' is missing"),
        (lambda kept: edited(kept, schema=99), f"{DESCRIPTION}: has the schema 99, but this synmt"),
        (lambda kept: edited(kept, pairs=-1), f"{DESCRIPTION}: the number of pairs is -1"),
        (lambda kept: edited(kept, bad=[1]), f"{DESCRIPTION}: "),
        (lambda kept: edited(kept, shards=["a"]), "expected shards of source and target"),
        (lambda kept: edited(kept, shards=[]), "expected shards of source and target"),
        (lambda kept: edited(kept, shards=[["a"] * 3]), "expected shards of source and target"),
        (lambda kept: edited(kept, shards=[["a", "b"]]), f"{SHARD}: damaged"),
        (lambda kept: edited(kept, shards=5), f"{DESCRIPTION}: "),
        # A stranger could write these, with the right checksums:
        (lambda kept: replaced(kept, ids=array(kept, "ids") + 99), f"{SHARD}: ids outside of 0"),
        (lambda kept: replaced(kept, ids=array(kept, "ids") - 99), f"{SHARD}: ids outside of 0"),
        (lambda kept: replaced(kept, ids=array(kept, "ids")[1:]), f"{SHARD}: rows that do not cover the"),
        (lambda kept: replaced(kept, ids=array(kept, "ids") + 0.5), f"{SHARD}: ids are float64"),
        (lambda kept: replaced(kept, ids=array(kept, "ids")[:, None]), f"{SHARD}: ids are int32"),
        (lambda kept: replaced(kept, ids=None), f"{SHARD}: the field 'ids' is missing"),
        (lambda kept: replaced(kept, starts=-array(kept, "starts")), f"{SHARD}: rows that do not cover the"),
        (lambda kept: replaced(kept, starts=array(kept, "starts")[:0]), f"{SHARD}: rows that do not cover the"),
        (lambda kept: replaced(kept, starts=array(kept, "starts") + 1), f"{SHARD}: rows that do not cover the"),
        (lambda kept: replaced(kept, starts=huge(array(kept, "starts"))), f"{SHARD}: rows that do not cover the"),
        (lambda kept: replaced(kept, words=array(kept, "words")[1:]), f"{SHARD}: rows with other numbers of words"),
        (lambda kept: replaced(kept, words=-array(kept, "words")), f"{SHARD}: rows with other numbers of words"),
        (lambda kept: replaced(kept, words=array(kept, "words") + 99), f"{SHARD}: rows with other numbers of words"),
        (
            lambda kept: replaced(kept, starts=array(kept, "starts")[[0, -1]], words=array(kept, "words")[:1]),
            "the sides have .* rows",
        ),
    ],
)
def test_damaged_columns_are_computed_again(
    damage: Callable[[Path], None], cause: str, tmp_path: Path, noted: Noted
) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    first = run(tmp_path / "first", data, config=ONE, prepared=kept)
    damage(only(kept))
    noted()
    second = run(tmp_path / "second", data, config=ONE, prepared=kept)
    assert_same_tensors(first.parameters, second.parameters)
    assert re.search(f"{cause}.*; the columns were computed again", noted())
    run(tmp_path / "third", data, config=ONE, prepared=kept)
    assert "computed again" not in noted()


def test_half_written_columns_are_made_again(tmp_path: Path) -> None:
    data, kept = write_corpus(tmp_path), tmp_path / "kept"
    first = run(tmp_path / "first", data, config=ONE, prepared=kept)
    (only(kept) / DESCRIPTION).unlink()
    (only(kept) / "99.source.safetensors").write_text("half")
    assert_same_tensors(first.parameters, run(tmp_path / "second", data, config=ONE, prepared=kept).parameters)
    assert not (only(kept) / "99.source.safetensors").exists()


def test_useless_pairs_are_refused(tmp_path: Path) -> None:
    data, config = write_corpus(tmp_path), replace(ONE, merges=1, max_length=1)
    for name in ("kept", ""):
        with pytest.raises(BadInput, match="no sentence pairs to train on"):
            run(tmp_path / "out", data, config=config, prepared=tmp_path / name if name else None)
    empty = tmp_path / "empty"
    empty.write_text("")
    with pytest.raises(BadInput, match="no sentence pairs to train on"):
        run(tmp_path / "out", PairFiles(str(empty), str(empty)), config=ONE, prepared=tmp_path / "none", dev=data)


def test_columns_depend_on_the_code_of_other_packages_but_not_on_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our code has a schema, which tests/data/test_schema.py guards; an outside package is all its .py files."""
    package = tmp_path / "outside_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "helping.py").write_text("ONE = 1\n")
    (package / "component.py").write_text(
        "from dataclasses import dataclass\n"
        "from synmt.components.contract import EncoderComponent\n"
        "@dataclass(frozen=True)\n"
        "class Outside(EncoderComponent):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    outside = importlib.import_module("outside_package.component").Outside()
    read: list[Path] = []

    def checksum(path: Path) -> str:
        read.append(path)
        return str(path.stat().st_size)

    monkeypatch.setattr(prepared, "checksum", checksum)

    def key(source: SourceSide) -> dict[str, str]:
        model = ModelConfig(source, tiny.TARGET_SYSTEMS["sequence"], ("en", "de"), "none", tiny.CONFIG)
        return fingerprint({}, model, ONE, None, None, "fail")

    key(source_side({"mask": {}}))
    assert not read
    key(SourceSide({"outside": outside}))
    assert {path.name for path in read} == {"__init__.py", "helping.py", "component.py"} and len(read) == 4
    for file in package.rglob("*.py"):
        before = key(SourceSide({"outside": outside}))
        append(str(file), "# changed\n")
        assert differing(before, key(SourceSide({"outside": outside}))) == ["code of components"]
