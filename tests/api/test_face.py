"""What `import synmt` gives: names that are loaded when they are asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import synmt

STUB = Path(synmt.__file__).with_suffix(".pyi")
HEAVY = "benepar", "click", "numpy", "orjson", "sacrebleu", "spacy", "torch", "transformers"


def loaded(program: str) -> list[str]:
    """Which heavy packages a program has loaded in the end."""
    program += f"\nimport sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_each_name_is_where_its_types_say_it_is() -> None:
    places = {
        alias.name: node.module
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted([*places, "__version__"]) == dir(synmt)
    for name, place in places.items():
        assert getattr(synmt, name) is getattr(sys.modules[str(place)], name)


def test_an_unknown_name_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transcribe'"):
        synmt.transcribe  # type: ignore[attr-defined]  # noqa: B018


def test_nothing_is_loaded_that_is_not_used() -> None:
    assert loaded("import synmt") == []
    assert loaded("import synmt; list(synmt.parse(['He is.'], 'udpipe'))") == ["orjson"]
    assert "torch" not in loaded("import synmt; synmt.score(['He is.'], ['He is.'])")
