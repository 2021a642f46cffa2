"""`python -m tests.api.stub`: writes synmt/__init__.pyi, the types of the public functions.

The signatures are those that the functions show at run time, with a keyword for every setting. A test compares them.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import synmt
from synmt.api.given import Sentence

STUB = Path(synmt.__file__).with_suffix(".pyi")
HEAD = '''"""Types of the public functions. `python -m tests.api.stub` writes this file from their signatures."""

import collections.abc
import pathlib
from typing import Literal, Optional, Self

from synmt.api.given import Sentence
'''


def public(holder: type) -> dict[str, Any]:
    """Return the public methods of a class, in the order of its body."""
    return {name: each for name, each in vars(holder).items() if not name.startswith("_") and is_method(each)}


def is_method(member: Any) -> bool:
    return inspect.isfunction(member) or isinstance(member, classmethod)


def has_settings(holder: Any) -> bool:
    """Return whether a function, or a method of a class, shows settings in place of its `**settings`."""
    members = [holder] if inspect.isfunction(holder) else public(holder).values()
    return any(hasattr(getattr(each, "__func__", each), "__signature__") for each in members)


def signature(function: Any) -> str:
    return f"def {function.__name__}{inspect.signature(getattr(function, '__func__', function))}: ..."


def lines() -> Iterator[str]:
    for name in sorted(set(dir(synmt)) - {"__version__"}):
        member = getattr(synmt, name)
        if not has_settings(member):
            yield f"from {member.__module__} import {member.__name__} as {name}"
    for name in sorted(set(dir(synmt)) - {"__version__"}):
        member = getattr(synmt, name)
        if inspect.isfunction(member) and has_settings(member):
            yield signature(member)
        elif has_settings(member):
            yield f"class {name}:"
            for each in public(member).values():
                decorator = "    @classmethod\n" if isinstance(each, classmethod) else ""
                yield f"{decorator}    {signature(each)}"
    yield "__version__: str"


def stub() -> str:
    """Return synmt/__init__.pyi."""
    text = ("\n".join(lines()) + "\n").replace(repr(Sentence), "Sentence")
    text = text.replace("pathlib._local.", "pathlib.")  # the module of Path in Python 3.13
    modules = sorted(set(re.findall(r"\b(synmt(?:\.[a-z_]+)+)\.[A-Z]", text)))
    text = HEAD + "".join(f"import {each}\n" for each in modules) + text
    for action in (["check", "--fix-only", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *action, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
