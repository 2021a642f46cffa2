"""Scores of several systems as text, LaTeX, HTML, TSV, CSV or JSON."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any, TypeVar

import msgspec

from synmt.metrics.metric import Score

SystemScores = Sequence[tuple[str, Sequence[Score]]]  # each system's name, and its score by each metric
Fields = Mapping[str, Any]  # a row of TSV by column, or an object of JSON
Item = TypeVar("Item")


@dataclass(frozen=True)
class Table:
    """Rows of cells: names in the first column, numbers in the others."""

    rows: Sequence[Sequence[str]]


Part = Table | str  # part of a report for people: a table, or a line of text


class Results(list[Item]):
    """Results in a list, which a notebook shows as the command prints them. report: its parts."""

    def __init__(self, results: Iterable[Item], report: Iterable[Part]) -> None:
        super().__init__(results)
        self._report = list(report)

    def _repr_html_(self) -> str:
        return html(self._report)


def as_text(scores: SystemScores) -> Iterator[Part]:
    """Yield a table with one row per system, then the signatures."""
    header = ["system", *(score.name for score in scores[0][1])]
    yield Table([header, *([system, *(score.number for score in row)] for system, row in scores)])
    yield from signatures(scores)


def report(scores: SystemScores, form: str) -> Iterator[str]:
    """Return the scores in a form: a table, or one row per system and metric.

    As text, a single system gets one line per metric, as sacreBLEU prints it.
    """
    if form == "text" and len(scores) == 1:
        return (score.line for score in scores[0][1])
    fields = (
        {
            "system": system,
            "metric": score.name,
            "score": score.score,
            **({} if score.interval is None else dict(zip(("low", "high"), score.interval, strict=True))),
            "signature": score.signature,
        }
        for system, row in scores
        for score in row
    )
    return in_form(form, as_text(scores), fields)


def in_form(form: str, parts: Iterable[Part], fields: Iterable[Fields]) -> Iterator[str]:
    """Return the parts as text or LaTeX, or the fields in a form of ROWS."""
    if form in ROWS:
        return ROWS[form](fields)
    write, comment = (latex, "% ") if form == "latex" else (table, "")
    lines = (line for part in parts for line in (write(part.rows) if isinstance(part, Table) else [f"{comment}{part}"]))
    return map(printable, lines)


def printable(text: str) -> str:
    """Escape characters that would break a cell or a line, since names of files and systems may contain any."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def html(parts: Iterable[Part]) -> str:
    """Return parts of a report as HTML, with a header in each table."""
    return "".join(
        _html_table(part.rows) if isinstance(part, Table) else f"<div>{_shown(part)}</div>" for part in parts
    )


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    kinds = ["th", *["td"] * (len(rows) - 1)]
    cells = ("".join(f"<{kind}>{_shown(cell)}</{kind}>" for cell in row) for kind, row in zip(kinds, rows, strict=True))
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _shown(text: str) -> str:
    return escape(printable(text.strip()))


def latex(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows as a tabular with the rules of booktabs."""
    return tabular([list(map(latex_text, row)) for row in rows])


def tabular(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of LaTeX, as `latex`."""
    yield rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
    yield r"\toprule"
    for number, row in enumerate(rows):
        yield rf"{' & '.join(row)} \\"
        if number == 0:
            yield r"\midrule"
    yield r"\bottomrule"
    yield r"\end{tabular}"


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"Δ": r"$\Delta$", "<": "$<$", ">": "$>$", "|": r"\textbar{}"}
)
_AFTER_ROW = "[", "*"  # at the start of a row, these would be arguments of the \\ that ends the previous one


def latex_text(cell: str) -> str:
    """Return text as LaTeX that is safe anywhere in a row or caption."""
    cell = printable(cell.strip())
    sign, rest = (cell[0], cell[1:]) if cell[:1] in ("+", "-") else ("", cell)
    if cell.startswith(_AFTER_ROW):
        return f"{{{cell[0]}}}{cell[1:].translate(_LATEX)}"
    return (sign and f"${sign}$") + rest.translate(_LATEX)


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with aligned cells: names on the left, numbers on the right."""
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        numbers = (cell.rjust(max(7, width)) for cell, width in zip(cells, widths, strict=True))
        yield "  ".join([name.ljust(first), *numbers]).rstrip()


def signatures(scores: SystemScores) -> Iterator[str]:
    """Yield one line per metric, or per system and metric if systems were scored in different ways."""
    for row in zip(*(row for _, row in scores), strict=True):
        if len({score.signature for score in row}) == 1:
            yield f"{row[0].name}|{row[0].signature}"
        else:
            yield from (
                f"{score.name}|{score.signature} ({name})" for (name, _), score in zip(scores, row, strict=True)
            )


def tsv(rows: Iterable[Fields]) -> Iterator[str]:
    """Yield a header and one row per number, with four decimals; unknown values are empty. Nothing is quoted."""
    return map("\t".join, _cells(rows))


def csv_lines(rows: Iterable[Fields]) -> Iterator[str]:
    """Yield the same as `tsv` between commas, with quotes around cells that contain commas or quotes."""
    for cells in _cells(rows):
        line = StringIO()
        csv.writer(line, lineterminator="").writerow(cells)
        yield line.getvalue()


def _cells(rows: Iterable[Fields]) -> Iterator[list[str]]:
    for number, row in enumerate(rows):
        if number == 0:
            yield list(map(printable, row))
        yield list(map(_cell, row.values()))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def jsonl(rows: Iterable[Fields]) -> Iterator[str]:
    """Yield one JSON object per row, with all digits."""
    return (msgspec.json.encode(row).decode() for row in rows)


def json_array(objects: Iterable[str]) -> Iterator[str]:
    """Yield the lines of one JSON array, an object per line."""
    before = "["
    for each in objects:
        yield f"{before}{each}"
        before = ","
    yield "]" if before == "," else "[]"


ROWS: dict[str, Callable[[Iterable[Fields]], Iterator[str]]] = {
    "tsv": tsv,
    "csv": csv_lines,
    "json": lambda rows: json_array(jsonl(rows)),
    "jsonl": jsonl,
}
