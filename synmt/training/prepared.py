"""Sentence pairs as ids on a disk: made of a bitext by several processes, for one training or, in a folder, for many.

A folder of prepared data holds codes.bpe, the vocabulary, for each array two .npy files, and prepared.json: what the
data were made of, by which they are known again, and a checksum of each array. Nothing in it is code or pickle.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray
from tqdm import tqdm

from synmt import __version__
from synmt.model.config import ModelConfig
from synmt.model.corpus import SOURCE, TARGET, Corpus, is_matrix
from synmt.model.files import LARGEST_CONFIG, LARGEST_TEXT, check_inside, naming, write_aside
from synmt.model.folder import CODES_FILE, MOST_TOKENS, ModelFolder
from synmt.model.prefixes import PrefixPlan
from synmt.model.rows import ArrayWriter, open_array
from synmt.pool import processes
from synmt.streams import BadInput, BadLines, Notes, OnError, WrongUsage
from synmt.systems.idea import Task
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words
from synmt.text.vocabulary import UNKNOWN, VOCABULARY_FILES, Vocabulary
from synmt.training.bitext import WINDOW, Bitext, pairs_of
from synmt.training.config import TrainingConfig
from synmt.training.preparation import Counts, Remarks, encode, training_examples

T = TypeVar("T")
DESCRIPTION, FORMAT = "prepared.json", 1
MUCH_UNKNOWN = 1e-3  # of the tokens
TaskRows = tuple[Task, list[bytes]]  # a task, and lines of a bitext to make its examples of


@dataclass(frozen=True)
class TextPairs:
    """A bitext, which each training makes ids of anew. jobs: processes that do."""

    bitext: Bitext
    words: Words
    notes: Notes
    jobs: int

    def __len__(self) -> int:
        return len(self.bitext)

    @property
    def checksum(self) -> str:
        return self.bitext.checksum

    def joint_bpe(self, merges: int) -> Bpe:
        return self.bitext.joint_bpe(merges, self.jobs)

    def vocabulary(self, config: ModelConfig, bpe: Bpe) -> Vocabulary:
        if config.source.reads_words_alone and not config.target.writes_arcs:
            return Counts.of_words(*self.bitext.words(self.jobs), bpe).vocabulary(config.target)
        counts = Counts()
        here = CountWindow(config, bpe)
        with processes(self.jobs, here, CountWindow.open, settings_of(config), bpe.codes) as run:
            for found in self._with_progress(run(self._windows(config)), "vocabulary", config):
                counts.add(found)
        return counts.vocabulary(config.target)

    def corpus(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        """Return the pairs as ids, in files that are gone with their last user."""
        with TemporaryDirectory(prefix="synmt-") as place:
            with naming(Path(place)):
                arrays = self.write(Path(place), folder.config, folder.bpe, folder.vocabulary, training)
            return open_corpus(Path(place), arrays, folder.config, folder.vocabulary, training)

    def write(
        self, place: Path, config: ModelConfig, bpe: Bpe, vocabulary: Vocabulary, training: TrainingConfig
    ) -> dict[str, Any]:
        """Write all examples as ids into a folder; return what `open_corpus` asks for. Raises BadInput."""
        max_length, bare = training.max_length, training.tree_dropout > 0
        here = EncodeWindow(config, bpe, vocabulary, max_length, bare)
        known = settings_of(config), bpe.codes, orjson.dumps([vocabulary.target, vocabulary.source, vocabulary.labels])
        remarks = Remarks()
        unknown, tokens = Counter[str](), Counter[str]()
        with (
            CorpusWriter(place) as writer,
            processes(self.jobs, here, EncodeWindow.open, *known, max_length, bare) as run,
        ):
            for found in self._with_progress(run(self._windows(config)), "ids", config):
                writer.append(found.arrays)
                remarks.add(found.remarks)
                unknown.update(found.unknown)
                tokens.update(found.tokens)
            remarks.note(self.notes, max_length)
            for side, count in unknown.items():
                if count > MUCH_UNKNOWN * tokens[side]:
                    share = f"{count / tokens[side]:.1%} of the {side} tokens"
                    self.notes.add(f"{share} are not in the vocabulary, and are learnt as unknown")
            return writer.finish()

    def _with_progress(self, windows: Iterable[T], of: str, config: ModelConfig) -> Iterable[T]:
        """Return what windows give, with a progress line on stderr if that is a terminal."""
        count = len(config.source.tasks) * -(-len(self.bitext) // WINDOW)
        watched: Iterable[T] = tqdm(
            windows, of, count, leave=False, unit=" sentences", unit_scale=WINDOW, disable=not sys.stderr.isatty()
        )
        return watched

    def _windows(self, config: ModelConfig) -> Iterator[TaskRows]:
        for task in config.source.tasks:
            for rows in self.bitext.windows(WINDOW):
                yield task, rows


def settings_of(config: ModelConfig) -> bytes:
    """Return what a process makes the config from again."""
    return orjson.dumps(config.fields())


@dataclass(frozen=True)
class CountWindow:
    """Counts the entries and labels of some examples."""

    config: ModelConfig
    bpe: Bpe

    def __call__(self, item: TaskRows) -> Counts:
        task, rows = item
        return Counts.of(training_examples(list(pairs_of(rows)), self.config, self.bpe, [task]))

    @classmethod
    def open(cls, settings: bytes, codes: str) -> "CountWindow":
        return cls(ModelConfig.read(orjson.loads(settings)), Bpe(codes))


@dataclass(frozen=True)
class WindowEncoded:
    """arrays: of the examples that are kept the numbers of all rows and their lengths, by name; unknown, tokens: how
    many, by side."""

    arrays: dict[str, tuple[NDArray[Any], NDArray[np.int64]]]
    remarks: Remarks
    unknown: dict[str, int]
    tokens: dict[str, int]


@dataclass(frozen=True)
class EncodeWindow:
    """Makes ids of some examples."""

    config: ModelConfig
    bpe: Bpe
    vocabulary: Vocabulary
    max_length: int
    bare: bool

    def __call__(self, item: TaskRows) -> WindowEncoded:
        task, rows = item
        examples = training_examples(list(pairs_of(rows)), self.config, self.bpe, [task], self.bare)
        corpus, remarks = encode(examples, self.config, self.vocabulary, self.max_length)
        arrays = {name: _flat(rows) for name, rows in corpus.rows().items()}
        names = {"source": SOURCE + "ids", "target": TARGET}
        ids = {side: arrays[name][0] for side, name in names.items() if name in arrays}
        unknown = {side: int((each == UNKNOWN).sum()) for side, each in ids.items()}
        return WindowEncoded(arrays, remarks, unknown, {side: len(each) for side, each in ids.items()})

    @classmethod
    def open(cls, settings: bytes, codes: str, vocabulary: bytes, max_length: int, bare: bool) -> "EncodeWindow":
        config = ModelConfig.read(orjson.loads(settings))
        return cls(config, Bpe(codes), Vocabulary(*orjson.loads(vocabulary)), max_length, bare)


def _flat(rows: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return np.concatenate([row.ravel() for row in rows]), np.array([row.size for row in rows], np.int64)


class CorpusWriter:
    """Writes the arrays of a corpus as they come; a context manager."""

    def __init__(self, place: Path) -> None:
        self._place, self._open = place, ExitStack()
        self._writers: dict[str, tuple[ArrayWriter, ArrayWriter]] = {}
        self._ends: Counter[str] = Counter()

    def append(self, arrays: Mapping[str, tuple[NDArray[Any], NDArray[np.int64]]]) -> None:
        """Add rows, by the names of `Corpus.rows`."""
        for name, (values, lengths) in arrays.items():
            if name not in self._writers:
                files = _files(self._place, len(self._writers))
                writers = ArrayWriter(files[0], _kind(name)), ArrayWriter(files[1], "int64")
                self._writers[name] = self._open.enter_context(writers[0]), self._open.enter_context(writers[1])
            of_values, of_ends = self._writers[name]
            of_values.append(values)
            of_ends.append(self._ends[name] + lengths.cumsum())
            self._ends[name] += len(values)

    def finish(self) -> dict[str, Any]:
        """Complete the files; return checksums of both files of each array, by its name, in the order of the files."""
        return {name: [writer.finish() for writer in both] for name, both in self._writers.items()}

    def __enter__(self) -> "CorpusWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def open_corpus(
    place: Path, arrays: Mapping[str, Any], config: ModelConfig, vocabulary: Vocabulary, training: TrainingConfig
) -> Corpus:
    """Return the corpus in a folder, which stays on the disk; arrays: as `CorpusWriter.finish` gives them.

    Raises BadInput for files that are missing or damaged, or of no corpus.
    """
    found = {}
    for number, (name, checksums) in enumerate(arrays.items()):
        files = zip(_files(place, number), (_kind(name), "int64"), checksums, strict=True)
        values, ends = (open_array(*each) for each in files)
        found[name] = values, ends
    if not found:
        raise BadInput("no sentence pairs to train on")
    plan = PrefixPlan(training.prefixes, training.prefix_tokens)
    with naming(place):
        return Corpus.of_rows(found, vocabulary, config.target, plan, training.tree_dropout)


def _files(place: Path, number: int) -> tuple[Path, Path]:
    return place / f"{number}.npy", place / f"{number}.ends.npy"


def _kind(name: str) -> str:
    return "bool" if is_matrix(name) else "int32"


@dataclass(frozen=True)
class PreparedPairs:
    """Pairs in a folder, as ids.

    pairs, checksum: of the bitext that they were made of; words: of its sources; notes: what is doubtful about it;
    bad: how many of its lines were left empty, by kind; arrays: as `CorpusWriter.finish`.
    """

    folder: Path
    pairs: int
    checksum: str
    words: Words
    notes: list[str]
    bad: dict[str, int]
    arrays: dict[str, list[str]]
    bpe: Bpe
    only_vocabulary: Vocabulary

    def __len__(self) -> int:
        return self.pairs

    def joint_bpe(self, merges: int) -> Bpe:
        return self.bpe

    def vocabulary(self, config: ModelConfig, bpe: Bpe) -> Vocabulary:
        return self.only_vocabulary

    def corpus(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        """Return the pairs as they lie on the disk. Raises BadInput."""
        if folder.bpe.codes != self.bpe.codes or folder.vocabulary != self.only_vocabulary:
            raise BadInput(f"has other subwords than the model in {folder.path}", str(self.folder))
        return open_corpus(self.folder, self.arrays, folder.config, folder.vocabulary, training)


def made_of(
    files: Mapping[str, str],
    model: ModelConfig,
    training: TrainingConfig,
    codes: str | None,
    start: ModelFolder[ModelConfig] | None,
    on_error: OnError,
) -> dict[str, str]:
    """Return what decides prepared data, by the options that it comes from; files: of text, by option. Raises BadInput
    for one that cannot be read, WrongUsage for standard input."""
    if "-" in files.values():
        raise WrongUsage("--prepared: standard input is read once, and cannot be known again; name a file")
    learnt = not (codes or start)
    return {
        **{option: _checksum_of_file(path) for option, path in files.items()},
        "--codes": _checksum(Bpe.load(codes).codes) if codes else "",
        "--init": _checksum(start.bpe.codes, *start.vocabulary.files().values()) if start else "",
        "--merges": str(training.merges) if learnt else "",
        "--max-length": str(training.max_length),
        "--tree-dropout": "above 0" if training.tree_dropout else "0",
        "--on-error": on_error,
        "--tokenizer": model.tokenizer,
        "language": " ".join(model.languages),
        "system, or other options of its ideas": _checksum(
            orjson.dumps([model.source.settings(), model.target.settings()]).decode()
        ),
        "version of synmt": __version__,
    }


def _checksum(*texts: str) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()


def _checksum_of_file(path: str) -> str:
    with naming(Path(path)), Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_made(folder: Path) -> bool:
    return (folder / DESCRIPTION).exists()


def make_folder(
    folder: Path,
    pairs: TextPairs,
    known: Mapping[str, str],
    model: ModelConfig,
    subwords: tuple[Bpe, Vocabulary],
    training: TrainingConfig,
    bad: BadLines,
) -> None:
    """Write prepared data into a folder, their description last: where it is, all else is. Raises BadInput.

    known: as `made_of`; bad: lines of the text that were left empty.
    """
    bpe, vocabulary = subwords
    names = {CODES_FILE, *VOCABULARY_FILES}
    with naming(folder):
        for path in folder.iterdir():
            if path.suffix != ".npy" and path.name not in names:
                raise BadInput(f"holds {path.name}, and no prepared data; name another folder", str(folder))
            path.unlink()
        arrays = pairs.write(folder, model, bpe, vocabulary, training)
    texts = {CODES_FILE: bpe.codes, **vocabulary.files()}
    for name, text in texts.items():
        write_aside(folder / name, text.encode())
    description = {
        "format": FORMAT,
        "made_of": known,
        "pairs": len(pairs),
        "data": pairs.checksum,
        "words": asdict(pairs.words),
        "notes": list(pairs.notes),
        "bad": bad.counts,
        "texts": _checksum(*texts.values()),
        "arrays": arrays,
    }
    write_aside(folder / DESCRIPTION, orjson.dumps(description, option=orjson.OPT_INDENT_2))


def open_pairs(folder: Path, known: Mapping[str, str]) -> PreparedPairs:
    """Open a folder of prepared data. Raises BadInput for one that is damaged, or was made of something else."""
    path = folder / DESCRIPTION
    check_inside(folder, path, LARGEST_CONFIG)
    with naming(path):
        said = dict(orjson.loads(path.read_bytes()))
        if said["format"] != FORMAT:
            raise ValueError(f"format {said['format']} is not known, only {FORMAT}")
        before = dict(said["made_of"])
        if other := [each for each in {**known, **before} if known.get(each) != before.get(each)]:
            raise BadInput(f"was prepared from another {other[0]}; name another --prepared, or remove it", str(folder))
    for name in (CODES_FILE, *VOCABULARY_FILES):
        check_inside(folder, folder / name, LARGEST_TEXT)
    with naming(path):
        bpe, vocabulary = Bpe.load(str(folder / CODES_FILE)), Vocabulary.load(folder, MOST_TOKENS)
        if _checksum(bpe.codes, *vocabulary.files().values()) != said["texts"]:
            raise ValueError("codes or a vocabulary have changed: their checksum is another")
        if type(said["pairs"]) is not int or said["pairs"] < 1:
            raise ValueError(f"{said['pairs']!r:.40} pairs")
        counts = {str(kind): int(count) for kind, count in said["bad"].items()}
        return PreparedPairs(
            folder,
            said["pairs"],
            str(said["data"]),
            Words(**said["words"]),
            list(map(str, said["notes"])),
            counts,
            {str(name): list(checksums) for name, checksums in said["arrays"].items()},
            bpe,
            vocabulary,
        )
