"""The configs of metrics and significance tests."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from synmt.metrics import METRICS
from synmt.options import Checked, Choice, option_names, setting
from synmt.registry import meant
from synmt.streams import Message

Maker = TypeVar("Maker", bound=Callable[..., Any])  # a function or class that makes a metric
# Kinds of items that metrics compare. Their types are str, Tree | None, ParseRecord and Links; for the last two kinds,
# a Prediction, or links with their scores, is compared with Links.
Compared = Literal["translations", "trees", "records", "links", "predictions", "scored links"]
TableForm = Literal["text", "tsv", "csv", "json", "jsonl", "latex"]  # of a table of scores
FORMS: tuple[TableForm, ...] = get_args(TableForm)


@dataclass(frozen=True)
class MetricConfig(Checked):
    """The options of all metrics, and of reading their input."""

    tokenize: Literal[
        "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K", "none"
    ] = setting("13a", "sacreBLEU tokenizer for BLEU and RIBES")
    case: Literal["mixed", "lower"] | None = setting(None, "keep case (BLEU, chrF) or lowercase (TER, RIBES)")
    detokenize: str | None = setting(None, "detokenize the Moses tokens of hypotheses first", metavar="CODE")
    effective_order: bool = setting(False, "let BLEU skip n-gram orders longer than a text, as --by-sentence does")
    smooth_method: Literal["exp", "floor", "add-k", "none"] = setting(
        "exp", "how BLEU counts n-gram orders without a match"
    )
    smooth_value: float | None = setting(
        None, "added by floor (0.1) or add-k (1)", needs=("smooth_method floor", "smooth_method add-k")
    )
    chrf_char_order: int = setting(6, "longest character n-grams of chrF", 1, 100)
    chrf_whitespace: bool = setting(False, "count spaces as characters in chrF")
    chrf_beta: int = setting(2, "weight of recall in chrF", 1, 1000)
    chrf_average: Literal["sacrebleu", "script"] = setting(
        "sacrebleu", "chrF: F of averages, like sacreBLEU; or average of F, like chrF++.py"
    )
    ter_normalized: bool = setting(False, "split punctuation from words in TER, as Tercom's -N")
    ter_no_punct: bool = setting(False, "remove punctuation in TER")
    ter_asian_support: bool = setting(
        False,
        "do both for Chinese and Japanese, too: split at each character, remove punctuation",
        needs=("ter_normalized", "ter_no_punct"),
    )
    ribes_alpha: float = setting(0.25, "weight of precision in RIBES", most=100)
    ribes_beta: float = setting(0.1, "weight of brevity in RIBES", most=100)
    link_base: int | None = setting(
        None, "number of the first word in links of hypotheses (0 if a file has a 0, else 1)", most=1
    )
    reference_base: int | None = setting(None, "number of the first word in links of references", most=1)


@dataclass(frozen=True)
class SignificanceConfig(Checked):
    """How to compare systems. level: reports mark p values below it."""

    test: Literal["t-test", "bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization"] = setting(
        "t-test", "test; the output explains its p"
    )
    resamples: int = setting(10_000, "resamples or random trials", 1, most=10**7)
    seed: int = setting(12345, "seed of the random numbers")
    against: Literal["first", "best"] = setting(
        "first", "compare with the first or, for each metric, with the best system"
    )
    level: float = setting(0.05, "mark differences with p below this", most=1)

    def __post_init__(self) -> None:
        """Raise ValueError for a setting out of bounds, and for too few resamples to find any difference."""
        super().__post_init__()
        least = max(2, math.ceil(1 / self.level)) if self.level else 1
        if self.resamples < least:
            cause = "--resamples {} cannot show p < {:g}: use at least {}"
            raise ValueError(Message(cause, self.resamples, self.level, least))


NEURAL = "comet", "bleurt", "bertscore", "metricx"  # parts of the names of metrics that need a model of their own


def unknown(name: object, remedy: str) -> str:
    """Return what is wrong with the name of an unknown metric. remedy: how to use the scores of a neural metric."""
    if any(each in str(name).lower() for each in NEURAL):
        return f"synmt does not compute {name}: let its own program score the translations, and {remedy}"
    return f"{name!r} is not one of {', '.join(METRICS)}{meant(name, METRICS)}"


DEFAULTS = MetricConfig()
CATEGORIES = "cPcA", "wPcA", "cPwA", "wPwA"  # metrics of words: correct/wrong prediction, correct/wrong alignment
# The options for reading each kind of item.
OF_READING: Mapping[Compared, tuple[str, ...]] = {
    "translations": ("detokenize",),
    "links": ("link-base", "reference-base"),
    "predictions": ("reference-base",),
}


def declaring(cites: tuple[str, ...], uses: tuple[str, ...] = ()) -> Callable[[Maker], Maker]:
    """Declare the papers to cite for a metric, as described in synmt.citations, and the options of MetricConfig that it
    reads."""

    def declare(make: Maker) -> Maker:
        vars(make).update(cites=cites, uses=uses)
        return make

    return declare


def used_by(name: str) -> frozenset[str]:
    """Return the options of MetricConfig that a metric uses."""
    made = METRICS[name]
    return frozenset((*getattr(made, "uses", ()), *OF_READING.get(made(DEFAULTS).compares, ())))


def choose(names: Sequence[str]) -> Choice:
    """Return which options of MetricConfig the metrics of these names use."""
    others = frozenset(option_names(MetricConfig)).difference(*map(used_by, names))
    return Choice(" with ".join(names), lambda option: option not in others)


def owners(option: str) -> list[str]:
    """Return the metrics that use an option, as `--metric NAME`."""
    return [f"--metric {name}" for name in METRICS if option in used_by(name)]
