"""The log of a training run: the rows of log.tsv, and the same rows for TensorBoard."""

import os
from importlib.util import find_spec
from pathlib import Path

from synmt.model.files import naming, write_aside
from synmt.streams import BadInput

TENSORBOARD = "tensorboard"  # its folder in the model folder

COLUMNS = (
    "update", "epoch", "seconds", "rate", "loss", "tokens_per_second", "valid_loss", "valid_bleu", "gradient_norm",
    "sentences", "tokens", "valid_perplexity",
)  # fmt: skip


class Log:
    """A table with a header. A row with a new name adds a column.

    A resumed run first removes the rows that were written after its checkpoint.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: dict[str, float | int]) -> None:
        """Append a row; the cells of missing columns stay empty."""
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
        """Return the number of rows, after all of them are on the disk."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        return len(self._lines()) - 1

    def truncate(self, rows: int) -> None:
        """Remove all but the first rows; remove the file if none are left."""
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


def check_installed() -> None:
    """Raise BadInput if TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise BadInput("tensorboard is not installed; pip install tensorboard")


class Events:
    """TensorBoard's files of a model: one curve per column, over the updates."""

    def __init__(self, path: Path, update: int) -> None:
        """update: the last update whose earlier rows remain valid."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(path / TENSORBOARD), purge_step=update + 1)

    def write(self, row: dict[str, float | int]) -> None:
        """Add a row, with its `update`."""
        for name, value in row.items():
            if name != "update":
                self._writer.add_scalar(name, value, row["update"])
        self._writer.flush()
