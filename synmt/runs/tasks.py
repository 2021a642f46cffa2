"""The tasks of a run: parsing text, cutting off its first lines, training models, translating dev and the tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np

from synmt.inputs import without_compression
from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.significance import sentence_statistics
from synmt.model.files import CONFIG_FILE, write_aside
from synmt.model.made import digest
from synmt.model.words import parser_of
from synmt.runs.data import form_of
from synmt.runs.file import Options, Pair, RunFile
from synmt.runs.plan import Fields, Plan, Training
from synmt.runs.work import Task, Workplace
from synmt.streams import BadInput, read_lines

Chosen = Mapping[tuple[int | None, str], Options]  # what a system, after training on so many pairs, has by dev


def model_of(place: Workplace, training: Training) -> Path:
    return place.folder / training.name


def translation_of(place: Workplace, training: Training, test: str) -> Path:
    return place.folder / f"{training.name}.{test}"


def translation_of_dev(place: Workplace, training: Training, own: Options) -> Path:
    """own: the option that is chosen on dev, with a value."""
    ((option, value),) = own.items()
    return place.folder / "data" / "dev" / training.name / f"{option}-{quote(str(value), safe='')}"


def columns_of(place: Workplace) -> Path:
    """Return the folder of all columns. Training runs with the same data and options share theirs."""
    return place.folder / "data" / "columns"


def cut_of(place: Workplace, side: str, path: Path, size: int | None) -> Path:
    """Return the file of the first lines of another, the source or the target; of all, the file itself."""
    if size is None:
        return path
    return place.folder / "data" / "cut" / str(size) / side / without_compression(path.name)


@dataclass
class Tasks:
    """The tasks of a run, each after those that it needs.

    run: with the data as all systems read it, which is there once it is parsed; jobs: processes that parse.
    """

    place: Workplace
    plan: Plan
    run: RunFile
    jobs: int
    all: list[Task] = field(default_factory=list)
    by_path: dict[Path, Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise BadInput for texts that systems read differently."""
        self._parse_all()
        for size in self.run.sizes:
            self._cut(size)
        for training in self.plan.trainings:
            self._train(training)
        options = self.run.options.get("translate", {})
        for training in self.plan.trainings:
            for own in self.run.tuned.choices if self.run.tuned else []:
                path, what = translation_of_dev(self.place, training, own), f"dev with {_named(training, own)}"
                self._translate(training, path, what, self.run.dev.source, (), partial(dict, {**options, **own}))
        for training in self.plan.trainings:
            for test, pair in self.run.tests.items():
                path, what = translation_of(self.place, training, test), f"{test} with {_named(training)}"
                of_dev = tuple(task for each in self._seeds(training) for task in self._of_dev(each))
                self._translate(training, path, what, pair.source, of_dev, partial(self._options, training))

    def _add(self, task: Task) -> None:
        self.all.append(task)
        self.by_path[task.path] = task

    def _needed(self, *paths: Path) -> tuple[Task, ...]:
        """Return the tasks that make those of the files that the run makes."""
        return tuple(self.by_path[path] for path in paths if path in self.by_path)

    def _parse_all(self) -> None:
        parts = {"train": self.run.train, "dev": self.run.dev}
        texts = [
            Text(f"{name}/{side}", path, self.plan.needs[number], number)
            for name, pair in parts.items()
            for number, (side, path) in enumerate((("source", pair.source), ("target", pair.target)))
        ]
        texts += [
            Text(f"tests/{name}/source", pair.source, self.plan.reads, 0, True) for name, pair in self.run.tests.items()
        ]
        of = {text.part: self._parse(text) for text in texts}
        self.run = replace(
            self.run,
            train=Pair(of["train/source"], of["train/target"]),
            dev=Pair(of["dev/source"], of["dev/target"]),
            tests={name: Pair(of[f"tests/{name}/source"], pair.target) for name, pair in self.run.tests.items()},
        )

    def _parse(self, text: "Text") -> Path:
        """Return the file of a text as systems read it: of its records, if some need trees that it does not have."""
        if not text.needs or form_of(text.path, text.side) != "text":
            return text.path
        options = parse_options(self.run, self.plan, text)
        path = self.place.folder / "data" / "parsed" / text.part / f"{without_compression(text.path.name)}.jsonl"

        def of() -> dict[str, str]:
            return {"text": self.place.identity(text.path), **self.place.of_options(options)}

        def work() -> float:
            return self.place.write(path, "parse", {"text": text.path, "jobs": self.jobs, **options})

        self._add(Task("parsing", text.part, path, (), of, work, anew=text.is_test))
        return path

    def _cut(self, size: int | None) -> None:
        for side, path in (("source", self.run.train.source), ("target", self.run.train.target)):
            made = cut_of(self.place, side, path, size)
            if size is not None:
                of, work = partial(self._of_cut, path, size), partial(cut, path, made, size)
                self._add(Task("cutting", f"{size} lines of train/{side}", made, self._needed(path), of, work))

    def _of_cut(self, path: Path, size: int) -> dict[str, str]:
        return {"lines": str(size), "file": self.place.identity(path)}

    def _train(self, training: Training) -> None:
        place, model = self.place, model_of(self.place, training)
        files = {
            "source": cut_of(place, "source", self.run.train.source, training.size),
            "target": cut_of(place, "target", self.run.train.target, training.size),
            "dev-source": self.run.dev.source,
            "dev-target": self.run.dev.target,
        }
        options: Options = {**training.options, **files}

        def of() -> dict[str, str]:
            return {**place.of_options(options), "seed": str(training.seed)}

        def work() -> float:
            resume = {"resume": True} if (model / CONFIG_FILE).exists() else {}
            own = {"seed": training.seed, "out": model, "prepared": columns_of(place), **resume}
            return place.call("train", {**options, **own}, place.log(model))

        self._add(Task("training", _named(training), model, self._needed(*files.values()), of, work))

    def _translate(
        self,
        training: Training,
        path: Path,
        what: str,
        source: Path,
        needs: tuple[Task, ...],
        options: Callable[[], Options],
    ) -> None:
        """Add a translation by a model; needs: what the options depend on."""
        place, model = self.place, model_of(self.place, training)

        def of() -> dict[str, str]:
            trained = place.made(model)
            of_model = digest(trained.of) if trained else "none"
            return {"model": of_model, "source": place.identity(source), **place.of_options(options())}

        def work() -> float:
            return place.write(path, "translate", {**options(), "model": model, "source": source})

        needs = (*self._needed(model, source), *needs)
        self._add(Task("translating", what, path, needs, of, work, anew=True))

    def _seeds(self, training: Training) -> list[Training]:
        """Return all trainings of a system on so many pairs."""
        key = training.size, training.system
        return [each for each in self.plan.trainings if (each.size, each.system) == key]

    def _of_dev(self, training: Training) -> list[Task]:
        choices = self.run.tuned.choices if self.run.tuned else []
        return [self.by_path[translation_of_dev(self.place, training, own)] for own in choices]

    def _options(self, training: Training) -> Options:
        chosen = self.chosen().get((training.size, training.system), {})
        return {**self.run.options.get("translate", {}), **chosen}

    def chosen(self) -> Chosen:
        """Return for each size and system the value whose translations of dev have the best mean score over all seeds,
        by the first metric of the run; of equals the first. Systems without all of these are left out."""
        found = {}
        for training in self.plan.trainings if self.run.tuned else []:
            key, seeds = (training.size, training.system), self._seeds(training)
            if key not in found and all(task.path.exists() for each in seeds for task in self._of_dev(each)):
                found[key] = self._best(seeds)
        return found

    def _best(self, seeds: Sequence[Training]) -> Options:
        assert self.run.tuned
        metric, reference = self.run.metrics[0], self.run.dev.target

        def mean(own: Options) -> float:
            files = [translation_of_dev(self.place, each, own) for each in seeds]
            return float(np.mean([score(metric, each, reference) for each in files]))

        return max(self.run.tuned.choices, key=mean)


def _named(training: Training, own: Options = {}) -> str:  # noqa: B006 (never changed)
    size = f"{training.size} pairs" if training.size else ""
    values = [f"{option} {value}" for option, value in own.items()]
    return ", ".join([training.system, f"seed {training.seed}", *values, *([size] if size else [])])


def cut(path: Path, made: Path, size: int) -> float:
    """Write the first lines of a file to another. Raises BadInput if it has fewer."""
    lines = [line.text for line in islice(read_lines([str(path)]), size)]
    if len(lines) < size:
        raise BadInput(f"{len(lines)} lines, and a size of the run is {size}", str(path))
    write_aside(made, "".join(f"{line}\n" for line in lines).encode())
    return 0.0


def score(metric: str, translation: Path, reference: Path) -> float:
    """Return the score of a file, negative where less is better. Raises BadInput."""
    given = open_input([metric], Files((str(translation),), (str(reference),)), MetricConfig())
    ((statistics,),) = sentence_statistics(given)
    found = given.metrics[0].score(statistics.sum(axis=0)).score
    return found if given.metrics[0].higher_is_better else -found


@dataclass(frozen=True)
class Text:
    """A file of sentences. part: its place in the run; needs: what systems read of its records; side: 0 is source.

    is_test: whether no model depends on it, so that it may be parsed again.
    """

    part: str
    path: Path
    needs: Fields
    side: int
    is_test: bool = False


def parse_options(run: RunFile, plan: Plan, text: Text) -> Options:
    """Return how a text is parsed: as the words of all systems. Raises BadInput where these differ."""
    read = {name: (languages[text.side], tokenizer) for name, (languages, tokenizer) in plan.texts.items()}
    (first_system, how), *others = read.items()
    for name, other in others:
        if other != how:
            cause = f"all systems read the same words, but {first_system} and {name} differ in language or tokenizer"
            raise BadInput(cause, str(text.path))
    language, tokenizer = how
    options: Options = {"parser": parser_of(text.needs), "language": language, **run.options.get("parse", {})}
    if lacking := set(parser_of(text.needs).split("+")) - set(str(options["parser"]).split("+")):
        raise BadInput(f"parse: systems need trees of {lacking.pop()}, and parser is {options['parser']}")
    return {**options, "input": "tokens"} if tokenizer == "none" else options
