"""What a run has to do: which trainings there are, with which options, and what each system needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synmt.model.config import ModelConfig
from synmt.runs.file import Options, RunFile, arguments
from synmt.streams import BadInput
from synmt.systems import SOURCE_IDEAS, TARGET_IDEAS, systems

MODEL = ("model", "source-syntax", "target-syntax")  # options that say what a system is
OWN = ("source", "target", "tsv", "dev-source", "dev-target", "dev-tsv", "out", "prepared", "resume", "seed")  # a run's
Fields = frozenset[str]  # of a parse record


@dataclass(frozen=True)
class Training:
    """One model. size: how many pairs it learns from, None for all; options: as arguments of `synmt train`."""

    system: str
    seed: int
    size: int | None
    options: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return its place among the models of the run."""
        return f"{self.size or 'all'}/{self.system}.{self.seed}"


@dataclass(frozen=True)
class Plan:
    """needs: fields that the records of sources, and of targets, must have for some system."""

    trainings: Sequence[Training]
    needs: tuple[Fields, Fields]


def plan(run: RunFile, model_of: Callable[[Sequence[str]], ModelConfig]) -> Plan:
    """Return what there is to do, in the order of sizes, seeds, systems.

    model_of: what `synmt train` makes of its arguments; raises ValueError for those it does not take.
    Raises BadInput.
    """
    options = {name: _arguments(name, own, run.options["train"]) for name, own in run.systems.items()}
    needs = Fields(), Fields()
    for name, own in options.items():
        try:
            model = model_of(own)
        except ValueError as error:
            raise BadInput(f"system {name}: {error}") from None
        needs = needs[0] | model.source.needs(training=True), needs[1] | model.target.needs
    trainings = [
        Training(name, seed, size, tuple(own))
        for size in run.sizes
        for seed in run.seeds
        for name, own in options.items()
    ]
    return Plan(trainings, needs)


def _arguments(name: str, own: Options, shared: Options) -> list[str]:
    """Return the arguments of a system: its own go before those of all."""
    together: Mapping[str, object] = {**shared, **own}
    if taken := [each for each in OWN if each in together]:
        raise BadInput(f"system {name}: {taken[0]} is what the run itself decides")
    if not any(each in together for each in MODEL):
        together = {_kind(name): name, **together}
    return arguments(together)


def _kind(name: str) -> str:
    """Return the option of `synmt train` that knows a system by this name. Raises BadInput."""
    parts = name.split("+")
    if name in systems():
        return "model"
    for option, ideas in (("source-syntax", SOURCE_IDEAS), ("target-syntax", TARGET_IDEAS)):
        if all(part in ideas for part in parts):
            return option
    raise BadInput(f"system {name}: no system has this name; say its model, source-syntax or target-syntax")
