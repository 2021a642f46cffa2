"""How links are taken and written. Free of torch, as `--help` is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from synmt.alignment.symmetrization import Symmetrization
from synmt.options import MOST_JOBS, check_settings, setting
from synmt.streams import WrongUsage

Heuristic = Literal["harmonic", "mean", Symmetrization]
LinksBy = Literal["attention", "posterior"]


@dataclass(frozen=True)
class AlignConfig:
    """base: what words are counted from, but in JSON; with talp 1 where nothing else is asked for."""

    symmetrize: Heuristic | None = setting(
        None, "heuristic that makes both directions one set of links, if not the method's own", common=True
    )
    threshold: float | None = setting(
        None,
        "least mean of a link (0.45; harmonic 0.2, guided 0.4), or what the weight of a best word must exceed (0)",
        0,
        1,
        common=True,
    )
    links_by: LinksBy | None = setting(
        None,
        "read attention that predicts words (mask-align, naive-att) as it is, or what it would be with the word known"
        "  [attention]",
    )
    lexicon: str | None = setting(
        None,
        "also write a table of linked words to this file: count, and probabilities both ways",
        metavar="FILE",
        writes=True,
    )
    end_punctuation: bool = setting(False, "link a source's end punctuation with the target's or not at all")
    tree_links: bool = setting(
        False,
        "also link words without links of one part of speech, where their heads or dependents are linked",
        common=True,
    )
    format: Literal["pharaoh", "talp", "jsonl"] = setting(
        "pharaoh",
        "`i-j` from 0; the same from 1; or JSON lines with words, links from 0 with scores, and confidence",
        common=True,
    )
    base: int | None = setting(None, "what words are counted from, where not in JSON", 0, 1)
    scores: bool = setting(
        False, "how sure the links of a pair are, 0 to 1; with jsonl, of all pairs of words", common=True
    )
    temperature: float | None = setting(
        None, "divide the log-odds of scores; over 1, they are less sure (of hmm 1.75, else 1)", 0.01, 100
    )
    phrases: bool = setting(False, "with jsonl, chunks of linked words, and spans that are each other's translation")
    predictions: bool = setting(False, "with jsonl, whether mask-align predicts each target word")
    jobs: int = setting(1, "processes, each with the MODEL and one thread", 1, MOST_JOBS, common=True)
    max_words: int = setting(2000, "words of a side, at most; a longer one is a bad line", 1, 10**6)

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds, or that exclude each other."""
        check_settings(self)
        if self.format == "jsonl" and self.base:
            raise ValueError("JSON lines count words from 0")
        if self.temperature and self.format != "jsonl" and not self.scores:
            raise ValueError("--temperature is of scores: --scores or --format jsonl")
        for name in ("phrases", "predictions"):
            if getattr(self, name) and self.format != "jsonl":
                raise ValueError(f"--{name} go with --format jsonl")


def check_command(
    paths: Sequence[str],
    fit: bool,
    links_from: Sequence[str],
    guide: str | None,
    out: Path | None,
    resume: bool,
    settings: Mapping[str, Any],
    jobs: int,
    symmetrize: Heuristic | None,
) -> None:
    """Raise WrongUsage for arguments of `synmt align` that do not go together."""
    for cause, holds in {
        "a MODEL folder, --fit or --links-from": not (paths or fit or links_from),
        "--guide, --out, --resume and all settings of training go with --fit": not fit
        and bool(guide or out or resume or settings),
        "links are taken --links-from files or from what is --fit, not both; see --guide": fit and links_from,
        "more than two files of links vote; that is --symmetrize mean": len(links_from) > 2
        and symmetrize not in (None, "mean"),
        "--jobs is of a MODEL folder": (fit or links_from) and jobs > 1,
        "--resume goes on with the run in --out": resume and not out,
    }.items():
        if holds:
            raise WrongUsage(cause)
