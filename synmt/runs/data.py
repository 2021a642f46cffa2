"""The data of a run, looked through before anything is made of it, so that no training comes to nothing."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from synmt.model.records import Form, source_form, target_form
from synmt.runs.file import RunFile
from synmt.runs.plan import Fields, Plan
from synmt.streams import BadInput, Line, read_lines, read_parallel
from synmt.systems.idea import lacking
from synmt.trees.record import read_record


def check_data(run: RunFile, plan: Plan) -> None:
    """Raise BadInput for files that are missing, differ in length, are too short for a size, lack trees that systems
    read, or cannot be scored as text."""
    pairs = _count(run.train.source, run.train.target)
    if run.sizes != (None,) and (size := max(each or 0 for each in run.sizes)) > pairs:
        raise BadInput(f"{pairs} lines, and a size of the run is {size}", str(run.train.source))
    _count(run.dev.source, run.dev.target)
    for pair in (run.train, run.dev):
        _check_source(pair.source, plan.needs[0])
        _check_trees(pair.target, *target_form(read_lines([str(pair.target)]), with_arcs=True), plan.needs[1])
    for test in run.tests.values():
        _count(test.source, test.target)
        _check_source(test.source, plan.reads)
        _check_reference(test.target, "scored")
    if run.tuned:
        _check_reference(run.dev.target, f"scored to choose {run.tuned.option}")


def form_of(path: Path, side: int) -> Form:
    """Return what the lines of a file hold; side: 0 for a source, 1 for a target."""
    form, _ = (
        target_form(read_lines([str(path)]), with_arcs=True) if side else source_form(read_lines([str(path)], "blank"))
    )
    return form


def _count(source: Path, target: Path) -> int:
    """Return how many lines both files have."""
    pairs = sum(1 for _ in read_parallel([str(source), str(target)], "blank"))
    if not pairs:
        raise BadInput("has no lines", str(source))
    return pairs


def _check_source(path: Path, needs: Fields) -> None:
    form, lines = source_form(read_lines([str(path)], "blank"))
    if form == "conllu":
        raise BadInput("CoNLL-U is not text: convert it with synmt parse --input conllu", str(path))
    _check_trees(path, form, lines, needs)


def _check_trees(path: Path, form: Form, lines: Iterator[Line], needs: Fields) -> None:
    """Raise BadInput for records of which none has one of the fields."""
    missing = needs if form == "records" else Fields()
    for line in lines:
        if not missing:
            return
        with suppress(ValueError):  # a bad record is up to --on-error of the command that reads it
            record = read_record(line.text, partial=True)
            if record.tokens:
                missing = frozenset(name for name in missing if lacking(record, frozenset({name})))
    if missing:
        raise BadInput(f"no sentence has {min(missing)}, and some system reads them", str(path))


def _check_reference(path: Path, purpose: str) -> None:
    """Raise BadInput for a file that does not hold text."""
    form, lines = target_form(read_lines([str(path)]), with_arcs=True)
    if form != "text":
        raise BadInput(f"holds {form}, and translations are {purpose} as text", str(path))
    for _ in lines:  # each is text, too
        pass
