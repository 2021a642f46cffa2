"""`synmt convert`: trees from one format to another."""

from functools import partial

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.sections import OneOf, SectionCommand, in_section
from synmt.streams import BadLines, OnError, convert_files
from synmt.trees.formats import FORMATS, WRITERS, blank, reader, sentences, tree_form

EPILOG = """
\b
Examples:
  synmt convert --input conllu train.conllu > train.jsonl
  synmt convert --format ptb train.jsonl > train.ptb
  synmt convert --input ptb --strip train.mrg > train.jsonl
"""
in_input = in_section("Input")


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@in_input("--input", "kind", type=OneOf(FORMATS), default="records", help="Format of the input.")
@in_input("--strip", is_flag=True, needs="--input ptb", help="Remove traces and function tags from ptb trees.")
@click.option(
    "--format", "form", type=OneOf(FORMATS), default="records",
    help="Parse records, constituency trees or dependency trees.",
)  # fmt: skip
@on_error
def command(files: tuple[str, ...], kind: str, strip: bool, form: str, on_error: OnError) -> None:
    """Convert trees: parse records, brackets (ptb) and CoNLL-U.

    Line n of the output belongs to tree n of the input.
    """
    read = reader("stripped ptb" if strip else kind, partial=True)
    group = partial(sentences, kind=kind)

    def converted(text: str) -> str:
        if kind == "records" and (seen := tree_form(text)) in ("conllu", "ptb"):
            raise ValueError(f"no parse record; read it with --input {seen}")
        return WRITERS[form](read(text))

    convert_files(files, converted, BadLines(on_error), blank(form), group)
