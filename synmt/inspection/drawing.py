"""Figures of matplotlib without its global state: one is made, drawn on, and written as PNG, SVG or PDF."""

import io
import sys
import warnings
from collections.abc import Callable
from typing import Any, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure

from synmt.inspection.config import PictureConfig
from synmt.streams import readable

PictureForm = Literal["png", "svg", "pdf"]
METADATA: dict[PictureForm, Any] = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
TITLE_POINTS = 11
DEFAULTS = PictureConfig()
FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew")


def picture(draw: Callable[[Figure], None], form: PictureForm, look: PictureConfig = DEFAULTS) -> bytes:
    """Return the file of a figure that `draw` fills.

    Says on stderr if no installed font has all of its characters; an SVG leaves them to the one who opens it.
    """
    installed = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.sans-serif": [font for font in FONTS if font in installed],
        "text.parse_math": False,  # PRP$ is a label, not a formula
        "svg.fonttype": "none",  # text stays text
        "pdf.fonttype": 42,  # TrueType, which publishers take
        "svg.hashsalt": "synmt",  # the same picture has the same bytes
    }
    file = io.BytesIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")
        draw(figure)
        if look.title:
            figure.suptitle(readable(look.title), fontsize=TITLE_POINTS)
        if look.width:
            figure.set_size_inches(look.width, look.width * figure.get_figheight() / figure.get_figwidth())
        figure.savefig(file, format=form, dpi=look.dpi, metadata=METADATA[form])
    if form != "svg" and any("missing from font" in str(warning.message) for warning in caught):
        print("synmt inspect: some characters are in no installed font; an SVG would keep them", file=sys.stderr)
    return file.getvalue()
