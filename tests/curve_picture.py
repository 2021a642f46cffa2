"""`python -m tests.curve_picture`: draws the table "Trees, as the data grow" of docs/results/translation.md as
docs/img/curve.svg.

A test compares the picture with the table.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from synmt.inspection.curves import COLORS
from synmt.inspection.matrix import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "img" / "curve.svg"
SECTION = "## Trees, as the data grow"
SIGNIFICANT = 0.05
CELL = re.compile(r"([+−])([\d.]+) \(<?([\d.]+)\)")


class Gain(NamedTuple):
    """A gain in BLEU over `sequence` with a number of captions, and its p."""

    captions: int
    bleu: float
    p: float


def gains() -> dict[str, list[Gain]]:
    """Return the gains over `sequence` of each system in the table of the results page."""
    page = (DOCS / "results" / "translation.md").read_text("utf-8")
    section = page.split(SECTION, 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in cells] for cells in lines]
    sizes = [int(re.findall(r"\d[\d,]*", cell)[0].replace(",", "")) for cell in head[1:]]
    found: dict[str, list[Gain]] = {}
    for name, *cells in rows:
        if ", above " in name:  # another system
            continue
        of_name = found.setdefault(name.replace("`", ""), [])
        for size, cell in zip(sizes, cells, strict=True):
            if cell:
                sign, bleu, p = CELL.fullmatch(cell).groups()  # type: ignore[union-attr]
                of_name.append(Gain(size, float(bleu) * (-1 if sign == "−" else 1), float(p)))
    return found


def draw(figure: "Figure") -> None:
    figure.set_size_inches(9, 3.2)
    axes = figure.subplots()
    table = gains()
    for (name, points), color in zip(table.items(), COLORS, strict=False):
        sizes, bleu = [each.captions for each in points], [each.bleu for each in points]
        dashes = (0, (4, 2)) if "control" in name else "solid"
        axes.plot(sizes, bleu, color=color, linestyle=dashes, label=name, gid=data_of(points))
        faces = [color if each.p < SIGNIFICANT else "white" for each in points]
        axes.scatter(sizes, bleu, color=faces, edgecolors=color, zorder=3)
    axes.scatter([], [], color="black", label=f"p < {SIGNIFICANT}")
    axes.scatter([], [], color="white", edgecolors="black", label="not significant")
    axes.axhline(0, color="black", linewidth=0.8)
    ticks = sorted({each.captions for points in table.values() for each in points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{each:,}" for each in ticks])
    axes.minorticks_off()
    axes.set_xlabel("captions in the training data")
    axes.set_ylabel("BLEU above sequence")
    axes.grid(color="#dddddd", linewidth=0.5)
    figure.legend(loc="outside right upper", fontsize=8)


def data_of(points: list[Gain]) -> str:
    """Return the points as text, which the SVG keeps as the name of their line."""
    return " ".join(f"{captions}:{bleu}:{p}" for captions, bleu, p in points)


if __name__ == "__main__":
    PICTURE.write_bytes(picture(draw, "svg"))
