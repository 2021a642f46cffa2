"""Translations of the tests by all models of a run, with what its file leaves to be chosen on dev."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.significance import sentence_statistics
from synmt.model.records import target_form
from synmt.model.target import target_side
from synmt.runs.file import Options, RunFile, Tuned, arguments
from synmt.runs.notes import make, noted
from synmt.runs.plan import Plan, Training
from synmt.runs.work import Workplace, in_parallel
from synmt.streams import BadInput, read_lines

Chosen = Mapping[tuple[int | None, str], Options]  # what a system, after training on so many pairs, has by dev


def translation_of(place: Workplace, training: Training, name: str) -> Path:
    return place.folder / f"{training.name}.{name}"


def check_dev(run: RunFile) -> None:
    """Raise BadInput for a target of dev that is no text, where something is chosen by it."""
    if run.tuned:
        path = str(run.dev.target)
        form, _ = target_form(read_lines([path]), target_side({"transitions": {}}))
        if form != "text":
            raise BadInput(f"holds {form}, and {run.tuned.option} is chosen on dev by a score of text", path)


def translate_all(place: Workplace, plan: Plan, run: RunFile, jobs: int) -> Chosen:
    """Translate all tests, so many at a time; return what each system has by dev. What is there, of the same options,
    is not made again. Raises as `in_parallel`, and BadInput."""
    chosen = choose(place, plan, run, jobs, run.tuned) if run.tuned else {}
    todo = [(training, name) for training in plan.trainings for name in run.tests]

    def work(item: tuple[Training, str]) -> None:
        training, name = item
        own = chosen.get((training.size, training.system), {})
        translate(place, training, name, run.tests[name].source, {**run.options["translate"], **own})

    in_parallel(place, jobs, todo, work, "translation")
    return chosen


def choose(place: Workplace, plan: Plan, run: RunFile, jobs: int, tuned: Tuned) -> Chosen:
    """Return for each size and system the value whose translations of dev have the best mean score over all seeds, by
    the first metric of the run; of equals the first. Raises as `translate_all`."""
    reference = place.run.dev.target
    todo = [(training, number) for training in plan.trainings for number in range(len(tuned.values))]

    def work(item: tuple[Training, int]) -> float:
        training, number = item
        options = {**run.options["translate"], **tuned.choices[number]}
        made = translate(place, training, f"dev.{tuned.option}-{tuned.values[number]}", run.dev.source, options)
        return _score(run.metrics[0], made, reference)

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


def translate(place: Workplace, training: Training, name: str, source: Path, options: Options) -> Path:
    """Return a translation by a model, made unless it is there, of the same model and options. Raises BadInput."""
    model, output = place.folder / training.name, translation_of(place, training, name)
    trained, known = noted(model), noted(output)
    own = [str(source), *arguments(options)]
    words = [*(trained.words if trained else []), "translate", *own]
    if known is None or known.words != words:
        command = ["translate", str(model), *own]
        make(output, words, lambda: place.write(output, command, place.log(training)))
    return output
