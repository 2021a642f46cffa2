"""The default method, and the options that each method uses. Imports no torch."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from synmt.alignment import ALIGNERS, DEFAULT
from synmt.alignment.config import ALL_OF_LINKS, OF_WEIGHTS, AlignConfig, AlignerConfig
from synmt.components import ENCODER_COMPONENTS
from synmt.model.files import CONFIG_FILE, read_config
from synmt.model.source import ENCODERS, encoders_of
from synmt.nn.config import TransformerConfig
from synmt.options import Known, Option, Preset, Scope, known_in, option_names, settings_of
from synmt.streams import Message, WrongUsage
from synmt.text.tokenization import TextConfig
from synmt.training.config import TREES, VALIDATION, TrainingConfig
from synmt.training.presets import bringing

OF_FIT = (*ENCODERS, "guide", "models", "preset", "resume")
RESUME = Option("resume", needs=(("--out",),))
# Options that several methods share; each method uses some of them.
SHARED = ALL_OF_LINKS.union({"device"}, option_names(TrainingConfig), option_names(TransformerConfig), OF_FIT)


@cache
def known() -> dict[str, Known]:
    """Return the settings of an aligner and of its links by the names of their options."""
    found = {**known_in(AlignConfig), **known_in(TextConfig), **known_in(AlignerConfig)}
    found |= known_in(TrainingConfig, means={VALIDATION: ()}) | known_in(TransformerConfig)
    for name, component in [*ALIGNERS.items(), *ENCODER_COMPONENTS.items()]:
        found |= known_in(component, f"{name}-")
    return {name: each for name, each in found.items() if owners().get(name, True)}


def settings_of_fit(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings of an aligner and its training, without the settings of links and text."""
    others = {each.name for config in (AlignConfig, TextConfig) for each in settings_of(config)}
    return {name: value for name, value in settings.items() if value is not None and name not in others}


def default_method(resumed: Path | None) -> str:
    """Return DEFAULT, or the method of the run to resume. Raises BadInput."""
    if resumed and (resumed / CONFIG_FILE).exists():
        made = read_config(resumed).get("aligner")
        return made if isinstance(made, str) else DEFAULT
    return DEFAULT


def used_by(name: str, given: Mapping[str, Any]) -> frozenset[str]:
    """Return the options that a method uses: its own options, the options of its parts and of the method that it learns
    from, and shared options. given: the given options by name, which the result may depend on."""
    made = ALIGNERS[name]
    used = made.uses(given) if hasattr(made, "uses") else OF_WEIGHTS
    used |= frozenset(option_names(made, f"{name}-")).union(
        *(used_by(part, given) for part in getattr(made, "parts", ()))
    )
    if (teacher := getattr(made, "guide", "")) and not given.get("guide"):
        used |= used_by(teacher, given) - used_by(teacher, {}).intersection(SHARED)
    for option in used.intersection(ENCODERS):
        components = str(given.get(option, "")).split("+")
        used |= {
            each
            for component in components
            if component in ENCODER_COMPONENTS
            for each in option_names(ENCODER_COMPONENTS[component], f"{component}-")
        }
    return used


@cache
def owners() -> dict[str, tuple[str, ...]]:
    """Return the options of `synmt align` that only some methods use, each with the choices that use it."""
    found: dict[str, list[str]] = {name: [] for name in SHARED}
    for method in ALIGNERS:
        for name in used_by(method, {}):
            found.setdefault(name, []).append(f"--method {method}")
    for component in ENCODER_COMPONENTS:
        found |= {
            name: [f"--source-syntax {component}"]
            for name in option_names(ENCODER_COMPONENTS[component], f"{component}-")
        }
    return {name: tuple(ways) for name, ways in found.items()}


def scope_of_model(given: Mapping[str, Any]) -> Scope:
    """Return the scope of the options of `synmt link`; given: its options and `model`, by name.

    Raises BadInput for a folder that is not a model.
    """
    if "model" not in given:
        return Scope()
    fields = read_config(Path(given["model"]))
    method = given.get("method") or fields.get("aligner")
    if not isinstance(method, str) or method not in ALIGNERS:  # refused when the folder is opened
        return Scope()
    guided = isinstance(saved := fields.get("model"), dict) and saved.get("guided")
    of_links = {name: owners()[name] for name in ALL_OF_LINKS.union({"device"})}
    return Scope(method, of_links, used_by(method, {"guide": guided}))


def scope_of(given: Mapping[str, Any]) -> Scope:
    """Return the scope of the options of `synmt align`; given: its options, by name."""
    out = given.get("out") if given.get("resume") else None
    method = given.get("method") or default_method(Path(out) if out else None)
    if method not in ALIGNERS:
        return Scope()
    trees: dict[str, bool] = {}
    with suppress(ValueError):  # invalid encoders are refused when the method is opened
        encoders = encoders_of({name.replace("-", "_"): value for name, value in given.items()})
        trees[TREES] = any(side.reads_trees for side in encoders)
    used, lost = used_by(method, given), dict[str, str]()
    presets, preset = getattr(ALIGNERS[method], "presets", {}), given.get("preset")
    if preset and "preset" in used and preset not in presets:
        raise WrongUsage(Message("{} has no --preset {}, only {}", method, preset, ", ".join(presets)))
    for name in ("models", "guide"):  # existing models and links need no fitting
        others = {each: value for each, value in given.items() if each != name}
        lost |= dict.fromkeys(used_by(method, others) - used, f"--{name}")
    others = {name: value for name, value in defaults_of_others().items() if name not in used}
    defaults = others | defaults_of(method, preset)
    return Scope(method, owners(), used, lost, trees, bringing(), defaults)


@cache
def defaults_of_others() -> dict[str, Any]:
    """Return the default of each shared option in the first method that uses it, for the manual."""
    first = {name: ways[0].removeprefix("--method ") for name, ways in owners().items() if name in SHARED and ways}
    known = {method: defaults_of(method, None) for method in first.values()}
    return {name: known[method][name] for name, method in first.items() if name in known[method]}


def defaults_of(method: str, preset: str | None) -> dict[str, Any]:
    """Return the settings of a method's preset, by default its first one, by the names of their options."""
    defaults: dict[str, Any] = {}
    for name in (method, *getattr(ALIGNERS[method], "parts", ())):
        presets: Mapping[str, Preset] = getattr(ALIGNERS[name], "presets", {})
        if presets:
            chosen = presets.get(preset or "") or next(iter(presets.values()))
            defaults |= {each.replace("_", "-"): value for each, value in chosen.settings.items()}
    return defaults
