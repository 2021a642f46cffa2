"""The configs of a function are the options of its command: each option has a field or a keyword, and does the same."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import synmt
from synmt.alignment import ALIGNERS, choice
from synmt.alignment import stream as linking
from synmt.alignment.config import AlignConfig
from synmt.alignment.neural_hmm.config import NeuralHmmConfig
from synmt.api import alignment as api
from synmt.cli.program import cli
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.nn.config import TransformerConfig
from synmt.options import Setting, given, options_in, settings_of
from synmt.registry import Registry
from synmt.text.tokenization import TextConfig
from synmt.training import run
from synmt.training.config import TrainingConfig
from tests.api.test_face import SIZES, some_value
from tests.cli.test_options import commands

# What commands alone have: how lines are written and read, files that have other names in Python, and help.
OF_COMMANDS = {*api.OF_LINES, "form", "level", "kind", "again", "files", "table", "help_all"}
OTHER = {"metric": "metrics", "pairs": "pairs", "link jobs": "link, in one process", "translate n_best": "Model.n_best"}
SAMPLE = {
    "source-language": "nl",
    "target-language": "nl",
    "named-masks-names": "near",
    "label-features-fields": "upos",
    "supervised-heads-teach": "next",
    "mask-relations": "parent+child",
    "pascal-layers": "1:1",
}


class Stop(Exception):
    """What would be run."""


def stop(*arguments: Any) -> None:
    raise Stop(*arguments)


def outcome(call: Callable[..., object], *arguments: Any, **keywords: Any) -> object:
    """Return what a call would run, or the type of its refusal."""
    try:
        call(*arguments, **keywords)
    except Stop as found:
        return found.args
    except ValueError as error:
        return type(error)
    raise AssertionError("nothing ran")


def value_of(option: str, setting: Setting, default: Any) -> Any:
    return SAMPLE.get(option) or SIZES.get(option) or some_value(replace(setting, default=default))


def flag(option: str, setting: Setting, value: Any) -> list[str]:
    if setting.kind is bool:
        return [f"--{option}" if value else f"--{setting.negation}"]
    return [f"--{option}", str(value)]


def command(*line: str) -> None:
    cli.main(line, standalone_mode=False)


def of_shared(*configs: tuple[str, type]) -> Iterator[tuple[str, str, type, Setting]]:
    for parameter, config in configs:
        yield from ((parameter, option, config, each) for option, each in options_in(config).items())


OF_TRAINING = ("text", TextConfig), ("training", TrainingConfig), ("network", TransformerConfig)


@pytest.mark.parametrize("system", ["sequence", "pascal", "gcn"])
def test_configs_of_train_are_its_options(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "train", lambda out, text, *_: stop(text.model, text.recipe.training))
    python, line = (
        {"out": "model", "model": system},
        ["train", "--tsv", "pairs.tsv", "--out", "model", "--model", system],
    )
    used = 0
    for parameter, option, config, each in of_shared(*OF_TRAINING):
        for value in {value_of(option, each, each.default), each.default} - {None}:
            expected = outcome(command, *line, *flag(option, each, value))
            made = config(**{each.name: value})
            assert outcome(synmt.train, "pairs.tsv", **python, **{parameter: made}) == expected, option
            used += isinstance(expected, tuple)
    assert used > 50


@pytest.mark.parametrize("known", [ENCODER_COMPONENTS, DECODER_COMPONENTS], ids=["encoder", "decoder"])
def test_components_of_train_are_its_options(known: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "train", lambda out, text, *_: stop(text.model, text.recipe.training))
    for name in known:
        line = ["train", "--tsv", "pairs.tsv", "--out", "model", "--model", name]
        assert outcome(synmt.train, "pairs.tsv", out="model", model=name) == outcome(command, *line)
        needed = {"names": "near"} if name == "named-masks" else {}
        for option, each in options_in(known[name], f"{name}-").items():
            value = value_of(option, each, each.default)
            more = [word for key in needed for word in (f"--{name}-{key}", needed[key])]
            expected = outcome(command, *line, *more, *flag(option, each, value))
            made = known[name](**{**needed, each.name: value})
            assert outcome(synmt.train, "pairs.tsv", out="model", model=made) == expected, option


def test_several_components_go_to_their_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "train", lambda out, text, *_: stop(text.model, text.recipe.training))
    line = ["--model", "pascal+tags+label-features", "--pascal-heads", "3"]
    pascal = ENCODER_COMPONENTS["pascal"](heads=3)
    found = outcome(synmt.train, "pairs.tsv", out="model", model=[pascal, "tags", "label-features"])
    assert found == outcome(command, "train", "--tsv", "pairs.tsv", "--out", "model", *line)


def links_of_command(monkeypatch: pytest.MonkeyPatch, *line: str) -> object:
    monkeypatch.setattr(linking, "align_stream", lambda fit, files, config, text, *_, **__: stop(fit, config, text))
    return outcome(command, "align", "pairs.tsv", "--format", "jsonl", *line)


@pytest.mark.parametrize("method", ALIGNERS)
def test_options_of_an_aligner_are_those_of_the_command(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "fitted", lambda fit, columns, files, config, text, *_: stop(fit, config, text))
    shared = [*of_shared(("links", AlignConfig), *OF_TRAINING)]
    defaults = choice.defaults_of(method, None)
    for parameter, option, config, each in shared:
        if option in choice.known() and each.name not in api.OF_LINES:
            value = value_of(option, each, defaults.get(option, each.default))
            expected = links_of_command(monkeypatch, "--method", method, *flag(option, each, value))
            made = config(**{each.name: value})
            assert outcome(synmt.align, Path("pairs.tsv"), method, **{parameter: made}) == expected, option
    for option, each in options_in(ALIGNERS[method], f"{method}-").items():
        value = value_of(option, each, each.default)
        expected = links_of_command(monkeypatch, "--method", method, *flag(option, each, value))
        made = ALIGNERS[method](**{each.name: value})
        assert outcome(synmt.align, Path("pairs.tsv"), made) == expected, option


@pytest.mark.parametrize(
    ("methods", "line"),
    [
        (["hmm", NeuralHmmConfig(jump=3)], "hmm+neural-hmm"),
        (["auto", NeuralHmmConfig(jump=3)], "auto"),
        ([NeuralHmmConfig(jump=3)], "neural-hmm"),
    ],
)
def test_several_methods_are_joined(methods: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless one consists of the others: then these have its options."""
    monkeypatch.setattr(api, "fitted", lambda fit, columns, files, config, text, *_: stop(fit, config, text))
    expected = links_of_command(monkeypatch, "--method", line, "--neural-hmm-jump", "3")
    assert outcome(synmt.align, Path("pairs.tsv"), methods) == expected


def names_of(function: Callable[..., Any]) -> set[str]:
    """Return the keywords of a function, and the fields of its configs."""
    found = set()
    for each in inspect.signature(function).parameters.values():
        kinds = get_args(each.annotation) or (each.annotation,)
        found |= {each.name, *(own.name for kind in kinds if is_dataclass(kind) for own in fields(kind))}
    return found


@pytest.mark.parametrize(
    "name", ["link", "symmetrize", "translate", "logprob", "parse", "project", "markup", "significance", "segment-test"]
)
def test_every_option_of_a_command_has_a_name_in_python(name: str) -> None:
    options = {each.name or "" for each in commands()[name].params} - OF_COMMANDS
    known = names_of(getattr(synmt, name.replace("-", "_")))
    assert {each for each in options - known if f"{name} {each}" not in OTHER and each not in OTHER} == set()


@drawn(st.sets(st.sampled_from([each.name for each in settings_of(TrainingConfig)])), st.booleans())
def test_a_config_remembers_what_its_caller_has_named(names: set[str], others: bool) -> None:
    """Even a default, which replaces the setting of a preset; a copy remembers what differs from the defaults."""
    every = {each.name: each for each in settings_of(TrainingConfig)}
    values = {name: some_value(every[name]) if others else every[name].default for name in names}
    config = TrainingConfig(**values)
    assert given(config) == (values if others or len(values) < len(every) else {})
    assert given(replace(config, seed=7)) == {**(values if others else {}), "seed": 7}
