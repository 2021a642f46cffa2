"""`synmt align`"""

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args

import click

from synmt.alignment import METHODS
from synmt.alignment.presets import PRESETS
from synmt.alignment.symmetrization import Symmetrization
from synmt.cli.options import on_error, or_stdin, report_failures
from synmt.cli.train import OF_SOURCE, Command, options_of, setting_option, settings_of
from synmt.streams import BadInput, OnError
from synmt.systems import LINK_IDEAS
from synmt.systems.linking import open_link_idea
from synmt.systems.mask_align import MaskAlign

EPILOG = """
\b
Examples:
  paste train.de train.en | synmt align --fit --out aligner > train.links
  paste train.de train.en | synmt align --fit --method eflomal > eflomal.links
  paste train.de train.en | synmt align --fit --guide eflomal.links --out aligner > train.links
  paste test.de test.en | synmt align aligner --format jsonl
  synmt align --links-from forward.links --links-from backward.links --symmetrize grow-diag bitext.tsv
"""

OF_LINKS = [(name, open_link_idea(name)) for name in LINK_IDEAS]


def options_of_mask_align(command: Command) -> Command:
    """One option for each field, such as --loss-form."""
    for setting in reversed(fields(MaskAlign)):
        command = setting_option(MaskAlign, setting, "", str(setting.default))(command)
    return command


@click.command("align", epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[MODEL] [FILE]...")
@click.option(
    "--fit", is_flag=True, help="Make an aligner of the very pairs that are given; then there is no MODEL."
)
@click.option("--method", type=click.Choice(list(METHODS)), help="How to align.  [mask-align, or the MODEL's]")
@click.option(
    "--links-from", multiple=True, metavar="LINKS",
    help="Pharaoh links or an A3 file of another aligner, in place of MODEL; twice for two directions.",
)  # fmt: skip
@click.option(
    "--symmetrize", "rule", type=click.Choice(["harmonic", *get_args(Symmetrization)]),
    help="How both directions become one set of links.  [the method's own]",
)  # fmt: skip
@click.option(
    "--threshold", type=click.FloatRange(0, 1),
    help="Least harmonic mean of a link [0.2, guided 0.4], or what the weight of a best word must exceed [0].",
)  # fmt: skip
@click.option(
    "--end-punctuation", is_flag=True, help="Link a source's end punctuation with the target's or not at all."
)
@click.option(
    "--tree-links", "trees", is_flag=True,
    help="Also link words without links of one part of speech, where their heads or dependents are linked.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["pharaoh", "talp", "jsonl"]), default="pharaoh", show_default=True,
    help="`i-j` from 0; the same from 1; or JSON lines with words, links from 0 with scores, and confidence.",
)  # fmt: skip
@click.option("--base", type=click.IntRange(0, 1), help="What words are counted from, where not in JSON.")
@click.option(
    "--scores", is_flag=True, help="How sure the links of a pair are, 0 to 1; with jsonl, of all pairs of words."
)
@click.option("--predictions", is_flag=True, help="With jsonl, whether mask-align predicts each target word.")
@click.option(
    "--max-words", type=click.IntRange(1), default=2000, show_default=True, help="Longer sides are bad lines."
)
@click.option("--source-language", default="en", show_default=True, help="For the Moses tokenizer.")
@click.option("--target-language", default="en", show_default=True, help="For the Moses tokenizer.")
@click.option(
    "--tokenizer", type=click.Choice(["moses", "none"]), default="moses", show_default=True,
    help="Of raw text, where the MODEL does not say; none: words already stand between spaces.",
)  # fmt: skip
@on_error
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option("--guide", metavar="LINKS", help="--fit: links to learn from, Pharaoh or A3.")
@click.option("--out", type=click.Path(path_type=Path), help="--fit: the model folder to keep.")
@click.option("--resume", is_flag=True, help="--fit: go on with the run in --out, with the same command.")
@click.option("--models", metavar="FOLDER", help="--fit: an aligner whose translation models are taken over.")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="--fit: what gives all that follows.  [small]")
@click.option("--source-syntax", metavar="NAME+NAME", help="Systems of `synmt train` in the encoder of the source.")
@click.option("--target-syntax", metavar="NAME+NAME", help="The same for the encoder of the target.")
@options_of_mask_align
@options_of(OF_LINKS)
@options_of(OF_SOURCE)
@settings_of("network", PRESETS)
@settings_of("training", PRESETS)
def command(
    paths: tuple[str, ...],
    fit: bool,
    method: str | None,
    links_from: tuple[str, ...],
    rule: Literal["harmonic"] | Symmetrization | None,
    threshold: float | None,
    end_punctuation: bool,
    trees: bool,
    form: Literal["pharaoh", "talp", "jsonl"],
    base: int | None,
    scores: bool,
    predictions: bool,
    max_words: int,
    source_language: str,
    target_language: str,
    tokenizer: Literal["moses", "none"],
    on_error: OnError,
    device: str,
    guide: str | None,
    out: Path | None,
    resume: bool,
    **settings: Any,
) -> None:
    """Links between the words of `source TAB target` lines: line n of the output belongs to line n of the input.

    With the MODEL folder of an earlier --fit; with --fit of the pairs themselves; or from the links of other
    programs. Sides are raw text, tokens, or parse records.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    for cause, holds in {
        "a MODEL folder, --fit or --links-from": not (paths or fit or links_from),
        "--guide, --out, --resume and all settings of training go with --fit": not fit
        and bool(guide or out or resume or given),
        "links are taken --links-from files or from what is --fit, not both; see --guide": fit and links_from,
        "--links-from takes one file, or one of each direction": len(links_from) > 2,
        "--resume goes on with the run in --out": resume and not out,
        "JSON lines count words from 0": form == "jsonl" and base,
        "--predictions go with --format jsonl": predictions and form != "jsonl",
    }.items():
        if holds:
            raise BadInput(cause)
    model, files = ("", paths) if fit or links_from else (paths[0], paths[1:])
    from synmt.alignment.stream import KnownLinks, Request, align_stream, fit_stream

    request = Request(
        or_stdin(files), tokenizer, (source_language, target_language), rule, threshold, end_punctuation, trees,
        form, base if base is not None else int(form == "talp"), scores, predictions, max_words, on_error,
    )  # fmt: skip
    if fit:
        bad = fit_stream(method or "mask-align", given, guide, out, resume, device, request)
    elif links_from:
        bad = align_stream(KnownLinks(), links_from, request)
    else:
        from synmt.alignment.aligner import open_aligner

        bad = align_stream(open_aligner(Path(model), method, device), (), request)
    report_failures("align", bad)
