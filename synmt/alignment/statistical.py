"""What the statistical aligners share: words, a folder, and a clear message where one is not installed."""

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.caller import quiet
from synmt.model.config import check_text
from synmt.model.files import CONFIG_FILE, check_new, locked, naming, read_config, write_config
from synmt.model.records import SentencePair
from synmt.model.words import read_words
from synmt.streams import BadInput
from synmt.text.tokenization import TokenizerName

NO_NEEDS: Needs = (frozenset(), frozenset())

_NOT_IN_A_WORD = re.compile(r"\s|\|")  # what these programs would split words or sides at


def library(name: str, package: str) -> ModuleType:
    """Import a package. Raises BadInput if it is not installed."""
    try:
        with quiet(name):
            return importlib.import_module(name)
    except ImportError:
        raise BadInput(f"{package} is not installed; pip install {package}") from None


def plain_words(words: Sequence[str]) -> list[str]:
    """Return words in lower case, each without what would make it two."""
    return [_NOT_IN_A_WORD.sub("_", word.lower()) for word in words]


def lines_of(pairs: Iterable[SentencePair]) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of pairs as lines of words."""
    sides = ((plain_words(pair.source.tokens), plain_words(pair.target.tokens)) for pair in pairs)
    sources, targets = zip(*((" ".join(source), " ".join(target)) for source, target in sides), strict=True)
    return list(sources), list(targets)


@contextmanager
def new_folder(config: FitConfig, **fields: Any) -> Iterator[Path]:
    """Give the folder to write a model into; it is whole once the body is done, and its config then has these fields,
    too. Raises BadInput."""
    name, out = config.method, config.out
    if (out / CONFIG_FILE).exists() or config.resume:
        raise BadInput(f"{name} always begins anew, in a folder that holds no model", str(out))
    if not len(config.bitext):
        raise BadInput("no sentence pairs to train on")
    check_new(out, resume=False)
    with locked(out):
        config.notes.say()
        yield out
        write_folder(config, **fields)


def write_folder(config: FitConfig, **fields: Any) -> None:
    """Write the config of a model's folder, which says that it is whole, with these fields, too. Raises BadInput."""
    words = [each and asdict(each) for each in config.words]
    text = {"languages": config.languages, "tokenizer": config.tokenizer, "words": words}
    write_config(config.out, {"aligner": config.method, **fields, **text})


def read_folder(name: str, folder: Path) -> tuple[tuple[str, str], TokenizerName, KnownWords]:
    """Return languages and tokenizer of the raw text that a model was fitted to, and its words. Raises BadInput."""
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        if fields["aligner"] != name:
            raise ValueError(f"a model of {fields['aligner']}, not of {name}")
        source, target = fields["languages"]
        tokenizer: TokenizerName = fields["tokenizer"]
        check_text(tokenizer, (source, target))
        source_words, target_words = map(read_words, fields.get("words", (None, None)))
        return (source, target), tokenizer, (source_words, target_words)
