"""What the statistical aligners share: words, a folder, and a clear message where one is not installed."""

import importlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from synmt.alignment.aligner import Fit, Pair
from synmt.streams import BadInput
from synmt.systems.model_folder import CONFIG_FILE, FORMAT, check_text, naming, read_config, write_aside
from synmt.systems.records import TokenizerName

_NOT_IN_A_WORD = re.compile(r"\s|\|")  # what these programs would split words or sides at


def library(name: str, package: str) -> ModuleType:
    """Raises BadInput if it is not installed."""
    logging.getLogger(name).setLevel(logging.CRITICAL)  # what it complains of, its exceptions say too
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BadInput(f"{package} is not installed; pip install {package}") from None


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Raises BadInput: these programs have no options here."""
    for option in settings:
        raise BadInput(f"--{option.replace('_', '-')} is not an option of {name}")


def plain_words(words: Sequence[str]) -> list[str]:
    """In lower case, and each without what would make it two."""
    return [_NOT_IN_A_WORD.sub("_", word.lower()) for word in words]


def lines_of(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """The sources and the targets of pairs as lines of words."""
    sides = ((plain_words(pair.source.tokens), plain_words(pair.target.tokens)) for pair in pairs)
    sources, targets = zip(*((" ".join(source), " ".join(target)) for source, target in sides), strict=True)
    return list(sources), list(targets)


@contextmanager
def new_folder(name: str, what: Fit) -> Iterator[Path]:
    """The folder to write a model into; whole once the body is done. Raises BadInput."""
    if (what.out / CONFIG_FILE).exists() or what.resume:
        raise BadInput(f"{name} always begins anew, in a folder that holds no model", str(what.out))
    if what.guide is not None:
        raise BadInput(f"{name} learns from no links, so it needs no --guide")
    if not what.pairs:
        raise BadInput("no sentence pairs to train on")
    what.out.mkdir(parents=True, exist_ok=True)
    yield what.out
    fields = {"format": FORMAT, "aligner": name, "languages": what.languages, "tokenizer": what.tokenizer}
    write_aside(what.out / CONFIG_FILE, orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n")


def read_folder(name: str, folder: Path) -> tuple[tuple[str, str], TokenizerName]:
    """Languages and tokenizer of the raw text that a model was fitted to. Raises BadInput."""
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        if fields["aligner"] != name:
            raise ValueError(f"a model of {fields['aligner']}, not of {name}")
        source, target = fields["languages"]
        tokenizer: TokenizerName = fields["tokenizer"]
        check_text(tokenizer, (source, target))
        return (source, target), tokenizer
