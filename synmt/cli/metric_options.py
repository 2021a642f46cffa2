"""Options of the commands that score: what is compared, and how each metric goes about it."""

from collections.abc import Callable
from typing import Any

import click

from synmt.cli.paths import Reads
from synmt.cli.sections import in_section, options_of
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.metrics.testsets import reference_files


def metric_names(context: click.Context, parameter: click.Parameter, names: str) -> list[str]:
    chosen = names.split(",")
    for name in chosen:
        if name not in METRICS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(METRICS)}")
    return chosen


def metric_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every scoring command has: `metrics`, and the settings of MetricConfig."""
    names = in_section("Metrics")(
        "-m",
        "--metric",
        "metrics",
        default="bleu,chrf",
        show_default=True,
        callback=metric_names,
        metavar="NAME,...",
        help=f"Any of {', '.join(METRICS)}.",
    )
    return names(options_of(MetricConfig, "Metrics")(command))


def references(required: bool) -> Callable[..., Any]:
    return in_section("Input")(
        "-r",
        "--references",
        multiple=True,
        required=required,
        metavar="REF",
        type=Reads(),
        callback=lambda context, parameter, names: reference_files(names),
        help="A file of references, once for each; or sacreBLEU's, such as sacrebleu:wmt17/en-de.",
    )


def output_format(text: str) -> Callable[..., Any]:
    """Make the option of the format of scores; text: what the format of that name is."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "tsv", "json", "latex"]),
        default="text",
        show_default=True,
        help=f"{text}; TSV; JSON lines; or tables of LaTeX.",
    )
