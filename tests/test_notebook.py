"""The notebook in docs/ runs from its first cell to its last, with a short training run and a simpler aligner."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
SHORTER = {
    "minutes=1.5": "updates=20",
    "sentences=7000, held_out=300": "sentences=60, held_out=4",
    "merges=1000": "merges=50",
    'align(pairs, text=synmt.TextConfig(source_language="es"))': 'align(pairs[:30], "hmm")',
}


def run_cell(text: str, names: dict[str, Any]) -> object:
    """Run a cell and return its output: the value of its last statement if that is an expression."""
    body = ast.parse(text).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(ast.unparse(last), names) if last else None


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    cells = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    text, names, shown = "\0".join(cells), dict[str, Any](), list[Any]()
    for long, short in SHORTER.items():
        assert long in text
        text = text.replace(long, short)
    for cell in text.split("\0"):
        shown.append(run_cell(cell, names))
    printed = capsys.readouterr().out
    assert "(NNS dogs)" in printed and "-" in printed.splitlines()[-1]
    assert ">nsubj<" in shown[0]._repr_svg_() and "<svg" in shown[4]._repr_svg_()
    assert repr(shown[1]).startswith("<Model model:")
    assert [score.line.split("|")[0] for score in shown[2]] == ["BLEU", "chrF2"]
    picture = shown[3]._repr_svg_()
    assert picture.lstrip().startswith("<?xml") and "supervised" in picture
    assert Path("attention.pdf").read_bytes().startswith(b"%PDF")
