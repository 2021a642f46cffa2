"""`synmt align`"""

from pathlib import Path
from typing import Any

import click

from synmt.alignment import ALIGNERS, DEFAULT
from synmt.alignment.choice import default_method, makes_aligner, owners, scope_of
from synmt.alignment.config import AlignConfig, FitConfig
from synmt.alignment.statistical import LETTERS
from synmt.cli.options import on_error, or_stdin, usage
from synmt.cli.paths import Reads, Writes
from synmt.cli.sections import SectionCommand, in_section, options_of, options_of_ideas
from synmt.nn.config import TransformerConfig
from synmt.options import Option, config_of
from synmt.streams import OnError, WrongUsage
from synmt.systems import SOURCE_IDEAS
from synmt.text.tokenization import TextConfig, with_languages
from synmt.training.config import VALIDATION, TrainingConfig

EPILOG = """
\b
Examples:
  synmt align bitext.tsv > links
  synmt align train.de train.en --out aligner > train.links
  paste train.de train.en | synmt align --fit --method eflomal > eflomal.links
  synmt align --method mask-align --guide old.links bitext.tsv > links
  paste test.de test.en | synmt align aligner --format jsonl --jobs 2
  synmt align --links-from de-en.links --links-from en-de.links bitext.tsv
"""


FIT = ("--fit",)
USED = {name for name, ways in owners().items() if ways}  # shared options that some method uses
PRESETS = dict.fromkeys(name for each in ALIGNERS.values() for name in getattr(each, "presets", {}))
of_aligner, of_fit = in_section("Aligner"), in_section("--fit", needs=FIT)


@click.command("align", cls=SectionCommand, epilog=EPILOG, scope=scope_of, hints=LETTERS)
@click.argument("paths", nargs=-1, metavar="[MODEL] [FILE]...", type=Reads())
@of_aligner(
    "--fit", is_flag=True, unless="--links-from", help="Fit an aligner to the pairs and link them; the default unless"
    " the first path is a MODEL folder.",
)  # fmt: skip
@of_aligner(
    "--method", metavar="METHOD", type=click.Choice(list(ALIGNERS)), unless="--links-from",
    help=f"One of {', '.join(ALIGNERS)}; `synmt align --method METHOD --help` shows its options. Without it, --fit uses"
    f" {DEFAULT}, and a MODEL the method that made it.",
)  # fmt: skip
@of_aligner(
    "--links-from", multiple=True, metavar="LINKS", type=Reads(),
    help="Links of another aligner in place of MODEL: Pharaoh, A3, or what --format jsonl has written; twice for two "
    "directions; three or more vote.",
)  # fmt: skip
@options_of(AlignConfig, "Links")
@options_of(TextConfig, "Text")
@on_error
@of_aligner("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@of_fit("--guide", metavar="LINKS", type=Reads(), help="Links to learn from, Pharaoh or A3.")
@of_fit("--out", type=Writes(path_type=Path), help="The model folder to make.")
@of_fit(
    "--resume", is_flag=True, option=Option("resume", needs=(FIT, ("--out",))),
    help="Continue the run in --out, with the same command.",
)  # fmt: skip
@of_fit("--models", metavar="FOLDER", type=Reads(), help="An aligner whose translation models are taken over.")
@of_fit("--preset", type=click.Choice(list(PRESETS)), help="Settings by name, for all that follows.")
@of_fit("--source-syntax", metavar="IDEA+IDEA", help="Ideas of `synmt train` in the encoder of the source.")
@of_fit("--target-syntax", metavar="IDEA+IDEA", help="The same for the encoder of the target.")
@options_of(TrainingConfig, "Training, with --fit", preset=True, needs=FIT, means={VALIDATION: ()}, only=USED)
@options_of(TransformerConfig, "Network, with --fit", preset=True, needs=FIT)
@options_of_ideas(ALIGNERS, FIT)
@options_of_ideas(SOURCE_IDEAS, FIT)
def command(
    paths: tuple[str, ...],
    fit: bool,
    method: str | None,
    links_from: tuple[str, ...],
    on_error: OnError,
    device: str,
    guide: str | None,
    out: Path | None,
    resume: bool,
    **settings: Any,
) -> None:
    """Link the words of `source TAB target` lines, of `source ||| target` lines, or of two parallel files: line n of
    the output belongs to line n of the input.

    An aligner is fitted to the pairs that are given and then links them; with the MODEL folder of an earlier fit, that
    aligner links them; with --links-from, the links of other programs are combined. Sides are raw text, tokens, or
    parse records.
    """
    from synmt.alignment.pairs import are_parallel

    fit = makes_aligner({"fit": fit, "paths": paths, "links-from": links_from})
    files = or_stdin(paths if fit or links_from else paths[1:])
    of_text = {name: value for name, value in settings.items() if value is not None}
    if fit and are_parallel(files):
        of_text = with_languages(of_text, *files)
    with usage():
        config, text = config_of(AlignConfig, settings), config_of(TextConfig, of_text)
    own = {each for part in (AlignConfig, TextConfig) for each in part.__dataclass_fields__}
    given = {name: value for name, value in settings.items() if value is not None and name not in own}
    if not (paths or fit or links_from):
        raise WrongUsage("a MODEL folder, a file of pairs, --fit or --links-from")
    from synmt.alignment.linking import KnownLinks, Saved
    from synmt.alignment.stream import align_stream, fit_stream

    if fit:
        chosen = method or default_method(out if resume else None)
        fitting = FitConfig(chosen, given, guide, out, resume, device)
        fit_stream(fitting, files, config, text, on_error, say=method is None)
    elif links_from:
        align_stream(KnownLinks.of(config, len(links_from)), links_from, files, config, text, on_error)
    else:
        align_stream(Saved(Path(paths[0]), method, device), (), files, config, text, on_error)
