"""Translations of the tests by all models of a run, with what its file leaves to be chosen on dev."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np

from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.significance import sentence_statistics
from synmt.runs.file import Options, RunFile, Tuned, arguments
from synmt.runs.notes import digest, make, noted
from synmt.runs.plan import Plan, Training
from synmt.runs.work import Workplace, in_parallel

Chosen = Mapping[tuple[int | None, str], Options]  # what a system, after training on so many pairs, has by dev


def translation_of(place: Workplace, training: Training, test: str) -> Path:
    return place.folder / f"{training.name}.{test}"


def translation_of_dev(place: Workplace, training: Training, own: Options) -> Path:
    """own: the option that is chosen on dev, with a value."""
    ((option, value),) = own.items()
    return place.folder / "data" / "dev" / training.name / f"{option}-{quote(str(value), safe='')}"


def translate_all(place: Workplace, plan: Plan, run: RunFile, jobs: int) -> Chosen:
    """Translate all tests, so many at a time; return what each system has by dev. What is there, of the same options,
    is not made again. Raises as `in_parallel`, and BadInput."""
    chosen = choose(place, plan, run, jobs, run.tuned) if run.tuned else {}
    todo = [(training, name) for training in plan.trainings for name in run.tests]

    def work(item: tuple[Training, str]) -> None:
        training, name = item
        own = chosen.get((training.size, training.system), {})
        path = translation_of(place, training, name)
        translate(place, training, path, run.tests[name].source, {**run.options.get("translate", {}), **own})

    in_parallel(place, jobs, todo, work, "translation")
    return chosen


def choose(place: Workplace, plan: Plan, run: RunFile, jobs: int, tuned: Tuned) -> Chosen:
    """Return for each size and system the value whose translations of dev have the best mean score over all seeds, by
    the first metric of the run; of equals the first. Raises as `translate_all`."""
    reference = place.run.dev.target
    todo = [(training, number) for training in plan.trainings for number in range(len(tuned.values))]

    def work(item: tuple[Training, int]) -> float:
        training, number = item
        path = translation_of_dev(place, training, tuned.choices[number])
        options = {**run.options.get("translate", {}), **tuned.choices[number]}
        translate(place, training, path, run.dev.source, options)
        return _score(run.metrics[0], path, reference)

    scores: dict[tuple[int | None, str], dict[int, list[float]]] = {}
    for (training, number), score in zip(todo, in_parallel(place, jobs, todo, work, "translation"), strict=True):
        of_system = scores.setdefault((training.size, training.system), {})
        of_system.setdefault(number, []).append(score)
    best = {system: max(found, key=lambda number: float(np.mean(found[number]))) for system, found in scores.items()}
    return {system: tuned.choices[number] for system, number in best.items()}


def _score(metric: str, translation: Path, reference: Path) -> float:
    """Return the score of a file, negative where less is better. Raises BadInput."""
    given = open_input([metric], Files((str(translation),), (str(reference),)), MetricConfig())
    ((statistics,),) = sentence_statistics(given)
    score = given.metrics[0].score(statistics.sum(axis=0)).score
    return score if given.metrics[0].higher_is_better else -score


def translate(place: Workplace, training: Training, path: Path, source: Path, options: Options) -> None:
    """Write a translation by a model, unless it is there, of the same model, source and options. Raises BadInput."""
    model = place.model(training)
    trained = noted(model, place.note(model))
    of = {
        "model": digest(trained.of) if trained else "none",
        "source": place.identity(source),
        **place.of_options(options),
    }
    words = ["translate", *arguments(options), str(model), str(source)]
    make(path, place.note(path), of, lambda: place.write(path, words), anew=True)
