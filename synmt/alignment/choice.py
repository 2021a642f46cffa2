"""Which options `synmt align` and `synmt link` use. Imports no torch.

This depends on the method, and for some methods on other options: on the encoders, and on the links or models that are
given. `used_by` answers it for a method, and `owners` for an option. RULES and RULES_OF_LINK refuse all other options
of a command line, or of a call from Python (synmt/options.py).
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from synmt.alignment import ALIGNERS, DEFAULT
from synmt.alignment.config import ALL_OF_LINKS, AlignConfig, LinksConfig, SharedConfig
from synmt.components import ENCODER_COMPONENTS, PLAIN
from synmt.model.files import CONFIG_FILE, read_config
from synmt.model.source import ENCODERS, encoders_of
from synmt.nn.config import TransformerConfig
from synmt.options import Choice, Preset, Rules, Setting, option_names, options_in, settings_of
from synmt.streams import Message, WrongUsage
from synmt.text.tokenization import TextConfig
from synmt.training.config import OF_FOLDER, OF_TREES, TrainingConfig

OF_FIT = (*ENCODERS, "guide", "models", "preset", "resume")
OF_ONE = {"links-by", "predictions", "models", "preset"}  # options that joined methods do not share
# Options that several methods share; each method uses some of them.
SHARED = ALL_OF_LINKS.union({"device"}, option_names(TrainingConfig), option_names(TransformerConfig), OF_FIT)
ALWAYS = frozenset({"method", "out"}).union(option_names(LinksConfig), option_names(TextConfig))


@cache
def known() -> dict[str, Setting]:
    """Return the settings of an aligner and of its links by the names of their options."""
    found: dict[str, Setting] = {}
    for config in (AlignConfig, TextConfig, SharedConfig, TrainingConfig, TransformerConfig):
        found |= options_in(config)
    for name, component in [*ALIGNERS.items(), *ENCODER_COMPONENTS.items()]:
        found |= options_in(component, f"{name}-")
    return {name: each for name, each in found.items() if name not in SHARED or users().get(name)}


def settings_of_fit(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given settings of an aligner and its training, without the settings of links and text."""
    others = {each.name for config in (AlignConfig, TextConfig) for each in settings_of(config)}
    return {name: value for name, value in settings.items() if value is not None and name not in others}


def default_method(resumed: Path | None) -> str:
    """Return DEFAULT, or the method of the run to resume. Raises BadInput."""
    if resumed and (resumed / CONFIG_FILE).exists():
        made = read_config(resumed).get("aligner")
        return made if isinstance(made, str) and made in ALIGNERS else DEFAULT
    return DEFAULT


def used_by(name: str, given: Mapping[str, Any]) -> frozenset[str]:
    """Return the options that a method uses: its own options, the shared ones that its config lists, and the options of
    its parts, its encoders and the method that it learns from. given: the given options by name."""
    kind = ALIGNERS[name]
    used = kind.uses(given).union(option_names(kind, f"{name}-"), *(used_by(part, given) for part in kind.parts))
    if kind.parts:
        used -= OF_ONE
    if kind.guide and not given.get("guide"):
        used |= used_by(kind.guide, given) - used_by(kind.guide, {}).intersection(SHARED)
    encoders = [each for option in used.intersection(ENCODERS) for each in str(given.get(option) or PLAIN).split("+")]
    known = [each for each in encoders if each in ENCODER_COMPONENTS]  # others are refused when the config is made
    return used.union(*(option_names(ENCODER_COMPONENTS[each], f"{each}-") for each in known))


@cache
def users() -> dict[str, tuple[str, ...]]:
    """Return the methods that use each option, except those that all methods use."""
    found: dict[str, list[str]] = {}
    for method in ALIGNERS:
        for option in used_by(method, {}):
            found.setdefault(option, []).append(method)
    return {option: tuple(methods) for option, methods in found.items()}


def owners(option: str) -> list[str]:
    """Return the choices that use an option, such as `--method NAME`."""
    encoders = ENCODER_COMPONENTS.items()
    if option in OF_TREES:
        return [f"--source-syntax {name}" for name, kind in encoders if kind.reads_trees()]
    own = [f"--source-syntax {name}" for name, kind in encoders if option in option_names(kind, f"{name}-")]
    return own or [f"--method {name}" for name in users().get(option, ())]


def choose_saved(given: Mapping[str, Any]) -> Choice:
    """Return the method of `synmt link`, and which options it uses; given: its options and `model`, by name.

    Raises BadInput for a folder that is not a model.
    """
    if "model" not in given:
        return Choice()
    fields = read_config(Path(given["model"]))
    method = given.get("method") or fields.get("aligner")
    if not isinstance(method, str) or method not in ALIGNERS:  # refused when the folder is opened
        return Choice()
    guided = isinstance(saved := fields.get("model"), dict) and saved.get("guided")
    used = used_by(method, {"guide": guided})
    return Choice(method, lambda option: option in used or option not in SHARED)


def choose(given: Mapping[str, Any]) -> Choice:
    """Return the method of `synmt align`, and which options it uses; given: its options, by name.

    Raises WrongUsage for a preset that the method does not have.
    """
    out = given.get("out")
    method = given.get("method") or default_method(Path(out) if out and given.get("resume") else None)
    used = used_by(method, given)
    presets, preset = ALIGNERS[method].presets, given.get("preset")
    if preset and "preset" in used and preset not in presets:
        raise WrongUsage(Message("{} has no --preset {}, only {}", method, preset, ", ".join(presets)))
    needs: dict[str, str] = {}
    if not given.get("guide"):
        names = method, *ALIGNERS[method].parts
        needs |= {f"{name}-{each}": "--guide" for name in names for each in ALIGNERS[name].of_guide}
    if not out:
        needs |= dict.fromkeys(used.intersection(("resume", *OF_FOLDER)), "--out")
    if used.intersection(OF_TREES) and not _reads_trees(given):
        needs |= dict.fromkeys(OF_TREES, "an encoder that reads trees")
    return Choice(method, lambda option: option in used or option in ALWAYS, needs, defaults_of(method, preset))


def _reads_trees(given: Mapping[str, Any]) -> bool:
    """Return whether an encoder reads trees. Invalid encoders, which are refused when the method is opened, may."""
    with suppress(ValueError):
        return any(side.reads_trees for side in encoders_of({k.replace("-", "_"): value for k, value in given.items()}))
    return True


RULES, RULES_OF_LINK = Rules(choose, owners), Rules(choose_saved, owners)


def defaults_of(method: str, preset: str | None) -> dict[str, Any]:
    """Return the settings of a method's preset, by default its first one, by the names of their options."""
    defaults: dict[str, Any] = {}
    for name in (method, *ALIGNERS[method].parts):
        presets: Mapping[str, Preset] = ALIGNERS[name].presets
        if presets:
            chosen = presets.get(preset or "") or next(iter(presets.values()))
            defaults |= {each.replace("_", "-"): value for each, value in chosen.settings.items()}
    return defaults
