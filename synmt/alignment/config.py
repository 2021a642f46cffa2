"""How links are chosen and written, and which aligner is fitted. Imports no torch, so that `--help` is fast."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from synmt.options import Checked, setting

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
Vote = Literal["mean", Symmetrization]
Heuristic = Literal["harmonic", Vote]
LinksBy = Literal["attention", "posterior"]


# Settings of AlignConfig that only some aligners use: all except the statistical programs have weights.
OF_LINKS = frozenset({"symmetrize"})
OF_WEIGHTS = OF_LINKS | {"threshold", "temperature"}
OF_VOTES = "threshold", "temperature"  # settings of SymmetrizeConfig
ALL_OF_LINKS = OF_WEIGHTS | {"links-by", "predictions"}
JSON = "jsonl", "phrases"  # formats of links
IN_JSON = tuple(f"format {each}" for each in JSON)  # conditions of settings


@dataclass(frozen=True)
class LexiconConfig(Checked):
    """Which linked terms a lexicon has, and how it is written."""

    min_count: int = setting(1, "leave out pairs that occur less often", 1, most=10**9)
    fold_case: bool = setting(False, "write all terms in lower case")
    lemmas: bool = setting(False, "count lemmas, which records can have")
    phrases: bool = setting(False, "count the smallest phrase pairs, of up to 5 words, instead of links of words")
    format: Literal["tsv", "csv"] = setting("tsv", "csv has quotes and a byte order mark, as Excel needs")


@dataclass(frozen=True)
class LinksConfig(Checked):
    """How links are completed and written."""

    end_punctuation: bool = setting(False, "link end punctuation only to end punctuation")
    tree_links: bool = setting(
        False, "link unlinked words with equal parts of speech if their heads or dependents are linked"
    )
    format: Literal["pharaoh", "talp", "jsonl", "phrases"] = setting(
        "pharaoh", "`i-j` from 0; from 1; JSON lines with scores; or these with chunks of linked words and phrase pairs"
    )
    scores: bool = setting(
        False, "write link scores, `i-j:0.93`, and the confidence of each pair; in JSON, scores of all word pairs"
    )
    max_words: int = setting(1000, "skip and count pairs with more words on a side", 1, most=10**6)


@dataclass(frozen=True)
class AlignConfig(LinksConfig):
    symmetrize: Heuristic | None = setting(None, "how to merge the directions; the method sets the default")
    threshold: float | None = setting(
        None, "lowest score of a link (0.45; harmonic: 0.2, guided: 0.4, best links of a direction: 0)", 0, 1
    )
    links_by: LinksBy | None = setting(
        None, "read the attention as it is (default), or its posterior given the target word"
    )
    temperature: float | None = setting(
        None,
        "divide the log-odds of scores; above 1 lowers confidence (the aligner's own, or 1)",
        0.01,
        needs=("scores", *IN_JSON),
        most=100,
    )
    predictions: bool = setting(False, "in JSON, add whether the aligner predicts each target word", needs=IN_JSON)


@dataclass(frozen=True)
class SymmetrizeConfig(LinksConfig):
    """How the links of several files are combined. Only a vote has a threshold and a temperature."""

    heuristic: Vote | None = setting(
        None,
        "how to merge two files (grow-diag-final-and); or mean: any number of files vote (the default for more than"
        " two)",
    )
    threshold: float | None = setting(None, "in a vote, the lowest mean score of a link (0.45)", 0, 1)
    temperature: float | None = setting(
        None,
        "in a vote, divide the log-odds of scores; above 1 lowers confidence (1)",
        0.01,
        needs=("scores", *IN_JSON),
        most=100,
    )

    def is_vote(self, files: int) -> bool:
        """Return whether this number of files vote."""
        return self.heuristic == "mean" or (self.heuristic is None and files > 2)


@dataclass(frozen=True)
class SharedConfig:
    """Options of a fit that methods share. A setting that was not given is None."""

    guide: str | None = setting(None, "links to learn from (Pharaoh, A3, JSON)", metavar="LINKS")
    models: str | None = setting(None, "an aligner whose translation models are taken over", metavar="FOLDER")
    preset: str | None = setting(None, "settings by name, for all that follows", metavar="NAME")
    source_syntax: str | None = setting(
        None, "components of `synmt train` in the encoder of the source", metavar="NAME+NAME"
    )
    target_syntax: str | None = setting(None, "the same for the encoder of the target", metavar="NAME+NAME")


@dataclass(frozen=True)
class FitConfig:
    """Which aligner is fitted, and how. settings: its given options, by name; guide: a file of links to learn from;
    out: the folder to create or, with `resume`, to continue; None to save nothing."""

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    guide: str | None = None
    out: Path | None = None
    resume: bool = False
    device: str = "auto"
