"""`synmt align`"""

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from synmt.alignment import ALIGNERS, DEFAULT, PUBLISHED
from synmt.alignment.choice import RULES, SHARED, default_method, settings_of_fit, users
from synmt.alignment.config import AlignConfig, FitConfig
from synmt.alignment.statistical import LETTERS
from synmt.cli.options import LEXICON, input_files, on_error, usage
from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import OneOf, SectionCommand, SeveralOf, in_section, options_of, options_of_components
from synmt.components import ENCODER_COMPONENTS
from synmt.model.files import CONFIG_FILE
from synmt.nn.config import TransformerConfig
from synmt.options import config_of
from synmt.streams import OnError, WrongUsage
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig

USED = {name for name in users() if name in SHARED}  # shared options that some method uses
PRESETS = dict.fromkeys(name for each in ALIGNERS.values() for name in each.presets)


def _listed(names: Iterable[str]) -> str:
    return fill(", ".join(names), 76, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


EPILOG = f"""
\b
Methods:
{_listed(name for name in ALIGNERS if name not in PUBLISHED)}

\b
Published neural aligners:
{_listed(PUBLISHED)}

\b
Examples:
  synmt align bitext.tsv > links
  synmt align train.de train.en --out aligner > train.links
  paste train.de train.en | synmt align --method eflomal > eflomal.links
  synmt align --method mask-align --guide old.links bitext.tsv > links
"""

COMMON = "method out guide symmetrize format scores source-language target-language device"
LINK = "`synmt link MODEL` links pairs with a saved aligner"
HINTS = {
    **LETTERS,
    "--fit": f"synmt align always trains an aligner; {LINK}",
    "--jobs": f"an aligner is trained in one process; {LINK}, in several",
    "--links-from": "`synmt symmetrize LINKS LINKS` combines files of links",
    "--lexicon": LEXICON,
}
of_aligner, of_fit = in_section("Aligner"), in_section("Training")


@click.command("align", cls=SectionCommand, epilog=EPILOG, rules=RULES, hints=HINTS, common=COMMON)
@input_files
@of_aligner(
    "--method", metavar="METHOD", type=SeveralOf(list(ALIGNERS)),
    help=f"Method below, or several joined by + (default: {DEFAULT}); see `--method METHOD --help`.",
)  # fmt: skip
@options_of(AlignConfig, "Links")
@options_of(TextConfig, "Text")
@on_error
@of_aligner("--device", metavar="NAME", default="auto", help="auto, cpu, cuda or cuda:N.")
@of_fit("--out", metavar="FOLDER", type=Writes(folder=True, path_type=Path), help="Save the aligner here, as a MODEL.")
@of_fit("--guide", metavar="LINKS", type=Reads(), help="Links to learn from (Pharaoh, A3, JSON).")
@of_fit(
    "--resume", is_flag=True,
    help="Resume the run in --out; repeat its command.",
)  # fmt: skip
@of_fit("--models", metavar="FOLDER", type=Reads(), help="An aligner whose translation models to reuse.")
@of_fit("--preset", type=OneOf(list(PRESETS)), help="Set of defaults; see `--preset NAME --help-all`.")
@of_fit("--source-syntax", metavar="NAME+NAME", help="Components of `synmt train` for the source encoder.")
@of_fit("--target-syntax", metavar="NAME+NAME", help="Components of `synmt train` for the target encoder.")
@options_of(TrainingConfig, "Training", preset=True, only=USED)
@options_of(TransformerConfig, "Network", preset=True)
@options_of_components(ALIGNERS)
@options_of_components(ENCODER_COMPONENTS)
def command(
    files: tuple[str, ...],
    method: str | None,
    on_error: OnError,
    device: str,
    guide: str | None,
    out: Path | None,
    resume: bool,
    **settings: Any,
) -> None:
    """Train an aligner on sentence pairs, and link their words.

    The input is `source TAB target` or `source ||| target` lines, or two parallel files, of raw text, tokens or parse
    records. Line n of the output has the links of pair n.

    `synmt link` links other pairs with the aligner that --out has saved.
    """
    from synmt.data.records import BitextFiles

    if saved := [each for each in files if (Path(each) / CONFIG_FILE).is_file()]:
        raise WrongUsage(f"{saved[0]} is a saved aligner: use `synmt link {saved[0]}`")
    pairs = BitextFiles.open(files, settings)
    of_text = pairs.with_languages(settings)
    with usage():
        config, text = config_of(AlignConfig, settings), config_of(TextConfig, of_text)
    from synmt.alignment.stream import align_stream

    chosen = method or default_method(out if resume else None)
    fitting = FitConfig(chosen, settings_of_fit(settings), guide, out, resume, device)
    align_stream(fitting, pairs, config, text, on_error, say=method is None)
