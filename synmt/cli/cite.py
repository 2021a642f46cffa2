"""`synmt cite`"""

from collections.abc import Callable, Iterable, Sequence

import click

from synmt.alignment import ALIGNERS
from synmt.citations import SYNMT, cited, entries
from synmt.cli.options import bad_input
from synmt.cli.sections import SectionCommand
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, systems
from synmt.metrics import METRICS
from synmt.parsers.config import CITES
from synmt.registry import meant
from synmt.streams import write_lines

EPILOG = """
\b
Examples:
  synmt cite --model mask+pascal > used.bib
  synmt cite --method hmm+neural-hmm --parser udpipe --metric bleu,chrf
"""


def names(separator: str, known: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a callback that splits names. It raises BadParameter for an unknown one."""

    def split(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str]:
        chosen = [] if text is None else text.split(separator)
        for name in chosen:
            if name not in known():
                raise click.BadParameter(f"{name!r} is not one of {', '.join(known())}{meant(name, known())}")
        return chosen

    return split


@click.command(cls=SectionCommand, epilog=EPILOG)
@click.option("--model", callback=names("+", systems), metavar="NAME+...", help="Components of a system.")
@click.option("--method", callback=names(",", lambda: ALIGNERS), metavar="NAME,...", help="Aligners.")
@click.option("--parser", callback=names("+", lambda: CITES), metavar="NAME+...", help="Parsers.")
@click.option("-m", "--metric", callback=names(",", lambda: METRICS), metavar="NAME,...", help="Metrics.")
def command(model: Sequence[str], method: Sequence[str], parser: Sequence[str], metric: Sequence[str]) -> None:
    """Print BibTeX entries of synmt and of the papers behind what you use.

    The names are the choices of `synmt train --model`, `align --method`, `parse --parser` and `score --metric`.
    """
    known = systems()
    sides = [known[name] for name in model]
    cites = [
        SYNMT,
        *cited(ENCODER_COMPONENTS, [source for source, _ in sides]),
        *cited(DECODER_COMPONENTS, [target for _, target in sides]),
        *cited(ALIGNERS, method),
        *(key for name in parser for key in CITES[name]),
        *cited(METRICS, metric),
    ]
    with bad_input():
        write_lines(iter(entries(cites)))
