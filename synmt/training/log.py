"""log.tsv: one row for each report of a training run."""

import os
from pathlib import Path

from synmt.model.files import naming, write_aside

COLUMNS = (
    "update", "epoch", "seconds", "rate", "loss", "tokens_per_second", "valid_loss", "valid_bleu", "gradient_norm",
    "sentences", "tokens", "valid_perplexity",
)  # fmt: skip


class Log:
    """A table with a header, which grows by a column where a row has a new one.

    A resumed run cuts off the rows that a lost one wrote after its checkpoint.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: dict[str, float | int]) -> None:
        """Append a row; a column that is not in it stays empty."""
        header, *rows = self._lines() or ["\t".join(COLUMNS)]
        columns = header.split("\t")
        if new := [name for name in row if name not in columns]:
            columns += new
            self._replace(["\t".join(columns), *(line + "\t" * len(new) for line in rows)])
        elif not self.path.exists():
            self._replace([header])
        with naming(self.path), self.path.open("a", encoding="utf-8") as stream:
            stream.write("\t".join(_cell(row.get(column)) for column in columns) + "\n")

    def rows(self) -> int:
        """Return how many rows there are, all of them on the disk."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        return len(self._lines()) - 1

    def truncate(self, rows: int) -> None:
        """Cut off all but the first rows; without any the table goes."""
        if not rows:
            self.path.unlink(missing_ok=True)
        elif self.path.exists():
            self._replace(self._lines()[: 1 + rows])

    def _lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def _replace(self, lines: list[str]) -> None:
        write_aside(self.path, "".join(f"{line}\n" for line in lines).encode())


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"
