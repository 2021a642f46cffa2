"""From sentence pairs to training data: examples, vocabulary, ids."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from synmt.model.batches import Ids
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.records import SentencePair
from synmt.model.rows import add_row
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import Line, Notes
from synmt.systems.idea import Segment, SourceIdea, Task, lacking
from synmt.text.bpe import Bpe
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.training.bitext import Bitext
from synmt.trees.dependency import is_lifted
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import TreeNotDerivable

SEGMENTATIONS = 16  # of each pair with dropped merges; epochs beyond this number see them again


def segmentations(dropout: float) -> int:
    """Return how many segmentations a pair has, the first one without dropped merges."""
    return 1 + SEGMENTATIONS if dropout else 1


@dataclass(slots=True)
class Example:
    """One training example: what the encoder reads, and what the decoder should say, as vocabulary entries.

    line: where the source came from; target: empty for a tree that no string spells.
    columns: what losses know of the target, by name.
    links: between their tokens, (target, source) each [k,2], for a model that learns them.
    bare: the source without its trees, for a model that is to read both.
    others: the same pair in other subwords.
    """

    line: Line
    source: SourceFeatures
    target: list[str]
    columns: Mapping[str, Sequence[int]] = field(default_factory=dict)
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
    """Yield each sentence as an example of each task that it has what to learn from for; without `tasks`, of all that
    the side has. bare: also without its trees. dropout: of merges, in all segmentations of an example but the first.

    Raises BadInput with the line of a record that cannot be used.
    """
    for task, idea in config.source.tasks.items():
        if tasks is not None and task not in tasks:
            continue
        for pair in pairs:
            if task != "translate" and lacking(pair.source, idea.needs(training=True)):
                continue
            example = _example(pair, task, idea, config, bpe.segment, bare)
            for number in range(1, segmentations(dropout)):
                with bpe.dropping(dropout, f"{number} {pair.source.tokens} {pair.target.tokens}") as segment:
                    example.others.append(_example(pair, task, idea, config, segment, bare))
            yield example


def _example(
    pair: SentencePair, task: Task, idea: SourceIdea, config: ModelConfig, segment: Segment, bare: bool
) -> Example:
    """Return a pair as an example of a task, which comes from an idea. Raises BadInput."""
    left, right = pair.lines
    source = pair.source.without_trees() if task == "translate-unparsed" else pair.source
    with left.naming():
        features = config.source.features(source, segment, task)
        without = config.source.features(pair.source.without_trees(), segment, task) if bare else None
        entries = idea.target(pair.source, task) if task == "parse" else []
    target = ParseRecord() if task == "parse" else pair.target
    with right.naming(), suppress(TreeNotDerivable):
        if task != "parse":
            entries = config.target.entries(target, segment)
    return Example(left, features, entries, config.target.columns(target, entries), bare=without)


@dataclass
class Counts:
    """How often each entry stands in the sources and the targets of some examples, and each label, by name."""

    source: Counter[str] = field(default_factory=Counter)
    target: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Counts":
        counts = cls()
        for first in examples:
            for example in (first, *first.others):
                counts.source.update(example.source.tokens)
                counts.target.update(example.target)
                count_labels(counts.labels, example.source)
        return counts

    def add(self, more: "Counts") -> None:
        self.source.update(more.source)
        self.target.update(more.target)
        for name, counts in more.labels.items():
            self.labels.setdefault(name, Counter()).update(counts)

    def vocabulary(self, side: TargetSide) -> Vocabulary:
        """Return all that was counted, and what else the side needs to write targets."""
        target, last = side.spelling.vocabulary(self.target)
        return Vocabulary.build(self.source, target, self.labels, last)


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    """Return all that the examples of the bitext hold, as `Counts.vocabulary`."""
    return Counts.of(training_examples(bitext, config, bpe)).vocabulary(config.target)


def unseen_relations(bitext: Bitext, side: TargetSide, vocabulary: Vocabulary, bpe: Bpe) -> list[str]:
    """Return the relations of arcs in the targets that a model with this vocabulary has no arcs of."""
    found: set[str] = set()
    for pair in bitext:
        with suppress(TreeNotDerivable):
            found.update(side.spelling.relations(side.entries(pair.target, bpe.segment)))
    return sorted(found - set(side.spelling.relations(vocabulary.target)))


def count_labels(counts: dict[str, Counter[str]], sentence: SourceFeatures) -> None:
    """Add the labels of a sentence, by name."""
    for name, column in sentence.labels.items():
        counts.setdefault(name, Counter()).update(label for label in column if label)


@dataclass
class Remarks:
    """What is to be noted about some examples: where those come from that are left out, as too long, without a string
    or by a flaw of their targets; and how many targets have arcs that cross."""

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
        notes.left_out(f"pairs over {max_length} tokens", self.too_long)
        notes.left_out("pairs whose target tree has several roots", self.without_string)
        if self.crossing:
            lifted = "cross, and are lifted: some strings may not give them back"
            notes.add(f"the arcs of {self.crossing} target trees {lifted}")
        for flaw, lines in self.flawed.items():
            notes.left_out(f"pairs with {flaw}", lines)


def encode(
    examples: Iterable[Example],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    plan: PrefixPlan | None = None,
    tree_dropout: float = 0.0,
) -> tuple[Corpus, Remarks]:
    """Return the ids of all examples of at most `max_length` tokens per side, arcs not counted, and what else the
    decoder reads. plan: for a decoder that reads prefixes.

    tree_dropout: how likely a batch has the bare form of a source, if the examples have one.
    """
    remarks, spelling = Remarks(), config.target.spelling
    corpus = Corpus.empty(vocabulary, config.target, plan, tree_dropout)
    for example in examples:
        target = example.target
        if not target:
            remarks.without_string.append(example.line)
        elif max(len(example.source.tokens), spelling.subwords(target)) > max_length:
            remarks.too_long.append(example.line)
        elif flaw := spelling.flaw(target, vocabulary):
            remarks.flawed.setdefault(flaw, []).append(example.line)
        else:
            remarks.crossing += bool(spelling.trees) and any(map(is_lifted, filter(is_structural, target)))
            corpus.segmentations = 1 + len(example.others)
            for each in (example, *example.others):
                corpus.append(each.source, each.target, each.columns, each.bare)
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
    tree_dropout: float = 0.0,
) -> Corpus:
    """Return the corpus of examples, as `encode`, what is to be said about them in the notes."""
    corpus, remarks = encode(examples, config, vocabulary, max_length, plan, tree_dropout)
    remarks.note(notes, max_length)
    return corpus
