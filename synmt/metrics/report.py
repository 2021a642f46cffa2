"""Scores of several systems as text, TSV or JSON lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from synmt.metrics.metric import Score

SystemScores = Sequence[tuple[str, Sequence[Score]]]  # of each system its name, and one score a metric
Fields = Mapping[str, Any]  # of one number: the columns of TSV, the keys of JSON


def as_text(scores: SystemScores) -> Iterator[str]:
    """Yield a line a metric for one system, as sacreBLEU prints it; for several a table, then the signatures."""
    if len(scores) == 1:
        yield from (score.line for score in scores[0][1])
        return
    header = ["system", *(score.name for score in scores[0][1])]
    yield from table([header, *([system, *(f"{score.score:.2f}" for score in row)] for system, row in scores)])
    yield from signatures(scores)


def report(scores: SystemScores, form: str) -> Iterator[str]:
    """Return the scores in a form: a line or row each, or a row of TSV or JSON a system and metric."""
    fields = (
        {"system": system, "metric": score.name, "score": score.score, "signature": score.signature}
        for system, row in scores
        for score in row
    )
    return in_form(form, as_text(scores), fields)


def in_form(form: str, text: Iterator[str], fields: Iterable[Fields]) -> Iterator[str]:
    """Return the text, or the fields as TSV, or as JSON lines with all digits."""
    return {"text": text, "tsv": tsv(fields), "json": json_lines(fields)}[form]


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with their cells under each other: names to the left, numbers to the right."""
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        numbers = (cell.rjust(max(7, width)) for cell, width in zip(cells, widths, strict=True))
        yield "  ".join([name.ljust(first), *numbers]).rstrip()


def signatures(scores: SystemScores) -> Iterator[str]:
    """Yield a line a metric; where systems were scored in different ways, a line each."""
    for row in zip(*(row for _, row in scores), strict=True):
        if len({score.signature for score in row}) == 1:
            yield f"{row[0].name}|{row[0].signature}"
        else:
            yield from (
                f"{score.name}|{score.signature} ({name})" for (name, _), score in zip(scores, row, strict=True)
            )


def tsv(rows: Iterable[Fields]) -> Iterator[str]:
    """Yield a header and a row a number, with four decimals; what is not known is empty."""
    for number, row in enumerate(rows):
        if number == 0:
            yield "\t".join(row)
        yield "\t".join(map(_cell, row.values()))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def json_lines(rows: Iterable[Fields]) -> Iterator[str]:
    for row in rows:
        yield orjson.dumps(row).decode()
