"""A nearly free stand-in for the calls of a run. Its output shows whether a run mixed anything up.

A model is a checksum over its updates; each update includes the options and data of the call that made it. Training
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


def main(command: str, given: str) -> None:
    options = json.loads(given)
    options.pop("jobs", None)
    if command == "train":
        train(options)
    elif command == "translate":
        model, source = Path(options.pop("model")), Path(options.pop("source"))
        Path(options.pop("trees", "/dev/null")).write_text("")
        of = digest((model / "model").read_text(), source.read_text(), options)
        write(translated(of, line) for line in source.read_text().splitlines())
    elif command == "cut":
        for line in Path(options["file"]).read_text().splitlines()[: options["lines"]]:
            print(line)
    else:
        source = Path(options.pop("text"))
        of = digest(options)
        write(json.dumps({"tokens": [*line.split(), of]}) for line in source.read_text().splitlines())


def train(options: dict[str, Any]) -> None:
    out, prepared = Path(options.pop("out")), Path(options.pop("prepared"))
    resume = options.pop("resume", False)
    seed = options.pop("seed")
    names = ("source", "target", "dev-source", "dev-target")
    of = digest({**options, **{name: Path(options[name]).read_text() for name in names}})
    prepared.mkdir(parents=True, exist_ok=True)
    ids = prepared / of
    if not ids.exists():
        step()
        aside(ids, of)
    out.mkdir(exist_ok=True)
    if resume != (out / "config.json").exists():
        sys.exit(f"synmt train: resume is {resume}")
    update, history = json.loads((out / "config.json").read_text()) if resume else (0, "")
    while update < options["updates"]:
        step()
        update, history = update + 1, digest(history, of, seed, ids.read_text())
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
