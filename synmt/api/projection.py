"""Projection of trees to translations: the function behind `synmt project`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from synmt.api.given import Sentence, config_of_all, lines_of_pairs, takes
from synmt.data.words import say_doubts
from synmt.options import Option, Scope, check_used, settings_of
from synmt.projection.config import ProjectionConfig
from synmt.projection.stream import projections
from synmt.streams import BadLines, Notes, OnError
from synmt.trees.record import ParseRecord

DEVICE = Option("device", needs=(("--aligner",),))


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


def _said(records: Iterator[ParseRecord], bad: BadLines, notes: Notes) -> Iterator[ParseRecord]:
    yield from records
    say_doubts(bad, notes)
