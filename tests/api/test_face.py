"""What `import synmt` provides: names that are loaded on first use."""

import inspect
import subprocess
import sys

import pytest

import synmt
from tests.api.stub import STUB, stub

HEAVY = "benepar", "click", "numpy", "orjson", "sacrebleu", "spacy", "torch", "transformers"


def loaded(program: str) -> list[str]:
    """Return the heavy packages that a program has loaded when it ends."""
    program += f"\nimport sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_type_stubs_match_the_signatures() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run python -m tests.api.stub"


def test_every_setting_is_a_keyword() -> None:
    translate, train = inspect.signature(synmt.translate).parameters, inspect.signature(synmt.train).parameters
    assert translate["alpha"].default == 0.6 and translate["alpha"].annotation is float
    assert train["pascal_heads"].annotation == int | None
    assert not [each for each in [*translate.values(), *train.values()] if each.kind is each.VAR_KEYWORD]


def test_unknown_names_raise_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transcribe'"):
        synmt.transcribe  # type: ignore[attr-defined]  # noqa: B018


def test_unused_packages_are_not_loaded() -> None:
    assert loaded("import synmt") == []
    assert loaded("import synmt; list(synmt.parse(['He is.'], 'udpipe'))") == ["orjson"]
    assert "torch" not in loaded("import synmt; synmt.score(['He is.'], ['He is.'])")
