"""The configs of projection. This module must not import numpy, because `--help` imports it."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import Checked, setting
from synmt.text.tokenization import TextConfig, TokenizerName

Method = Literal["votes", "direct"]
DOUBTFUL = 0.05  # least score of links that vote
TOKENIZER = "tokenizer of text, by default words; none: words between spaces"


@dataclass(frozen=True)
class ProjectionConfig(Checked):
    """How to project trees, and how to tokenize targets that are raw text."""

    method: Method = setting(
        "votes", "the maximum spanning tree of votes (Agić et al. 2016), or direct projection (Hwa et al. 2005)"
    )
    fit: bool = setting(False, "first learn from all pairs which words depend on which")
    projective: bool = setting(True, "avoid crossing arcs")
    min_confidence: float = setting(0.0, "leave out heads with less confidence", most=1)
    overwrite_upos: bool = setting(False, "replace parts of speech that targets already have")
    target_language: str | None = setting(None, "language of target text, if not en", metavar="CODE")
    tokenizer: TokenizerName | None = setting(None, TOKENIZER)

    @property
    def threshold(self) -> float | None:
        """Return the least score of links to request from an aligner, or None for the aligner's own threshold."""
        return DOUBTFUL if self.method == "votes" else None


@dataclass(frozen=True)
class MarkupConfig(TextConfig):
    """How to tokenize sources with markup and their translations."""
