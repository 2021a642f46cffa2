"""What a run has done in processes of their own: calls of the API, whose results become lines on standard output.

A call is a name and the options of the command of that name, as a run file has them.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from synmt.api.given import RuntimeConfig
from synmt.options import Known, keywords_of, known_in
from synmt.streams import write_lines
from synmt.trees.record import write_record

OF_RUNTIME = known_in(RuntimeConfig)


def known_of(name: str) -> dict[str, Known]:
    """Return the options that a call of this name can have, besides its files."""
    if name == "train":
        from synmt.training.start import known

        return {**OF_RUNTIME, **known()}
    if name == "parse":
        from synmt.parsers.config import ParserConfig

        return {**OF_RUNTIME, **known_in(ParserConfig)}
    from synmt.decoding.config import OF_SEARCHES, SearchConfig, TranslateConfig

    return {**OF_RUNTIME, **known_in(SearchConfig, unless=OF_SEARCHES), **known_in(TranslateConfig)}


def train(
    source: str,
    target: str,
    dev_source: str,
    dev_target: str,
    out: str,
    prepared: str,
    resume: bool = False,
    **rest: Any,
) -> None:
    from synmt.api.training import train

    train((source, target), (dev_source, dev_target), out=out, prepared=prepared, resume=resume, **rest)


def parse(text: str, input: str = "text", **rest: Any) -> None:
    from synmt.api.parsing import parse

    write_lines(map(write_record, parse(Path(text), tokenized=input == "tokens", **rest)))


def translate(model: str, source: str, **rest: Any) -> None:
    from synmt.api.translation import translate

    write_lines(each.text for each in translate(model, Path(source), **rest))


CALLS: Mapping[str, Callable[..., None]] = {each.__name__: each for each in (train, parse, translate)}


def call(name: str, options: Mapping[str, Any]) -> None:
    """Call the function of this name. Raises what it raises."""
    own = {each.replace("_", "-") for each in signature(CALLS[name]).parameters}
    files = {each.replace("-", "_"): value for each, value in options.items() if each in own}
    rest = {each: value for each, value in options.items() if each not in own}
    CALLS[name](**files, **keywords_of(rest, known_of(name)))
