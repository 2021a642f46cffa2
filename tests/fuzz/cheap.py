"""A nearly free stand-in for the commands of a run. Its output shows whether a run mixed anything up.

A model is a checksum over its updates; each update includes the options and data of the command that made it. Training
resumes whatever it finds. A translation consists of letters from a checksum of model, source and options.
"""

import hashlib
import json
import select
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SECONDS = 0.01  # per update, and per line of output


def main(command: str, *words: str) -> None:
    options: dict[str, Any] = {}
    files = [Path(word) for word in words if not word.startswith("--")]
    for word in words:
        if word.startswith("--"):
            name, _, value = word.removeprefix("--").partition("=")
            options[name] = value
    options.pop("jobs", None)
    if command == "train":
        train(options)
    elif command == "translate":
        model, source = files
        of = digest((model / "model").read_text(), source.read_text(), options)
        write(translated(of, line) for line in source.read_text().splitlines())
    else:
        of = digest(options)
        write(json.dumps({"tokens": [*line.split(), of]}) for line in files[0].read_text().splitlines())


def train(options: dict[str, Any]) -> None:
    out, resume = Path(options.pop("out")), options.pop("resume", None) is not None
    seed = options.pop("seed")
    names = ("source", "target", "dev-source", "dev-target")
    of = digest({**options, **{name: Path(options[name]).read_text() for name in names}})
    out.mkdir(exist_ok=True)
    if resume != (out / "config.json").exists():
        sys.exit(f"synmt train: resume is {resume}")
    update, history = json.loads((out / "config.json").read_text()) if resume else (0, "")
    while update < int(options["updates"]):
        step()
        update, history = update + 1, digest(history, of, seed)
        aside(out / "config.json", json.dumps([update, history]))
    aside(out / "model", history)


def step() -> None:
    """Work for a while, or exit if the run, which holds the other end of the pipe, has ended."""
    if select.select([0], [], [], SECONDS)[0]:
        sys.exit(1)


def write(lines: Iterable[str]) -> None:
    for line in lines:
        step()
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def translated(of: str, line: str) -> str:
    return " ".join(digest(of, line)[:12])


def digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def aside(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
