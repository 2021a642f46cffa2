"""How trees are projected. Free of numpy, as `--help` is."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, setting
from synmt.text.tokenization import TokenizerName

Method = Literal["votes", "direct"]
DOUBTFUL = 0.05  # score of links that may still vote


@dataclass(frozen=True)
class ProjectionConfig:
    """How trees are projected, and how targets that are raw text are tokenized."""

    method: Method = setting(
        "votes", "the maximum spanning tree of votes (Agić et al. 2016), or direct projection (Hwa et al. 2005)"
    )
    fit: bool = setting(False, "learn from all pairs, before any is written, which words depend on which")
    projective: bool = setting(True, "let no arcs cross")
    min_confidence: float = setting(0.0, "leave words without a head where less speaks for it", most=1)
    target_language: str | None = setting(
        None, "of targets that are text, for the Moses tokenizer, if not en", metavar="LANGUAGE"
    )
    tokenizer: TokenizerName | None = setting(None, "of targets that are text, if not moses; none: split at spaces")

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds."""
        check_settings(self)

    @property
    def threshold(self) -> float | None:
        """Return the least score of the links that an aligner should give, if not its own."""
        return DOUBTFUL if self.method == "votes" else None
