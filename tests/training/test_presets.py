"""Presets, compared with the papers' settings (spec/pascal.md, section 6), and overrides by a system."""

import sys
from pathlib import Path
from types import FrameType

import pytest

import synmt
from synmt import components
from synmt.cli.train import command
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, systems
from synmt.components.encoder.pascal import Pascal
from synmt.model.config import ModelConfig
from synmt.training import run
from synmt.training.config import TrainingConfig
from synmt.training.presets import PRESETS, configs
from synmt.training.start import choose, of_components, owners
from synmt.training.update import learning_rate
from synmt.trees.arc_tokens import ArcStyle
from tests.components.test_contract import MORE

Asked = tuple[ModelConfig, TrainingConfig]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """Return the models and configs that `synmt train` would have trained."""
    found: list[Asked] = []
    monkeypatch.setattr(run, "train", lambda out, text, *_: found.append((text.model, text.recipe.training)))
    return found


def train(*options: str) -> None:
    command.main([*options, "--tsv", "-", "--out", "model"], standalone_mode=False)


def test_task_presets_have_the_settings_of_each_system(asked: list[Asked]) -> None:
    train("--model", "pascal", "--preset", "wmt17-en-de")
    ((model, config),) = asked
    assert model.source.components["pascal"] == Pascal(heads=7, dropout=0.3)
    assert (config.learning_rate, config.adam_beta2, config.updates, config.merges) == (7e-4, 0.997, 100_000, 32_000)
    assert (model.network.norm, model.network.dropout, config.accumulate * config.batch_tokens) == ("post", 0.1, 2**15)


@pytest.mark.parametrize(
    ("options", "source", "target"),
    [
        ("", "sequence", "sequence"),
        ("--preset few-pairs --encoder-layers 1", "sequence", "sequence"),
        ("--model sequence", "sequence", "sequence"),
        ("--model supervised-heads", "supervised-heads", "sequence"),
        ("--model tags", "sequence", "tags"),
        ("--model tags+mask", "mask", "tags"),
        ("--model sequence+mask", "mask", "sequence"),
        ("--preset paper", "sequence", "sequence"),
    ],
)
def test_components_replace_the_plain_transformer(options: str, source: str, target: str, asked: list[Asked]) -> None:
    train(*options.split())
    ((model, _),) = asked
    assert [list(side.components) for side in (model.source, model.target)] == [[source], [target]]


def test_given_options_override_the_preset(asked: list[Asked]) -> None:
    train("--model", "pascal", "--preset", "nc11-en-de", "--pascal-heads", "4", "--adam-beta2", "0.9")
    train("--preset", "nc11-en-de")
    (pascal, config), (_, of_sequence) = asked
    assert pascal.source.components["pascal"] == Pascal(heads=4, dropout=0.4)
    assert (config.learning_rate, config.adam_beta2) == (7e-4, 0.9)
    assert (of_sequence.learning_rate, of_sequence.adam_beta2) == (1e-3, 0.997)


def test_a_style_of_arcs_that_is_false_is_off(asked: list[Asked]) -> None:
    for split, root in ((False, True), (True, False), (False, False)):
        synmt.train("pairs.tsv", out="model", model="transitions", split_arcs=split, root_arc=root)
    assert [model.target.style for model, _ in asked] == [ArcStyle(False, True), ArcStyle(True, False), ArcStyle()]


def test_learning_rates_of_the_worked_schedule() -> None:
    _, config = configs(PRESETS["wmt16-en-de"].settings)
    rates = [
        learning_rate(update, 7e-4, config.warmup, config.schedule, config.updates) for update in (8000, 20000, 100000)
    ]
    assert rates == pytest.approx([0.0007, 0.000442719, 0.000197990], rel=1e-4)


@pytest.mark.parametrize("system", systems())
def test_components_that_a_run_does_not_use_do_not_run(system: str, asked: list[Asked]) -> None:
    of_components.cache_clear()
    ran: set[str] = set()
    folder = str(Path(components.__file__).parent)

    def watch(frame: FrameType, event: str, _: object) -> None:
        place = Path(frame.f_code.co_filename)
        if event == "call" and folder in str(place) and place.parent.name in ("encoder", "decoder"):
            ran.add(place.stem)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        train("--model", system, *(["--named-masks-names", "near"] if system == "named-masks" else []))
    finally:
        sys.setprofile(before)
    assert ran <= {system.replace("-", "_")} and len(asked) == 1


@pytest.mark.parametrize("name", [*ENCODER_COMPONENTS, *MORE])
def test_encoders_that_read_trees_declare_it(name: str) -> None:
    options, name = MORE.get(name, {}), name.partition(",")[0]
    given = {f"{name}-{option}".replace("_", "-"): value for option, value in options.items()}
    needs = choose({"model": name, **given}).needs
    assert "tree-dropout" in needs or f"--model {name}" in owners("tree-dropout")


@pytest.mark.parametrize("name", DECODER_COMPONENTS)
def test_decoders_declare_what_they_bring(name: str) -> None:
    needs = choose({"model": name}).needs
    for option in ("prefixes", "prefix-tokens", "split-arcs", "root-arc"):
        assert (option not in needs) == (f"--model {name}" in owners(option))
