"""`synmt score`: translations, parses or word links against references."""

from typing import Any

import click

from synmt.cli.metric_options import RULES, metric_options, output_format, references
from synmt.cli.options import STDIN, bad_input
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section
from synmt.metrics.config import CATEGORIES, MetricConfig
from synmt.metrics.testsets import source_file
from synmt.streams import write_lines
from synmt.streams.numbers import whole_number

EPILOG = """
\b
Examples:
  synmt score --references test.de < base.de
  synmt score base.de mask.de -r test.de --metric bleu,chrf++ --format tsv
  synmt score base.de mask.de -r test.de --confidence --format latex
  synmt score base.de mask.de -r test.de --by-length 10,20 --source test.en
  synmt parse test.en | synmt score --references gold.ptb --metric evalb
  synmt score test.links --references gold.links --metric aer,precision
"""
HINTS = {
    "--by-relation": "`synmt inspect relations` compares trees relation by relation",
    "--reliability": "`synmt inspect reliability` compares link scores with precision",
    "--by-frequency": "`synmt inspect words` counts the words that systems get right, by frequency",
    "--errors": f"name the metrics: --metric {','.join(CATEGORIES)}",
}
in_input, of_output = in_section("Input"), in_section("Options")


def lengths(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        limits = tuple(map(whole_number, value.split(","))) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 10,20,30") from None
    if list(limits) != sorted(set(limits)) or any(limit < 1 for limit in limits):
        raise click.BadParameter(f"{value}: the lengths must ascend")
    return limits


COMMON = "references metric by-length by-sentence confidence source format tokenize case"


@click.command(cls=SectionCommand, epilog=EPILOG, rules=RULES, hints=HINTS, common=COMMON)
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...", type=Reads(), default=STDIN)
@references
@in_input(
    "--source", metavar="FILE", needs=("--by-length", "--target"), type=Reads(),
    callback=lambda context, parameter, name: source_file(name),
    help="Sources, for --by-length: text, records or a sacreBLEU set.",
)  # fmt: skip
@in_input(
    "--target", metavar="FILE", type=Reads(), needs="--source",
    help="Targets, to check that links stay inside the sentences.",
)  # fmt: skip
@in_input(
    "--by-length",
    "limits",
    callback=lengths,
    metavar="N,...",
    help="Also score by length: sentences of up to N words, and longer ones.",
)
@metric_options
@of_output(
    "--by-sentence", is_flag=True, unless=("--by-length", "--confidence"),
    help="Print the score of each sentence, one per line.",
)  # fmt: skip
@of_output(
    "--confidence", is_flag=True, unless="--by-length",
    help="Add 95% intervals, from 10,000 resamples.",
)  # fmt: skip
@output_format("How to print scores")
def command(
    hypotheses: tuple[str, ...],
    references: tuple[str, ...],
    metrics: list[str],
    limits: tuple[int, ...],
    source: str | None,
    target: str | None,
    by_sentence: bool,
    confidence: bool,
    form: str,
    **settings: Any,
) -> None:
    """Score hypotheses against references.

    Each file has one sentence per line, and each system has its own file. For words by frequency, part of speech and
    relation, see `synmt inspect words`. The metrics compare:

    \b
    bleu chrf chrf+ chrf++ ter ribes  detokenized translations, as sacreBLEU does
    evalb                             parse records or brackets (F1, COLLINS.prm)
    upos uas las                      CoNLL-U (CoNLL 2018) or parse records
    clas mlas blex words tokens …     CoNLL-U
    aer precision recall f1           links: 0-0 1-2, or 1p3 for a possible link
    cPcA wPcA cPwA wPwA               JSON lines of `synmt link --predictions`
    """
    from synmt.metrics.reading import Files
    from synmt.metrics.scoring import score_files

    files = Files(hypotheses, references, source, target)
    with bad_input():
        write_lines(score_files(metrics, files, MetricConfig(**settings), limits, form, by_sentence, confidence))
