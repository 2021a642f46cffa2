"""`synmt translate`"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from synmt.cli.options import STDIN, input_files, on_error, usage
from synmt.cli.paths import Reads
from synmt.cli.sections import SectionCommand, in_section, options_of
from synmt.model.files import CONFIG_FILE
from synmt.options import Choice, Rules, config_of
from synmt.search.config import SearchConfig, TranslateConfig, choose
from synmt.streams import BadLines, OnError

EPILOG = """
\b
Examples:
  synmt translate model < test.en > test.de
  synmt parse test.en | synmt translate model --beam 5 --n-best 5 > test.jsonl
  synmt parse test.en | synmt translate model other-model > test.de
"""

COMMON = "beam alpha sample constraints n-best format precision jobs batch-tokens device"
HINTS = {
    **dict.fromkeys(("--score", "--sum-trees"), "`synmt logprob` scores given translations"),
    **dict.fromkeys(
        ("--markup", "--aligner"),
        "`synmt strip-markup` removes tags before translation, and `synmt markup` restores them",
    ),
}


def _choose(given: Mapping[str, Any]) -> Choice:
    if "model" not in given or not (Path(given["model"]) / CONFIG_FILE).exists():
        return Choice()  # a folder without a model is refused when it is opened
    from synmt.model.config import ModelConfig
    from synmt.model.folder import read_folder_config

    opened, training = read_folder_config(Path(given["model"]), ModelConfig)
    settings = {name.replace("-", "_"): value for name, value in given.items()}
    return choose(opened.target, config_of(TranslateConfig, settings), "exported" in training)


@click.command("translate", cls=SectionCommand, epilog=EPILOG, rules=Rules(_choose), hints=HINTS, common=COMMON)
@click.argument("model", type=Reads(path_type=Path))
@input_files
@options_of(TranslateConfig, "Output")
@in_section("Output")("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@options_of(SearchConfig, "Search")
@on_error
def command(model: Path, files: tuple[str, ...], device: str, on_error: OnError, **settings: Any) -> None:
    """Translate text, parse records or mask records.

    Line n of the output translates line n of the input. Several MODELs that share one target vocabulary form an
    ensemble: their probabilities are averaged. A folder of `synmt export` is searched by CTranslate2.

    JSON lines hold text, tokens, score and log_probability, with --n-best a list of translations, and from a model that
    writes arcs the tree.
    """
    with usage():
        config, search = config_of(TranslateConfig, settings), config_of(SearchConfig, settings)
        config.check_search(search)
    models = [model, *(Path(each) for each in files if Path(each).is_dir())]
    files = tuple(each for each in files if not Path(each).is_dir())
    from synmt.search.stream import translate_stream

    translate_stream(models, files or STDIN, search, config, device, BadLines(on_error))
