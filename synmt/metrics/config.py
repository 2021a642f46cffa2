"""Settings of metrics and of significance tests."""

import math
from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, setting


@dataclass(frozen=True)
class MetricConfig:
    """Settings of all metrics, and of how their input is read."""

    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"] = setting(
        "13a", "tokenization by sacreBLEU for BLEU and RIBES; none if the text is tokenized already", common=True
    )
    case: Literal["mixed", "lower"] | None = setting(
        None, "whether case counts, if not mixed for BLEU and chrF, lower for TER and RIBES", common=True
    )
    detokenize: str | None = setting(
        None,
        "language of hypotheses that are Moses tokens, to be joined to text first",
        common=True,
        metavar="LANGUAGE",
    )
    effective_order: bool = setting(
        False, "let BLEU leave out orders of n-grams that a text is too short for, as it does by sentence"
    )
    chrf_beta: int = setting(2, "weight of recall in chrF", 1, 1000)
    chrf_average: Literal["sacrebleu", "script"] = setting(
        "sacrebleu", "chrF over n-gram orders: F of the means, as sacreBLEU; or mean of the Fs, as the script chrF++.py"
    )
    ribes_alpha: float = setting(0.25, "weight of precision in RIBES", most=100)
    ribes_beta: float = setting(0.1, "weight of brevity in RIBES", most=100)
    link_base: int | None = setting(
        None, "number of the first word in hypotheses that are links; else 0 if a file has a 0, or 1", most=1
    )
    reference_base: int | None = setting(None, "the same in the references", most=1)

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds."""
        check_settings(self)


@dataclass(frozen=True)
class SignificanceConfig:
    """How systems are compared. level: reports mark p below it."""

    test: Literal["bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization", "sign"] = setting(
        "bootstrap-wins", "one of the tests above", common=True
    )
    resamples: int = setting(10_000, "resamples, or random trials", 1, 10**7, common=True)
    seed: int = setting(12345, "seed of the random numbers", common=True)
    against: Literal["first", "best"] = setting(
        "first", "compare systems with the first one, or by each metric with the best one", common=True
    )
    level: float = setting(0.05, "mark differences below this p", most=1, common=True)

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds, and for too few resamples to find any difference."""
        check_settings(self)
        if self.test != "sign" and self.resamples * self.level < 1 and self.level:
            least = math.ceil(1 / self.level)
            raise ValueError(f"--resamples {self.resamples} cannot show p < {self.level:g}: it takes {least}")


DEFAULTS = MetricConfig()
