"""`synmt translate`"""

from pathlib import Path
from typing import Any

import click

from synmt.cli.options import input_files, on_error, or_stdin, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, check_given, in_section, options_of
from synmt.decoding.config import OF_SEARCHES, SearchConfig, TranslateConfig, scope_of
from synmt.options import config_of
from synmt.projection.config import DOUBTFUL
from synmt.streams import BadLines, OnError, WrongUsage

EPILOG = """
\b
Examples:
  synmt translate model < test.en > test.de
  synmt parse test.en | synmt translate model --beam 5 --n-best 5 > test.jsonl
  synmt parse test.en | synmt translate model other-model > test.de
  paste test.en test.de | synmt translate model --score > test.scores
  synmt translate model --markup --aligner aligner < page.en > page.de
"""


@click.command("translate", cls=SectionCommand, epilog=EPILOG)
@click.argument("model", type=Reads(path_type=Path))
@input_files
@options_of(SearchConfig, "Search", unless=OF_SEARCHES)
@options_of(TranslateConfig, "Output")
@in_section("Output")(
    "--aligner", metavar="MODEL", type=Reads(path_type=Path), needs="--markup",
    help="Link the words by this folder of synmt align, from the model's source language to its target language.",
)  # fmt: skip
@in_section("Output")("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@on_error
def command(
    model: Path, files: tuple[str, ...], aligner: Path | None, device: str, on_error: OnError, **settings: Any
) -> None:
    """Translate text, parse records or mask records with the MODEL folder.

    Line n of the output translates line n of the input. JSON lines hold text, tokens, score, log_probability,
    and with --n-best the best translations, each once; of a model that writes arcs also heads, deprels and the target
    string with its transitions.

    Several folders of models translate together, by the mean of the probabilities that they give the next subword; each
    reads its own form of the source, and all write the same subwords.

    With --score, lines are `source TAB target`, each text or a record, or the target a string of synmt transitions,
    and a line of the output is the log-probability of the target in nats; of a model that writes arcs, behind tabs
    also those of words and of arcs. JSON lines have that of each token.

    With --markup, lines are text with inline HTML or XLIFF tags. The text is translated without them, and the
    translation gets them back over word links: each tag once, and unchanged.
    """
    with usage():
        config, search = config_of(TranslateConfig, settings), config_of(SearchConfig, settings)
        config.check_search(search)
    models = [model, *(Path(each) for each in files if Path(each).is_dir())]
    files = tuple(each for each in files if not Path(each).is_dir())
    if config.score and len(models) > 1:
        raise WrongUsage("--score is of one model")
    from synmt.model.config import ModelConfig
    from synmt.model.folder import read_folder_config

    opened, _ = read_folder_config(model, ModelConfig)
    check_given(scope_of(opened.target, config))
    if config.score:
        from synmt.decoding.scores import score_stream

        return score_stream(model, or_stdin(files), config, device, on_error)
    from synmt.decoding.stream import translate_stream

    bad = BadLines(on_error)
    carrier = None
    if aligner:
        from synmt.alignment.linking import linker_of
        from synmt.projection.markup import Carrier

        carrier = Carrier(linker_of(aligner, device, DOUBTFUL), bad)
    translate_stream(models, or_stdin(files), search, config, device, bad, carrier)
