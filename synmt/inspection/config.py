"""How pictures look. Free of matplotlib, as `--help` is."""

from dataclasses import dataclass

from synmt.options import check_settings, setting


@dataclass(frozen=True)
class PictureConfig:
    title: str | None = setting(None, "text above a picture", common=True, metavar="TEXT")
    width: float | None = setting(
        None, "width of a picture in inches, its height in proportion; letters stay as large", 0.1, 100, common=True
    )
    dpi: int = setting(150, "dots an inch of a PNG", 10, 2400, common=True)

    def __post_init__(self) -> None:
        check_settings(self)
