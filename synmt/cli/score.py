"""`synmt score`: translations, parses or word links against references."""

from typing import Any

import click

from synmt.cli.metric_options import metric_options, output_format, references, scope_of_metrics
from synmt.cli.options import bad_input, or_stdin
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section
from synmt.metrics.config import CATEGORIES, MetricConfig
from synmt.metrics.testsets import source_file
from synmt.streams import write_lines

EPILOG = """
\b
Examples:
  synmt score --references test.de < base.de
  synmt score base.de mask.de -r test.de --metric bleu,chrf++ --format tsv
  synmt score base.de mask.de -r test.de --confidence --format latex
  synmt score base.de mask.de -r test.de --by-length 10,20 --source test.en
  synmt parse test.en | synmt score --references gold.ptb --metric evalb
  synmt score parsed.jsonl --references gold.jsonl --by-relation
  synmt score found.jsonl --references gold.links --reliability
"""


WHOLE_FILES = "--by-relation", "--reliability"  # reports of whole files, without metrics
in_input, of_output = in_section("Input"), in_section("Options")


def lengths(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        limits = tuple(int(limit) for limit in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 10,20,30") from None
    if list(limits) != sorted(set(limits)) or any(limit < 1 for limit in limits):
        raise click.BadParameter(f"{value} do not ascend")
    return limits


@click.command(cls=SectionCommand, epilog=EPILOG, scope=scope_of_metrics)
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...", type=Reads())
@references(required=True)
@in_input(
    "--source", metavar="FILE", needs=("--by-length", "--target"), unless="--by-relation", type=Reads(),
    callback=lambda context, parameter, name: source_file(name),
    help="The source sentences: text, or parse records; or those of a set as in --references.",
)  # fmt: skip
@in_input(
    "--target", metavar="FILE", type=Reads(), needs="--source", unless="--by-relation",
    help="With --source: the sentences that links must not leave.",
)  # fmt: skip
@in_input(
    "--by-length",
    "limits",
    callback=lengths,
    metavar="N,...",
    unless=WHOLE_FILES,
    help="Also score sentences of at most N words each, of more than the last, and all: words of --source, or"
    " without it of the first reference.",
)
@metric_options
@of_output(
    "--by-sentence", is_flag=True, unless=(*WHOLE_FILES, "--by-length", "--confidence"),
    help="The scores of each sentence instead, line by line.",
)  # fmt: skip
@of_output(
    "--confidence", is_flag=True, unless=(*WHOLE_FILES, "--by-length"),
    help="Also where 95 % of the scores of 10,000 resamples lie, for each score.",
)  # fmt: skip
@of_output(
    "--errors", is_flag=True, unless=WHOLE_FILES,
    help="Instead of metrics: target words by right and wrong predictions and links.",
)  # fmt: skip
@of_output("--by-relation", is_flag=True, help="Instead of metrics: how well each relation of trees is found.")
@of_output(
    "--reliability", is_flag=True, unless="--by-relation",
    help="Instead of metrics: links by their scores, and how many of them are right.",
)  # fmt: skip
@output_format("One line a metric, or a table of several systems")
def command(
    hypotheses: tuple[str, ...],
    references: tuple[str, ...],
    metrics: list[str],
    limits: tuple[int, ...],
    source: str | None,
    target: str | None,
    by_sentence: bool,
    confidence: bool,
    errors: bool,
    by_relation: bool,
    reliability: bool,
    form: str,
    **settings: Any,
) -> None:
    """Score hypotheses against references.

    Translations have BLEU, chrF and TER, as in sacreBLEU, and RIBES; parses have bracketing F1, or UPOS, UAS and
    LAS; word links have the alignment error rate, precision, recall and F1.

    Hypotheses are files, a sentence a line; several make a table, a row a system. Translations are detokenized
    text. evalb compares parse records or bracket strings (F1 under COLLINS.prm); upos, uas and las parse records;
    aer, precision, recall and f1 lines of links such as 0-0 1-2, with 1p3 for a possible link in the references.
    --errors reads JSON with "links" and "predicted", and such references; --reliability JSON with "links" and their
    scores; --by-relation parse records: heads has the right heads of a relation's words in percent, the rest is of
    heads with relations.
    """
    from synmt.metrics.reading import Files
    from synmt.metrics.reliability import report_reliability
    from synmt.metrics.scoring import report_relations, score_files

    files = Files(or_stdin(hypotheses), references, source, target)
    with bad_input():
        if by_relation or reliability:
            write = report_relations if by_relation else report_reliability
            return write_lines(write(files, MetricConfig(**settings), form))
        names = CATEGORIES if errors else metrics
        lines = score_files(names, files, MetricConfig(**settings), limits, form, by_sentence, confidence)
    write_lines(lines)
