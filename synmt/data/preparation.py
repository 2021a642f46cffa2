"""From sentence pairs to a corpus: examples, the vocabulary, and the examples as columns of numbers."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from synmt.components.contract import EncoderComponent, Task, lacking
from synmt.data.batches import Ids
from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.records import SentencePair
from synmt.data.rows import add_row
from synmt.model.config import ModelConfig
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import Line, Notes, counted
from synmt.text.bpe import Bpe, Segment
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.dependency import is_lifted
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import TreeNotDerivable

SEGMENTATIONS = 16  # ways to segment each pair with dropped merges; later epochs repeat them


def segmentations(dropout: float) -> int:
    """Return the number of segmentations of a pair; the first drops no merges."""
    return 1 + SEGMENTATIONS if dropout else 1


@dataclass(slots=True)
class Example:
    """One training example: the input of the encoder, and the vocabulary entries that the decoder should write.

    line: the source's line. target: empty for a tree that no string can spell.
    lessons: fields of the target for training alone, by name.
    links: between tokens, (target, source) each, [k,2], for a model that learns them.
    bare: the source without its trees, for tree dropout; others: the same pair in other subwords.
    """

    line: Line
    source: SourceFeatures
    target: list[str]
    lessons: Mapping[str, Sequence[int]] = field(default_factory=dict)
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
        entries = component.target(pair.source, task) if task == "parse" else []
    target = ParseRecord() if task == "parse" else config.learned(pair.target)
    with right.naming(), suppress(TreeNotDerivable):
        if task != "parse":
            entries = config.target.entries(target, segment)
    return Example(left, features, entries, config.target.lessons(target, entries), bare=without)


@dataclass
class Counts:
    """Frequencies in some examples: of the entries of sources and of targets, and of labels of sources, by name."""

    source: Counter[str] = field(default_factory=Counter)
    target: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Counts":
        counts = cls()
        for first in examples:
            for example in (first, *first.others):
                counts.count(example.source, example.target)
        return counts

    def count(self, source: SourceFeatures, target: Iterable[str]) -> None:
        self.source.update(source.tokens)
        self.target.update(target)
        for name, values in source.values.items():
            if source.fields[name].shape == "label":
                self.labels.setdefault(name, Counter()).update(label for label in values if label)

    def add(self, more: "Counts") -> None:
        self.source.update(more.source)
        self.target.update(more.target)
        for name, counts in more.labels.items():
            self.labels.setdefault(name, Counter()).update(counts)

    def vocabulary(self, side: TargetSide) -> Vocabulary:
        """Return the counted entries and labels, and the entries that the side needs to write targets."""
        target, last = side.spelling.vocabulary(self.target)
        return Vocabulary.build(self.source, target, self.labels, last)


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    """Return the vocabulary of a bitext's examples, as `Counts.vocabulary`."""
    return Counts.of(training_examples(bitext, config, bpe)).vocabulary(config.target)


def unseen_relations(bitext: Bitext, side: TargetSide, vocabulary: Vocabulary, bpe: Bpe) -> list[str]:
    """Return the relations in the targets for which the vocabulary has no arcs."""
    found: set[str] = set()
    for pair in bitext:
        with suppress(TreeNotDerivable):
            found.update(side.spelling.relations(side.entries(pair.target, bpe.segment)))
    return sorted(found - set(side.spelling.relations(vocabulary.target)))


@dataclass
class Remarks:
    """Remarks on some examples: the lines of examples that are left out because they are too long, no string spells
    their tree, or their target has a flaw; and the number of targets with crossing arcs."""

    too_long: list[Line] = field(default_factory=list)
    without_string: list[Line] = field(default_factory=list)
    flawed: dict[str, list[Line]] = field(default_factory=dict)
    crossing: int = 0

    def add(self, more: "Remarks") -> None:
        self.too_long += more.too_long
        self.without_string += more.without_string
        self.crossing += more.crossing
        for flaw, lines in more.flawed.items():
            self.flawed.setdefault(flaw, []).extend(lines)

    def note(self, notes: Notes, max_length: int) -> None:
        notes.left_out(f"over {max_length} subwords", self.too_long)
        notes.left_out("whose target tree has several roots", self.without_string)
        if self.crossing:
            lifted = "are lifted; some strings may not spell the original tree"
            notes.add(f"the crossing arcs of {counted(self.crossing, 'target tree')} {lifted}")
        for flaw, lines in self.flawed.items():
            notes.left_out(f"with {flaw}", lines)


def encode(
    examples: Iterable[Example],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    plan: PrefixPlan | None = None,
) -> tuple[Corpus, Remarks]:
    """Return the corpus of all examples with at most `max_length` subwords per side. Trees do not count, so that all
    systems learn from the same pairs.

    plan: for a decoder that reads prefixes.
    """
    remarks, spelling = Remarks(), config.target.spelling
    corpus = Corpus.empty(vocabulary, config.target, plan)
    for example in examples:
        target = example.target
        if not target:
            remarks.without_string.append(example.line)
        elif max(example.source.words, spelling.subwords(target)) > max_length:
            remarks.too_long.append(example.line)
        elif flaw := spelling.flaw(target, vocabulary):
            remarks.flawed.setdefault(flaw, []).append(example.line)
        else:
            remarks.crossing += bool(spelling.trees) and any(map(is_lifted, filter(is_structural, target)))
            corpus.segmentations = 1 + len(example.others)
            for each in (example, *example.others):
                corpus.append(each.source, each.target, each.lessons, each.bare)
            if example.links is not None:
                add_row(corpus.links, example.links)
    return corpus, remarks


def encode_corpus(
    examples: Iterable[Example],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    notes: Notes,
    plan: PrefixPlan | None = None,
) -> Corpus:
    """Return the corpus of the examples, as `encode`, and add remarks on them to the notes."""
    corpus, remarks = encode(examples, config, vocabulary, max_length, plan)
    remarks.note(notes, max_length)
    return corpus
