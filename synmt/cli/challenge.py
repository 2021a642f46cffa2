"""`synmt challenge`: syntactic challenge sets."""

from collections.abc import Callable
from typing import get_args

import click

from synmt.challenge.object_verb_subject import FORMS, clause_lines
from synmt.challenge.phenomena import PHENOMENA
from synmt.challenge.sets import Form, phenomenon_set, reordering_set
from synmt.cli.options import input_files, on_error
from synmt.streams import BadLines, OnError, write_lines

EPILOG = """
\b
Examples:
  synmt parse --parser udpipe test.en | synmt challenge particle
  synmt challenge reordering test.en test.de test.links --text test.en
  synmt challenge object-verb-subject > ovs.de
"""

Command = Callable[..., None]
texts = click.option(
    "--text", "texts", multiple=True, metavar="FILE", type=click.Path(),
    help="Print this file's lines of the set instead of their numbers; once more for each further column.",
)  # fmt: skip


def min_distance(default: int, apart: str) -> Callable[[Command], Command]:
    return click.option(
        "--min-distance",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        metavar="N",
        help=f"Only words that are more than N positions from {apart}.",
    )


@click.group(epilog=EPILOG)
def command() -> None:
    """Find syntactic challenge sets.

    They hold sentences in which words stand far from what they belong to, after Choshen & Abend (2019, 2022).
    Parse the sources for a set that is hard to understand, the references for one that is hard to say.
    """


def phenomenon_command(name: str) -> click.Command:
    @click.command(name, help=f"{PHENOMENA[name].title}.\n\nFind the sentences among parse records or CoNLL-U.")
    @input_files
    @min_distance(1, "their heads")
    @click.option(
        "--format",
        "form",
        type=click.Choice(get_args(Form)),
        help="Print the numbers of the sentences, from 1; or their sent_ids; or their words, those found in stars.",
    )
    @texts
    @on_error
    def extract(
        files: tuple[str, ...], min_distance: int, form: Form | None, texts: tuple[str, ...], on_error: OnError
    ) -> None:
        bad = BadLines(on_error)
        write_lines(phenomenon_set(name, files, min_distance, form, texts, bad))
        bad.report("challenge")

    return extract


for each in PHENOMENA:
    command.add_command(phenomenon_command(each))


@command.command()
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.argument("links", type=click.Path())
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
    show_default=True,
    help="tsv: also what case marks, the subject, the object and a translation; records: with dependency trees.",
)
@click.option("--subject-first", is_flag=True, help="The same clauses in their usual order.")
def object_verb_subject(form: str, subject_first: bool) -> None:
    """Make 99 German clauses whose object comes first."""
    write_lines(clause_lines(form, subject_first))
