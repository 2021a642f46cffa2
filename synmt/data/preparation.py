"""From sentence pairs to a corpus: examples, the vocabulary, and the numbers of the examples, in memory or on disk.

On disk, the pairs are numbered in one pass. Each window of pairs has its own provisional numbers, which become those of
the vocabulary once this is known, so the files are the same for any number of processes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from synmt.components.contract import EncoderComponent, Field, Task, lacking
from synmt.data.batches import Ids, Sources, source_row
from synmt.data.bitext import WINDOW, Bitext, pairs_of
from synmt.data.corpus import Corpus, state_fields, target_row
from synmt.data.records import SentencePair
from synmt.data.rows import SIDES, Shards, columns_of, open_shard, read_draft, shard, write_shard
from synmt.model.config import ModelConfig
from synmt.model.files import naming
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import Line, Notes, bar, counted
from synmt.streams.pool import processes
from synmt.text.bpe import Bpe, Segment
from synmt.text.vocabulary import UNKNOWN, Draft, Vocabulary, is_structural
from synmt.trees.dependency import is_lifted
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import TreeNotDerivable

MUCH_UNKNOWN = 1e-3  # a larger share of unknown tokens is reported
SEGMENTATIONS = 16  # ways to segment each pair with dropped merges; later epochs repeat them


def segmentations(dropout: float) -> int:
    """Return the number of segmentations of a pair; the first drops no merges."""
    return 1 + SEGMENTATIONS if dropout else 1


@dataclass(slots=True)
class Example:
    """One training example: the input of the encoder, and the tokens that the decoder should write.

    line: the source's line. target: empty for a tree that no string can spell.
    lessons: fields of the target for training alone, by name.
    links: between tokens, (target, source) each, [k,2], for a model that learns them.
    bare: the source without its trees, for tree dropout; others: the same pair in other subwords.
    """

    line: Line
    source: SourceFeatures
    target: list[str]
    lessons: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    links: Ids | None = None
    bare: SourceFeatures | None = None
    others: "list[Example]" = field(default_factory=list)


def training_examples(
    pairs: Iterable[SentencePair],
    config: ModelConfig,
    bpe: Bpe,
    tasks: Collection[Task] | None = None,
    bare: bool = False,
    dropout: float = 0.0,
) -> Iterator[Example]:
    """Yield each pair as an example of each task whose fields its record has.

    tasks: the tasks to use, None for all tasks of the source side. bare: whether to add the source without its trees.
    dropout: the share of merges to skip, in all segmentations of an example except the first.

    Raises BadInput with the line of an unusable record.
    """
    for task, component in config.source.tasks.items():
        if tasks is not None and task not in tasks:
            continue
        for pair in pairs:
            if task != "translate" and lacking(pair.source, component.needs(training=True)):
                continue
            example = _example(pair, task, component, config, bpe.segment, bare)
            for number in range(1, segmentations(dropout)):
                with bpe.dropping(dropout, f"{number} {pair.source.tokens} {pair.target.tokens}") as segment:
                    example.others.append(_example(pair, task, component, config, segment, bare))
            yield example


def _example(
    pair: SentencePair, task: Task, component: EncoderComponent, config: ModelConfig, segment: Segment, bare: bool
) -> Example:
    """Return a pair as an example of a component's task. Raises BadInput."""
    left, right = pair.lines
    learned = config.learned(pair.source)
    with left.naming():
        features = config.source.features(learned, segment, task)
        without = config.source.features(learned.without_trees(), segment, task) if bare else None
        if task == "parse":
            tokens = component.target(pair.source, task)
            return Example(left, features, tokens, config.target.lessons(ParseRecord(), tokens), bare=without)
    target = config.learned(pair.target)
    with right.naming(), suppress(TreeNotDerivable):
        tokens = config.target.tokens(target, segment)
        return Example(left, features, tokens, config.target.lessons(target, tokens), bare=without)
    return Example(left, features, [], bare=without)


@dataclass
class Frequencies:
    """Frequencies in some examples: of the tokens of sources and of targets, and of labels, by field."""

    source: Counter[str] = field(default_factory=Counter)
    target: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Frequencies":
        counts = cls()
        for first in examples:
            for example in (first, *first.others):
                counts.count(example.source, example.target, example.lessons)
        return counts

    def count(
        self, source: SourceFeatures, target: Iterable[str], lessons: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        self.source.update(source.tokens)
        self.target.update(target)
        for name, values in [*source.values.items(), *(lessons or {}).items()]:
            if len(values) and isinstance(values[0], str):
                self.labels.setdefault(name, Counter()).update(label for label in values if label)

    def add(self, more: "Frequencies") -> None:
        self.source.update(more.source)
        self.target.update(more.target)
        for name, counts in more.labels.items():
            self.labels.setdefault(name, Counter()).update(counts)

    def vocabulary(self, side: TargetSide) -> Vocabulary:
        """Return the counted tokens and labels, and the tokens that the side needs to write targets."""
        return Vocabulary.build(self.source, side.linearization.vocabulary(self.target), self.labels)


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    """Return the vocabulary of a bitext's examples, as `Counts.vocabulary`."""
    return Frequencies.of(training_examples(bitext, config, bpe)).vocabulary(config.target)


def unseen_relations(bitext: Bitext, side: TargetSide, vocabulary: Vocabulary, bpe: Bpe) -> list[str]:
    """Return the relations in the targets for which the vocabulary has no arcs."""
    found: set[str] = set()
    for pair in bitext:
        with suppress(TreeNotDerivable):
            found.update(side.linearization.relations(side.tokens(pair.target, bpe.segment)))
    return sorted(found - set(side.linearization.relations(vocabulary.target)))


@dataclass
class ExampleWarnings:
    """Warnings of some examples: the lines of examples that are left out, by the reason, to follow "pairs"; and the
    number of targets with crossing arcs."""

    left_out: dict[str, list[Line]] = field(default_factory=dict)
    crossing: int = 0

    def add(self, more: "ExampleWarnings") -> None:
        self.crossing += more.crossing
        for why, lines in more.left_out.items():
            self.left_out.setdefault(why, []).extend(lines)

    def note(self, notes: Notes) -> None:
        for why, lines in self.left_out.items():
            notes.left_out(why, lines)
        if self.crossing:
            lifted = "are lifted; some strings may not spell the original tree"
            notes.add(f"the crossing arcs of {counted(self.crossing, 'target tree')} {lifted}")


def usable(
    examples: Iterable[Example],
    side: TargetSide,
    vocabulary: Vocabulary | Draft,
    max_length: int,
    warnings: ExampleWarnings,
) -> Iterator[Example]:
    """Yield the examples with at most `max_length` subwords per side that a decoder can learn, and add warnings of all.
    Trees do not count, so that all systems learn from the same pairs."""
    linearization = side.linearization
    for example in examples:
        target, why = example.target, ""
        labels = [(name, each) for name in side.labels for each in example.lessons.get(name, ()) if each]
        if not target:
            why = "whose target tree has several roots"
        elif max(example.source.words, linearization.subwords(target)) > max_length:
            why = f"over {max_length} subwords"
        elif unknown := [name for name, each in labels if not vocabulary.knows_label(name, each)]:
            why = f"with a {unknown[0]} that does not occur in training"
        if why:
            warnings.left_out.setdefault(why, []).append(example.line)
        else:
            arcs = [*filter(is_structural, target), *(each for _, each in labels)]
            warnings.crossing += bool(linearization.trees) and any(map(is_lifted, arcs))
            yield example


def encode_corpus(
    examples: Iterable[Example],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    notes: Notes,
    plan: PrefixPlan | None = None,
) -> Corpus:
    """Return the corpus of the usable examples, and note the others. plan: for a decoder that reads prefixes."""
    corpus, warnings = Corpus.empty(vocabulary, config.target, plan), ExampleWarnings()
    for example in usable(examples, config.target, vocabulary, max_length, warnings):
        corpus.segmentations = 1 + len(example.others)
        for each in (example, *example.others):
            corpus.append(each.source, each.target, each.lessons, each.bare)
        if example.links is not None:
            corpus.links.append(example.links)
    warnings.note(notes)
    return corpus


class ColumnOptions(Protocol):
    """The options of a training run that its columns and their reading depend on, described where they are declared."""

    @property
    def merges(self) -> int: ...
    @property
    def max_length(self) -> int: ...
    @property
    def tree_dropout(self) -> float: ...
    @property
    def subword_dropout(self) -> float: ...
    @property
    def prefixes(self) -> int: ...
    @property
    def prefix_tokens(self) -> int: ...


def prepare(
    folder: Path,
    bitext: Bitext,
    config: ModelConfig,
    bpe: Bpe,
    training: ColumnOptions,
    notes: Notes,
    jobs: int = 1,
    known: Vocabulary | None = None,
) -> tuple[Vocabulary, list[list[str]]]:
    """Write all pairs as shards into a folder; return the vocabulary, and the checksums of each window's shards.

    The components read each pair once per task, in `jobs` processes. The numbers of a window are provisional until all
    pairs are counted. known: the vocabulary of a trained model, to use instead of a new one. Raises BadInput.
    """
    tasks = config.source.tasks
    items = enumerate((task, rows) for task in tasks for rows in bitext.windows(WINDOW))
    total = len(tasks) * -(-len(bitext) // WINDOW)
    counts, warnings = Frequencies(), ExampleWarnings()
    with naming(folder):
        with processes(jobs, partial(draft_window, folder, config, bpe, training, known)) as run:
            drafted = run((number, *item) for number, item in items)
            for more in bar("sentences", drafted, total=total, leave=False, unit_scale=WINDOW):
                counts.add(more[0])
                warnings.add(more[1])
        vocabulary = known or counts.vocabulary(config.target)
        checksums = []
        unknown, tokens = Counter[str](), Counter[str]()
        with processes(jobs if config.target.state else 1, partial(number_window, folder, config, vocabulary)) as run:
            for numbered in run(range(total)):
                checksums.append(numbered.checksums)
                unknown.update(numbered.unknown)
                tokens.update(numbered.tokens)
    warnings.note(notes)
    for side in ("source", "target"):
        if unknown[side] > MUCH_UNKNOWN * tokens[side]:
            part = f"{unknown[side] / tokens[side]:.1%} of the {side} tokens"
            notes.add(f"{part} are not in the vocabulary, and become unknown tokens")
    return vocabulary, checksums


def draft_window(
    folder: Path,
    config: ModelConfig,
    bpe: Bpe,
    training: ColumnOptions,
    known: Vocabulary | None,
    item: tuple[int, Task, list[bytes]],
) -> tuple[Frequencies, ExampleWarnings]:
    """Write the shards of a window with provisional numbers, and the lists of what these stand for.

    item: the number of the window, the task, and the lines of a bitext.
    """
    number, task, lines = item
    side, draft, warnings = config.target, Draft(known), ExampleWarnings()
    bare = training.tree_dropout > 0
    examples = list(training_examples(pairs_of(lines), config, bpe, [task], bare, training.subword_dropout))
    kept = usable(examples, side, draft, training.max_length, warnings)
    forms = [form for example in kept for form in (example, *example.others)]
    rows = {
        "source": [source_row(each.source, draft) for each in forms],
        "target": [target_row(each.target, each.lessons, side, draft) for each in forms],
        "bare": [source_row(each.bare, draft) for each in forms if each.bare],
    }
    labels = {name: [*numbers] for name, numbers in draft.labels.items()}
    of_target = {name: labels.pop(name) for name in side.labels if name in labels}
    of_source = {"ids": [*draft.source], **labels}
    entries = {"source": of_source, "target": {"ids": [*draft.target], **of_target}, "bare": of_source}
    for name in SIDES if bare else SIDES[:2]:
        fields = lessons_of(side) if name == "target" else config.source.fields
        write_shard(shard(folder, number, name), columns_of(rows[name], fields), entries[name])
    return Frequencies.of(examples), warnings


def lessons_of(side: TargetSide) -> dict[str, Field]:
    """Return the fields for training alone, which need no vocabulary."""
    return {name: each for name, each in side.fields.items() if each.training}


@dataclass(frozen=True)
class Numbered:
    """The checksums of a window's shards; and of each side, the number of unknown tokens and of all tokens."""

    checksums: list[str]
    unknown: dict[str, int]
    tokens: dict[str, int]


def number_window(folder: Path, config: ModelConfig, vocabulary: Vocabulary, number: int) -> Numbered:
    """Write the shards of a window again, with the numbers of the vocabulary and the fields of the decoder's state."""
    side = config.target
    automaton = side.automaton(vocabulary) if side.fields else None
    numbered = Numbered([], {}, {})
    for name in SIDES:
        path = shard(folder, number, name)
        if not path.exists():
            continue
        columns, entries = read_draft(path)
        if name == "target" and automaton:
            rows = Shards([columns], lessons_of(side))
            targets = [[entries["ids"][each] for each in row["ids"][:-1]] for row in rows]
            states = [state_fields(target, side, automaton) for target in targets]
            columns = columns_of([{**row, **own} for row, own in zip(rows, states, strict=True)], side.fields)
        for each, own in entries.items():
            if each == "ids":
                table = vocabulary.encode_target(own)[:-1] if name == "target" else vocabulary.encode(own)
            else:
                table = vocabulary.encode_labels(each, own)
            columns[each] = np.array(table, np.int32)[columns[each]]
        numbered.checksums.append(write_shard(path, columns))
        numbered.unknown[name] = int((columns["ids"] == UNKNOWN).sum())
        numbered.tokens[name] = len(columns["ids"])
    return numbered


def open_corpus(
    folder: Path,
    checksums: Sequence[Sequence[str]],
    config: ModelConfig,
    vocabulary: Vocabulary,
    training: ColumnOptions,
) -> Corpus:
    """Return the corpus of a folder's shards. checksums: as `prepare` returns them.

    Raises BadInput for files that are missing or damaged, or whose rows are not those of pairs.
    """
    of_source, target = config.source.fields, config.target

    def most(ids: int, fields: Mapping[str, Field]) -> dict[str, int]:
        labels = [name for name, each in fields.items() if each.shape == "label"]
        return {"ids": ids, **{name: 1 + len(vocabulary.labels.get(name, ())) for name in labels}}

    sources = of_source, most(len(vocabulary.ids), of_source)
    known = {"source": sources, "target": (target.fields, most(len(vocabulary.target), target.fields))}
    if training.tree_dropout:
        known["bare"] = sources
    rows = {}
    with naming(folder):
        if not checksums or any(len(each) != len(known) for each in checksums):
            raise ValueError(f"expected shards of {' and '.join(known)}")
        for (side, (fields, limits)), own in zip(known.items(), zip(*checksums, strict=True), strict=True):
            files = (shard(folder, number, side) for number in range(len(own)))
            rows[side] = Shards([open_shard(*each, fields, limits) for each in zip(files, own, strict=True)], fields)
    plan = PrefixPlan(training.prefixes, training.prefix_tokens)
    corpus = Corpus.empty(vocabulary, target, plan, training.tree_dropout)
    corpus.sources, corpus.targets = Sources(of_source, rows["source"]), rows["target"]
    corpus.bare = Sources(of_source, rows.get("bare", []))
    corpus.segmentations = segmentations(training.subword_dropout)
    with naming(folder):
        if len({len(each) for each in rows.values()}) > 1 or len(corpus.targets) % corpus.segmentations:
            raise ValueError(f"the sides have {[len(each) for each in rows.values()]} rows")
    return corpus
