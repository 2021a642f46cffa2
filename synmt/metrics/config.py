"""Settings of metrics and of significance tests."""

from dataclasses import dataclass
from typing import Literal

from synmt.options import setting


@dataclass(frozen=True)
class MetricConfig:
    """Settings of all metrics, and of how their input is read."""

    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"] = setting(
        "13a", "sacreBLEU's tokenization for BLEU and RIBES; none if the text is tokenized already.", common=True
    )
    case: Literal["mixed", "lower"] | None = setting(
        None, "Whether case counts.  [default: mixed for BLEU and chrF, lower for TER and RIBES]", common=True
    )
    detokenize: str | None = setting(
        None, "The hypotheses are Moses tokens, to be joined to text first.", common=True, metavar="LANGUAGE"
    )
    chrf_beta: int = setting(2, "Weight of recall in chrF.", least=1)
    chrf_average: Literal["sacrebleu", "script"] = setting(
        "sacrebleu",
        "chrF over n-gram orders: F of the means, as sacreBLEU; or mean of the Fs, as the script chrF++.py.",
    )
    ribes_alpha: float = setting(0.25, "Weight of precision in RIBES.")
    ribes_beta: float = setting(0.1, "Weight of brevity in RIBES.")
    link_base: int | None = setting(
        None,
        "The number of the first word in hypotheses that are links.  [default: 0 if a file has a 0, else 1]",
        most=1,
    )
    reference_base: int | None = setting(None, "The same in the references.  [default: as above]", most=1)


@dataclass(frozen=True)
class SignificanceConfig:
    """How systems are compared. level: reports mark p below it."""

    test: Literal["bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization", "sign"] = setting(
        "bootstrap-wins", "See above.", common=True
    )
    resamples: int = setting(10_000, "Resamples, or random trials.", least=1, common=True)
    seed: int = setting(12345, "Seed of the random numbers.", common=True)
    against: Literal["first", "best"] = setting(
        "first", "Compare systems with the first one, or by each metric with the best one.", common=True
    )
    level: float = setting(0.05, "Differences are marked below this p.", most=1, common=True)


DEFAULTS = MetricConfig()
