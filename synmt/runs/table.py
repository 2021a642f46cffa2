"""The table of a run: scores of each system as mean and standard deviation over seeds, compared with the first one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.metrics.metric import Statistics
from synmt.metrics.reading import Files, open_input
from synmt.metrics.report import Fields, Part, Table, in_form
from synmt.metrics.significance import RESAMPLES, ROUNDING, SEED, holm, p_value, sentence_statistics, trained
from synmt.runs.file import Options, RunFile
from synmt.runs.notes import Made
from synmt.runs.plan import Plan, Training
from synmt.runs.tasks import Chosen, translation_of
from synmt.runs.work import Workplace

LEVEL = SignificanceConfig().level
SMALLEST_P = 1e-4  # that is printed


@dataclass(frozen=True)
class Result:
    """One system by one metric on one test, trained on `size` sentence pairs (None: all).

    scores: of each seed. difference: of their mean from that of the first system; better: whether it is an improvement;
    p: of that difference, as in `metrics.significance`; holm: p corrected for the number of systems that are compared
    with the first one. All four are None for the first system. chosen: the option of `synmt translate` that was chosen
    on dev.
    """

    size: int | None
    test: str
    system: str
    metric: str
    scores: Sequence[float]
    signature: str
    difference: float | None = None
    better: bool | None = None
    p: float | None = None
    holm: float | None = None
    chosen: Options = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """Return the standard deviation over seeds, that of a sample; nan of one seed."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else float("nan")

    @property
    def verdict(self) -> str:
        """Return `better` or `worse` than the first system where p is below LEVEL after Holm's correction."""
        if self.holm is None or self.holm >= LEVEL:
            return ""
        return "better" if self.better else "worse"


def results(place: Workplace, plan: Plan, run: RunFile, chosen: Chosen) -> Iterator[Result]:
    """Yield the results of each size, test, system and metric; chosen: by `translate_all`. Raises BadInput."""
    for size in run.sizes:
        trainings = [each for each in plan.trainings if each.size == size]
        for test, pair in run.tests.items():
            for result in _of_test(place, trainings, run, test, str(pair.target)):
                yield replace(result, chosen=chosen.get((size, result.system), {}))


def _of_test(
    place: Workplace, trainings: Sequence[Training], run: RunFile, test: str, reference: str
) -> Iterator[Result]:
    by_seed: list[list[list[Statistics]]] = []  # [seeds][systems][metrics] of [n,k]
    for seed in run.seeds:
        own = tuple(str(translation_of(place, each, test)) for each in trainings if each.seed == seed)
        given = open_input(run.metrics, Files(own, (reference,)), MetricConfig())
        by_seed.append(sentence_statistics(given))
    sentences = len(by_seed[0][0][0])
    systems = [trained(given.metrics, models) for models in zip(*by_seed, strict=True)]  # [systems][metrics]
    bases, others = systems[0], systems[1:]
    ps = [[p_value(*pair, sentences) for pair in zip(other, bases, strict=True)] for other in others]
    corrected = [list(each) for each in zip(*map(holm, zip(*ps, strict=True)), strict=True)]
    for number, name in enumerate(run.systems):
        for column, metric in enumerate(given.metrics):
            scores = systems[number][column].scores
            shown = metric.score(by_seed[0][number][column].sum(axis=0))
            result = Result(trainings[0].size, test, name, shown.name, scores.tolist(), shown.signature)
            if number:
                difference = float(scores.mean() - bases[column].scores.mean())
                better = difference * (1 if metric.higher_is_better else -1) > ROUNDING
                of_difference = ps[number - 1][column], corrected[number - 1][column]
                result = replace(
                    result, difference=difference, better=better, p=of_difference[0], holm=of_difference[1]
                )
            yield result


def report(found: Sequence[Result], trained: Mapping[Training, Made], form: str) -> Iterator[str]:
    """Return the results in a form: one table per size and test; or one row of TSV or JSON per result."""
    minutes = _minutes(trained)
    return in_form(form, _parts(found, minutes), (_fields(each, minutes) for each in found))


def _minutes(trained: Mapping[Training, Made]) -> dict[tuple[int | None, str], float]:
    """Return the mean CPU minutes of a training run, for each size and system."""
    seconds: dict[tuple[int | None, str], list[float]] = {}
    for training, model in trained.items():
        seconds.setdefault((training.size, training.system), []).append(model.cpu_seconds or 0.0)
    return {each: float(np.mean(values)) / 60 for each, values in seconds.items()}


def _parts(found: Sequence[Result], minutes: Mapping[tuple[int | None, str], float]) -> Iterator[Part]:
    tables = list(dict.fromkeys((each.size, each.test) for each in found))
    systems = len({each.system for each in found})
    for size, test in tables:
        own = [each for each in found if (each.size, each.test) == (size, test)]
        metrics = list(dict.fromkeys(each.metric for each in own))
        yield f"{test}, trained on {f'{size} pairs' if size else 'all pairs'}"
        of_dev = list(own[0].chosen)
        ps = ["p", "Holm  "] if systems > 2 else ["p  "]
        header = ["system", *of_dev, *(cell for metric in metrics for cell in (metric, "Δ", *ps)), "CPU min"]
        rows = []
        for system in dict.fromkeys(each.system for each in own):
            of_system = [each for each in own if each.system == system]
            values = [f"{of_system[0].chosen[option]}" for option in of_dev]
            scores = [cell for each in of_system for cell in _cells(each, systems)]
            rows.append([system, *values, *scores, f"{minutes[size, system]:.1f}"])
        yield Table([header, *rows])
    for option in found[0].chosen:
        yield f"{option}: chosen for each system by its mean score on dev over all seeds, by the first metric"
    yield from _legend(found[0].system, len(found[0].scores), systems)
    yield from dict.fromkeys(f"{each.metric}|{each.signature}" for each in found)


def _legend(first: str, seeds: int, systems: int) -> Iterator[str]:
    """Yield what the numbers are."""
    resampled = f"{RESAMPLES} bootstrap resamples, seed {SEED}"
    if seeds > 1:
        yield f"mean ± standard deviation over {seeds} seeds; Δ: difference of the means from {first}"
        yield f"p: two-sided t-test of Δ, with its variance between seeds and between test sentences ({resampled})"
    else:
        yield f"score of one seed; Δ: difference from {first}"
        yield (
            f"p: two-sided t-test of Δ, with its variance between test sentences ({resampled}); with one seed, the"
            " variance between training runs is unknown and not in p"
        )
    if systems > 2:
        yield f"Holm: p corrected for {systems - 1} systems that are compared with {first}, for each metric"
    yield f"+ better, - worse than {first} with {'Holm' if systems > 2 else 'p'} < {LEVEL:g}"


def _cells(result: Result, systems: int) -> list[str]:
    spread = f" ±{result.deviation:.2f}" if len(result.scores) > 1 else ""
    score = f"{result.mean:.2f}{spread}"
    ps = [_shown(each) for each in ((result.p, result.holm) if systems > 2 else (result.p,))]
    mark = {"better": "+", "worse": "-"}.get(result.verdict, " ")
    difference = "" if result.difference is None else f"{result.difference:+.2f}"
    return [score, difference, *ps[:-1], f"{ps[-1]} {mark}" if ps[-1] else ""]


def _shown(p: float | None) -> str:
    if p is None:
        return ""
    return f"<{SMALLEST_P:.4f}" if p < SMALLEST_P else f"{p:.4f}"


def _fields(result: Result, minutes: Mapping[tuple[int | None, str], float]) -> Fields:
    return {
        "size": result.size,
        "test": result.test,
        "system": result.system,
        **result.chosen,
        "metric": result.metric,
        "mean": result.mean,
        "deviation": result.deviation if len(result.scores) > 1 else None,
        "seeds": len(result.scores),
        "difference": result.difference,
        "p": result.p,
        "holm": result.holm,
        "verdict": result.verdict,
        "cpu_minutes": minutes[result.size, result.system],
        "signature": result.signature,
    }
