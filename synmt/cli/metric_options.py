"""Options that `synmt score` and `synmt significance` share."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from synmt.cli.paths import Reads
from synmt.cli.sections import OneOf, in_section, options_of
from synmt.metrics import METRICS
from synmt.metrics.config import FORMS, MetricConfig, choose, owners, unknown
from synmt.metrics.testsets import reference_files
from synmt.options import Choice, Rules, option_names

DEFAULT = "bleu", "chrf"


def metric_names(context: click.Context, parameter: click.Parameter, names: str) -> list[str]:
    chosen = names.split(",")
    for name in chosen:
        if name not in METRICS:
            raise click.BadParameter(unknown(name, "test the scores with synmt segment-test"))
        if chosen.count(name) > 1:
            raise click.BadParameter(f"{name} is a duplicate.")
    return chosen


def metric_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --metric and the settings of MetricConfig."""
    names = in_section("Metrics")(
        "-m",
        "--metric",
        "metrics",
        default=",".join(DEFAULT),
        callback=metric_names,
        metavar="NAME,...",
        help=f"Any of {', '.join(METRICS)}.",
    )
    return names(options_of(MetricConfig, "Metrics")(command))


def choose_metrics(given: Mapping[str, Any]) -> Choice:
    """Return which options of metrics are used; given: the options of the command line, by name, as typed if they are
    read for help."""
    if not set(given) & set(option_names(MetricConfig)):
        return Choice()  # without importing any metric
    names = given.get("metric", DEFAULT)
    choice = choose([name for name in names.split(",") if name in METRICS] if isinstance(names, str) else names)
    by_sentence = "by-sentence" in given
    return replace(
        choice, uses=lambda option: choice.uses(option) and not (by_sentence and option == "effective-order")
    )


RULES = Rules(choose_metrics, owners)


references = in_section("Input")(
    "-r",
    "--references",
    multiple=True,
    required=True,
    metavar="REF",
    type=Reads(),
    callback=lambda context, parameter, names: reference_files(names),
    help="References: files, or a set as sacrebleu:wmt17/en-de.",
)


def output_format(text: str, unless: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Make the option for the format of scores; text: its help; unless: as in `setting`."""
    return in_section("Options", unless=unless)("--format", "form", type=OneOf(FORMS), default="text", help=f"{text}.")
