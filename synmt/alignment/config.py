"""How links are taken and written, and which aligner is fitted. Free of torch, as `--help` is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from synmt.options import MOST_JOBS, check_settings, setting

Symmetrization = Literal[
    "forward",
    "backward",
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-lilt",
    "grow-diag-final",
    "grow-diag-final-and",
]
Heuristic = Literal["harmonic", "mean", Symmetrization]
LinksBy = Literal["attention", "posterior"]


# Settings of AlignConfig that only some aligners use: all of them but the statistical programs have weights.
OF_LINKS = frozenset({"symmetrize"})
OF_WEIGHTS = OF_LINKS | {"threshold", "temperature"}
ALL_OF_LINKS = OF_WEIGHTS | {"links-by", "predictions"}


@dataclass(frozen=True)
class AlignConfig:
    """base: what words are counted from, but in JSON; with talp 1 where nothing else is asked for."""

    symmetrize: Heuristic | None = setting(
        None, "heuristic that makes both directions one set of links, if not the method's own"
    )
    threshold: float | None = setting(
        None,
        "least mean of a link (0.45; harmonic 0.2, guided 0.4), or what the weight of a best word must exceed (0)",
        0,
        1,
    )
    links_by: LinksBy | None = setting(
        None,
        "read attention that predicts words as it is, or what it would be with the word known; without it, as it is",
    )
    lexicon: str | None = setting(
        None,
        "also write a table of linked words to this file: count, and probabilities both ways",
        metavar="FILE",
        writes=True,
    )
    end_punctuation: bool = setting(False, "link a source's end punctuation with the target's or not at all")
    tree_links: bool = setting(
        False, "also link words without links of one part of speech, where their heads or dependents are linked"
    )
    format: Literal["pharaoh", "talp", "jsonl"] = setting(
        "pharaoh", "`i-j` from 0; the same from 1; or JSON lines with words, links from 0 with scores, and confidence"
    )
    base: int | None = setting(None, "what words are counted from, where not in JSON", 0, 1, unless="format jsonl")
    scores: bool = setting(
        False,
        "add scores, 0 to 1, to links (`i-j:0.93`), and a column with the pair's; with jsonl, for all pairs of words",
    )
    temperature: float | None = setting(
        None,
        "divide the log-odds of scores; over 1, they are less sure (the aligner's own, or 1)",
        0.01,
        needs=("scores", "format jsonl"),
        most=100,
    )
    phrases: bool = setting(
        False, "with jsonl, chunks of linked words, and spans that are each other's translation", needs="format jsonl"
    )
    predictions: bool = setting(
        False, "with jsonl, whether the aligner predicts each target word", needs="format jsonl"
    )
    jobs: int = setting(
        1, "processes, each with the MODEL and one thread", 1, unless=("--fit", "--links-from"), most=MOST_JOBS
    )
    max_words: int = setting(2000, "words of a side, at most; a longer one is a bad line", 1, most=10**6)

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds."""
        check_settings(self)


@dataclass(frozen=True)
class FitConfig:
    """Which aligner is fitted, and how. settings: its options that were given, by name; guide: a file of links to learn
    from; out: the folder to make or, with `resume`, to continue, or None to save nothing."""

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    guide: str | None = None
    out: Path | None = None
    resume: bool = False
    device: str = "auto"
