"""`python -m synmt.demo`: writes the demo corpus."""

import sys
from pathlib import Path

import click

from synmt.demo.corpus import write_corpus


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sentences", type=click.IntRange(1), default=7000, show_default=True, help="Training pairs.")
@click.option("--held-out", type=click.IntRange(1), default=300, show_default=True, help="Dev pairs, and test pairs.")
@click.option("--depth", type=click.IntRange(0), default=3, show_default=True, help="Deepest nesting.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write.")
def command(sentences: int, held_out: int, depth: int, seed: int, out: Path) -> None:
    """Write train, dev and test sets of an English–Kel corpus with gold trees and word links.

    For each set: .en and .kel (text), .en.ptb (brackets), .en.conllu and .kel.conllu (dependencies), .links
    (Pharaoh, over the tokens of the two CoNLL-U files). Also systems.toml, a run file for `synmt run`, and
    luke.es-en.tsv, 1,150 real sentence pairs for `synmt align` (public domain, see ATTRIBUTION.md).
    """
    try:
        write_corpus(out, sentences, held_out, seed, depth)
    except OSError as error:
        print(f"synmt.demo: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(1)


command(prog_name="python -m synmt.demo")
