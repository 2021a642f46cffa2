"""What a run has to do: which training runs there are, with which options, and what each system reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from synmt.model.config import ModelConfig
from synmt.runs.file import Options, RunFile, arguments
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


def plan(run: RunFile, model_of: Callable[[Sequence[str]], ModelConfig]) -> Plan:
    """Return what there is to do, in the order of sizes, seeds, systems.

    model_of: what `synmt train` makes of its arguments; raises ValueError for those it does not take.
    Raises BadInput.
    """
    files = arguments({"source": run.train.source, "target": run.train.target})
    options = {name: _options_of(name, own, run.options.get("train", {})) for name, own in run.systems.items()}
    models = {}
    for name, own in options.items():
        try:
            models[name] = model_of([*arguments(own), *files])
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
