"""Options of the commands that score: what is compared, and how each metric goes about it."""

from collections.abc import Callable
from typing import Any

import click

TRANSLATION_METRICS = ("bleu", "chrf", "chrf+", "chrf++", "ter", "ribes")
METRICS = (*TRANSLATION_METRICS, "evalb", "upos", "uas", "las", "aer", "precision", "recall", "f1")
TOKENIZATIONS = ("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none")


def metric_names(context: click.Context, parameter: click.Parameter, names: str) -> list[str]:
    chosen = names.split(",")
    for name in chosen:
        if name not in METRICS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(METRICS)}")
    return chosen


OPTIONS = [
    click.option(
        "-m",
        "--metric",
        "metrics",
        default="bleu,chrf",
        show_default=True,
        callback=metric_names,
        metavar="NAME,...",
        help=f"Any of {', '.join(METRICS)}.",
    ),
    click.option(
        "--tokenize",
        type=click.Choice(TOKENIZATIONS),
        default="13a",
        show_default=True,
        help="sacreBLEU's tokenization for BLEU and RIBES; none if the text is tokenized already.",
    ),
    click.option(
        "--case",
        type=click.Choice(["mixed", "lower"]),
        help="Whether case counts. [default: mixed for BLEU and chrF, lower for TER and RIBES]",
    ),
    click.option(
        "--detokenize", metavar="LANGUAGE", help="The hypotheses are Moses tokens, to be joined to text first."
    ),
    click.option(
        "--chrf-beta", type=click.IntRange(1), default=2, show_default=True, help="Weight of recall in chrF."
    ),
    click.option(
        "--chrf-average",
        type=click.Choice(["sacrebleu", "script"]),
        default="sacrebleu",
        show_default=True,
        help="chrF over n-gram orders: F of the means, as sacreBLEU; or mean of the Fs, as the script chrF++.py.",
    ),
    click.option(
        "--ribes-alpha", type=click.FloatRange(0), default=0.25, show_default=True, help="Weight of precision."
    ),
    click.option(
        "--ribes-beta", type=click.FloatRange(0), default=0.1, show_default=True, help="Weight of brevity."
    ),
    click.option(
        "--link-base",
        type=click.IntRange(0, 1),
        help="The number of the first word in hypotheses that are links. [default: 0 if a file has a 0, else 1]",
    ),
    click.option(
        "--reference-base", type=click.IntRange(0, 1), help="The same in the references. [default: as above]"
    ),
]


def metric_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every scoring command has; all but `metrics` are fields of metrics.opening.Choices."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def references(required: bool) -> Callable[..., Any]:
    return click.option(
        "-r",
        "--references",
        multiple=True,
        required=required,
        metavar="REF",
        help="A file of references; give the option once for each reference.",
    )


def output_format(text: str) -> Callable[..., Any]:
    """text: what the format of that name is."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "tsv", "json"]),
        default="text",
        show_default=True,
        help=f"{text}; TSV; or JSON lines.",
    )
