"""The settings of all configs."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest

import synmt
from synmt.options import CODE, LARGEST, REGIONAL, Checked, Setting, options_in, setting, settings_of
from synmt.training.config import TrainingConfig


def configs() -> Iterator[type]:
    """Yield every dataclass of synmt that has settings."""
    for module in pkgutil.walk_packages(synmt.__path__, "synmt."):
        if module.name.endswith(("__main__", "_chains")):  # compiled code is a library, but no module
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.name:
                yield from [each] if any("help" in field.metadata for field in fields(each)) else []


CONFIGS = {f"{each.__module__}.{each.__name__}": each for each in configs()}
BEYOND_ALL: list[Any] = [float("nan"), float("inf"), float("-inf"), 2**32, 2**64, 10**30, 1e308, -1e308, "1", [1], True]


def numbers(config: type) -> list[Setting]:
    return [each for each in settings_of(config) if each.kind in (int, float)]


def test_configs_are_found() -> None:
    assert len(CONFIGS) > 30
    assert sum(len(numbers(each)) for each in CONFIGS.values()) > 100


@pytest.mark.parametrize("name", CONFIGS)
def test_no_number_is_out_of_bounds_nan_or_infinite(name: str) -> None:
    """Sizes are products of settings, and these must not overflow. Wherever a config is made, its settings are
    checked: on the command line, in Python, and from the config of a stranger's model."""
    config = CONFIGS[name]
    for each in numbers(config):
        assert -LARGEST <= each.least <= each.most <= LARGEST, each.name
        assert each.fits(each.default)
        for value in [*BEYOND_ALL, *([] if each.kind is float else [0.5])]:
            assert not each.fits(value), (each.name, value)
            with pytest.raises(ValueError):
                config(**{each.name: value})


# Numbers of updates, pairs, words or lines may be arbitrarily large: the data, or whoever set the number, limits them.
COUNTS = {
    "warmup", "epochs", "updates", "patience", "validate_every", "report_every", "pairs", "seed",
    "encoded",
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_integers_that_cost_time_or_memory_have_their_own_bounds(name: str) -> None:
    unbounded = {each.name for each in numbers(CONFIGS[name]) if each.kind is int and each.most == LARGEST}
    assert unbounded <= COUNTS


def test_default_bounds_are_finite() -> None:
    @dataclass(frozen=True)
    class Config(Checked):
        share: float = setting(0.5, "a number from outside of synmt", -float("inf"))

    assert [(each.least, each.most) for each in settings_of(Config)] == [(-LARGEST, LARGEST)]
    for value in BEYOND_ALL:
        with pytest.raises(ValueError, match="share cannot be"):
            Config(value)


def test_only_codes_name_languages() -> None:
    settings = [(config, each) for config in CONFIGS.values() for each in settings_of(config)]
    found = [(config, each.name, each.metavar) for config, each in settings if each.metavar in (CODE, REGIONAL)]
    assert len(found) >= 5
    for config, name, metavar in found:
        config(**{name: "kel"})
        for value in ("german", "d", "de-", "", *(("DE", "de-AT") if metavar == CODE else ())):
            with pytest.raises(ValueError, match=name):
                config(**{name: value})


def test_a_condition_that_names_no_setting_is_refused() -> None:
    """As in another package, whose typing error would otherwise let an option without effect pass."""

    @dataclass(frozen=True)
    class Config:
        sample: bool = setting(False, "sample")
        seed: int = setting(1, "seed", needs="smaple")

    with pytest.raises(ValueError, match="Config has no setting 'smaple' to need"):
        options_in(Config)


def test_all_32_bit_seeds_are_accepted() -> None:
    assert TrainingConfig(seed=2**32 - 1).seed == 2**32 - 1
