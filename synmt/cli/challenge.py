"""`synmt challenge`"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from synmt.challenge.object_verb_subject import FORMS, clause_lines
from synmt.challenge.query import PHENOMENA, Counts, Query, Shape, WordQuery, query_of
from synmt.challenge.sets import Form, TranslationFiles, query_counts, query_set, reordering_set
from synmt.cli.metric_options import output_format
from synmt.cli.options import input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import OneOf, SectionCommand, SectionGroup, SectionOption, in_section, options_of
from synmt.options import config_of, option_names
from synmt.search.config import LogprobConfig
from synmt.streams import BadLines, OnError, write_lines

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe test.en | synmt challenge particle
  synmt challenge query --relation nsubj* --direction after test.conllu
  synmt challenge pattern 'V [upos=VERB]; V < S' --format marked test.conllu
  synmt challenge reordering test.en test.de test.links --text test.en
  synmt challenge contrast model pairs.tsv --format tsv
  synmt challenge object-verb-subject > ovs.de
"""

Command = Callable[..., None]
texts = click.option(
    "--text", "texts", multiple=True, metavar="FILE", type=Reads(),
    help="Print the lines of this file, not their numbers; repeat it for more columns.",
)  # fmt: skip


set_format = click.option(
    "--format",
    "form",
    type=OneOf(get_args(Form)),
    help="Print numbers from 1, sent_ids, words with matches in stars, matches with the requested values, or the input"
    " sentences.",
)


def set_options(command: Command) -> Command:
    """Add the options of what to print, and --on-error."""
    counted = click.option(
        "--count", "counted", cls=SectionOption, multiple=True, metavar="NODE.COLUMN", unless=("--format", "--text"),
        help="Print a table of the values in this column, such as word.lemma or V.Number; repeat it for combinations.",
    )  # fmt: skip
    return set_format(texts(counted(on_error(command))))


def min_distance(default: int, apart: str) -> Callable[[Command], Command]:
    return click.option(
        "--min-distance",
        type=click.IntRange(0, 10**6),
        default=default,
        metavar="N",
        help=f"Only words more than N positions from {apart}.",
    )


@click.group(cls=SectionGroup, epilog=EPILOG)
def command() -> None:
    """Find syntactic challenge sets.

    They contain sentences in which related words are far apart, after Choshen & Abend (2019, 2022). For sentences that
    are hard to understand, select by parses of the sources; for sentences that are hard to produce, by parses of the
    references.
    """


def phenomenon_command(name: str) -> click.Command:
    about = f"{PHENOMENA[name].title}.\n\nFind the sentences among parse records or CoNLL-U."

    @click.command(name, cls=SectionCommand, help=about)
    @input_files
    @min_distance(1, "their heads")
    @set_format
    @texts
    @on_error
    def extract(
        files: tuple[str, ...], min_distance: int, form: Form | None, texts: tuple[str, ...], on_error: OnError
    ) -> None:
        query = replace(PHENOMENA[name].query, min_distance=min_distance)
        write_set(query, files, None, form, texts, (), on_error)

    return extract


for each in PHENOMENA:
    command.add_command(phenomenon_command(each))


HINTS = {
    "--pattern": "`synmt challenge pattern PATTERN` describes several words",
    **dict.fromkeys(
        (
            "--links",
            "--target",
            "--source",
            "--min-move",
            *(f"--{name}" for name in option_names(WordQuery, "linked-")),
        ),
        "`synmt challenge linked` queries the words of a translation, too",
    ),
}


@command.command(hints=HINTS)
@input_files
@options_of(WordQuery, "Word")
@options_of(WordQuery, "Its head", prefix="head-")
@options_of(Shape, "Its head", only=["min-distance", "direction"])
@set_options
def query(
    files: tuple[str, ...],
    form: Form | None,
    texts: tuple[str, ...],
    counted: tuple[str, ...],
    on_error: OnError,
    **settings: Any,
) -> None:
    """Find sentences by a word of your choice and its head.

    A sentence, from parse records or CoNLL-U, matches if one word has all the properties. In a PATTERN, * stands for
    any text and ? for any letter; case is ignored. A PATTERN in quotes is literal, and /…/ a regular expression.
    """
    with usage():
        asked = query_of(settings)
    write_set(asked, files, None, form, texts, counted, on_error)


@command.command()
@click.argument("pattern")
@input_files
@set_options
def pattern(
    pattern: str,
    files: tuple[str, ...],
    form: Form | None,
    texts: tuple[str, ...],
    counted: tuple[str, ...],
    on_error: OnError,
) -> None:
    """Find sentences by several words, their arcs and their order.

    PATTERN has clauses between semicolons, such as `V [upos=VERB]; V -[obj]-> O; O < V`. Files have parse records or
    CoNLL-U.
    """
    with usage():
        asked = Query(pattern=pattern)
    write_set(asked, files, None, form, texts, counted, on_error)


@command.command()
@click.argument("pattern")
@click.argument("source", type=Reads())
@click.argument("target", type=Reads())
@click.argument("links", type=Reads())
@in_section("Links")(
    "--side", type=OneOf(["source", "target"]), default="source", help="Sentences that PATTERN describes."
)
@in_section("Links")(
    "--min-move", type=click.IntRange(0, 10**6), metavar="N", help="The word moves more than N positions."
)
@options_of(WordQuery, "A word that it is linked to", prefix="linked-")
@set_options
def linked(
    pattern: str,
    source: str,
    target: str,
    links: str,
    side: str,
    min_move: int | None,
    form: Form | None,
    texts: tuple[str, ...],
    counted: tuple[str, ...],
    on_error: OnError,
    **settings: Any,
) -> None:
    """Find sentences by words and the words of the translation that they are linked to.

    PATTERN is as for `synmt challenge pattern`; its first word must be linked. SOURCE and TARGET have parse records or
    CoNLL-U, and LINKS has a line `0-0 1-2 ...` per pair.
    """
    with usage():
        other = config_of(WordQuery, settings, "linked-")
        asked = Query(pattern=pattern, linked=other, min_move=-1 if min_move is None else min_move)
    described, translation = (source, target) if side == "source" else (target, source)
    beside = TranslationFiles(translation, links, is_source=side == "target")
    write_set(asked, (described,), beside, form, texts, counted, on_error)


def write_set(
    query: Query,
    files: tuple[str, ...],
    beside: TranslationFiles | None,
    form: Form | None,
    texts: tuple[str, ...],
    counted: tuple[str, ...],
    on_error: OnError,
) -> None:
    """Write the sentences that match a query, or the counts of values of their words."""
    bad = BadLines(on_error)
    with usage():
        counts = Counts(query, counted)
    if counted:
        lines = query_counts(query, counts, files, beside, bad)
    else:
        lines = query_set(query, files, beside, form, texts, bad)
    write_lines(lines)
    bad.report()


@command.command()
@click.argument("source", type=Reads())
@click.argument("target", type=Reads())
@click.argument("links", type=Reads())
@min_distance(5, "the words they are linked to")
@texts
def reordering(source: str, target: str, links: str, min_distance: int, texts: tuple[str, ...]) -> None:
    """Find words that move far, by their links.

    SOURCE and TARGET are token lines or parse records, and LINKS has a line `0-0 1-2 ...` per pair.
    """
    write_lines(reordering_set(source, target, links, min_distance, texts))


@command.command()
@click.argument("model", type=Reads(path_type=Path))
@input_files
@options_of(LogprobConfig, only=["tokenizer", "batch-tokens", "max-tokens", "sum-trees", "precision"])
@in_section("Options")("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@output_format("How to print the table")
@on_error
def contrast(model: Path, files: tuple[str, ...], device: str, form: str, on_error: OnError, **settings: Any) -> None:
    """Count how often a model prefers right translations to wrong ones.

    The input has lines of `source TAB right TAB wrong TAB category TAB distance`; the last two can be missing. A line
    whose source and right translation are empty has another wrong one for the item above. The model wins an item if the
    right translation has a higher log-probability, as by `synmt logprob`, than each wrong one.
    """
    from synmt.search.contrast import contrast as contrasted

    write_lines(contrasted(model, files, config_of(LogprobConfig, settings), device, form, on_error))


@command.command()
@click.option(
    "--format", "form", type=OneOf(FORMS), default="text", help="tsv adds case, subject, object and translation."
)
@click.option("--subject-first", is_flag=True, help="Put the subject first, as usual.")
def object_verb_subject(form: str, subject_first: bool) -> None:
    """Make 99 German clauses whose object comes first."""
    write_lines(clause_lines(form, subject_first))
