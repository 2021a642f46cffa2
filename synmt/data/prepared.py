"""Saved columns of sentence pairs. The name of their folder is a checksum of everything that they were made from.

A folder contains codes.bpe, the vocabulary, the shards, and prepared.json, which lists the input that the columns were
made from, notes, and the checksum of each shard. It contains neither code nor pickles.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import msgspec

from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.preparation import ColumnOptions, open_corpus, prepare
from synmt.model.config import ModelConfig
from synmt.model.files import LARGEST_TEXT, check_inside, locked, naming, write_aside
from synmt.model.fingerprint import check_same, checksum, digest
from synmt.model.folder import CODES_FILE, MOST_TOKENS, ModelFolder
from synmt.streams import BadInput, BadLines, Message, Notes, OnError, readable
from synmt.streams.decoding import decoded, encoded
from synmt.streams.paths import cache_folder
from synmt.streams.process import temporary_folder
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary

DESCRIPTION = "prepared.json"
# Raise it with every change of the code that changes columns; tests/data/test_schema.py compares them.
SCHEMA = 7
NOT_SAVED = "the columns are not saved, since the cache cannot be used"
POLL = 0.01  # seconds between two attempts to take a lock
CACHE_LIMIT = 20 * 10**9  # bytes of all columns in the cache
LIBRARIES = (  # they find words, subwords and trees
    *("sacremoses", "regex", "fugashi", "unidic-lite", "jieba", "subword-nmt", "spacy", "benepar", "ufal.udpipe"),
)


@dataclass(frozen=True)
class PreparedPairs:
    """Columns in a folder.

    count, checksum: the number and the checksum of the pairs as text; words: the tokenizer of the sources.
    notes: warnings about the text; bad: the number of bad lines, by kind; corpus: the columns, memory-mapped.
    """

    folder: Path
    count: int
    checksum: str
    words: Words
    notes: list[str]
    bad: dict[str, int]
    bpe: Bpe
    corpus: Corpus


def fingerprint(
    files: Mapping[str, str],
    model: ModelConfig,
    training: ColumnOptions,
    codes: str | None,
    start: ModelFolder[ModelConfig] | None,
    on_error: OnError,
) -> dict[str, str]:
    """Return everything that the columns depend on, by option. files: the files of the text, by option.

    Raises BadInput for an unreadable file.
    """
    learned = not (codes or start)
    return {
        **{option: f"{readable(path)} {checksum(Path(path))}" for option, path in files.items()},
        "--codes": _checksum(Bpe.load(codes).codes) if codes else "",
        "--init": _checksum(start.bpe.codes, *start.vocabulary.files().values()) if start else "",
        "--merges": str(training.merges) if learned else "",
        "--max-length": str(training.max_length),
        "--tree-dropout": "above 0" if training.tree_dropout else "0",
        "--subword-dropout": str(training.subword_dropout),
        "--on-error": on_error,
        "--tokenizer": model.tokenizer,
        "language": " ".join(model.languages),
        "words of the model in --init": repr(model.words),
        "system, or other options of its components": _checksum(
            msgspec.json.encode([model.source.settings(), model.target.settings()]).decode()
        ),
        "schema": str(SCHEMA),
        "versions of libraries": _versions(),
        "code of components": digest(_code_of_others(model)),
    }


@cache
def _versions() -> str:
    """Return the installed versions of LIBRARIES."""
    from importlib.metadata import distributions  # slow to load

    return " ".join(f"{name} {each.version}" for name in LIBRARIES for each in distributions(name=name))


def _code_of_others(model: ModelConfig) -> dict[str, str]:
    """Return checksums of the packages of components from elsewhere, since SCHEMA stands only for our own code."""
    components = [*model.source.components.values(), *model.target.components.values()]
    names = {type(each).__module__.partition(".")[0] for each in components} - {"synmt"}
    found = {}
    for name in names:
        module = sys.modules[name]
        for root in map(Path, getattr(module, "__path__", [str(module.__file__)])):
            for file in root.rglob("*.py") if root.is_dir() else [root]:
                found[f"{name} {file.relative_to(root)}"] = checksum(file)
    return found


@contextmanager
def opened_pairs(
    place: Path | None, key: str, make: Callable[[Path], None], open_: Callable[[Path], PreparedPairs], notes: Notes
) -> Iterator[PreparedPairs]:
    """Yield the columns: saved ones of the same input that are undamaged, or new ones.

    Only one process at a time makes them. place: the folder of all columns, None for the user's cache, from which the
    least recently used are removed if it is full; a cache that cannot be used is noted. key: of what they are made
    from, "" for pairs that can be read only once. Columns that are not saved are removed afterwards. make: writes them
    into a folder; open_: opens it. Raises BadInput.
    """
    found = None
    with ExitStack() as stack:
        if key and place:
            found = _saved(stack, place / key, 0o777, make, open_, notes)
        elif key:
            try:
                folder = cache_folder("columns", key)
                found = _saved(stack, folder, 0o700, make, open_, notes)
                with suppress(OSError):  # another process may be removing the same files
                    limit(folder.parent, CACHE_LIMIT, folder)
            except (OSError, BadInput) as error:
                if isinstance(error, BadInput) and not isinstance(error.__context__, OSError):
                    raise  # about the text
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
                notes.add(Message("{}: {}; --prepared names a folder", NOT_SAVED, why))
        if found is None:
            temporary = stack.enter_context(temporary_folder("synmt-"))
            make(temporary)
            found = open_(temporary)
        yield found


def _saved(
    stack: ExitStack,
    folder: Path,
    mode: int,
    make: Callable[[Path], None],
    open_: Callable[[Path], PreparedPairs],
    notes: Notes,
) -> PreparedPairs:
    """Return the columns in a folder, which are made if they are missing or damaged, and stay locked as long as the
    stack. mode: of a new folder. Raises BadInput, and OSError where it cannot look into the folder."""
    new = False  # whether this process has made them
    while True:
        with naming(folder):
            folder.mkdir(mode, parents=True, exist_ok=True)
        # This waits for the process that makes them, and keeps others from removing them.
        with ExitStack() as shared:
            shared.enter_context(locked(folder, wait=True, shared=True))
            if (folder / DESCRIPTION).exists():
                with suppress(OSError):
                    os.utime(folder)
                try:
                    found = open_(folder)
                except BadInput as error:
                    if new:
                        raise
                    with naming(folder):
                        (folder / DESCRIPTION).unlink(missing_ok=True)
                    notes.add(Message("{}; the columns were computed again", error))
                else:
                    stack.enter_context(shared.pop_all())
                    return found
        with ExitStack() as alone:
            try:
                alone.enter_context(locked(folder))
            except BadInput:  # others may hold the lock for days, so do not wait for it
                time.sleep(POLL)
                continue
            if not (folder / DESCRIPTION).exists():
                try:
                    make(folder)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
                new = True


def limit(root: Path, size: int, kept: Path) -> None:
    """Remove the least recently used columns that are not in use, until all together have at most `size` bytes."""
    found = (each for each in root.iterdir() if each.is_dir() and not each.is_symlink())
    folders = sorted(found, key=lambda each: each.stat().st_mtime)
    sizes = {each: sum(file.lstat().st_size for file in each.iterdir()) for each in folders}
    total = sum(sizes.values())
    for folder in folders:
        if total > size and folder != kept:
            with suppress(BadInput, OSError), locked(folder):
                (folder / DESCRIPTION).unlink(missing_ok=True)
                shutil.rmtree(folder)
                total -= sizes[folder]


@dataclass(frozen=True)
class PairsRead:
    """The pairs as text, their subwords, and what was noted while they were read."""

    bitext: Bitext
    words: Words
    bpe: Bpe
    notes: Notes
    bad: BadLines


def make_folder(
    folder: Path,
    pairs: PairsRead,
    known: Mapping[str, str],
    model: ModelConfig,
    training: ColumnOptions,
    jobs: int,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write columns into a folder, and their description last, so that a folder with one is complete. Raises BadInput.

    known: as `fingerprint` returns it; vocabulary: a trained model's, to use instead of a new one.
    """
    with naming(folder):
        for path in folder.iterdir():  # left by a killed process
            path.unlink()
    vocabulary, shards = prepare(folder, pairs.bitext, model, pairs.bpe, training, pairs.notes, jobs, vocabulary)
    texts = {CODES_FILE: pairs.bpe.codes, **vocabulary.files()}
    for name, text in texts.items():
        write_aside(folder / name, text.encode())
    description = {
        "schema": SCHEMA,
        "fingerprint": known,
        "pairs": len(pairs.bitext),
        "data": pairs.bitext.checksum,
        "words": asdict(pairs.words),
        "notes": list(pairs.notes),
        "bad": pairs.bad.counts,
        "texts": _checksum(*texts.values()),
        "shards": shards,
    }
    described = {**description, "checksum": digest(description)}
    write_aside(folder / DESCRIPTION, msgspec.json.format(encoded(described)))


def open_pairs(folder: Path, known: Mapping[str, str], model: ModelConfig, training: ColumnOptions) -> PreparedPairs:
    """Open a folder of columns. Raises BadInput if it is damaged or was made from other input."""
    path = folder / DESCRIPTION
    check_inside(folder, path, LARGEST_TEXT)
    with naming(path):
        said = dict(decoded(path.read_bytes()))
        if said["schema"] != SCHEMA:
            raise ValueError(f"has the schema {said['schema']!r:.40}, but this synmt reads {SCHEMA}")
        if said.pop("checksum") != digest(said):
            raise ValueError("damaged: its checksum does not match")
        check_same(folder, dict(said["fingerprint"]), known, "was prepared")
    for name in (CODES_FILE, *VOCABULARY_FILES):
        check_inside(folder, folder / name, LARGEST_TEXT)
    with naming(path):
        bpe, vocabulary = Bpe.load(str(folder / CODES_FILE)), Vocabulary.load(folder, MOST_TOKENS)
        if _checksum(bpe.codes, *vocabulary.files().values()) != said["texts"]:
            raise ValueError("codes or a vocabulary have changed: their checksum does not match")
        if type(said["pairs"]) is not int or said["pairs"] < 1:
            raise ValueError(f"the number of pairs is {said['pairs']!r:.40}")
        return PreparedPairs(
            folder,
            said["pairs"],
            str(said["data"]),
            Words(**said["words"]),
            list(map(str, said["notes"])),
            {str(kind): int(count) for kind, count in dict(said["bad"]).items()},
            bpe,
            open_corpus(folder, [list(map(str, each)) for each in said["shards"]], model, vocabulary, training),
        )


def _checksum(*texts: str) -> str:
    return hashlib.sha256(msgspec.json.encode(texts)).hexdigest()
