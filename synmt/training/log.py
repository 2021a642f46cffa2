"""log.tsv: one row for each report of a training run."""

import os
from pathlib import Path

from synmt.systems.model_folder import naming

TRAINING = ("update", "epoch", "seconds", "rate", "loss", "tokens_per_second")
COLUMNS = (*TRAINING, "valid_loss", "valid_bleu", "valid_uas")


class Log:
    """A table with a header; a resumed run cuts off what a lost one wrote after its checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: dict[str, float | int]) -> None:
        """Appends a row; a column that is not in it stays empty."""
        cells = [_cell(row.get(column)) for column in COLUMNS]
        header = [] if self.path.exists() else ["\t".join(COLUMNS)]
        with naming(self.path), self.path.open("a", encoding="utf-8") as stream:
            stream.write("\n".join([*header, "\t".join(cells)]) + "\n")

    def size(self) -> int:
        """Bytes of the table, all of them on the disk."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        return self.path.stat().st_size

    def truncate(self, size: int) -> None:
        if size and self.path.exists():
            os.truncate(self.path, min(size, self.path.stat().st_size))
        elif not size:
            self.path.unlink(missing_ok=True)


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"
