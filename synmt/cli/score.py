"""`synmt score`: translations or parses against references."""

from collections.abc import Callable
from typing import Any

import click

from synmt.cli.options import or_stdin
from synmt.streams import BadInput, Line, LineWriter, read_parallel

METRICS = ("bleu", "chrf", "chrf+", "chrf++", "evalb", "upos", "uas", "las")
TOKENIZATIONS = ("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none")

EPILOG = """
\b
Examples:
  synmt score --references test.de < base.de
  synmt score base.de mask.de --references test.de --metric bleu,chrf++ --format tsv
  synmt parse test.en | synmt score --references gold.ptb --metric evalb
"""


def metric_names(context: click.Context, parameter: click.Parameter, names: str) -> list[str]:
    chosen = names.split(",")
    for name in chosen:
        if name not in METRICS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(METRICS)}")
    return chosen


@click.command(epilog=EPILOG)
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...")
@click.option(
    "-r",
    "--references",
    multiple=True,
    required=True,
    metavar="REF",
    help="A file of reference translations; give the option once for each reference.",
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    default="bleu,chrf",
    show_default=True,
    callback=metric_names,
    metavar="NAME,...",
    help=f"Any of {', '.join(METRICS)}.",
)
@click.option(
    "--tokenize",
    type=click.Choice(TOKENIZATIONS),
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenization for BLEU; none if the text is tokenized already.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tsv", "json"]),
    default="text",
    show_default=True,
    help="One line a metric, or a table of several systems; TSV; or JSON lines.",
)
def command(
    hypotheses: tuple[str, ...],
    references: tuple[str, ...],
    metrics: list[str],
    tokenize: str,
    lowercase: bool,
    form: str,
) -> None:
    """Hypotheses against references.

    Of translations, corpus BLEU and chrF with sacreBLEU's signatures; of parses, bracketing F1 or UPOS, UAS, LAS.

    Hypotheses are detokenized text, one sentence a line; several files make a table, one row a system.
    evalb compares parse records or bracket strings (F1 under COLLINS.prm); upos, uas and las parse records.
    """
    from synmt.metrics.metric import stream_scores
    from synmt.metrics.opening import open_metrics
    from synmt.metrics.report import FORMATS

    systems = or_stdin(hypotheses)
    try:
        read, chosen = open_metrics(metrics, tokenize, lowercase)
        rows = (tuple(_read(line, read) for line in lines) for lines in read_parallel([*systems, *references]))
        scores = stream_scores(chosen, rows, len(systems))
    except ValueError as error:
        raise BadInput(str(error)) from None
    with LineWriter() as output:
        for line in FORMATS[form](list(zip(systems, scores, strict=True))):
            output.write(line)


def _read(line: Line, read: Callable[[str], Any]) -> Any:
    try:
        return read(line.text)
    except ValueError as error:
        raise line.error(error) from None
