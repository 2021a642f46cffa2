"""`synmt inspect`"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from synmt.cli.metric_options import output_format
from synmt.cli.options import STDIN, bad_input
from synmt.cli.paths import Reads
from synmt.cli.sections import OneOf, SectionGroup, options_of
from synmt.inspection import PictureForm
from synmt.metrics.config import MetricConfig
from synmt.streams import LineWriter, WrongUsage, nth_line, read_lines, readable, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from synmt.inspection.sentence import ReadSentence

EPILOG = """
\b
Examples:
  synmt inspect strengths model
  synmt inspect strengths model --format svg > strengths.svg
  synmt inspect attention model test.en --layer 1 --format png > layer.png
  synmt inspect attention-page model test.en > attention.html
  synmt inspect links found.jsonl > links.html
  synmt inspect trees gold.conllu parsed.jsonl --sentence 3
  synmt inspect curves base model --format png > curves.png
  synmt inspect run systems.toml --figure gains --format pdf > gains.pdf
  synmt inspect relations parsed.jsonl --references gold.jsonl
  synmt inspect words base.de mask.de -r test.de.jsonl --train train.de
  synmt inspect reliability found.jsonl --references gold.links
"""
PICTURES = get_args(PictureForm)
sentence_number = click.option(
    "--sentence", type=click.IntRange(1, 10**9), default=1, metavar="N", help="Line number of the sentence, from 1."
)


side = click.option("--side", type=OneOf(["source", "target"]), default="source", help="Encoder or decoder.")


def form(*names: str) -> Any:
    """Make the option --format."""
    return click.option("--format", "form", type=OneOf(names), default=names[0], help="Format of the output.")


reference = click.option("-r", "--references", required=True, metavar="REF", type=Reads(), help="File of references.")


@click.group(cls=SectionGroup, epilog=EPILOG)
def command() -> None:
    """Show what models and aligners have learned, and where they err.

    Tables, pictures and pages go to standard output. Layers, heads and sentences are counted from 1.
    """


@command.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=Reads(path_type=Path))
@form("text", "tsv", "json", "jsonl", *PICTURES)
def strengths(models: tuple[Path, ...], form: str) -> None:
    """Show the strengths of syntax masks.

    The table has relations by heads, with minimum, maximum and range.
    """
    from synmt.inspection.matrix import draw_matrices
    from synmt.inspection.strengths import TABLES, open_strengths, strengths_matrices
    from synmt.model.config import ModelConfig
    from synmt.model.folder import ModelFolder

    found = [open_strengths(ModelFolder.open(model, ModelConfig)) for model in models]
    write(TABLES, (found,), lambda figure, found: draw_matrices(figure, *strengths_matrices(found)), form)


@command.command(hints={"--links": "`synmt inspect attention-page` shows links, too"})
@click.argument("model", type=Reads(path_type=Path))
@click.argument("file", default="-", type=Reads())
@sentence_number
@side
@click.option("--layer", type=click.IntRange(1, 256), default=1, help="Layer to show.")
@click.option("--head", type=click.IntRange(1, 2**16), help="Head to show, instead of all.")
@click.option(
    "--show", type=OneOf(["weights", "strengths"]), default="weights",
    help="Attention, or the strength of the mask.",
)  # fmt: skip
@click.option("--subwords", is_flag=True, help="Show each subword, not each word.")
@click.option("--columns", type=click.IntRange(1, 2), help="Columns of a page that each head of a picture fills.")
@form("tsv", "json", "jsonl", *PICTURES)
def attention(
    model: Path,
    file: str,
    sentence: int,
    side: str,
    layer: int,
    head: int | None,
    show: Any,
    subwords: bool,
    columns: int | None,
    form: str,
) -> None:
    """Show the heads on one sentence of FILE.

    FILE holds text, parse records or mask records. Shows the encoder, or the decoder on its translation of the
    sentence.
    """
    from synmt.inspection.matrix import TABLES, draw_matrices
    from synmt.inspection.sentence import head_matrices

    if side == "target" and show == "strengths":
        raise WrongUsage("--show strengths needs --side source: decoders have no masks")
    if columns and form in TABLES:
        raise WrongUsage(f"--columns has no effect on --format {form}")
    read = read_attention(model, file, sentence, side)
    shown = head_matrices(read, show, layer, head, subwords)
    write(TABLES, shown, lambda figure, matrices, legend: draw_matrices(figure, matrices, legend, columns), form)


@command.command()
@click.argument("model", type=Reads(path_type=Path))
@click.argument("file", default="-", type=Reads())
@sentence_number
@side
@click.option("--links", metavar="FILE", type=Reads(), help="Also show these links of `synmt align`.")
def attention_page(model: Path, file: str, sentence: int, side: str, links: str | None) -> None:
    """Write an HTML page of all layers and heads on one sentence of FILE, with its trees and links.

    FILE holds text, parse records or mask records. Shows the encoder, or the decoder on its translation of the
    sentence.
    """
    from synmt.inspection.alignment import nth_links, read_alignments
    from synmt.inspection.page import attention_page

    read = read_attention(model, file, sentence, side)
    linked = read_alignments([nth_links(links, sentence)])[0] if links else None
    text = read.record.text or " ".join(read.record.tokens)
    write_lines([attention_page(read, readable(f"{model}: {text}"), linked)])


def read_attention(model: Path, file: str, sentence: int, side: str) -> "ReadSentence":
    """Return a sentence of a file as the encoder or the decoder of a model reads it. Raises BadInput."""
    from synmt.inspection.sentence import read_sentence, read_translation
    from synmt.model.config import ModelConfig
    from synmt.model.folder import ModelFolder

    folder = ModelFolder.open(model, ModelConfig)
    return (read_sentence if side == "source" else read_translation)(folder, nth_line(file, sentence))


@command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=Reads())
@sentence_number
@form("tsv", "json", "jsonl", *PICTURES, "html")
def alignment(files: tuple[str, ...], sentence: int, form: str) -> None:
    """Show word alignments of one sentence pair, side by side.

    Each FILE has lines of `synmt align --format jsonl` or GIZA++'s A3 format; all but one may have only links.
    """
    from synmt.inspection.alignment import alignment_matrices, nth_links, read_alignments
    from synmt.inspection.matrix import TABLES, draw_matrices

    found = read_alignments([nth_links(file, sentence) for file in files])
    shown = alignment_matrices(found, files)
    if form == "html":
        from synmt.inspection.page import alignment_page

        write_lines([alignment_page(*shown, " ".join(found[0].source))])
    else:
        write(TABLES, shown, draw_matrices, form)


@command.command()
@click.argument("file", default="-", type=Reads())
@click.argument("other", required=False, type=Reads())
@click.option(
    "--sentence", type=click.IntRange(1, 10**9), metavar="N",
    help="Number of the sentence, from 1.  [default: all, in an SVG the first]",
)  # fmt: skip
@form("text", "svg", "html")
def trees(file: str, other: str | None, sentence: int | None, form: str) -> None:
    """Show the trees of FILE, beside those of OTHER with their differences marked.

    Files have parse records, CoNLL-U or brackets. Each word has a row with its part of speech and relation. `≠` marks
    words with another head, `~` words with another relation, and `*` labels of constituents that the other tree lacks.
    """
    from synmt.inspection.matrix import short_names
    from synmt.inspection.trees import as_svg, as_text, read_sentences

    files = [file, other] if other else [file]
    names = short_names(list(map(readable, files))) if other else []
    found = read_sentences(files, 1 if form == "svg" and not sentence else sentence)
    if form == "html":
        from synmt.inspection.page import trees_page

        write_lines(
            [trees_page(found, names, f"Trees of {' and '.join(map(readable, files))}" if file != "-" else "Trees")]
        )
    else:
        write_lines((as_svg if form == "svg" else as_text)(found, names))


@command.command()
@click.argument("file", default="-", type=Reads())
def links(file: str) -> None:
    """Write an HTML page of the links of all sentence pairs of FILE.

    FILE has lines of `synmt align --format jsonl` or GIZA++'s A3 format.
    """
    from synmt.inspection.alignment import read_bitext
    from synmt.inspection.page import links_page

    write_lines([links_page(read_bitext(read_lines([file])), readable(f"Links of {file}") if file != "-" else "Links")])


@command.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=Reads(path_type=Path))
@click.option("--by", type=OneOf(["update", "epoch"]), default="update", help="Unit of the x axis of a picture.")
@form(*PICTURES, "json", "jsonl")
def curves(models: tuple[Path, ...], by: str, form: Any) -> None:
    """Draw the losses and scores of training runs.

    MODEL is a model folder or a log.tsv.
    """
    from synmt.inspection.curves import TABLES, draw_curves, read_curves

    if by != "update" and form in TABLES:
        raise WrongUsage(f"--by has no effect on --format {form}: each row has its update")
    runs = [read_curves(model) for model in models]
    write(TABLES, (runs,), lambda figure, runs: draw_curves(figure, runs, by), form)


@command.command()
@click.argument("file", type=Reads(path_type=Path))
@click.option(
    "--figure", "kind", type=OneOf(["gains", "sizes", "lengths", "curves"]), default="gains",
    help="What to draw: gains over the first system, also as the data grow; scores by length; training curves.",
)  # fmt: skip
@click.option("--metric", metavar="NAME", help="Metric of the table to draw.  [default: the first]")
@click.option("--columns", type=click.IntRange(1, 2), default=1, help="Columns of a page that the figure fills.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data files, as for `synmt run`.")
@click.option("--out", type=Reads(path_type=Path), help="Folder of the run, as for `synmt run`.")
@form(*PICTURES)
def run(
    file: Path, kind: Any, metric: str | None, columns: int, data: Path | None, out: Path | None, form: Any
) -> None:
    """Draw a figure of a finished run for a paper.

    FILE is the file of `synmt run`. Whiskers of gains are 95 % confidence intervals, and filled markers have a
    corrected p below 0.05; whiskers of scores by length are standard deviations over seeds.
    """
    from synmt.runs.run import Run

    shown = Run.open(file, out, data).figure(kind, metric, columns)
    write({}, (), shown.fill, form)


@command.command()
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...", type=Reads(), default=STDIN)
@reference
@output_format("How to print the table")
def relations(hypotheses: tuple[str, ...], references: str, form: str) -> None:
    """Compare trees with a reference, relation by relation.

    Files have parse records or CoNLL-U. Each relation has the number of reference words with it, the percentage of them
    with the right head, and precision, recall and F1 of heads with relations.
    """
    from synmt.metrics.reading import Files
    from synmt.metrics.scoring import report_relations

    with bad_input():
        write_lines(report_relations(Files(hypotheses, (references,)), form))


@command.command()
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...", type=Reads(), default=STDIN)
@reference
@click.option("--train", metavar="FILE", type=Reads(), help="Training text in the target language, for frequencies.")
@output_format("How to print the table")
def words(hypotheses: tuple[str, ...], references: str, train: str | None, form: str) -> None:
    """Show which words of a reference translations contain: by frequency, part of speech and relation.

    Files have text or parse records of `synmt parse`. Parts of speech and relations are those of the reference. Each
    group has the number of reference words and, for each system, the percentage of them in its translations.
    """
    from synmt.inspection.words import report_words

    with bad_input():
        write_lines(report_words(hypotheses, references, train, form))


@command.command()
@click.argument("hypotheses", nargs=-1, metavar="[HYPOTHESES]...", type=Reads(), default=STDIN)
@reference
@options_of(MetricConfig, "Input", only=["reference-base"])
@output_format("How to print the table")
def reliability(hypotheses: tuple[str, ...], references: str, reference_base: int | None, form: str) -> None:
    """Compare the scores of links with their precision.

    Hypotheses are JSON lines of `synmt align --format jsonl`, and the reference has links: 0-0 1-2, or 1p3 for a
    possible link. The table sorts links into ten bins by score. The last line is the expected calibration error, also
    at the best temperature.
    """
    from synmt.metrics.reading import Files
    from synmt.metrics.reliability import report_reliability

    with bad_input():
        files = Files(hypotheses, (references,))
        write_lines(report_reliability(files, MetricConfig(reference_base=reference_base), form))


def write(tables: "Mapping[str, Callable[..., Iterable[str]]]", shown: tuple[Any, ...], draw: Any, form: Any) -> None:
    """Write a table of `shown`, or the picture of it that `draw` draws."""
    if form in tables:
        return write_lines(tables[form](*shown))
    from synmt.inspection.matrix import picture

    if form != "svg" and sys.stdout is not None and sys.stdout.isatty():
        raise WrongUsage(f"will not print a {form.upper()} to the terminal: redirect it to a file with >")
    data = picture(lambda figure: draw(figure, *shown), form)
    with LineWriter() as output:
        output.write_bytes(data)
