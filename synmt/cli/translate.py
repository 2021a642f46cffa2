"""`synmt translate`"""

from pathlib import Path
from typing import Literal

import click

from synmt.cli.options import input_files, max_tokens, on_error, or_stdin, report_failures, report_too_long
from synmt.streams import OnError
from synmt.systems.source import Task


@click.command("translate")
@click.argument("model", type=click.Path(path_type=Path))
@input_files
@click.option("--beam", type=click.IntRange(1), default=4, show_default=True, help="Hypotheses a sentence.")
@click.option(
    "--length-penalty",
    type=click.Choice(["gnmt", "plain"]),
    default="gnmt",
    show_default=True,
    help="Scores are divided by ((5+L)/6)^alpha, or by L^alpha.",
)
@click.option("--alpha", type=float, default=0.6, show_default=True, help="0 is no length penalty.")
@click.option(
    "--extra-length",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="Pieces that a translation may have beyond its source's words.",
)
@click.option("--n-best", type=click.IntRange(1), help="Give so many translations a line, as JSON lines.")
@click.option(
    "--task",
    type=click.Choice(["translate", "parse"]),
    default="translate",
    show_default=True,
    help="A multitask model parses too: brackets without words.",
)
@click.option(
    "--constraints",
    type=click.Choice(["none", "legal", "strict"]),
    default="strict",
    show_default=True,
    help="Of a model that writes arcs. none: those that make no sense do nothing; legal: they are not written;"
    " strict: and every translation is one tree.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl", "conllu"]),
    default="text",
    show_default=True,
    help="conllu: with the tree, of a model that writes arcs.",
)
@click.option("--batch-tokens", type=click.IntRange(1), default=4096, show_default=True, help="Source tokens.")
@max_tokens(2000, "A longer sentence, in source tokens, gets no translation and is counted.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@on_error
def command(
    model: Path,
    files: tuple[str, ...],
    beam: int,
    length_penalty: Literal["gnmt", "plain"],
    alpha: float,
    extra_length: int,
    n_best: int | None,
    task: Task,
    constraints: Literal["none", "legal", "strict"],
    form: Literal["text", "jsonl", "conllu"],
    batch_tokens: int,
    max_tokens: int,
    device: str,
    on_error: OnError,
) -> None:
    """Translate text, parse records or mask records with the MODEL folder.

    Line n of the output translates line n of the input. JSON lines hold text, tokens, score, log_probability,
    and with --n-best the list of all translations; of a model that writes arcs also heads, deprels and the target
    string with its transitions.

    \b
      synmt translate model < test.en > test.de
      synmt parse test.en | synmt translate model --n-best 5 > test.jsonl
      synmt translate joint --format conllu < test.en > test.de.conllu
    """
    if n_best and form == "conllu":
        raise click.UsageError("--n-best gives JSON lines, not --format conllu")
    from synmt.decoding.beam import SearchConfig
    from synmt.decoding.stream import translate_stream

    search = SearchConfig(max(beam, n_best or 1), length_penalty, alpha, extra_length, constraints)
    bad, too_long = translate_stream(
        model, or_stdin(files), search, n_best, form, batch_tokens, max_tokens, device, on_error, task
    )
    report_failures("translate", bad)
    report_too_long("translate", too_long, max_tokens)
