"""The table of a run: scores of each system as mean and standard deviation over seeds, compared with the first one."""

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from synmt.components import PLAIN
from synmt.inspection.curves import Curves, read_curves
from synmt.metrics.config import MetricConfig, SignificanceConfig
from synmt.metrics.metric import Metric, Score, Statistics
from synmt.metrics.reading import Files, open_input
from synmt.metrics.report import Fields, Part, Table, in_form, latex_text, printable, tabular
from synmt.metrics.segments import Ratio, mean, read_columns
from synmt.metrics.significance import (
    RESAMPLES,
    ROUNDING,
    SEED,
    Trained,
    holm,
    largest_with,
    p_value,
    sentence_statistics,
    trained,
)
from synmt.model.files import CONFIG_FILE, naming, read_config
from synmt.runs.commands import Options
from synmt.runs.contrast import Contrasted, fields_of, parts_of
from synmt.runs.file import ParallelFiles, RunFile, Segments
from synmt.runs.steps import Record, RunFolder
from synmt.streams import BadInput, counted, note, read_lines, read_parallel

Chosen = Mapping[tuple[int | None, str], Options]  # for each size and system, the option chosen on dev
LEVEL = SignificanceConfig().level
LEARNED_BY, NOTHING_LEARNED = "BLEU", 1  # systems with less have not learned to translate
MANY = 10**6  # sentences, for scores that do not vary between them
SMALLEST_P = 1e-4  # smaller values are printed as < 0.0001
OfTest = TypeVar("OfTest", "Result", "SystemOutput")


@dataclass(frozen=True)
class Result:
    """The scores of one system by one metric on one test. size: number of training pairs, None for all.

    scores: one per seed. difference: mean score minus the first system's mean score; better: whether this is an
    improvement; p: p value of the difference, as in `metrics.significance`; holm: p corrected for the number of systems
    compared with the first one. These four are None for the first system, and both p for the loss on dev of one seed.
    chosen: the option of `synmt translate` chosen on dev. part: the challenge set, "" for the whole test.
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
    part: str = ""
    higher_is_better: bool = True
    decimals: int = 2
    sentences: int = field(default=0, compare=False)
    trained: tuple[Trained, Trained] | None = field(
        default=None, repr=False, compare=False
    )  # this system and the first one

    @property
    def margin(self) -> float:
        """Return half the length of the confidence interval of the difference at 1 - LEVEL: a smaller difference would
        have a p of at least LEVEL. nan for the first system, and without a p."""
        if self.trained is None or self.p is None or self.sentences < 2:
            return float("nan")
        one, other = self.trained
        return largest_with(lambda difference: p_value(one, other, self.sentences, difference) >= LEVEL)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """Return the sample standard deviation over seeds; nan for a single seed."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else float("nan")

    @property
    def verdict(self) -> str:
        """Return `better` or `worse`, compared with the first system, or "" unless Holm's p is below LEVEL."""
        if self.holm is None or self.holm >= LEVEL:
            return ""
        return "better" if self.better else "worse"


@dataclass(frozen=True)
class SystemOutput:
    """The output of a system on a test, to be scored.

    path, reference: files of translations, links or records. costs: a file with the log-probability and number of words
    of each reference. model: the trained model, or the links or trees of all pairs; its note records its cost. pair:
    both sides of the test. aligner: the folder of the aligner that found or used links.
    """

    size: int | None
    test: str
    system: str
    seed: int
    path: Path
    reference: Path
    model: Path
    costs: Path | None = None
    pair: ParallelFiles | None = None
    aligner: Path | None = None

    @property
    def learned(self) -> Path:
        """Return the folder of the model or aligner, or a file if it has none."""
        return self.aligner or self.model


def by_test(items: Sequence[OfTest]) -> list[list[OfTest]]:
    """Group by size and test. The challenge sets of a test are tests of their own here."""
    keys = dict.fromkeys((each.size, each.test) for each in items)
    return [[each for each in items if (each.size, each.test) == key] for key in keys]


def results(
    measured: "Measured",
    sets: Mapping[str, Path] = {},
    chosen: Chosen = {},  # noqa: B006
) -> Iterator[Result]:
    """Yield the result of each system by each metric, on a whole test and on its challenge sets. Raises BadInput.

    sets: a file for each challenge set; each line has the number of a test sentence and, optionally, a tab and words of
    its reference. chosen: options chosen on dev.
    """
    size, test = measured.outputs[0].size, measured.outputs[0].test
    for name, part in {"": None, **sets}.items():
        own = measured if part is None else measured.within(part)
        if not own.sentences:
            note(f"challenge {name} has no sentences of {test}")
            continue
        for result in _compared(own):
            shown, value = f"{test}, {name}" if name else test, chosen.get((size, result.system), {})
            yield replace(result, size=size, test=shown, chosen=value, part=name)


@dataclass(frozen=True)
class Measured:
    """The statistics of systems on one test. statistics: for each system, [seeds][metrics] of [n,k]; losses: for each
    system, the lowest loss on dev of each seed, or none."""

    metrics: Sequence[Metric[Any]]
    outputs: Sequence[SystemOutput]
    statistics: Mapping[str, Sequence[Sequence[Statistics]]]
    losses: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def sentences(self) -> int:
        return len(next(iter(self.statistics.values()))[0][0])

    @classmethod
    def of(
        cls,
        outputs: Sequence[SystemOutput],
        names: Sequence[str],
        segments: Mapping[str, Segments] = {},
        with_losses: bool = False,
    ) -> Self:
        """Read the outputs of all systems and seeds on a test. segments: further metrics, by name; with_losses: whether
        to read the losses on dev."""
        found: dict[str, list[list[Statistics]]] = {}
        losses: dict[str, list[float]] = {}
        others = [mean(each.higher_is_better, name) for name, each in segments.items()]
        scores = [read_scores(each, outputs) for each in segments.values()]
        costs = {each: read_costs(each.costs, each.reference) for each in outputs if each.costs}
        everywhere = np.all([own[:, 1:] > 0 for own in costs.values()], axis=0)  # sentences that all models can score
        for each in outputs:
            files = Files((str(each.path),), (str(each.reference),))
            given = open_input(names, files, MetricConfig(link_base=0))
            ((*statistics,),) = sentence_statistics(given)
            cost = [costs[each] * everywhere] if each in costs else []
            found.setdefault(each.system, []).append([*statistics, *cost, *(of[each] for of in scores)])
            if with_losses:
                losses.setdefault(each.system, []).append(lowest_loss(each.model))
        return cls([*given.metrics, *([COSTS] if outputs[0].costs else []), *others], outputs, found, losses)

    def within(self, part: Path) -> Self:
        """Return the statistics of the sentences of a challenge set. If the set names words of the references, add a
        metric that counts how many of them occur in the translations, if the outputs are translations."""
        numbers, words = read_set(part, self.sentences)
        words = words if all(each.compares == "translations" for each in self.metrics) else []
        found: dict[str, list[list[Statistics]]] = {}
        for system, seeds in self.statistics.items():
            outputs = [each for each in self.outputs if each.system == system]
            for each, own in zip(outputs, seeds, strict=True):
                extra = [found_words(each.path, numbers, words)] if words else []
                found.setdefault(system, []).append([*(of_metric[numbers] for of_metric in own), *extra])
        return replace(self, metrics=[*self.metrics, *([FOUND] if words else [])], statistics=found, losses={})


COSTS = Ratio("nats", "per word of the references", -1.0, higher_is_better=False, decimals=3)
FOUND = Ratio("found", "words of the set in translations, %", 100.0, higher_is_better=True)
DEV_LOSS = Score(
    "dev loss", 0.0, "lowest in training, nats per subword, given any tree; p: variance between seeds only", decimals=3
)


def lowest_loss(model: Path) -> float:
    """Return the lowest loss of words on dev in the log of a model; with arcs or tags, given these. Raises BadInput."""
    with naming(model / "log.tsv"):
        points = read_curves(model).points
        return min(points.get("valid_loss_words", points["valid_loss"])[1])


def read_set(path: Path, sentences: int) -> tuple[list[int], list[list[str]]]:
    """Return the numbers of the sentences in a challenge set, from 0, and for each one the words of its reference if
    the set names them. sentences: of the test. Raises BadInput."""
    numbers, words = dict[int, None](), list[list[str]]()
    for line in read_lines([str(path)]):
        number, *own = line.text.split("\t")
        if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= sentences:
            raise line.error(f"{number!r} is not the number of a line of the test, from 1 to {sentences}")
        if int(number) - 1 in numbers:
            raise line.error(f"sentence {number} is a duplicate")
        if bool(own) != bool(words) and numbers:
            raise line.error("either all sentences of a set have words after a tab, or none")
        numbers[int(number) - 1] = None
        words += [text.lower().split() for text in own[:1]]
    return list(numbers), words


def check_reference(names: Sequence[str], reference: Path) -> None:
    """Raise BadInput for references that these metrics cannot score, by scoring them as outputs."""
    files = Files((str(reference),), (str(reference),))
    sentence_statistics(open_input(names, files, MetricConfig()))


def read_scores(segments: Segments, outputs: Sequence[SystemOutput]) -> dict[SystemOutput, Statistics]:
    """Return the scores that another program gave each sentence of each output of a test, [n, 2].

    The table has a column for each output, named after its file: the last two parts of a path, `all/mask.1.flickr`.
    Raises BadInput if a column or row is missing, or if an output is newer than the table.
    """
    table = segments.tables[outputs[0].test]
    columns = read_columns(read_lines([str(table)]))
    found = {"/".join(Path(name).parts[-2:]): column for name, column in columns.items()}
    if len(found) < len(columns):
        raise BadInput("has two columns of the same file", str(table))
    sentences = sum(1 for _ in read_lines([str(outputs[0].reference)]))
    scores = {}
    for each in outputs:
        name = "/".join(each.path.parts[-2:])
        if name not in found:
            raise BadInput(f"has no column {name}", str(table))
        if len(found[name]) != sentences:
            rows = counted(len(found[name]), "row")
            raise BadInput(f"has {rows} of scores, but {each.test} has {counted(sentences, 'line')}", str(table))
        if each.path.exists() and each.path.stat().st_mtime_ns > table.stat().st_mtime_ns:
            raise BadInput(f"is older than {name}: score this translation again, or touch the table", str(table))
        scores[each] = found[name]
    return scores


def read_costs(path: Path, reference: Path) -> Statistics:
    """Return the log-probability of each reference and its number of words with the end of the sentence, [n, 2]. Both
    are 0 for a reference that the model cannot score. Raises BadInput."""
    rows = []
    for line, words in read_parallel([str(path), str(reference)], "blank"):
        with line.naming():
            rows.append((float(line.text), len(words.text.split()) + 1) if line.text else (0.0, 0))
    return np.array(rows)


def found_words(path: Path, numbers: Sequence[int], words: Sequence[Sequence[str]]) -> Statistics:
    """Return for each of these sentences how many of its words the translation has, and how many there are, [n, 2]."""
    texts = [line.text.lower() for line in read_lines([str(path)])]
    return np.array(
        [[sum(_contains(texts[n], word) for word in own), len(own)] for n, own in zip(numbers, words, strict=True)]
    )


def _contains(text: str, word: str) -> bool:
    """Return whether a text has a word, not just as a part of a longer one. A word may contain punctuation."""
    begin, end = (r"\b" if re.match(r"\w", edge) else "" for edge in (word[0], word[-1]))
    return re.search(f"{begin}{re.escape(word)}{end}", text) is not None


def _compared(measured: Measured) -> Iterator[Result]:
    """Yield the result of each system by each metric, compared with the first system."""
    metrics, systems, sentences = measured.metrics, list(measured.statistics), measured.sentences
    found = [trained(metrics, models) for models in measured.statistics.values()]  # [systems][metrics]
    for name, own in zip(systems, found, strict=True):
        if losses := measured.losses.get(name):
            own.append(Trained(np.array(losses), np.zeros((len(losses), 2))))  # sentences add no variance
    bases, others = found[0], found[1:]
    counts = [sentences] * len(metrics) + [MANY]  # the loss on dev has no variance between these sentences
    ps = [[p_value(*each) for each in zip(other, bases, counts, strict=False)] for other in others]
    corrected = [list(each) for each in zip(*map(holm, zip(*ps, strict=True)), strict=True)]
    for number, name in enumerate(systems):
        for column, (scores, base) in enumerate(zip(found[number], bases, strict=True)):
            of_sentences = metrics[column] if column < len(metrics) else None
            shown = of_sentences.score(measured.statistics[name][0][column].sum(axis=0)) if of_sentences else DEV_LOSS
            higher = of_sentences is not None and of_sentences.higher_is_better
            result = Result(None, "", name, shown.name, scores.scores.tolist(), shown.signature)
            result = replace(result, higher_is_better=higher, decimals=shown.decimals)
            if number:
                difference = float(scores.scores.mean() - base.scores.mean())
                result = replace(result, difference=difference, better=difference * (1 if higher else -1) > ROUNDING)
                result = replace(result, trained=(scores, base), sentences=counts[column])
                if of_sentences or len(scores.scores) > 1:
                    result = replace(result, p=ps[number - 1][column], holm=corrected[number - 1][column])
            yield result


@dataclass(frozen=True)
class Learning:
    """How the models of a system were trained.

    minutes: mean CPU minutes; megabytes: peak memory. updates, examples: of each seed, empty for an aligner without
    updates; the examples are all training pairs that were not left out, once for each task that a model learns.
    components: those of the encoder and the decoder of a translation system.
    """

    minutes: float
    megabytes: int | None
    updates: Sequence[int] = ()
    examples: Sequence[int] = ()
    components: Mapping[str, str] = field(default_factory=dict)


Learned = Mapping[tuple[int | None, str], Learning]  # for each size and system


def report(found: Sequence[Result], learned: Learned, form: str, contrasts: Sequence[Contrasted] = ()) -> Iterator[str]:
    """Return the results in a form: one table per size, test and challenge set, and one per group of contrastive pairs;
    or one row of TSV or JSON per result."""
    if form == "latex":
        return chain(_latex(found, learned), in_form(form, parts_of(contrasts) if contrasts else (), ()))
    if form == "text":
        return in_form(form, _parts(found, learned, contrasts), ())
    rows = [
        *(_fields(each, learned) for each in found),
        *({**learned[each.size, each.system].components, **fields_of(each)} for each in contrasts),
    ]
    columns = dict.fromkeys(chain.from_iterable(rows))  # of all rows; None where a row has no such column
    return in_form(form, (), [{**columns, **row} for row in rows])


def learned_of(made: Mapping[SystemOutput, Record | None]) -> Learned:
    """Return how the models of each size and system were trained. Raises BadInput for a damaged log or config."""
    of_system: dict[tuple[int | None, str], dict[Path, tuple[Record, Path]]] = {}
    for output, each in made.items():
        if each:
            of_system.setdefault((output.size, output.system), {})[output.model] = each, output.learned
    return {key: _learning(*zip(*own.values(), strict=True)) for key, own in of_system.items()}


def _learning(made: Sequence[Record], folders: Sequence[Path]) -> Learning:
    """Return how the models in these folders were trained; a folder without a log was trained without updates."""
    with_log = [each for each in folders if (each / "log.tsv").exists()]
    updates = [max(updates[-1] for updates, _ in read_curves(each).points.values()) for each in with_log]
    configs = [read_config(each) for each in with_log if (each / CONFIG_FILE).exists()]
    examples = [each["training"]["examples"] for each in configs if "examples" in each.get("training", {})]
    model = configs[0]["model"] if configs and "aligner" not in configs[0] else None
    components = components_of(model["source"], model["target"]["components"]) if model else {}
    minutes = float(np.mean([each.cpu_seconds for each in made])) / 60
    megabytes = max((each.megabytes for each in made if each.megabytes), default=None)
    return Learning(minutes, megabytes, updates, examples, components)


def components_of(encoder: Iterable[str], decoder: Iterable[str]) -> dict[str, str]:
    """Return the components of both sides of a translation model by side. encoder, decoder: their names."""
    return {"encoder": "+".join(encoder), "decoder": "+".join(decoder)}


def described(name: str, components: Mapping[str, str]) -> str:
    """Return what a system is, in words, "" if its name says that."""
    parts = {part for part in components.values() if part != PLAIN} or {*components.values()}
    is_named = parts <= {name}
    return "" if is_named else f"{name}: {', '.join(f'{side} {part}' for side, part in components.items())}"


def _parts(found: Sequence[Result], learned: Learned, contrasts: Sequence[Contrasted]) -> Iterator[Part]:
    systems = len({each.system for each in found})
    has_updates = any(each.updates for each in learned.values())
    for own in by_test(found):
        metrics = list(dict.fromkeys(each.metric for each in own))
        yield title_of(own[0])
        of_dev = list(own[0].chosen)
        ps = ["p", "Holm  "] if systems > 2 else ["p  "]
        scores = [cell for metric in metrics for cell in (metric, "Δ", *ps)]
        header = ["system", *of_dev, *scores, *(["updates"] if has_updates else []), "CPU min", "MB"]
        rows = []
        for system in dict.fromkeys(each.system for each in own):
            of_system = [each for each in own if each.system == system]
            values = [f"{of_system[0].chosen[option]}" for option in of_dev]
            scores = [cell for each in of_system for cell in _cells(each, systems)]
            how = learned[of_system[0].size, system]
            updates = [span_of(how.updates)] if has_updates else []
            rows.append([system, *values, *scores, *updates, f"{how.minutes:.1f}", f"{how.megabytes or ''}"])
        yield Table([header, *rows])
    yield from parts_of(contrasts) if contrasts else ()
    yield from chosen_on_dev(found[0])
    yield from legend(found)
    yield from warnings_of(found, learned)
    yield from dict.fromkeys(f"{each.metric}|{each.signature}" for each in found)


def warnings_of(found: Sequence[Result], learned: Learned) -> Iterator[str]:
    """Yield lines about what the tables cannot show: what systems are whose names do not say it, in what their training
    differs, and why differences between scores may mean little."""
    yield from filter(None, dict.fromkeys(described(name, how.components) for (_, name), how in learned.items()))
    yield from _differences(learned)
    if len(found[0].scores) == 2:
        yield "two seeds rarely show a difference; use three or more"
    for own in by_test(found):
        scores = [score for each in own if each.metric == LEARNED_BY for score in each.scores]
        if scores and max(scores) < NOTHING_LEARNED and not own[0].part:
            yield f"{title_of(own[0])}: every {LEARNED_BY} is below {NOTHING_LEARNED}, so nothing was learned"


def _differences(learned: Learned) -> Iterator[str]:
    """Yield in what the training of systems differs with the same number of pairs."""
    for size in dict.fromkeys(size for size, _ in learned):
        own = {system: how for (each, system), how in learned.items() if each == size}
        for what in ("updates", "examples"):
            known = {system: tuple(numbers) for system, how in own.items() if (numbers := getattr(how, what))}
            if len(set(known.values())) > 1:
                shown = ", ".join(f"{system} {span_of(numbers)}" for system, numbers in known.items())
                yield f"training {what} differ{f' with {size} pairs' if size else ''}: {shown}"


def span_of(numbers: Sequence[int]) -> str:
    """Return the numbers of all seeds as one, or from the least to the most."""
    return "–".join(f"{each}" for each in sorted({min(numbers), max(numbers)})) if numbers else ""


def legend(found: Sequence[Result]) -> Iterator[str]:
    """Yield lines that explain the numbers of the tables. Some tests may lack the output of some systems."""
    tables = [list(dict.fromkeys(each.system for each in own)) for own in by_test(found)]
    firsts = {systems[0] for systems in tables}
    first = firsts.pop() if len(firsts) == 1 else "the first system of each table"
    compared = sorted({len(systems) - 1 for systems in tables} - {0})
    has_holm = max(compared, default=0) > 1
    seeds = len(found[0].scores)
    resampled = f"{RESAMPLES} bootstrap resamples, seed {SEED}"
    if seeds > 1:
        yield f"mean ± standard deviation over {seeds} seeds; Δ: difference of the means from {first}"
        yield f"p: two-sided t-test of Δ, with its variance between seeds and between test sentences ({resampled})"
        yield "synmt significance compares the outputs of single models, without the variance between seeds"
    else:
        yield f"score of one seed; Δ: difference from {first}"
        yield (
            f"p: two-sided t-test of Δ, with its variance between test sentences ({resampled}); with one seed, the"
            " variance between training runs is unknown and not in p, which is that of synmt significance"
        )
    if has_holm:
        count = " or ".join(map(str, compared))
        yield f"Holm: p corrected for {count} systems that are compared with {first}, for each metric"
    yield f"+ better, - worse than {first} with {'Holm' if has_holm else 'p'} < {LEVEL:g}"


def _cells(result: Result, systems: int) -> list[str]:
    digits = result.decimals
    spread = f" ±{result.deviation:.{digits}f}" if len(result.scores) > 1 else ""
    score = f"{result.mean:.{digits}f}{spread}"
    ps = [_shown(each) for each in ((result.p, result.holm) if systems > 2 else (result.p,))]
    mark = {"better": "+", "worse": "-"}.get(result.verdict, " ")
    difference = "" if result.difference is None else f"{result.difference:+.{digits}f}"
    return [score, difference, *ps[:-1], f"{ps[-1]} {mark}" if ps[-1] else ""]


def _latex(found: Sequence[Result], learned: Learned) -> Iterator[str]:
    """Yield a table for each size, test and challenge set, with a caption and the rules of booktabs."""
    yield r"% \usepackage{booktabs}"
    has_updates = any(each.updates for each in learned.values())
    for own in by_test(found):
        systems, metrics = (list(dict.fromkeys(getattr(each, name) for each in own)) for name in ("system", "metric"))
        of_dev = list(own[0].chosen)
        scores = [cell for metric in metrics for cell in (latex_text(metric), "$p$")]
        rows = [["System", *map(latex_text, of_dev), *scores, *(["Updates"] if has_updates else []), "CPU min"]]
        for system in systems:
            of_system = [each for each in own if each.system == system]
            values = [latex_text(f"{of_system[0].chosen[option]}") for option in of_dev]
            cells = [cell for each in of_system for cell in _latex_cells(each, own)]
            how = learned[of_system[0].size, system]
            updates = [span_of(how.updates).replace("–", "--")] if has_updates else []
            rows.append([latex_text(system), *values, *cells, *updates, f"{how.minutes:.1f}"])
        yield from (r"\begin{table}", r"\centering", rf"\caption{{{_caption(own, len(systems))}}}")
        yield from tabular(rows)
        yield r"\end{table}"
    yield from (f"% {printable(line)}" for line in (*chosen_on_dev(found[0]), *warnings_of(found, learned)))
    yield from dict.fromkeys(f"% {printable(each.metric)}|{printable(each.signature)}" for each in found)


def _latex_cells(result: Result, table: Sequence[Result]) -> list[str]:
    """Return the cells for a score and its p. The best mean by each metric is bold, unless all are equal."""
    mean, *means = (round(each.mean, each.decimals) for each in (result, *table) if each.metric == result.metric)
    best = max(means) if result.higher_is_better else min(means)
    score = f"{result.mean:.{result.decimals}f}"
    score = rf"\textbf{{{score}}}" if mean == best and len(set(means)) > 1 else score
    spread = rf" $\pm$ {result.deviation:.{result.decimals}f}" if len(result.scores) > 1 else ""
    mark = r"$^{\dagger}$" if result.verdict else ""
    return [f"{score}{spread}{mark}", latex_text(_shown(result.holm))]


def _caption(table: Sequence[Result], systems: int) -> str:
    """Return a caption that explains the numbers of a table."""
    first, seeds = table[0], len(table[0].scores)
    name, resampled = latex_text(first.system), f"{RESAMPLES} bootstrap resamples"
    mean = rf"mean $\pm$ standard deviation over {seeds} seeds" if seeds > 1 else "score of one seed"
    variance = "between seeds and between test sentences" if seeds > 1 else "between test sentences only"
    corrected = f", corrected for {systems - 1} systems per metric (Holm)" if systems > 2 else ""
    return (
        rf"{latex_text(title_of(first))}: {mean}; the best is bold. $p$: two-sided $t$-test of the difference from"
        rf" {name}, with its variance {variance} ({resampled}){corrected}. $\dagger$: $p < {LEVEL:g}$."
    )


def title_of(result: Result) -> str:
    return f"{result.test}, trained on {f'{result.size} pairs' if result.size else 'all pairs'}"


@dataclass(frozen=True)
class RunFindings:
    """The findings of a run: its file, its folder, the statistics on each test, the results, what each model and each
    output cost, how the models of each size and system were trained, and their wins on contrastive pairs."""

    run: RunFile
    folder: RunFolder
    measured: Sequence[Measured]
    results: Sequence[Result]
    made: Mapping[SystemOutput, Record | None]
    written: Mapping[SystemOutput, Record | None]
    learned: Learned
    contrasts: Sequence[Contrasted] = ()

    @cached_property
    def curves(self) -> dict[Path, Curves]:
        """Return the curves of the models that have a log. Projections share one aligner, so they have none."""
        models = dict.fromkeys(output.learned for output in self.made if self.run.kind != "projections")
        return {model: read_curves(model) for model in models if (model / "log.tsv").exists()}


def chosen_on_dev(result: Result) -> Iterator[str]:
    for option in result.chosen:
        yield f"{option}: chosen for each system by its mean score on dev over all seeds, by the first metric"


def _shown(p: float | None) -> str:
    if p is None:
        return ""
    return f"<{SMALLEST_P:.4f}" if p < SMALLEST_P else f"{p:.4f}"


def _fields(result: Result, learned: Learned) -> Fields:
    how = learned[result.size, result.system]
    return {
        "size": result.size,
        "test": result.test,
        "system": result.system,
        **how.components,
        **result.chosen,
        "metric": result.metric,
        "mean": result.mean,
        "deviation": result.deviation if len(result.scores) > 1 else None,
        "seeds": len(result.scores),
        "difference": result.difference,
        "p": result.p,
        "holm": result.holm,
        "verdict": result.verdict,
        "updates": statistics.mean(how.updates) if how.updates else None,
        "examples": statistics.mean(how.examples) if how.examples else None,
        "cpu_minutes": how.minutes,
        "megabytes": how.megabytes,
        "signature": result.signature,
    }
