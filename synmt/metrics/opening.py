"""Metrics by name, and what they compare: translations, constituency trees, or dependency trees."""

from collections.abc import Callable, Sequence
from typing import Any

from synmt.metrics.attachment import Attachment
from synmt.metrics.bracketing import Bracketing, read_parse
from synmt.metrics.metric import Metric
from synmt.metrics.sacre import sacre_metric
from synmt.trees.record import read_record

READERS: dict[str, Callable[[str], Any]] = {
    "bleu": str,
    "chrf": str,
    "chrf+": str,
    "chrf++": str,
    "evalb": read_parse,
    "upos": read_record,
    "uas": read_record,
    "las": read_record,
}


def open_metrics(
    names: Sequence[str], tokenize: str, lowercase: bool
) -> tuple[Callable[[str], Any], list[Metric[Any]]]:
    """What reads a line, and the metrics. Raises ValueError for metrics that compare different things."""
    readers = {READERS[name] for name in names}
    if len(readers) > 1:
        raise ValueError(f"{' and '.join(names)} compare different things")
    return readers.pop(), [_metric(name, tokenize, lowercase) for name in names]


def _metric(name: str, tokenize: str, lowercase: bool) -> Metric[Any]:
    if name == "evalb":
        return Bracketing()
    return Attachment(name.upper()) if READERS[name] is read_record else sacre_metric(name, tokenize, lowercase)
