"""The table of a run: scores of each system as mean and standard deviation over seeds, compared with the first one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.metrics.metric import Statistics
from synmt.metrics.reading import Files, open_input
from synmt.metrics.report import Fields, Part, Table, in_form
from synmt.metrics.significance import ROUNDING, TESTS, Contrast, bootstrap_differences, sentence_statistics
from synmt.runs.file import Options, RunFile
from synmt.runs.notes import Made
from synmt.runs.plan import Plan, Training
from synmt.runs.translations import Chosen, translation_of
from synmt.runs.work import Workplace

CONFIG = SignificanceConfig()


@dataclass(frozen=True)
class Result:
    """One system by one metric on one test, after training on so many pairs (None: all).

    scores: of each seed; difference: of the mean from that of the first system; p: whether that is more than chance,
    by resampling the sentences of the test, each with what all seeds made of it; None of the first system. chosen: the
    option of `synmt translate` that the system has by dev.
    """

    size: int | None
    test: str
    system: str
    metric: str
    scores: Sequence[float]
    signature: str
    difference: float | None
    p: float | None
    chosen: Options = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """Return the standard deviation of a sample; nan of one seed."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else float("nan")


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
    summed = [[np.sum(parts, axis=0) for parts in zip(*systems, strict=True)] for systems in zip(*by_seed, strict=True)]
    pairs = [Contrast(metric, system, 0) for system in range(1, len(run.systems)) for metric in range(len(run.metrics))]
    found = bootstrap_differences(given.metrics, summed, pairs, CONFIG.resamples, CONFIG.seed)
    differences = dict(zip(pairs, found, strict=True))
    base: list[float] = []
    for system, name in enumerate(run.systems):
        for number, metric in enumerate(given.metrics):
            scored = [metric.score(seed[system][number].sum(axis=0)) for seed in by_seed]
            scores = [each.score for each in scored]
            mean, difference, p = float(np.mean(scores)), None, None
            if system == 0:
                base.append(mean)
            else:
                difference = mean - base[number]
                resampled = differences[Contrast(number, system, 0)]
                p = TESTS[CONFIG.test].p_value(np.sign(difference) * resampled, abs(difference))
                p = p if abs(difference) > ROUNDING else 1.0
            yield Result(trainings[0].size, test, name, scored[0].name, scores, scored[0].signature, difference, p)


def report(found: Sequence[Result], trained: Mapping[Training, Made], form: str) -> Iterator[str]:
    """Return the results in a form: tables, one a size and test; or a row of TSV or JSON each."""
    minutes = _minutes(trained)
    return in_form(form, _parts(found, minutes), (_fields(each, minutes) for each in found))


def _minutes(trained: Mapping[Training, Made]) -> dict[tuple[int | None, str], float]:
    """Return the mean CPU minutes of the trainings of each size and system."""
    seconds: dict[tuple[int | None, str], list[float]] = {}
    for training, model in trained.items():
        seconds.setdefault((training.size, training.system), []).append(model.cpu_seconds)
    return {each: float(np.mean(values)) / 60 for each, values in seconds.items()}


def _parts(found: Sequence[Result], minutes: Mapping[tuple[int | None, str], float]) -> Iterator[Part]:
    tables = list(dict.fromkeys((each.size, each.test) for each in found))
    for size, test in tables:
        own = [each for each in found if (each.size, each.test) == (size, test)]
        metrics, systems = (
            list(dict.fromkeys(map(key, own))) for key in (lambda each: each.metric, lambda each: each.system)
        )
        yield f"{test}, trained on {f'{size} pairs' if size else 'all pairs'}"
        of_dev = list(own[0].chosen)
        header = ["system", *of_dev, *(cell for metric in metrics for cell in (metric, "Δ", "p  ")), "CPU min"]
        rows = []
        for system in systems:
            of_system = [each for each in own if each.system == system]
            values = [f"{of_system[0].chosen[option]}" for option in of_dev]
            scores = [cell for each in of_system for cell in _cells(each)]
            rows.append([system, *values, *scores, f"{minutes[size, system]:.1f}"])
        yield Table([header, *rows])
    seeds, base = len(found[0].scores), found[0].system
    for option in found[0].chosen:
        yield f"{option}: of each system, by the first metric on dev over its seeds"
    yield f"mean{f' ± standard deviation over {seeds} seeds' if seeds > 1 else ' of one seed'}; Δ from {base}"
    yield f"p: {TESTS[CONFIG.test].definition}, of the sentences of a test with what all seeds made of them"
    yield f"+ better, - worse with p < {CONFIG.level:g}; resamples:{CONFIG.resamples}|seed:{CONFIG.seed}"
    yield from dict.fromkeys(f"{each.metric}|{each.signature}" for each in found)


def _cells(result: Result) -> tuple[str, str, str]:
    spread = f" ±{result.deviation:.2f}" if len(result.scores) > 1 else ""
    score = f"{result.mean:.2f}{spread}"
    if result.difference is None or result.p is None:
        return score, "", ""
    mark = " " if result.p >= CONFIG.level else "+" if result.difference > 0 else "-"
    p = f"{result.p:.4f}" if result.p else f"<{1 / CONFIG.resamples:.4f}"
    return score, f"{result.difference:+.2f}", f"{p} {mark}"


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
        "cpu_minutes": minutes[result.size, result.system],
        "signature": result.signature,
    }
