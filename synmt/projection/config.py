"""The configs of projection, without numpy, which `--help` must not import."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, setting
from synmt.text.tokenization import TokenizerName

Method = Literal["votes", "direct"]
DOUBTFUL = 0.05  # least score of links that vote


@dataclass(frozen=True)
class ProjectionConfig:
    """How to project trees, and how to tokenize targets that are raw text."""

    method: Method = setting(
        "votes",
        "the maximum spanning tree of votes (Agić et al. 2016), or direct projection (Hwa et al. 2005)",
        unless="--markup",
    )
    fit: bool = setting(
        False, "learn from all pairs, before any is written, which words depend on which", unless="--markup"
    )
    projective: bool = setting(True, "let no arcs cross", unless="--markup")
    min_confidence: float = setting(
        0.0, "leave words without a head where less speaks for it", most=1, unless="--markup"
    )
    overwrite_upos: bool = setting(False, "project parts of speech onto targets that have their own", unless="--markup")
    target_language: str | None = setting(
        None, "of targets that are text, for the Moses tokenizer, if not en", metavar="LANGUAGE", unless="--strip"
    )
    tokenizer: TokenizerName | None = setting(
        None,
        "of targets that are text, and of sources with markup, if not moses; none: split at spaces",
        unless="--strip",
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a setting out of bounds."""
        check_settings(self)

    @property
    def threshold(self) -> float | None:
        """Return the least score of links to request from an aligner, or None for the aligner's own threshold."""
        return DOUBTFUL if self.method == "votes" else None


@dataclass(frozen=True)
class MarkupConfig:
    """Whether to carry inline markup over links instead of trees."""

    markup: bool = setting(
        False, "sources are text with HTML or XLIFF tags; write the targets, which are text, with their tags"
    )
    strip: bool = setting(False, "lines are sources alone; write them without tags, to be translated", needs="markup")
    source_language: str | None = setting(
        None, "of sources with markup, for the Moses tokenizer, if not en", metavar="LANGUAGE", needs="markup",
        unless="strip",
    )  # fmt: skip
