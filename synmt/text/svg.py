"""Text, lines and arcs as SVG. The viewer chooses the fonts and shapes the text, in every script."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from synmt.text.graphemes import columns, is_from_the_right, label

LONGEST_WORD = 100  # characters
POINTS, SMALL = 12, 10  # pixels, of words and of relations
GAP = 14  # between words
_NARROW, _BROAD = frozenset("fijlrt.,;:'!|()[]`I"), frozenset("mwMW@%—…")
STYLE = (
    "text{font:12px 'DejaVu Sans','Noto Sans',system-ui,sans-serif;text-anchor:middle;fill:#222}"
    ".small{font-size:10px;fill:#555}.title{font-weight:bold;text-anchor:start}"
    "path{fill:none;stroke:#777}path.link{stroke:#2171b5;stroke-width:1.5}"
    "path.off{stroke:#c22;stroke-width:1.8;stroke-dasharray:4 2}text.off{fill:#c22;font-weight:bold}"
)


def width_of(text: str, size: float = POINTS) -> float:
    """Return about how many pixels a text is wide in common fonts, a little too many rather than too few."""
    extra = sum((each in _BROAD or each.isupper()) - 1.3 * (each in _NARROW) for each in text)
    return size * (0.61 * columns(text) + 0.2 * extra)


def places(words: Sequence[str], widths: Sequence[float]) -> tuple[list[float], float]:
    """Return the middle of each word in a line of words, and where the line ends. Words in scripts that are written
    from right to left stand in this order."""
    middles, end = list[float](), 10.0
    for width in widths:
        middles.append(end + width / 2)
        end += width + GAP
    return ([end - middle for middle in middles] if is_from_the_right(words) else middles), end


@dataclass
class Svg:
    """A picture of which the parts are added one after another, in pixels."""

    parts: list[str] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write a text, whose baseline is at y."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{_class(kind)}>{escape(label(text, LONGEST_WORD))}</text>')

    def path(self, path: str, kind: str = "", opacity: float = 1.0) -> None:
        """Draw a path, in the syntax of SVG."""
        faint = f' opacity="{opacity:.2f}"' if opacity < 1 else ""
        self.parts.append(f'<path d="{path}"{_class(kind)}{faint}/>')

    def grow(self, width: float, height: float) -> None:
        """Make the picture at least so large."""
        self.width, self.height = max(self.width, width), max(self.height, height)

    def __str__(self) -> str:
        """Return the file."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        back = '<rect width="100%" height="100%" fill="#fff"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{back}'
        return "\n".join([head, *self.parts, "</svg>"])


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
