"""What a run has to do: which training runs there are, with which options, and what each system reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synmt.model.config import ModelConfig
from synmt.options import PATHS, Scope, check_used, config_of, keywords_of
from synmt.runs.calls import known_of
from synmt.runs.file import OWN, Options, RunFile, safe_path
from synmt.streams import BadInput
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS, systems
from synmt.text.tokenization import TokenizerName

MODEL = ("model", "source-syntax", "target-syntax")  # options that say what a system is
Fields = frozenset[str]  # of a parse record


@dataclass(frozen=True)
class Training:
    """One model. size: how many pairs it learns from, None for all; options: of `synmt train`."""

    system: str
    seed: int
    size: int | None
    options: Options = field(compare=False)

    @property
    def name(self) -> str:
        """Return its place among the models of the run. No system has a dot in its name, so each place has one model
        or one of its translations."""
        return f"{self.size or 'all'}/{self.system}.{self.seed}"


@dataclass(frozen=True)
class Plan:
    """needs: fields that the records of sources, and of targets, must have for some system to learn; reads: those that
    sources must have for some model to translate.

    texts: by system, the languages of both sides and the tokenizer of raw text.
    """

    trainings: Sequence[Training]
    needs: tuple[Fields, Fields]
    reads: Fields = frozenset()
    texts: Mapping[str, tuple[tuple[str, str], TokenizerName]] = field(default_factory=dict)


def plan(run: RunFile) -> Plan:
    """Return what there is to do, in the order of sizes, seeds, systems. Raises BadInput."""
    options = {name: _options_of(name, own, run.options.get("train", {})) for name, own in run.systems.items()}
    models = {}
    for name, own in options.items():
        try:
            models[name] = _model_of(own, run)
            for translate in run.translations():
                _check_translate(translate, models[name])
        except ValueError as error:
            raise BadInput(f"system {name}: {error}") from None
    trainings = [
        Training(name, seed, size, own) for size in run.sizes for seed in run.seeds for name, own in options.items()
    ]
    return Plan(
        trainings,
        (
            Fields().union(*(model.source.needs(training=True) for model in models.values())),
            Fields().union(*(model.target.needs(training=True) for model in models.values())),
        ),
        Fields().union(*(model.source.needs(training=False) for model in models.values())),
        {name: (model.languages, model.tokenizer) for name, model in models.items()},
    )


def with_options(run: RunFile) -> RunFile:
    """Return the run with a Path for each file that an option names. Raises ValueError."""
    tables = {kind: checked(kind, kind, run.options.get(kind, {})) for kind in ("train", "parse", "translate")}
    systems = {name: checked("train", f"system {name}", own) for name, own in run.systems.items()}
    for own in run.tuned.choices if run.tuned else []:
        checked("translate", "translate", own)
    return replace(run, options=tables, systems=systems)


def checked(kind: str, place: str, options: Options) -> Options:
    """Return options of a call, with a Path for each file that one names.

    place: where the options are in the run file. Raises ValueError for a name that is no option of the call or one that
    the run itself gives, and for a value that the option cannot have.
    """
    known, found = known_of(kind), dict[str, Any]()
    for name, value in options.items():
        if name in OWN[kind]:
            raise ValueError(f"{place}: {name} is up to the run itself")
        try:
            keywords_of({name: value}, known)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        metavar = known[name].setting.metavar if name in known else ""
        is_file = metavar in PATHS and Path(str(value)).exists()
        if metavar in PATHS and not is_file and metavar != "NAME|PATH":
            raise ValueError(f"{place}: {name}: no file {value}")
        found[name] = safe_path(Path(str(value))) if is_file else value
    if kind == "parse":
        from synmt.parsers.config import scope_of

        _check_used(kind, place, found, scope_of(found))
    return found


def _check_used(kind: str, place: str, options: Options, scope: Scope) -> None:
    try:
        check_used(options, [each.option for each in known_of(kind).values()], scope)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _model_of(options: Options, run: RunFile) -> ModelConfig:
    """Return the model of a system. Raises ValueError for options that do not go together."""
    from synmt.training.presets import scope_of
    from synmt.training.start import configs_of

    start = None
    if "init" in options:
        from synmt.model.folder import read_folder_config

        start, _ = read_folder_config(Path(options["init"]), ModelConfig)
    known, given = known_of("train"), {**options, "dev-tsv": run.dev.source, "out": "."}
    check_used(given, [each.option for each in known.values()], scope_of(given, start))
    model, _ = configs_of(keywords_of(options, known), start, str(run.train.source), str(run.train.target))
    return model


def _check_translate(options: Options, model: ModelConfig) -> None:
    """Raise ValueError for options of `synmt translate` that do not go together, or with the model."""
    from synmt.decoding.config import SearchConfig, TranslateConfig, scope_of

    known = known_of("translate")
    keywords = keywords_of(options, known)
    config = config_of(TranslateConfig, keywords)
    config.check_search(config_of(SearchConfig, keywords))
    _check_used("translate", "translate", options, scope_of(model.target, config))


def _options_of(name: str, own: Options, shared: Options) -> Options:
    """Return the options of a system: its own go before those of all."""
    together = {**shared, **own}
    return together if any(each in together for each in MODEL) else {_kind(name): name, **together}


def _kind(name: str) -> str:
    """Return the option of `synmt train` that knows a system by this name. Raises BadInput."""
    parts = name.split("+")
    if name in systems():
        return "model"
    for option, ideas in (("source-syntax", SOURCE_IDEAS), ("target-syntax", TARGET_IDEAS)):
        if all(part in ideas for part in parts):
            return option
    raise BadInput(f"system {name}: no system has this name; say its model, source-syntax or target-syntax")
