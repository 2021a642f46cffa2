"""Projection of trees and markup to translations: the functions behind `synmt project`, `synmt markup` and
`synmt strip-markup`."""

import string
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from synmt.api.given import Sentence, lines_of, lines_of_pairs, public
from synmt.data.words import say_warnings
from synmt.options import Rules, Setting, check_used
from synmt.projection.config import DOUBTFUL, MarkupConfig, ProjectionConfig
from synmt.projection.markup import carried
from synmt.projection.stream import projections
from synmt.streams import BadLines, Notes, OnError
from synmt.text.markup import read_markup
from synmt.trees.record import ParseRecord

DEVICE = {"device": Setting("device", "auto", option="device", needs=("aligner",))}
Result = TypeVar("Result")


@public
def project(
    pairs: Iterable[Sequence[Sentence]] | Path,
    aligner: str | Path | None = None,
    config: ProjectionConfig = ProjectionConfig(),
    *,
    device: str = "auto",
    on_error: OnError = "fail",
) -> Iterator[ParseRecord]:
    """Yield the record of each target in order, with the trees of its source, as `synmt project`.

    pairs: (record of a source, target), or without an aligner (source, target, links); or a file of such lines.
    aligner: the folder of an aligner that links the words. on_error: fail, or blank: a bad pair gets an empty record
    and is counted in a warning. Raises BadInput, TypeError and ValueError, also for a device without effect.
    """
    linker, rules = None, Rules()
    if aligner:
        from synmt.alignment.choice import RULES_OF_LINK
        from synmt.alignment.linking import linker_of

        linker, rules = linker_of(Path(aligner), device, config.threshold), RULES_OF_LINK
    if device != "auto":
        check_used({"device": device, "aligner": aligner, "model": aligner}, DEVICE, rules)
    bad, notes = BadLines(on_error), Notes()
    lines = lines_of_pairs(pairs, "pairs", on_error, columns=2 if aligner else 3)
    return _said(projections(lines, config, linker, bad, notes), bad, notes)


@public
def markup(
    pairs: Iterable[Sequence[Sentence]] | Path,
    aligner: str | Path | None = None,
    config: MarkupConfig = MarkupConfig(),
    *,
    on_error: OnError = "fail",
) -> Iterator[str]:
    """Yield each target in order, with the inline markup of its source, as `synmt markup`.

    pairs: (source with tags, target), or without an aligner (source, target, links); or a file of such lines.
    aligner: the folder of an aligner that links the words. on_error: fail, or blank: a bad pair gets an empty text and
    is counted in a warning. Raises BadInput, TypeError and ValueError.
    """
    linker = None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", DOUBTFUL)
    bad, notes = BadLines(on_error), Notes()
    lines = lines_of_pairs(_texts(pairs, "pairs", 2), "pairs", on_error, columns=2 if aligner else 3)
    return _said(carried(lines, config, linker, bad, notes), bad, notes)


@public
def strip_markup(sentences: Iterable[str] | Path, *, on_error: OnError = "fail") -> Iterator[str]:
    """Yield each sentence without its inline markup, as `synmt strip-markup`.

    on_error: fail, or blank: a bad sentence gets an empty text and is counted in a warning. Raises BadInput, TypeError
    and ValueError.
    """
    bad = BadLines(on_error)
    texts = (bad.read(line, _stripped, "") for line in lines_of(_texts(sentences, "sentences"), "sentences", on_error))
    return _said(texts, bad, Notes())


def _texts(items: Any, name: str, sides: int = 0) -> Any:
    """Return the items. One that is a list of words or a record, which have no markup, is a TypeError when it is read.

    sides: of a pair to look at; 0 for items that are no pairs.
    """

    def checked() -> Iterator[Any]:
        for number, item in enumerate(items, 1):
            for each in (item[:sides] if isinstance(item, list | tuple) else []) if sides else [item]:
                if isinstance(each, list | tuple | ParseRecord):
                    raise TypeError(f"{name}:{number}: markup is in a str, not in a {type(each).__name__}")
            yield item

    return items if isinstance(items, Path | str) else checked()


def _stripped(text: str) -> str:
    return read_markup(text).text if text.strip(string.whitespace) else ""


def _said(results: Iterator[Result], bad: BadLines, notes: Notes) -> Iterator[Result]:
    """Yield the results, then warn of the bad lines and note all warnings."""
    yield from results
    say_warnings(bad, notes)
