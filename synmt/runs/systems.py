"""A run that compares translation systems: its steps parse text, cut training data, train, and translate dev and tests.

Whatever can be refused is refused when the steps are listed, before any work.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import msgspec
import numpy as np

from synmt.challenge.contrast import check_pairs
from synmt.challenge.query import occurrences
from synmt.components import systems
from synmt.components.contract import lacking
from synmt.components.fields import GIVEN, NAMES
from synmt.data.records import Form, sentences_in, source_form, target_form
from synmt.data.words import parser_of
from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_input
from synmt.metrics.significance import sentence_statistics
from synmt.model.config import ModelConfig
from synmt.model.files import CONFIG_FILE, write_config
from synmt.registry import meant
from synmt.runs.commands import Command, Options, check_shared, parsed, with_used
from synmt.runs.contrast import Contrasted, contrasted
from synmt.runs.file import COST, ParallelFiles, RunFile, naming_table, query_of_set
from synmt.runs.steps import Cost, RunFolder
from synmt.runs.table import Chosen, SystemOutput, components_of, described
from synmt.runs.work import Work, check_sizes, count_pairs, named
from synmt.streams import BadInput, OnError, read_lines
from synmt.streams.inputs import without_compression
from synmt.streams.process import temporary_folder
from synmt.text.tokenization import TokenizerName, spaces_after
from synmt.trees.record import ParseRecord, read_record, write_record
from synmt.trees.transitions import with_one_root

SAME_BATCHES = {"batch-by": "subwords"}  # by default, all systems learn from the same pairs in the same batches
SUM_TREES = 16  # number of trees to sum over for the cost of words, if a model writes trees
Fields = frozenset[str]  # names of fields of a parse record


@dataclass(frozen=True)
class Training:
    """One model. size: number of training pairs, None for all; options: of `synmt train`; writes_trees: whether the
    model writes trees with its translations."""

    system: str
    seed: int
    size: int | None
    options: Options = field(compare=False)
    writes_trees: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """Return the path of the model in the run's folder. System names have no dots, so no two models or translations
        share a path."""
        return f"{self.size or 'all'}/{self.system}.{self.seed}"

    @property
    def title(self) -> str:
        return named(self.system, self.seed, self.size)


@dataclass(frozen=True)
class Plan:
    """needs: fields of source and target records that training some system needs; reads: fields of source records that
    translating with some model needs.

    models: the config of each system's model, by the system's name, with a size that has options.
    """

    trainings: Sequence[Training]
    needs: tuple[Fields, Fields]
    reads: Fields
    models: Mapping[str, ModelConfig]


def plan(run: RunFile, folder: Path) -> Plan:
    """Return the plan, with training runs ordered by size, seed and system. folder: of the run.

    Raises ValueError for options that the commands refuse, and for a shared one that no system uses.
    """
    found, models = dict[tuple[int | None, str], tuple[Options, ModelConfig]](), dict[str, ModelConfig]()
    own_sizes = {size: size if of_size else None for size, of_size in run.sizes.items()}  # sizes without options agree
    for size in dict.fromkeys(own_sizes.values()):
        shared = {**SAME_BATCHES, **run.options.get("train", {}), **(run.sizes[size] if size else {})}
        unused = dict[str, dict[str, str]]()
        for name, own in run.systems.items():
            title = f"{name}, {size} pairs" if size else name
            with naming_table(f"system {title}"):
                own = {**_meaning(name, own, shared), **own}
                options, models[title], unused[f"system {title}"] = with_used(
                    "train", own, shared, partial(_model_of, run, folder)
                )
                _check_translate(run, models[title])
            found[size, name] = options, models[title]
        check_shared(unused)
    return Plan(
        [
            Training(name, seed, size, options, bool(model.target.linearization.trees))
            for size, seed, name in product(run.sizes, run.seeds, run.systems)
            for options, model in [found[own_sizes[size], name]]
        ],
        (
            Fields().union(*(model.source.needs(training=True) for model in models.values())),
            Fields().union(*(model.target.needs(training=True) for model in models.values())),
        ),
        Fields().union(*(model.source.needs(training=False) for model in models.values())),
        models,
    )


def _model_of(run: RunFile, folder: Path, options: Options) -> ModelConfig:
    """Return the config of the model that `synmt train` makes with these options. Raises ValueError, and BadInput if
    TensorBoard is asked for, but not installed."""
    from synmt.model.folder import read_folder_config
    from synmt.training.log import check_installed
    from synmt.training.start import configs_of

    assert run.train and run.dev
    given = parsed(Command("train", {}, {**options, **_data(run.train, run.dev), "out": folder / "model"}))
    if given["tensorboard"]:
        check_installed()
    start = read_folder_config(Path(given["init"]), ModelConfig)[0] if given["init"] else None
    return configs_of(given, start, str(run.train.source), str(run.train.target))[0]


def _data(train: ParallelFiles, dev: ParallelFiles) -> Options:
    """Return the options of `synmt train` that name its data."""
    return {"source": train.source, "target": train.target, "dev-source": dev.source, "dev-target": dev.target}


def _check_translate(run: RunFile, model: ModelConfig) -> None:
    """Raise ValueError for options of `synmt translate` that it refuses for a model with this config."""
    if not any(run.translations()):
        return
    with temporary_folder("synmt-run-") as folder:
        write_config(folder, {"model": model.fields(), "training": {}})
        for options in run.translations():
            with naming_table("translate"):
                parsed(Command("translate", {"model": folder}, options))


def _meaning(name: str, own: Options, shared: Options) -> Options:
    """Return the option of `synmt train` that the name of a system means: nothing if options choose the components.

    Raises ValueError if neither the name nor an option chooses them.
    """
    if {"model", "init"} & {*own, *shared}:
        return {}
    if not set(name.split("+")) <= systems().keys():
        raise ValueError(f"no system has this name{meant(name, systems()) or '; give its model'}")
    return {"model": name}


def check_data(run: RunFile) -> dict[str, int]:
    """Return the number of lines of each test.

    Raises BadInput for files that are missing, differ in length, are shorter than a size, or are not text where they
    must be.
    """
    assert run.dev
    check_sizes(run)
    count_pairs(run.dev)
    lengths = {name: count_pairs(test) for name, test in run.tests.items()}
    for test in run.tests.values():
        _check_reference(test.target, "scored")
    if run.tuned:
        _check_reference(run.dev.target, f"scored to choose {run.tuned.option}")
    for file in run.contrast.values():
        check_pairs(file, run.options.get("translate", {}).get("on-error", "fail"))
    return lengths


def checked_form(text: "Text") -> Form:
    """Return the form of the lines of a text. Raises BadInput for a source in CoNLL-U, and for records that all lack a
    field that systems need."""
    lines = read_lines([str(text.path)], "blank")
    form, lines = target_form(lines, with_arcs=True) if text.side else source_form(lines)
    if form == "conllu" and not text.side:
        raise BadInput("CoNLL-U is not text: convert it with synmt convert --input conllu", str(text.path))
    missing = text.needs if form == "records" else Fields()
    for line in lines if missing else ():
        with suppress(ValueError):  # --on-error of the command that reads it decides about a bad record
            record = read_record(line.text, partial=True)
            if record.tokens:
                missing = frozenset(name for name in missing if lacking(record, frozenset({name})))
        if not missing:
            break
    if missing:
        raise BadInput(f"no sentence has any {NAMES[min(missing)]}, which some system needs", str(text.path))
    return form


def _check_reference(path: Path, purpose: str) -> None:
    """Raise BadInput for a file that is not text."""
    form, lines = target_form(read_lines([str(path)]), with_arcs=True)
    if form != "text":
        raise BadInput(f"has {form}, but translations are {purpose} as text", str(path))
    for _ in lines:  # every line must be valid text, too
        pass


def translation_of(folder: RunFolder, training: Training, test: str) -> Path:
    return folder.path / f"{training.name}.{test}"


def translation_of_dev(folder: RunFolder, training: Training, own: Options) -> Path:
    """Return the path of a translation of dev. own: the tuned option with one of its values."""
    ((option, value),) = own.items()
    return folder.path / "data" / "dev" / training.name / f"{option}-{quote(str(value), safe='')}"


def trees_of(folder: RunFolder, translation: Path) -> Path:
    """Return the file with the trees of a translation, which exists if the model writes trees."""
    return folder.beside("data/trees", translation, ".jsonl")


class Systems(Work):
    """The work of a run that compares systems. In `run`, the data are in the form that all systems read."""

    def __init__(self, folder: RunFolder, run: RunFile, jobs: int) -> None:
        """Raises BadInput, also if systems disagree about the language or tokenizer of a text."""
        super().__init__(folder, run, jobs)
        assert run.train and run.dev
        self.plan = plan(run, folder.path)
        self.lengths = check_data(run)
        self.dev_reference = run.dev.target  # as text
        self._scores_of_dev: dict[str, float] = {}  # by the fingerprint of the translation
        read = self._parse_all()
        for test in run.tests:
            self._find_sets(test, read.get(f"tests/{test}/target"))
        train, dev = (ParallelFiles(read[f"{name}/source"], read[f"{name}/target"]) for name in ("train", "dev"))
        tests = {name: ParallelFiles(read[f"tests/{name}/source"], pair.target) for name, pair in run.tests.items()}
        self.run = replace(run, train=train, dev=dev, tests=tests)
        bad: OnError = run.options.get("train", {}).get("on-error", "fail")
        cuts = {size: self.add_cut(size, train, bad) for size in run.sizes}
        for training in self.plan.trainings:
            self._train(training, cuts[training.size], dev)
        options, choices = run.options.get("translate", {}), run.choices
        for training in self.plan.trainings:
            for own in choices:
                path = translation_of_dev(self.folder, training, own)
                what = f"dev with {named(training.system, training.seed, training.size, own)}"
                self._translate(training, path, what, dev.source, partial(dict, {**options, **own}))
        for training in self.plan.trainings:
            of_dev = [path for own in choices for path in self._translations_of_dev(training, own)]
            for test, pair in tests.items():
                path, what = translation_of(self.folder, training, test), f"{test} with {training.title}"
                self._translate(training, path, what, pair.source, partial(self._options, training), of_dev)
        if COST in run.metrics:
            for training in self.plan.trainings:
                for test, pair in tests.items():
                    self._add_costs(training, test, pair)
        for training in self.plan.trainings:
            for name, file in run.contrast.items():
                self._add_wins(training, name, file)

    def outputs(self) -> list[SystemOutput]:
        return [
            SystemOutput(
                each.size, test, each.system, each.seed, translation_of(self.folder, each, test), pair.target,
                self.folder.path / each.name,
                self._costs_of(each, test) if COST in self.run.metrics else None,
                pair,
            )
            for each in self.plan.trainings
            for test, pair in self.run.tests.items()
        ]  # fmt: skip

    def contrasts(self) -> Iterator[Contrasted]:
        for size, name in product(self.run.sizes, self.run.contrast):
            files: dict[str, list[Path]] = {}
            for each in self.plan.trainings:
                if each.size == size:
                    files.setdefault(each.system, []).append(self._wins_of(each, name))
            yield from contrasted(size, name, files)

    def described(self) -> Iterator[str]:
        for name, model in self.plan.models.items():
            if line := described(name, components_of(model.source.components, model.target.components)):
                yield line

    def _parse_all(self) -> dict[str, Path]:
        """Check the texts, add the steps that parse them, and return the file that systems read for each part: the
        text, or its parse records if a system needs trees that it lacks or the run has options of the parser."""
        texts, asked = self._texts(), bool(self.run.options.get("parse"))
        forms = {text.part: checked_form(text) for text in texts}
        wanted = (text for text in texts if text.needs or (asked and text.side == 0))
        raw = [text for text in wanted if forms[text.part] == "text"]
        made = {"lemmas"} if "model" in self.run.options.get("parse", {}) else set[str]()  # by a model of the user
        for text in raw:
            if given := (text.needs & GIVEN) - made:
                raise ValueError(f"systems read {NAMES[min(given)]}, but {text.path} is text: give records")
        languages = {how_read(self.plan, text)[0] for text in raw}
        return {text.part: self._parse(text, languages) if text in raw else text.path for text in texts}

    def _texts(self) -> list["Text"]:
        """Return all texts that may need trees. References need them for queries that find challenge sets."""
        assert self.run.train and self.run.dev
        texts = [
            Text(f"{name}/{side}", path, self.plan.needs[number], number)
            for name, pair in (("train", self.run.train), ("dev", self.run.dev))
            for number, (side, path) in enumerate((("source", pair.source), ("target", pair.target)))
        ]
        has_queries = len(self.run.numbered_sets()) < len(self.run.challenge)
        for name, pair in self.run.tests.items():
            texts.append(Text(f"tests/{name}/source", pair.source, self.plan.reads, 0, True))
            if has_queries:
                texts.append(Text(f"tests/{name}/target", pair.target, Fields({"heads"}), 1, True))
        return texts

    def _parse(self, text: "Text", languages: Collection[str]) -> Path:
        """Add the step that parses a text. languages: of all texts to parse."""
        language, tokenizer = how_read(self.plan, text)
        parser = parser_of(text.needs)
        options = self.run.parse_options(parser, language, languages)
        if lacking := set(parser.split("+")) - set(str(options["parser"]).split("+")):
            raise BadInput(f"parse: systems need trees of {lacking.pop()}, but parser is {options['parser']}")
        if tokenizer == "none":
            options = {**options, "input": "tokens"}
        path = self.folder.path / "data" / "parsed" / text.part / f"{without_compression(text.path.name)}.jsonl"
        return self.add_parse(text.path, path, options, anew=text.is_test)

    def _find_sets(self, test: str, references: Path | None) -> None:
        """Add the steps that find the challenge sets in the references of a test. references: None without queries."""
        found = self.run.numbered_sets()
        for name, query in self.run.challenge.items():
            if not isinstance(query, Path):
                path, inputs = (
                    self.folder.path / "data" / "challenge" / test / name,
                    {"file": references, "query": query},
                )
                found[name] = self.add_lines(("finding", f"{name} in {test}"), path, words_found, inputs, anew=True)
        self.sets[test] = found

    def _train(self, training: Training, train: ParallelFiles, dev: ParallelFiles) -> None:
        model = self.folder.path / training.name
        options = {**training.options, **_data(train, dev), "seed": training.seed, "out": model}
        command = Command("train", {}, options)

        def work() -> Cost:
            if (model / CONFIG_FILE).exists():
                return self.folder.run(Command("train", {}, {**options, "resume": True}), self.folder.log(model))
            rmtree(model, ignore_errors=True)  # what a killed process left
            return self.folder.run(command, self.folder.log(model))

        self.add(("training", training.title), model, command.inputs, work, command=lambda: command)

    def _translate(
        self,
        training: Training,
        path: Path,
        what: str,
        source: Path,
        options: Callable[[], Options],
        needs: Sequence[Path] = (),
    ) -> None:
        """Add the step that translates with a model. needs: inputs besides the model and the source."""
        files = {"model": self.folder.path / training.name, "source": source}
        of_dev = path.is_relative_to(self.folder.path / "data")
        trees = trees_of(self.folder, path) if training.writes_trees and not of_dev else None

        def command() -> Command:
            return Command("translate", files, {**options(), **({"format": "jsonl"} if trees else {})})

        def work() -> Cost:
            return self.folder.write(path, command(), partial(_with_trees, trees) if trees else None)

        others = (trees,) if trees else ()
        name, needs = ("translating", what), [*files.values(), *needs]
        self.add(name, path, lambda: command().inputs, work, needs, command, others, anew=True)

    def _add_costs(self, training: Training, test: str, pair: ParallelFiles) -> None:
        """Add the step that computes a model's cost of a test's references, summed over trees if it writes trees."""
        path, model = self._costs_of(training, test), self.folder.path / training.name
        options = {"sum-trees": SUM_TREES, **on_error_of(self.run.options.get("translate", {}))}
        command = Command("logprob", {"model": model, "source": pair.source, "target": pair.target}, options)
        self.add_command(("measuring", f"{test} with {training.title}"), path, command, anew=True)

    def _costs_of(self, training: Training, test: str) -> Path:
        return self.folder.path / "data" / "costs" / f"{training.name}.{test}"

    def _add_wins(self, training: Training, name: str, file: Path) -> None:
        """Add the step that counts the contrastive pairs that a model wins, summed over trees if it writes trees."""
        path, files = self._wins_of(training, name), {"model": self.folder.path / training.name, "pairs": file}
        options = {"sum-trees": SUM_TREES, **on_error_of(self.run.options.get("translate", {})), "format": "jsonl"}
        command = Command("challenge contrast", files, options)
        self.add_command(("measuring", f"{name} with {training.title}"), path, command, anew=True)

    def _wins_of(self, training: Training, name: str) -> Path:
        return self.folder.path / "data" / "contrast" / f"{training.name}.{name}"

    def _options(self, training: Training) -> Options:
        return {**self.run.options.get("translate", {}), **self._chosen(training)}

    def chosen(self) -> Chosen:
        first_seed = [each for each in self.plan.trainings if each.seed == self.run.seeds[0]]
        return {(each.size, each.system): self._chosen(each) for each in first_seed}

    def _chosen(self, training: Training) -> Options:
        """Return the value of the tuned option with the best mean score on dev over all seeds of a system, by the run's
        first metric; the first value wins ties. Empty if no option is tuned, or before all translations of dev."""
        choices = self.run.choices
        files = [self._translations_of_dev(training, own) for own in choices]
        if not choices or not all(each.exists() for own in files for each in own):
            return {}
        means = [np.mean([self._score_of_dev(each) for each in own]) for own in files]
        return choices[means.index(max(means))]

    def _translations_of_dev(self, training: Training, own: Options) -> list[Path]:
        """Return the translations of dev by all seeds of a system with this number of pairs. own: as in
        `translation_of_dev`."""
        return [
            translation_of_dev(self.folder, each, own)
            for each in self.plan.trainings
            if (each.size, each.system) == (training.size, training.system)
        ]

    def _score_of_dev(self, path: Path) -> float:
        """Return the score of a translation of dev, computed once for all steps that ask for it."""
        made = self.folder.fingerprint_of(path)
        if made not in self._scores_of_dev:
            self._scores_of_dev[made] = score(self.run.metrics[0], path, self.dev_reference)
        return self._scores_of_dev[made]


def _with_trees(trees: Path, found: Path) -> Iterator[str]:
    """Yield the text of each translation, and write the records of those that have a tree to a file. found: JSON lines
    of `synmt translate`."""
    with trees.open("w", encoding="utf-8") as stream:
        for line in read_lines([str(found)]):
            fields = msgspec.json.decode(line.text)
            if "heads" in fields:
                text, tokens = fields["text"], fields["tokens"]
                spaces = spaces_after(tokens, text) or []
                record = ParseRecord(text, tokens, spaces, heads=fields["heads"], deprels=fields["deprels"])
                stream.write(f"{write_record(with_one_root(record))}\n")
            yield fields["text"]


def words_found(file: Path, query: Options) -> Iterator[str]:
    """Yield, for each sentence that a query finds, its number, a tab and the forms of the words of a node."""
    asked, node = query_of_set(query)
    for number, record in enumerate(sentences_in(file), 1):
        matches = occurrences(record, asked)
        words = [record.tokens[place - 1] for match in matches if (place := match[node])]
        if matches:
            yield f"{number}\t{' '.join(words)}"


def on_error_of(options: Options) -> Options:
    """Return the option for bad lines, if it is among these options."""
    return {name: value for name, value in options.items() if name == "on-error"}


def score(metric: str, translation: Path, reference: Path) -> float:
    """Return the score of a file, negative if less is better. Raises BadInput."""
    given = open_input([metric], Files((str(translation),), (str(reference),)), MetricConfig())
    ((statistics,),) = sentence_statistics(given)
    found = given.metrics[0].score(statistics.sum(axis=0)).score
    return found if given.metrics[0].higher_is_better else -found


@dataclass(frozen=True)
class Text:
    """A file of sentences. part: the path in the run's folder; needs: fields of the records that systems need; side: 0
    for a source.

    is_test: whether no model depends on it, so that it may be parsed again.
    """

    part: str
    path: Path
    needs: Fields
    side: int
    is_test: bool = False


def how_read(plan: Plan, text: Text) -> tuple[str, TokenizerName]:
    """Return the language and tokenizer of a text. Raises BadInput if systems disagree about them."""
    read = {name: (model.languages[text.side], model.tokenizer) for name, model in plan.models.items()}
    (first_system, how), *others = read.items()
    for name, other in others:
        if other != how:
            cause = f"all systems read the same words, but {first_system} and {name} differ in language or tokenizer"
            raise BadInput(cause, str(text.path))
    return how
