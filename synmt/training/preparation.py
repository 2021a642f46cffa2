"""From sentence pairs to training data: BPE, vocabulary, ids."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from synmt.model.batches import Ids
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.prefixes import PrefixPlan
from synmt.model.source import SourceFeatures
from synmt.model.target import TargetSide
from synmt.streams import Line, Notes
from synmt.systems.idea import Task, lacking
from synmt.text.bpe import NO_MERGES, Bpe, CodesError, learn_bpe
from synmt.text.vocabulary import UNKNOWN, Vocabulary, is_structural
from synmt.training.bitext import Bitext
from synmt.trees.arc_tokens import arc_labels, is_arc
from synmt.trees.lifting import is_lifted
from synmt.trees.tags import read_tag
from synmt.trees.transitions import TreeNotDerivable

MUCH_UNKNOWN = 1e-3  # of the tokens


def joint_bpe(bitext: Bitext, merges: int) -> Bpe:
    """Learn merges on the words of both sides together; there are none if no word has two characters."""

    def lines() -> Iterator[str]:
        for pair in bitext:
            yield " ".join(pair.source.tokens)
            yield " ".join(pair.target.tokens)

    try:
        return Bpe(learn_bpe(lines(), merges))
    except CodesError:
        return Bpe(NO_MERGES)


@dataclass(slots=True)
class Example:
    """One training example: what the encoder reads, and what the decoder should say, as vocabulary entries.

    line: where the source came from; target: empty for a tree that no string spells.
    links: between their tokens, (target, source) each [k,2], for a model that learns them.
    bare: the source without its trees, for a model that is to read both.
    """

    line: Line
    source: SourceFeatures
    target: list[str]
    links: Ids | None = None
    bare: SourceFeatures | None = None


def training_examples(
    bitext: Bitext, config: ModelConfig, bpe: Bpe, tasks: Collection[Task] | None = None, bare: bool = False
) -> Iterator[Example]:
    """Yield each sentence as an example of each task that it has what to learn from for; without `tasks`, of all that
    the side has. bare: also without its trees.

    Raises BadInput with the line of a record that cannot be used.
    """
    for task, idea in config.source.tasks.items():
        if tasks is not None and task not in tasks:
            continue
        for pair in bitext:
            if task != "translate" and lacking(pair.source, idea.needs(training=True)):
                continue
            left, right = pair.lines
            with left.naming():
                features = config.source.features(pair.source, bpe.segment, task)
                without = config.source.features(pair.source.without_trees(), bpe.segment, task) if bare else None
                entries = [] if task == "translate" else idea.target(pair.source, task)
            if task == "translate":
                with right.naming(), suppress(TreeNotDerivable):
                    entries = config.target.entries(pair.target, bpe.segment)
            yield Example(left, features, entries, bare=without)


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    """Return all that the examples of the bitext hold, and the arcs of every relation in both directions."""
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for example in training_examples(bitext, config, bpe):
        source.update(example.source.tokens)
        target.update(example.target)
        count_labels(labels, example.source)
    if config.target.writes_arcs and not config.target.writes_tags:  # also those that were not seen
        target.update(dict.fromkeys(config.target.style.entries(arc_labels(target)), 0))
    tags = Counter({entry: target.pop(entry) for entry in list(target) if read_tag(entry)})
    return Vocabulary.build(source, target, labels, tags)


def unseen_relations(bitext: Bitext, side: TargetSide, vocabulary: Vocabulary) -> list[str]:
    """Return the relations of arcs in the targets that a model with this vocabulary has no arcs of."""
    found: set[str] = set()
    for pair in bitext:
        with suppress(TreeNotDerivable):
            found.update(side.relations(side.entries(pair.target, lambda word: [word])))
    return sorted(found - set(side.relations(vocabulary.target)))


def note_unknown(notes: Notes, corpus: Corpus) -> None:
    """Note how many tokens of a corpus the vocabulary lacks, where they are many enough to matter."""
    for side, sentences in (("source", corpus.sources.ids), ("target", corpus.targets)):
        unknown = sum(int((ids == UNKNOWN).sum()) for ids in sentences)
        share = unknown / max(1, sum(map(len, sentences)))
        if share > MUCH_UNKNOWN:
            notes.add(f"{share:.1%} of the {side} tokens are not in the vocabulary, and are learnt as unknown")


def count_labels(counts: dict[str, Counter[str]], sentence: SourceFeatures) -> None:
    """Add the labels of a sentence, by name."""
    for name, column in sentence.labels.items():
        counts.setdefault(name, Counter()).update(label for label in column if label)


def encode_corpus(
    examples: Iterable[Example],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    notes: Notes,
    plan: PrefixPlan | None = None,
    tree_dropout: float = 0.0,
) -> Corpus:
    """Return the ids of all examples of at most `max_length` tokens a side, arcs not counted, and what else the target
    side reads: graphs, stacks and the plan. Longer ones, and trees without a string, are counted in the notes.

    tree_dropout: how likely a batch has the bare form of a source, if the examples have one.
    """
    too_long: list[Line] = []
    without_string: list[Line] = []
    without_tag: list[Line] = []
    crossing = 0
    corpus = Corpus.empty(vocabulary, config.target, plan, tree_dropout)
    for example in examples:
        if not example.target:
            without_string.append(example.line)
        elif max(len(example.source.tokens), sum(not is_arc(entry) for entry in example.target)) > max_length:
            too_long.append(example.line)
        elif config.target.writes_tags and not all(map(vocabulary.knows, filter(read_tag, example.target))):
            without_tag.append(example.line)
        else:
            crossing += any(is_lifted(entry) for entry in example.target if is_structural(entry))
            corpus.append(example.source, example.target, config.target, example.bare)
            if example.links is not None:
                corpus.links.append(example.links)
    notes.left_out(f"pairs over {max_length} tokens", too_long)
    notes.left_out("pairs whose target tree has several roots", without_string)
    if crossing:
        notes.add(f"the arcs of {crossing} target trees cross, and are lifted: some strings may not give them back")
    notes.left_out("pairs with as many arcs of a word as none has in training", without_tag)
    return corpus
