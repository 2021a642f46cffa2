"""Tables, heat maps, curves and HTML pages that show what a model has learned.

matplotlib is imported only to draw a picture.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

PictureForm = Literal["png", "svg", "pdf"]


@dataclass(frozen=True)
class Picture:
    """A picture that a notebook shows in place. `draw` returns it as a file of some form."""

    draw: Callable[[PictureForm], bytes] = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.draw("svg").decode()

    def save(self, path: str | Path) -> None:
        """Write the picture to a PNG, SVG or PDF file. Raises ValueError for another suffix."""
        form, forms = Path(path).suffix.removeprefix("."), get_args(PictureForm)
        if form not in forms:
            raise ValueError(f"{path}: the suffix must be one of {', '.join(forms)}")
        Path(path).write_bytes(self.draw(cast(PictureForm, form)))
