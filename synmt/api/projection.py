"""Projection of trees and markup to translations: the functions behind `synmt project`, `synmt markup` and
`synmt strip-markup`."""

import string
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from synmt.api.given import Sentence, config_of_all, lines_of, lines_of_pairs, takes
from synmt.data.words import say_doubts
from synmt.options import Option, Scope, check_used, settings_of
from synmt.projection.config import DOUBTFUL, MarkupConfig, ProjectionConfig
from synmt.projection.markup import carried
from synmt.projection.stream import projections
from synmt.streams import BadLines, Notes, OnError
from synmt.text.markup import read_markup
from synmt.trees.record import ParseRecord

DEVICE = Option("device", needs=(("--aligner",),))
Result = TypeVar("Result")


@takes(*settings_of(ProjectionConfig))
def project(
    pairs: Iterable[Sequence[Sentence]] | Path,
    aligner: str | Path | None = None,
    *,
    device: str = "auto",
    on_error: OnError = "fail",
    **settings: Any,
) -> Iterator[ParseRecord]:
    """Yield the record of each target in order, with the trees of its source, as `synmt project`.

    pairs: (record of a source, target), or without an aligner (source, target, links); or a file of such lines.
    aligner: the folder of an aligner that links the words. on_error: fail, or blank: a bad pair gets an empty record
    and is counted in a warning. Raises BadInput, TypeError and ValueError, also for a device without effect.
    """
    config = config_of_all(ProjectionConfig, settings)
    linker, scope = None, Scope()
    if aligner:
        from synmt.alignment.choice import scope_of_model
        from synmt.alignment.linking import linker_of

        linker, scope = linker_of(Path(aligner), device, config.threshold), scope_of_model({"model": aligner})
    if device != "auto":
        check_used({"device": device, "aligner": aligner}, [DEVICE], scope)
    bad, notes = BadLines(on_error), Notes()
    lines = lines_of_pairs(pairs, "pairs", on_error, columns=2 if aligner else 3)
    return _said(projections(lines, config, linker, bad, notes), bad, notes)


@takes(*settings_of(MarkupConfig))
def markup(
    pairs: Iterable[Sequence[Sentence]] | Path,
    aligner: str | Path | None = None,
    *,
    on_error: OnError = "fail",
    **settings: Any,
) -> Iterator[str]:
    """Yield each target in order, with the inline markup of its source, as `synmt markup`.

    pairs: (source with tags, target), or without an aligner (source, target, links); or a file of such lines.
    aligner: the folder of an aligner that links the words. on_error: fail, or blank: a bad pair gets an empty text and
    is counted in a warning. Raises BadInput, TypeError and ValueError.
    """
    config, linker = config_of_all(MarkupConfig, settings), None
    if aligner:
        from synmt.alignment.linking import linker_of

        linker = linker_of(Path(aligner), "auto", DOUBTFUL)
    bad, notes = BadLines(on_error), Notes()
    lines = lines_of_pairs(pairs, "pairs", on_error, columns=2 if aligner else 3)
    return _said(carried(lines, config, linker, bad, notes), bad, notes)


@takes()
def strip_markup(sentences: Iterable[str] | Path, *, on_error: OnError = "fail") -> Iterator[str]:
    """Yield each sentence without its inline markup, as `synmt strip-markup`.

    on_error: fail, or blank: a bad sentence gets an empty text and is counted in a warning. Raises BadInput, TypeError
    and ValueError.
    """
    bad = BadLines(on_error)
    texts = (bad.read(line, _stripped, "") for line in lines_of(sentences, "sentences", on_error))
    return _said(texts, bad, Notes())


def _stripped(text: str) -> str:
    return read_markup(text).text if text.strip(string.whitespace) else ""


def _said(results: Iterator[Result], bad: BadLines, notes: Notes) -> Iterator[Result]:
    """Yield the results, then warn of the bad lines and of all doubts."""
    yield from results
    say_doubts(bad, notes)
