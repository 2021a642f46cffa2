"""The run file: what is to be compared, in TOML (docs/runs.md)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.options import LARGEST
from synmt.streams import BadInput

# Of a command, such as `learning-rate`, without the two hyphens. A value that is a Path names a file or folder; it is
# one that `safe_path` gives.
Options = Mapping[str, Any]
# Options that the run itself gives to a command, that make something else than it needs of the output, or that decide
# how text is read, which training does.
OWN = {
    "train": ("source", "target", "tsv", "dev-source", "dev-target", "dev-tsv", "out", "prepared", "resume", "seed"),
    "parse": ("input", "strip", "again", "format", "jobs"),
    "translate": ("format", "n-best", "score", "sum-trees", "task", "tokenizer", "markup"),
}
LONGEST_NAME = 100  # bytes; two of them and a suffix make the name of a file
SECTIONS = {
    "seeds": list, "sizes": list, "metrics": list, "data": dict, "tests": dict, "parse": dict, "train": dict,
    "translate": dict, "systems": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """The files of a source and of a target. Their paths are those that `safe_path` gives."""

    source: Path
    target: Path


@dataclass(frozen=True)
class Tuned:
    """An option of `synmt translate` with several values, of which each system has the one that is best on dev."""

    option: str
    values: tuple[str | int | float, ...]

    @property
    def choices(self) -> list[Options]:
        return [{self.option: value} for value in self.values]


@dataclass(frozen=True)
class RunFile:
    """What a run compares.

    train, dev, tests: sentence pairs to learn from, to validate on, and by name those to be scored on.
    systems: by name the options of `synmt train` that are its own; options: by command, those for all systems.
    sizes: how many of the first pairs systems learn from; None for all.
    tuned: the option that is chosen on dev.
    """

    train: Pair
    dev: Pair
    tests: Mapping[str, Pair]
    systems: Mapping[str, Options]
    seeds: tuple[int, ...] = (1,)
    sizes: tuple[int | None, ...] = (None,)
    metrics: tuple[str, ...] = ("bleu", "chrf")
    options: Mapping[str, Options] = field(default_factory=dict)
    tuned: Tuned | None = None

    def translations(self) -> list[Options]:
        """Return the options of `synmt translate`, once for each value of what is tuned."""
        shared = self.options.get("translate", {})
        return [{**shared, **own} for own in (self.tuned.choices if self.tuned else [{}])]

    def files(self) -> list[Path]:
        """Return all files that are read."""
        return [path for pair in (self.train, self.dev, *self.tests.values()) for path in (pair.source, pair.target)]


def read_run(path: Path, folder: Path | None = None) -> RunFile:
    """Return the run of a file. Names of files in it are relative to a folder, or else to its own. Raises BadInput."""
    try:
        with path.open("rb") as stream:
            fields = tomllib.load(stream)
        return _run(fields, folder or path.parent)
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(path)) from None
    except ValueError as error:  # also of TOML and UTF-8
        raise BadInput(str(error), str(path)) from None


def _run(fields: dict[str, Any], folder: Path) -> RunFile:
    for name, value in fields.items():
        if name not in SECTIONS:
            raise ValueError(f"{name!r} is none of {', '.join(SECTIONS)}")
        if not isinstance(value, SECTIONS[name]):
            raise ValueError(f"{name} is no {'list' if SECTIONS[name] is list else 'table'}")
    data, tests = fields.get("data", {}), fields.get("tests", {})
    if data.keys() != {"train", "dev"}:
        raise ValueError("data has no train and dev, or more than these")
    if not tests or not fields.get("systems"):
        raise ValueError("names no tests" if not tests else "names no systems")
    for name in [*tests, *fields["systems"]]:
        if not name.strip() or "/" in name or name.startswith(".") or not name.isprintable():
            raise ValueError(f"{name!r} is no name of a file")
        if len(name.encode()) > LONGEST_NAME:
            raise ValueError(f"{name[:20]}… has {len(name.encode())} bytes, and a name has at most {LONGEST_NAME}")
    for name in fields["systems"]:
        if "." in name:  # then files SYSTEM.SEED and SYSTEM.SEED.TEST of two systems may be the same
            raise ValueError(f"{name!r} is no name of a system: it has a dot")
    metrics = fields.get("metrics", list(RunFile.metrics))
    _check_metrics(metrics)
    translate, tuned = _tuned(fields.get("translate", {}))
    tables = {"parse": fields.get("parse", {}), "train": fields.get("train", {}), "translate": translate}
    return RunFile(
        _pair("train", data["train"], folder),
        _pair("dev", data["dev"], folder),
        {name: _pair(name, files, folder) for name, files in tests.items()},
        {name: _options(own) for name, own in fields["systems"].items()},
        _numbers("seeds", fields.get("seeds", [1]), 0),
        _numbers("sizes", fields["sizes"], 1) if "sizes" in fields else (None,),
        tuple(metrics),
        {command: _options(table) for command, table in tables.items()},
        tuned,
    )


def _pair(name: str, files: Any, folder: Path) -> Pair:
    if not isinstance(files, list) or len(files) != 2 or not all(isinstance(each, str) for each in files):
        raise ValueError(f"{name} is not [source file, target file]")
    source, target = (safe_path(folder / each) for each in files)
    return Pair(source, target)


def safe_path(path: Path) -> Path:
    """Return a path that no command takes for an option or for standard input."""
    return path.absolute() if str(path).startswith("-") else path


def _check_metrics(names: list[Any]) -> None:
    """Raise ValueError for what are no metrics of translations."""
    for name in names:
        if not isinstance(name, str) or name not in METRICS:
            raise ValueError(f"metrics: {name!r} is none of {', '.join(METRICS)}")
        if METRICS[name](MetricConfig()).compares != "translations":
            raise ValueError(f"metrics: {name} does not compare translations")
    if not names or len(set(names)) < len(names):
        raise ValueError("metrics has a name twice" if names else "metrics has no names")


def _numbers(name: str, values: list[Any], least: int) -> tuple[int, ...]:
    if not values or len(set(map(str, values))) < len(values):
        raise ValueError(f"{name} has a number twice" if values else f"{name} has no numbers")
    if not all(type(each) is int and least <= each <= LARGEST for each in values):
        raise ValueError(f"{name} holds what is no number from {least} to {LARGEST}")
    return tuple(values)


def _tuned(table: Mapping[str, Any]) -> tuple[Options, Tuned | None]:
    """Return the options with one value, and the one that has several. Raises ValueError."""
    several = {name: values for name, values in table.items() if isinstance(values, list)}
    if len(several) > 1:
        raise ValueError(f"translate has several values of {' and of '.join(several)}: one option is chosen on dev")
    for name, values in several.items():
        if len(values) < 2 or len(set(map(str, values))) < len(values):
            raise ValueError(f"translate: {name} has no two values, or one twice")
        for value in values:
            _options({name: value})
        return {each: value for each, value in table.items() if each != name}, Tuned(name, tuple(values))
    return table, None


def _options(table: Any) -> Options:
    """Return options with values that stand on a command line. Raises ValueError."""
    if not isinstance(table, dict):
        raise ValueError(f"{table!r:.40} is no table of options")
    for name, value in table.items():
        if value is False:
            raise ValueError(f"{name} = false: leave it out, or give the option that says no, as {name}-no-… = true")
        if not isinstance(value, str | int | float) or (isinstance(value, str) and not value.isprintable()):
            raise ValueError(f"{name} is no text, number or true")
    return table
