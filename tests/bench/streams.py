"""`python -m tests.bench.streams [--lines 10000,100000,1000000]`: memory and speed of text stages by number of lines.

A stage that streams uses constant memory. The sentences come from the demo's grammar, with gold trees and links.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from synmt.demo.corpus import draw_pairs
from synmt.demo.words import Sentence
from synmt.text.links import write_links
from synmt.trees.arc_tokens import ArcStyle, write_tokens
from synmt.trees.record import ParseRecord, write_record
from synmt.trees.transitions import transitions_of_record
from tests.bench.usage import usage_of
from tests.cli.commands import CODES

STAGES = {
    "linearize": "linearize records",
    "make-masks": "make-masks records",
    "transitions": "transitions records",
    "read-transitions": "read-transitions arcs",
    "bpe apply": "bpe apply --codes codes text",
    "symmetrize": "symmetrize --tokenizer none links --pairs pairs",
    "challenge": "challenge reordering records tokens links",
    "score": "score --metric bleu --references text text",
    "significance": "significance --metric bleu --resamples 100 --references text text other",
    "parse --parser udpipe": "parse --parser udpipe text",
}
SLOW = 100_000  # lines; parsers get no larger files


def write_inputs(folder: Path, lines: int) -> None:
    """Write the files that the stages read. They have this many lines; line n of each belongs to the same pair."""
    (folder / "codes").write_text(CODES)
    for name, rows in inputs(2000).items():
        with (folder / name).open("w") as stream:
            stream.writelines(f"{row}\n" for row in islice(cycle(rows), lines))


def inputs(sentences: int) -> dict[str, list[str]]:
    """Return the lines of each file by its name."""
    rows: dict[str, list[str]] = defaultdict(list)
    for pair in islice(draw_pairs(seed=7), sentences):
        english, kel = (record_of(sentence) for sentence in (pair.english, pair.kel))
        rows["text"].append(english.text)
        rows["other"].append(kel.text)
        rows["records"].append(write_record(english))
        rows["tokens"].append(" ".join(kel.tokens))
        rows["pairs"].append(f"{' '.join(english.tokens)}\t{' '.join(kel.tokens)}")
        rows["links"].append(write_links(pair.links()))
        rows["arcs"].append(write_tokens(transitions_of_record(english, lambda word: [word], ArcStyle())))
    return rows


def record_of(sentence: Sentence) -> ParseRecord:
    return ParseRecord(
        text=sentence.text(),
        tokens=[word.form for word in sentence.words],
        tree=sentence.tree,
        heads=sentence.heads(),
        deprels=[word.deprel for word in sentence.words],
    )


def rows(counts: list[int]) -> Iterator[tuple[str, int, float, float]]:
    """Yield stage, number of lines, lines per CPU second, and peak MiB."""
    with TemporaryDirectory() as name:
        for lines in counts:
            write_inputs(Path(name), lines)
            for stage, arguments in STAGES.items():
                if lines <= SLOW or not stage.startswith("parse"):
                    used = usage_of(arguments.split(), Path(name))
                    yield stage, lines, lines / used.seconds, used.memory


@click.command()
@click.option("--lines", default="10000,100000,1000000", show_default=True)
def command(lines: str) -> None:
    print("stage\tlines\tlines a processor second\tpeak MiB")
    for stage, count, rate, memory in rows([int(each) for each in lines.split(",")]):
        print(f"{stage}\t{count}\t{rate:,.0f}\t{memory:.0f}", flush=True)


if __name__ == "__main__":
    command()
