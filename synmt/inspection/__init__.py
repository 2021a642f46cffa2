"""Tables, heat maps, curves and HTML pages that show what a model has learnt.

matplotlib is imported only to draw a picture.
"""

from dataclasses import dataclass

from synmt.options import check_settings, setting

PICTURES = "--format png", "--format svg", "--format pdf"


@dataclass(frozen=True)
class PictureConfig:
    title: str | None = setting(None, "title of a picture", metavar="TEXT", needs=PICTURES)
    width: float | None = setting(None, "width of a picture in inches", 0.1, 100, needs=PICTURES)
    dpi: int = setting(150, "dots per inch of a PNG", 10, 2400, needs="--format png")

    def __post_init__(self) -> None:
        check_settings(self)
