"""Metrics by name, with what may be chosen of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from synmt.metrics.attachment import Attachment
from synmt.metrics.bracketing import Bracketing
from synmt.metrics.links import LinkMetric
from synmt.metrics.metric import Metric
from synmt.metrics.prediction import CATEGORIES, PredictionCategory
from synmt.metrics.ribes import Ribes
from synmt.metrics.sacre import ChrfAverage, bleu, chrf, sacre_bleu, ter

Kind = Literal["translations", "trees", "records", "links", "predictions"]
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("bleu", "chrf", "chrf+", "chrf++", "ter", "ribes"), "translations"),
    "evalb": "trees",
    **dict.fromkeys(("upos", "uas", "las"), "records"),
    **dict.fromkeys(("aer", "precision", "recall", "f1"), "links"),
    **dict.fromkeys(CATEGORIES, "predictions"),
}
LINK_METRICS = {"aer": "AER", "precision": "Precision", "recall": "Recall", "f1": "F1"}


@dataclass(frozen=True)
class Choices:
    """What users choose of the metrics, and of how their input is read.

    tokenize: sacreBLEU's name for the tokens of BLEU and RIBES.
    case: None for what each metric's own program does: TER and RIBES ignore case, BLEU and chrF do not.
    chrf_beta, chrf_average: see `sacre.chrf`. ribes_alpha, ribes_beta: exponents of precision and brevity.
    detokenize: the language of the hypotheses, if they are Moses tokens.
    link_base, reference_base: from what links count words, in hypotheses and references; None to find out.
    """

    tokenize: str = "13a"
    case: Literal["mixed", "lower"] | None = None
    chrf_beta: int = 2
    chrf_average: ChrfAverage = "sacrebleu"
    ribes_alpha: float = 0.25
    ribes_beta: float = 0.10
    detokenize: str | None = None
    link_base: int | None = None
    reference_base: int | None = None


def kind_of(names: Sequence[str]) -> Kind:
    """What the metrics compare. Raises ValueError for metrics that compare different things."""
    kinds = {KINDS[name] for name in names}
    if len(kinds) > 1:
        raise ValueError(f"{' and '.join(names)} compare different things")
    return kinds.pop()


def open_metric(name: str, choices: Choices) -> Metric[Any]:
    """The metric of that name, of KINDS. Raises ValueError for a tokenization that cannot be had."""
    lower = choices.case == "lower"
    match name:
        case "bleu":
            return bleu(choices.tokenize, lower)
        case "chrf" | "chrf+" | "chrf++":
            return chrf(name.count("+"), lower, choices.chrf_beta, choices.chrf_average)
        case "ter":
            return ter(lowercase=choices.case != "mixed")
        case "ribes":
            tokenizer = sacre_bleu(choices.tokenize).tokenizer
            exponents = choices.ribes_alpha, choices.ribes_beta
            return Ribes(tokenizer, choices.tokenize, choices.case != "mixed", *exponents)
        case "evalb":
            return Bracketing()
        case "upos" | "uas" | "las":
            return Attachment(name.upper())
        case _ if name in LINK_METRICS:
            return LinkMetric(LINK_METRICS[name])
        case _:
            return PredictionCategory(name)
