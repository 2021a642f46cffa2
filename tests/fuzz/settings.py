"""Random command lines from the settings of configs: mostly plausible, sometimes odd."""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from synmt.alignment import ALIGNERS
from synmt.alignment.config import AlignConfig, SymmetrizeConfig
from synmt.cli.align import command as align
from synmt.cli.sections import SectionCommand, SectionOption
from synmt.cli.symmetrize import command as symmetrize
from synmt.cli.train import command as train
from synmt.cli.translate import command as translate
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.model.target import target_side
from synmt.nn.config import TransformerConfig
from synmt.options import Setting, check_used, settings_of
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.streams import WrongUsage
from synmt.training.config import OF_VALIDATION, TrainingConfig

ODD = [
    "0",
    "-1",
    "1",
    "nan",
    "inf",
    "-inf",
    "1e30",
    "-1e30",
    "1e-30",
    "9" * 30,
    "4294967295",
    "2147483648",
    "2**8",
    "",
    " ",
    "x",
    "0.5",
    "1.0",
    "None",
    "1e400",
]
# Values that keep a command within a second. Values of other settings follow from their kind and bounds.
TINY: dict[str, list[Any]] = {
    "tensorboard": [False],  # TensorBoard need not be installed
    "merges": [1, 5, 30],
    "batch_tokens": [1, 7, 30, 200],
    "prefixes": [0, 0, 1, 3],
    "prefix_tokens": [1, 10, 1000],
    "accumulate": [1, 1, 2, 5],
    "max_length": [2, 5, 30, 256],
    "learning_rate": [0, 1e-4, 1e-3, 1e-2, 0.1],
    "warmup": [0, 1, 5, 400],
    "clip": [0, 0.1, 1],
    "epochs": [1, 2],
    "updates": [0, 1, 3, 6],
    "minutes": [0, 0, 1e-9, 5],
    "patience": [0, 0, 1, 2],
    "validate_every": [0, 0, 1, 2, 5],
    "validation_beam": [1, 2],
    "average": [1, 1, 2, 3],
    "checkpoint_minutes": [0, 1e-9, 10],
    "report_every": [1, 2, 100],
    "seed": [0, 1, 151, 2**32 - 1],
    "width": [8, 16, 24],
    "feedforward": [1, 8, 16],
    "encoder_layers": [1, 1, 2],
    "decoder_layers": [1, 2, 2],
    "heads": [1, 2, 4],
    "beam": [1, 2, 3, 5],
    "alpha": [0, 0.6, 1, -1, 2.5],
    "max_length_offset": [0, 1, 4],
    "n_best": [1, 2, 3],
    "no_repeat": [0, 1, 2, 3],
    "max_length_ratio": [0.5, 1, 2.5],
    "min_length_ratio": [0, 0.5, 1, 3],
    "max_tokens": [1, 5, 2000],
    "threshold": [0, 0.1, 0.2, 0.5, 1],
    "max_words": [1, 5, 2000],
    "layer": [0, 1, 2],
    "steps": [0, 1, 3],
    "size": [1, 2, 4],
    "layers": [0, 1, 2],
    "names": ["near", "near+left"],
    "relations": ["parent+child", "self+left-other+desc"],
    "fields": ["deprels", "upos", "bieo+deprels"],
}


def value(setting: Setting, source: Random) -> Any:
    """Return a value that the setting can have."""
    if setting.name in TINY:
        return source.choice(TINY[setting.name])
    if setting.choices:
        return source.choice(setting.choices)
    if setting.kind is bool:
        return source.random() < 0.5
    if setting.kind is float:
        return source.choice([0, 0.1, 0.5, 1 if setting.most >= 1 else 0.9])
    return source.choice([1, 2])


def some(config: type, source: Random, share: float, prefix: str = "") -> dict[str, Any]:
    """Return random values for a random `share` of the settings of a config, by the names of their options."""
    return {
        f"{prefix}{each.name.replace('_', '-')}": value(each, source)
        for each in settings_of(config)
        if source.random() < share
    }


def arguments(options: Mapping[str, Any], source: Random, odd: float) -> list[str]:
    """Return the options as a command line. With probability `odd`, one of them has an odd value."""
    spoilt = source.choice(list(options)) if options and source.random() < odd else None
    found = []
    for name, each in options.items():
        if each is False:
            if name == "gcn-labels" or name == "gcn-gates":
                found.append(f"--{name.replace('gcn-', 'gcn-no-')}")
        elif each is True:
            found.append(f"--{name}")
        else:
            found += [f"--{name}", source.choice(ODD) if name == spoilt else str(each)]
    return found


def used(command: SectionCommand, options: Mapping[str, Any], source: Random, **others: Any) -> dict[str, Any]:
    """Return the options without those that the command refuses; sometimes leave refused ones in.

    others: further options that are given.
    """
    kept, declared = dict(options), [each.setting for each in command.params if isinstance(each, SectionOption)]
    while source.random() < 0.98:
        given = {**kept, **{name.replace("_", "-"): each for name, each in others.items()}}
        try:
            idle = check_used(given, {each.option: each for each in declared}, command.rules)
        except WrongUsage as error:
            idle = set(re.findall(r"--([\w-]+)", str(error))[:1])  # the message names the option first
        refused = [name for name in kept if name in idle]
        if not refused:
            break
        del kept[refused[0]]
    return kept


SOURCES, TARGETS = list(ENCODER_COMPONENTS), list(DECODER_COMPONENTS)
WRITE_ARCS = [name for name in TARGETS if target_side({name: {}}).linearization.trees]
PREDICTABLE = {
    "preset": "small", "tokenizer": "none", "device": "cpu", "merges": 20, "batch-tokens": 40, "width": 16,
    "feedforward": 16, "heads": 2, "encoder-layers": 2, "decoder-layers": 2, "epochs": 2, "warmup": 2,
}  # fmt: skip


def some_components(names: Iterable[str], source: Random) -> list[str]:
    """Return one name or, less often, several."""
    known = list(names)
    return source.sample(known, source.choice([1, 1, 1, 2, 3]))


def of_training(source: Random) -> dict[str, Any]:
    """Return random options of `train`, except its files."""
    sources = some_components(SOURCES, source)
    targets = some_components(TARGETS, source)
    options: dict[str, Any] = dict(PREDICTABLE)
    if source.random() < 0.1:
        sources, targets = source.choice([(sources[:1], []), ([], targets[:1])])
    options["model"] = "+".join(dict.fromkeys([*sources, *targets]))
    for components, chosen in ((ENCODER_COMPONENTS, sources), (DECODER_COMPONENTS, targets)):
        for name in chosen:
            options |= some(components[name], source, 0.4, f"{name}-")
            if name == "named-masks":
                options.setdefault("named-masks-names", "near+left")
            if name == "label-features":
                options["label-features-size"] = source.choice([1, 2])
    if any(name in WRITE_ARCS for name in targets) and source.random() < 0.5:
        options |= {"split-arcs": source.random() < 0.5, "root-arc": source.random() < 0.5}
    options |= some(TrainingConfig, source, 0.25) | some(TransformerConfig, source, 0.15)
    if source.random() < 0.2:
        options["tokenizer"] = "moses"
    return used(train, options, source, dev_tsv="x", out="model")


def without_validation(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without those that need validation data."""
    of_validation = set(OF_VALIDATION)
    return {name: each for name, each in options.items() if name not in of_validation}


def of_tuning(source: Random, model: Path) -> dict[str, Any]:
    """Return random options of a training run that starts with a model."""
    options = {"preset": "small", "device": "cpu", "batch-tokens": 40, "epochs": 1, "warmup": 2}
    options |= some(TrainingConfig, source, 0.2)
    return used(train, options, source, init=model)


def of_translation(source: Random) -> dict[str, Any]:
    options: dict[str, Any] = {"device": "cpu", "max-length-offset": 3}
    options |= some(SearchConfig, source, 0.4)
    options |= some(TranslateConfig, source, 0.25)
    # Leave out options for other input, for searches that the twin does not do, for random draws, and options that take
    # seconds.
    others = "search", "sample", "top-k", "seed", "jobs"
    return used(translate, {name: value for name, value in options.items() if name not in others}, source)


def of_links(source: Random, **given: Any) -> dict[str, Any]:
    """Return random options for reading links. given: other options on the command line."""
    others = {"jobs", "temperature"} | ({"tree-links"} if source.random() < 0.7 else set())  # the twin knows no trees
    found = {name: each for name, each in some(AlignConfig, source, 0.25).items() if name not in others}
    return used(align, found, source, **given)


def of_merged_links(source: Random) -> dict[str, Any]:
    """Return random options for merging links."""
    others = {"temperature"} | ({"tree-links"} if source.random() < 0.7 else set())  # the twin knows no trees
    found = {name: each for name, each in some(SymmetrizeConfig, source, 0.25).items() if name not in others}
    return used(symmetrize, found, source, pairs=["pairs"])


def of_fitting(source: Random) -> tuple[str, dict[str, Any]]:
    """Return a method of `align`, and random options for it."""
    method = source.choice(list(ALIGNERS))
    options: dict[str, Any] = {**PREDICTABLE, "epochs": 1}
    options |= some(ALIGNERS[method], source, 0.4, f"{method}-")
    options |= some(TrainingConfig, source, 0.15) | some(TransformerConfig, source, 0.1)
    if source.random() < 0.15:
        options["source-syntax"] = source.choice(SOURCES)
    if source.random() < 0.15:
        options["target-syntax"] = source.choice(SOURCES)
    return method, used(align, options, source, fit=True, method=method, out="model")


# Replacements for values in config.json.
OTHERS: list[Any] = [
    0,
    -1,
    1,
    2**31,
    10**30,
    0.5,
    -0.5,
    1e300,
    math.nan,
    "1",
    "",
    "x",
    None,
    True,
    False,
    [],
    [1],
    {},
    {"a": 1},
]


def fields_of(config: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """Yield the path to each value of a config, and the value."""
    pairs = config.items() if isinstance(config, dict) else enumerate(config) if isinstance(config, list) else ()
    for name, each in pairs:
        yield (*path, name), each
        yield from fields_of(each, (*path, name))
