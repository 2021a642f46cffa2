"""A folder of prepared data: sentence pairs as ids, made once for many trainings.

It holds codes.bpe, the vocabulary, for each array two .npy files, and prepared.json: what the data were made of, by
which they are known again, and a checksum of each array. Nothing in it is code or pickle.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from synmt import __version__
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.files import LARGEST_CONFIG, LARGEST_TEXT, check_inside, differing, naming, write_aside
from synmt.model.folder import CODES_FILE, MOST_TOKENS, ModelFolder
from synmt.streams import BadInput, BadLines, OnError, WrongUsage
from synmt.text.bpe import Bpe
from synmt.text.tokenization import Words
from synmt.text.vocabulary import VOCABULARY_FILES, Vocabulary
from synmt.training.config import TrainingConfig
from synmt.training.ids import TextPairs, open_corpus

DESCRIPTION, FORMAT = "prepared.json", 2


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
        "--subword-dropout": str(training.subword_dropout),
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
            cause = f"was prepared in format {said['format']!r:.40}, and this synmt reads format {FORMAT}"
            raise ValueError(f"{cause}: remove the folder, and it is prepared again")
        before = dict(said["made_of"])
        if other := differing(before, known):
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
