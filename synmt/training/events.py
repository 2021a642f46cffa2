"""The rows of log.tsv for TensorBoard, through PyTorch's own writer."""

from importlib.util import find_spec
from pathlib import Path

from synmt.streams import BadInput

FOLDER = "tensorboard"  # of a model folder


def check_installed() -> None:
    """Raise BadInput where there is no TensorBoard, whose files PyTorch writes by its help."""
    if find_spec("tensorboard") is None:
        raise BadInput("tensorboard is not installed; pip install tensorboard")


class Events:
    """Event files of a model: a curve for each column, over the updates."""

    def __init__(self, path: Path, update: int) -> None:
        """update: the last one that counts of what is there already."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(path / FOLDER), purge_step=update + 1)

    def write(self, row: dict[str, float | int]) -> None:
        """Add a row, with its `update`."""
        for name, value in row.items():
            if name != "update":
                self._writer.add_scalar(name, value, row["update"])
        self._writer.flush()
