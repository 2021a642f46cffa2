"""`synmt score`: hypotheses against references."""

import click

from synmt.cli.options import or_stdin
from synmt.streams import BadInput, LineWriter, read_parallel

METRICS = ("bleu", "chrf", "chrf+", "chrf++")
TOKENIZATIONS = ("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none")

EPILOG = """
\b
Examples:
  synmt score --references test.de < base.de
  synmt score base.de mask.de --references test.de --metric bleu,chrf++ --format tsv
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
    """Hypotheses against references: corpus BLEU and chrF, with sacreBLEU's signatures.

    Hypotheses are detokenized text, one sentence a line; several files make a table, one row a system.
    """
    from synmt.metrics.metric import stream_scores
    from synmt.metrics.report import FORMATS
    from synmt.metrics.sacre import sacre_metric

    systems = or_stdin(hypotheses)
    rows = (tuple(line.text for line in lines) for lines in read_parallel([*systems, *references]))
    try:
        chosen = [sacre_metric(name, tokenize, lowercase) for name in metrics]
        scores = stream_scores(chosen, rows, len(systems))
    except ValueError as error:
        raise BadInput(str(error)) from None
    with LineWriter() as output:
        for line in FORMATS[form](list(zip(systems, scores, strict=True))):
            output.write(line)
