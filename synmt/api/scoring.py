"""Scoring: the function behind `synmt score`."""

from collections.abc import Iterable, Sequence
from typing import Any

from synmt.api.given import Sentence, as_given, config_of_all, lines_of
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig, scope_of
from synmt.metrics.metric import Score
from synmt.metrics.reading import Files, open_input
from synmt.metrics.scoring import score_systems
from synmt.options import check_used, options_in
from synmt.streams import BadInput, WrongUsage


def score(
    hypotheses: Iterable[Sentence],
    *references: Iterable[Sentence],
    metrics: str | Sequence[str] = ("bleu", "chrf"),
    **settings: Any,
) -> list[Score]:
    """Return the score of the hypotheses by each metric, against one or more references per hypothesis.

    metrics: names, as for `synmt score --metric`. Translations are text, parses are records or brackets, and links are
    lines such as `0-0 1-2`. settings: options of `synmt score` under Metrics. Raises BadInput, also if lengths differ;
    TypeError; and ValueError, also for a setting that no metric uses.
    """
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    for name in names:
        if name not in METRICS:
            raise ValueError(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
    if not references:
        raise TypeError("no references")
    numbers = ["references"] if len(references) == 1 else [f"references {n}" for n in range(1, len(references) + 1)]
    given = dict(zip(["hypotheses", *numbers], [hypotheses, *references], strict=True))
    lines = {name: lines_of(sentences, name) for name, sentences in given.items()}
    files = Files(["hypotheses"], numbers, given=lines)
    config = config_of_all(MetricConfig, settings)
    check_used(as_given(settings), list(options_in(MetricConfig).values()), scope_of(list(names)))
    try:
        ((_, scores),) = score_systems(open_input(list(names), files, config))
    except WrongUsage:
        raise
    except ValueError as error:  # concerns the input as a whole
        raise BadInput(str(error)) from None
    return list(scores)
