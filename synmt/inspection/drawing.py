"""Figures of matplotlib without its global state: one is made, drawn on, and written as PNG or SVG."""

import io
import sys
import warnings
from collections.abc import Callable
from typing import Any, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure

PictureForm = Literal["png", "svg"]
DOTS = 150  # an inch, of PNG
FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew")


def picture(draw: Callable[[Figure], None], form: PictureForm) -> bytes:
    """Return the file of a figure that `draw` fills.

    Says on stderr if no installed font has all of its characters; an SVG leaves them to the one who opens it.
    """
    installed = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.sans-serif": [font for font in FONTS if font in installed],
        "text.parse_math": False,  # PRP$ is a label, not a formula
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "synmt",  # the same picture has the same bytes
    }
    file = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")
        draw(figure)
        figure.savefig(file, format=form, dpi=DOTS, metadata={"Date": None} if form == "svg" else None)
    if form == "png" and any("missing from font" in str(warning.message) for warning in caught):
        print("synmt inspect: some characters are in no installed font; an SVG would keep them", file=sys.stderr)
    return file.getvalue()
