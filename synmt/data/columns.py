"""Columns of sentence pairs on disk: computed once, by one process or several, and read through memory maps."""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from synmt.components.contract import Kinds as Kind
from synmt.components.contract import Task
from synmt.data.bitext import WINDOW, Bitext, pairs_of
from synmt.data.corpus import SOURCE, TARGET, Corpus
from synmt.data.preparation import Counts, Remarks, encode, segmentations, training_examples
from synmt.data.rows import ArrayWriter, open_array
from synmt.model.config import ModelConfig
from synmt.model.files import naming
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import BadInput, Notes
from synmt.streams.pool import processes
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words
from synmt.text.vocabulary import UNKNOWN, Vocabulary

MUCH_UNKNOWN = 1e-3  # a larger share of unknown tokens is reported
Arrays = Mapping[str, tuple[NDArray[Any], NDArray[Any]]]  # by name, the numbers of all rows and the ends of the rows
TaskRows = tuple[Task, list[bytes]]  # a task, and the lines of a bitext for its examples


class ColumnOptions(Protocol):
    """The options of a training run that its columns and their reading depend on, described where they are declared."""

    @property
    def merges(self) -> int: ...
    @property
    def max_length(self) -> int: ...
    @property
    def tree_dropout(self) -> float: ...
    @property
    def subword_dropout(self) -> float: ...
    @property
    def prefixes(self) -> int: ...
    @property
    def prefix_tokens(self) -> int: ...


@dataclass(frozen=True)
class TextPairs:
    """Sentence pairs for which `jobs` processes compute columns. marks: as in ModelConfig."""

    bitext: Bitext
    words: Words
    notes: Notes
    jobs: int
    marks: bool = False

    def __len__(self) -> int:
        return len(self.bitext)

    def joint_bpe(self, merges: int) -> Bpe:
        return self.bitext.joint_bpe(merges, self.jobs, self.marks)

    def write(
        self, place: Path, config: ModelConfig, bpe: Bpe, training: ColumnOptions, known: Vocabulary | None = None
    ) -> tuple[Vocabulary, dict[str, Any]]:
        """Write the columns of all pairs into a folder; return the vocabulary, and the `checksums` for `open_arrays`.

        known: the vocabulary of a trained model, to use instead of a new one. The components read each pair once per
        task. Their features are stored in a temporary file until the vocabulary is known. Raises BadInput.
        """
        draft = partial(draft_window, config, bpe, training.tree_dropout > 0, training.subword_dropout)
        windows = ((task, rows) for task in config.source.tasks for rows in self.bitext.windows(WINDOW))
        total = len(config.source.tasks) * -(-len(self.bitext) // WINDOW)
        watched = partial(tqdm, total=total, leave=False, unit=" sentences", unit_scale=WINDOW, disable=None)
        counts, remarks = Counts(), Remarks()
        unknown, tokens = Counter[str](), Counter[str]()
        with naming(place), TemporaryFile(dir=place) as drafts:
            with processes(self.jobs, draft) as run:
                sizes = []
                for drafted, found in watched(run(windows), "examples"):
                    sizes.append(drafts.write(drafted))
                    counts.add(found)
            vocabulary = known or counts.vocabulary(config.target)
            drafts.seek(0)
            to_columns = partial(encode_window, config, vocabulary, training.max_length)
            with CorpusWriter(place) as writer, processes(self.jobs, to_columns) as run_encoding:
                for each in watched(run_encoding(map(drafts.read, sizes)), "columns"):
                    writer.append(each.arrays)
                    remarks.add(each.remarks)
                    unknown.update(each.unknown)
                    tokens.update(each.tokens)
                arrays = writer.finish()
        remarks.note(self.notes, training.max_length)
        for side, count in unknown.items():
            if count > MUCH_UNKNOWN * tokens[side]:
                share = f"{count / tokens[side]:.1%} of the {side} tokens"
                self.notes.add(f"{share} are not in the vocabulary, and become unknown tokens")
        return vocabulary, arrays


def draft_window(config: ModelConfig, bpe: Bpe, bare: bool, dropout: float, item: TaskRows) -> tuple[bytes, Counts]:
    """Return the examples of some pairs, pickled until the vocabulary is known, and their counts."""
    task, rows = item
    examples = list(training_examples(pairs_of(rows), config, bpe, [task], bare, dropout))
    return pickle.dumps(examples), Counts.of(examples)


@dataclass(frozen=True)
class WindowEncoded:
    """arrays: by name, the numbers and the lengths of all rows; unknown, tokens: how many each side has."""

    arrays: dict[str, tuple[NDArray[Any], NDArray[np.int64]]]
    remarks: Remarks
    unknown: dict[str, int]
    tokens: dict[str, int]


def encode_window(config: ModelConfig, vocabulary: Vocabulary, max_length: int, draft: bytes) -> WindowEncoded:
    """Return the columns of the examples of `draft_window`."""
    corpus, remarks = encode(pickle.loads(draft), config, vocabulary, max_length)
    arrays = {name: _flat(rows) for name, rows in corpus.rows().items()}
    names = {"source": SOURCE + "ids", "target": TARGET}
    ids = {side: arrays[name][0] for side, name in names.items() if name in arrays}
    unknown = {side: int((each == UNKNOWN).sum()) for side, each in ids.items()}
    return WindowEncoded(arrays, remarks, unknown, {side: len(each) for side, each in ids.items()})


def _flat(rows: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return np.concatenate([row.ravel() for row in rows]), np.array([row.size for row in rows], np.int64)


class CorpusWriter(ExitStack):
    """Writes the arrays of a corpus, some rows at a time, into files that it closes at the end."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._place = place
        self._writers: dict[str, tuple[ArrayWriter, ArrayWriter]] = {}
        self._kinds: dict[str, str] = {}
        self._ends: Counter[str] = Counter()

    def append(self, arrays: Mapping[str, tuple[NDArray[Any], NDArray[np.int64]]]) -> None:
        """Add rows by name, as in `Corpus.rows`."""
        for name, (values, lengths) in arrays.items():
            if name not in self._writers:
                files = [self.enter_context(path.open("wb")) for path in _files(self._place, len(self._writers))]
                kind = values.dtype.name
                self._writers[name] = ArrayWriter(files[0], kind), ArrayWriter(files[1], "int64")
                self._kinds[name] = kind
            of_values, of_ends = self._writers[name]
            of_values.append(values)
            of_ends.append(self._ends[name] + lengths.cumsum())
            self._ends[name] += len(values)

    def finish(self) -> dict[str, Any]:
        """Complete the files; return the type of each array and the checksums of both its files, by name, in the order
        of the files."""
        return {name: [self._kinds[name], *(each.finish() for each in both)] for name, both in self._writers.items()}


def open_arrays(place: Path, checksums: Mapping[str, Any]) -> Arrays:
    """Return the arrays in a folder, memory-mapped; checksums: as `CorpusWriter.finish` returns them.

    Raises BadInput for missing or damaged files.
    """
    found = {}
    for number, (name, (kind, *both)) in enumerate(checksums.items()):
        if kind not in get_args(Kind):
            raise BadInput(f"{name} have the type {kind!r:.40}", str(place))
        values, ends = map(open_array, _files(place, number), (kind, "int64"), both)
        found[name] = values, ends
    return found


def open_corpus(
    place: Path, arrays: Arrays, config: ModelConfig, vocabulary: Vocabulary, training: ColumnOptions
) -> Corpus:
    """Return the corpus of the arrays of a folder. Raises BadInput for arrays that do not form a corpus."""
    if not arrays:
        raise BadInput("no sentence pairs to train on")
    plan = PrefixPlan(training.prefixes, training.prefix_tokens)
    with naming(place):
        each = segmentations(training.subword_dropout)
        sides = config.source, config.target
        return Corpus.of_rows(arrays, vocabulary, sides, plan, training.tree_dropout, each)


def _files(place: Path, number: int) -> tuple[Path, Path]:
    return place / f"{number}.npy", place / f"{number}.ends.npy"
