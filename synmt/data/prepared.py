"""Saved columns of sentence pairs. The name of their folder is a checksum of everything that they were made from.

A folder contains codes.bpe, the vocabulary, two .npy files per array, and prepared.json, which lists the input that the
columns were made from, notes, and the checksum of each array. It contains neither code nor pickles.
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
from typing import Any

import msgspec

import synmt
from synmt.data.columns import Arrays, ColumnOptions, TextPairs, open_arrays, open_corpus
from synmt.data.corpus import Corpus
from synmt.model.config import ModelConfig
from synmt.model.files import LARGEST_CONFIG, LARGEST_TEXT, check_inside, locked, naming, write_aside
from synmt.model.folder import CODES_FILE, MOST_TOKENS, ModelFolder
from synmt.model.made import check_same, checksum, digest
from synmt.streams import BadInput, BadLines, Message, Notes, OnError, readable
from synmt.streams.decoding import decoded
from synmt.streams.paths import cache_folder
from synmt.streams.process import temporary_folder
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary

DESCRIPTION, FORMAT = "prepared.json", 5
NOT_SAVED = "the columns are not saved, since the cache cannot be used"
POLL = 0.01  # seconds between two attempts to take a lock
CACHE_LIMIT = 20 * 10**9  # bytes of all columns in the cache
LIBRARIES = (  # they find words, subwords and trees
    *("sacremoses", "regex", "fugashi", "unidic-lite", "jieba", "subword-nmt", "spacy", "benepar", "ufal.udpipe"),
)


@dataclass(frozen=True)
class PreparedPairs:
    """Columns in a folder.

    pairs, checksum: the number and the checksum of the pairs as text; words: the tokenizer of the sources.
    notes: doubts about the text; bad: the number of bad lines, by kind; arrays: the columns, memory-mapped.
    """

    folder: Path
    pairs: int
    checksum: str
    words: Words
    notes: list[str]
    bad: dict[str, int]
    arrays: Arrays
    bpe: Bpe
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return self.pairs

    def joint_bpe(self, merges: int) -> Bpe:
        return self.bpe

    def corpus(self, folder: ModelFolder[ModelConfig], training: ColumnOptions) -> Corpus:
        """Return the columns as a corpus. Raises BadInput."""
        if folder.bpe.codes != self.bpe.codes or folder.vocabulary != self.vocabulary:
            raise BadInput(f"has other subwords than the model in {folder.path}", str(self.folder))
        return open_corpus(self.folder, self.arrays, folder.config, folder.vocabulary, training)


def made_of(
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
        "version of synmt": synmt.__version__,
        "versions of libraries": _versions(),
        "code": digest({name: _code(name) for name in sorted({synmt.__name__, *_packages(model)})}),
    }


@cache
def _versions() -> str:
    """Return the installed versions of LIBRARIES."""
    from importlib.metadata import distributions  # slow to load

    return " ".join(f"{name} {each.version}" for name in LIBRARIES for each in distributions(name=name))


def _packages(model: ModelConfig) -> set[str]:
    """Return the packages that hold the components of a model."""
    components = [*model.source.components.values(), *model.target.components.values()]
    return {type(each).__module__.partition(".")[0] for each in components}


@cache
def _code(package: str) -> str:
    """Return a checksum of a package's code and of the names and sizes of its data, on which columns depend."""
    module = sys.modules[package]
    roots = [Path(each) for each in getattr(module, "__path__", [module.__file__])]
    files = [(root, each) for root in roots for each in (root, *root.rglob("*")) if each.is_file()]
    return digest(
        {
            str(file.relative_to(root)): checksum(file) if file.suffix == ".py" else file.stat().st_size
            for root, file in files
            if file.suffix not in (".pyc", ".so")
        }
    )


@contextmanager
def opened_pairs(
    place: Path | None, known: Mapping[str, str] | None, read: Callable[[], Callable[[Path], None]], notes: Notes
) -> Iterator[PreparedPairs]:
    """Yield the columns: saved ones of the same input that are undamaged, or new ones.

    Only one process at a time makes them. place: the folder of all columns, None for the user's cache, from which the
    least recently used are removed if it is full; a cache that cannot be used is noted. known: what they are made from,
    as `made_of` returns it; None for pairs that can be read only once. Columns that are not saved are removed
    afterwards. read: reads the text, and returns a function that writes its columns into a folder. Raises BadInput.
    """
    read = cache(read)
    found = None
    with ExitStack() as stack:
        if known is not None and place:
            found = _saved(stack, place / digest(known), 0o777, known, read, notes)
        elif known is not None:
            try:
                folder = cache_folder("columns", digest(known))
                found = _saved(stack, folder, 0o700, known, read, notes)
                with suppress(OSError):  # another process may be removing the same files
                    limit(folder.parent, CACHE_LIMIT, folder)
            except (OSError, BadInput) as error:
                if isinstance(error, BadInput) and not isinstance(error.__context__, OSError):
                    raise  # about the text
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
                notes.add(Message("{}: {}; --prepared names a folder", NOT_SAVED, why))
        if found is None:
            temporary = stack.enter_context(temporary_folder("synmt-"))
            read()(temporary)
            found = open_pairs(temporary, known or {})
        yield found


def _saved(
    stack: ExitStack,
    folder: Path,
    mode: int,
    known: Mapping[str, str],
    read: Callable[[], Callable[[Path], None]],
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
            if is_made(folder):
                with suppress(OSError):
                    os.utime(folder)
                try:
                    found = open_pairs(folder, known)
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
            if not is_made(folder):
                try:
                    read()(folder)
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


def _checksum(*texts: str) -> str:
    return hashlib.sha256(msgspec.json.encode(texts)).hexdigest()


def is_made(folder: Path) -> bool:
    return (folder / DESCRIPTION).exists()


def make_folder(
    folder: Path,
    pairs: TextPairs,
    known: Mapping[str, str],
    model: ModelConfig,
    bpe: Bpe,
    training: ColumnOptions,
    bad: BadLines,
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write columns into a folder, and their description last, so that a folder with one is complete. Raises BadInput.

    known: as `made_of` returns it; bad: counts bad lines; vocabulary: a trained model's, to use instead of a new one.
    """
    with naming(folder):
        for path in folder.iterdir():  # left by a killed process
            path.unlink()
    vocabulary, arrays = pairs.write(folder, model, bpe, training, vocabulary)
    texts = {CODES_FILE: bpe.codes, **vocabulary.files()}
    for name, text in texts.items():
        write_aside(folder / name, text.encode())
    description = {
        "format": FORMAT,
        "made_of": known,
        "pairs": len(pairs),
        "data": pairs.bitext.checksum,
        "words": asdict(pairs.words),
        "notes": list(map(str, pairs.notes)),
        "bad": bad.counts,
        "texts": _checksum(*texts.values()),
        "arrays": arrays,
    }
    described = {**description, "checksum": _checksum_of(description)}
    write_aside(folder / DESCRIPTION, msgspec.json.format(msgspec.json.encode(described)))


def _checksum_of(description: Mapping[str, Any]) -> str:
    """Return the checksum of all other fields of a description."""
    others = {name: value for name, value in description.items() if name != "checksum"}
    return hashlib.sha256(msgspec.json.encode(others, order="sorted")).hexdigest()


def open_pairs(folder: Path, known: Mapping[str, str]) -> PreparedPairs:
    """Open a folder of columns. Raises BadInput if it is damaged or was made from other input."""
    path = folder / DESCRIPTION
    check_inside(folder, path, LARGEST_CONFIG)
    with naming(path):
        said = dict(decoded(path.read_bytes()))
        if said["format"] != FORMAT:
            raise ValueError(f"was prepared in format {said['format']!r:.40}, but this synmt reads format {FORMAT}")
        if said["checksum"] != _checksum_of(said):
            raise ValueError("damaged: its checksum does not match")
        check_same(folder, dict(said["made_of"]), known, "was prepared")
    for name in (CODES_FILE, *VOCABULARY_FILES):
        check_inside(folder, folder / name, LARGEST_TEXT)
    with naming(path):
        bpe, vocabulary = Bpe.load(str(folder / CODES_FILE)), Vocabulary.load(folder, MOST_TOKENS)
        if _checksum(bpe.codes, *vocabulary.files().values()) != said["texts"]:
            raise ValueError("codes or a vocabulary have changed: their checksum does not match")
        if type(said["pairs"]) is not int or said["pairs"] < 1:
            raise ValueError(f"the number of pairs is {said['pairs']!r:.40}")
        counts = {str(kind): int(count) for kind, count in dict(said["bad"]).items()}
        return PreparedPairs(
            folder,
            said["pairs"],
            str(said["data"]),
            Words(**said["words"]),
            list(map(str, said["notes"])),
            counts,
            open_arrays(folder, dict(said["arrays"])),
            bpe,
            vocabulary,
        )
