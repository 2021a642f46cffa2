"""How far the scores of links can be believed, as text, TSV, JSON lines or LaTeX."""

from collections.abc import Iterator, Sequence
from typing import Any

from synmt import __version__
from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_rows
from synmt.metrics.reliability import BINS, Bin, Reliability
from synmt.metrics.report import Part, Table, in_form
from synmt.streams import readable

HEADER = ["score", "links", "mean", "right"]


def report_reliability(files: Files, config: MetricConfig, form: str) -> Iterator[str]:
    """Return a row a bin and one of all, in percent, for each file of links. Raises BadInput and ValueError."""
    rows, notes = open_rows("--reliability", "scored links", files, config)
    kept = [(row.hypotheses, row.references[0]) for row in rows]
    found = [
        (readable(name), note, Reliability.of((items[place], gold) for items, gold in kept))
        for place, (name, note) in enumerate(zip(files.hypotheses, notes, strict=True))
    ]
    fields = (
        _fields(name, each, reliability if each is reliability.all else None)
        for name, _, reliability in found
        for each in (*reliability.bins, reliability.all)
    )
    return in_form(form, _as_text(found), fields)


def _as_text(found: Sequence[tuple[str, str, Reliability]]) -> Iterator[Part]:
    for name, note, reliability in found:
        rows = [_cells(f"{each.low:.1f}-{each.high:.1f}", each) for each in reliability.bins]
        yield Table([HEADER, *rows, _cells("all", reliability.all)])
        best = f"{100 * reliability.tempered:.2f} at temperature {reliability.temperature:.2f}"
        system = f" ({name})" if len(found) > 1 else ""
        yield f"ECE|bins:{BINS}|synmt:{__version__}|{note} = {100 * reliability.error:.2f} ({best}){system}"


def _cells(name: str, each: Bin) -> list[str]:
    return [name, str(each.links), f"{100 * each.mean:.2f}", f"{100 * each.right:.2f}"]


def _fields(name: str, each: Bin, of_all: Reliability | None) -> dict[str, Any]:
    return {
        "system": name,
        "low": each.low,
        "high": each.high,
        "links": each.links,
        "mean": 100 * each.mean,
        "right": 100 * each.right,
        "ece": 100 * of_all.error if of_all else None,
        "temperature": of_all.temperature if of_all else None,
        "tempered_ece": 100 * of_all.tempered if of_all else None,
    }
