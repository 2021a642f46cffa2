"""`python -m tests.curve_picture`: draws the table "Trees, as the data grow" of docs/results/translation.md as
docs/img/curve.svg.

The figure is that of `synmt inspect run --figure sizes`, without intervals, which the table does not have. A test
compares the picture with the table.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from synmt.inspection.matrix import picture
from synmt.runs.figures import draw_sizes
from synmt.runs.table import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "img" / "curve.svg"
TABLE = DOCS / "results" / "translation.md"
SECTION = "## Trees, as the data grow"
CELL = re.compile(r"([+−])([\d.]+) \(<?([\d.]+)\)")


def gains() -> dict[str, list[Result]]:
    """Return the gains in BLEU of each system in the table of the results page, with a number of captions each."""
    section = TABLE.read_text("utf-8").split(SECTION, 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in cells] for cells in lines]
    sizes = [int(re.findall(r"\d[\d,]*", cell)[0].replace(",", "")) for cell in head[1:]]
    found: dict[str, list[Result]] = {}
    for name, *cells in rows:
        if ", above " in name:  # another system
            continue
        system = name.replace("`", "")
        for size, cell in zip(sizes, cells, strict=True):
            if cell:
                sign, bleu, p = CELL.fullmatch(cell).groups()  # type: ignore[union-attr]
                gain = float(bleu) * (-1 if sign == "−" else 1)
                result = Result(size, "captions", system, "BLEU", (), "", gain, gain > 0, float(p), float(p))
                found.setdefault(system, []).append(result)
    return found


def draw(figure: "Figure") -> None:
    figure.set_size_inches(9, 3.2)
    axes = figure.subplots()
    found = gains()
    base = [Result(None, "captions", "sequence", "BLEU", (), "")]
    lines = draw_sizes(axes, [*base, *(each for own in found.values() for each in own)])
    axes.set_xlabel("captions in the training data")
    for face, text in (("black", "p < 0.05"), ("white", "not significant")):
        lines += axes.plot([], [], "o", color="black", markerfacecolor=face, label=text)
    figure.legend(handles=lines, loc="outside right upper", fontsize=8)


if __name__ == "__main__":
    PICTURE.write_bytes(picture(draw, "svg"))
