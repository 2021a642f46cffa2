"""`synmt challenge`: syntactic challenge sets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import click

from synmt.challenge.object_verb_subject import FORMS, clause_lines
from synmt.challenge.query import PHENOMENA, Direction, Query, WordQuery
from synmt.challenge.sets import Form, Translation, query_set, reordering_set
from synmt.cli.options import input_files, on_error
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, SectionGroup, in_section, options_of
from synmt.options import chosen
from synmt.streams import BadLines, OnError, WrongUsage, write_lines

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe test.en | synmt challenge particle
  synmt challenge query --relation nsubj* --direction after test.conllu
  synmt challenge reordering test.en test.de test.links --text test.en
  synmt challenge object-verb-subject > ovs.de
"""

Command = Callable[..., None]
texts = click.option(
    "--text", "texts", multiple=True, metavar="FILE", type=Reads(),
    help="Print this file's lines of the set instead of their numbers; once more for each further column.",
)  # fmt: skip


set_format = click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    help="Print the numbers of the sentences, from 1; or their sent_ids; or their words, those found in stars; or the"
    " sentences whole, as they came.",
)


def min_distance(default: int, apart: str) -> Callable[[Command], Command]:
    return click.option(
        "--min-distance",
        type=click.IntRange(0, 10**6),
        default=default,
        metavar="N",
        help=f"Only words that are more than N positions from {apart}.",
    )


@click.group(cls=SectionGroup, epilog=EPILOG)
def command() -> None:
    """Find syntactic challenge sets.

    They hold sentences in which words stand far from what they belong to, after Choshen & Abend (2019, 2022).
    Parse the sources for a set that is hard to understand, the references for one that is hard to say.
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
        bad = BadLines(on_error)
        query = replace(PHENOMENA[name].query, min_distance=min_distance)
        write_lines(query_set(query, files, None, form, texts, bad))
        bad.report("challenge")

    return extract


for each in PHENOMENA:
    command.add_command(phenomenon_command(each))


LINKS = ("--links",)
of_links = in_section("Links")


@command.command()
@input_files
@options_of(WordQuery, "Word")
@options_of(WordQuery, "Its head", prefix="head-")
@in_section("Its head")(
    "--min-distance", type=click.IntRange(0, 10**6), default=0, metavar="N",
    help="The head is more than N positions away; that of a root is before the sentence.",
)  # fmt: skip
@in_section("Its head")("--direction", type=click.Choice(get_args(Direction)), help="Where the word stands from it.")
@of_links(
    "--links", metavar="LINKS", type=Reads(), needs=("--target", "--source"),
    help="Links of the sentences, a line for each: 0-0 1-2.",
)  # fmt: skip
@of_links(
    "--target", metavar="FILE", type=Reads(), needs=LINKS, unless="--source",
    help="What they lead to, in records or CoNLL-U.",
)  # fmt: skip
@of_links("--source", metavar="FILE", type=Reads(), needs=LINKS, help="The same where the sentences are the targets.")
@of_links(
    "--min-move", type=click.IntRange(0, 10**6), metavar="N", needs=LINKS,
    help="The word is linked to one whose position differs by more than N.",
)  # fmt: skip
@options_of(WordQuery, "A word that it is linked to", prefix="linked-", needs=LINKS)
@set_format
@texts
@on_error
def query(
    files: tuple[str, ...],
    min_distance: int,
    direction: Direction | None,
    links: str | None,
    target: str | None,
    source: str | None,
    min_move: int | None,
    form: Form | None,
    texts: tuple[str, ...],
    on_error: OnError,
    **patterns: Any,
) -> None:
    """Find sentences by words of your choice.

    A sentence of parse records or CoNLL-U belongs to the set if one of its words is all that is asked for. PATTERNs may
    have * for any text and ? for any letter, and case does not count.
    """
    word, head, linked = (WordQuery(**chosen(WordQuery, patterns, prefix)) for prefix in ("", "head-", "linked-"))
    asked = Query(word, head, linked, min_distance, direction, -1 if min_move is None else min_move)
    if asked == Query():
        raise WrongUsage("say what is to be found, such as --relation or --word")
    other = target or source
    beside = Translation(other, links, is_source=source is not None) if other and links else None
    bad = BadLines(on_error)
    write_lines(query_set(asked, files, beside, form, texts, bad))
    bad.report("challenge")


@command.command()
@click.argument("source", type=Reads())
@click.argument("target", type=Reads())
@click.argument("links", type=Reads())
@min_distance(5, "the words that they are linked to")
@texts
def reordering(source: str, target: str, links: str, min_distance: int, texts: tuple[str, ...]) -> None:
    """Find words that move far, by their links.

    SOURCE and TARGET are token lines or parse records, LINKS has a line `0-0 1-2 ...` for each pair.
    """
    write_lines(reordering_set(source, target, links, min_distance, texts))


@command.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="text",
    help="tsv: also what case marks, the subject, the object and a translation; records: with dependency trees.",
)
@click.option("--subject-first", is_flag=True, help="The same clauses in their usual order.")
def object_verb_subject(form: str, subject_first: bool) -> None:
    """Make 99 German clauses whose object comes first."""
    write_lines(clause_lines(form, subject_first))
