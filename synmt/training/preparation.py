"""From parallel lines to training data: records, BPE, vocabulary, ids."""

import hashlib
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import tee

import numpy as np

from synmt.streams import Line, read_lines
from synmt.systems.batches import Ids, Sources
from synmt.systems.model_folder import ModelConfig
from synmt.systems.records import source_records, target_records
from synmt.systems.source import SourceFeatures, Task
from synmt.systems.target import numbered_labels
from synmt.text.bpe import Bpe, learn_bpe
from synmt.text.vocabulary import Vocabulary
from synmt.training.corpus import Corpus
from synmt.training.prefixes import PrefixPlan
from synmt.trees.arc_tokens import arc_labels, is_arc
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import TreeNotDerivable


@dataclass
class Bitext:
    """Parallel sentences of which neither side is empty, as records of both sides.

    places: where each came from, a line of either side without its text; checksum: of all lines read, to know the
    data again on --resume.
    """

    sources: list[ParseRecord]
    targets: list[ParseRecord]
    places: list[tuple[Line, Line]]
    checksum: str

    def __len__(self) -> int:
        return len(self.targets)


def read_tsv(path: str) -> Iterator[tuple[Line, ...]]:
    """The two columns of `source TAB target` lines; a record holds no raw tab. Raises BadInput."""
    for line in read_lines([path]):
        columns = line.text.split("\t")
        if len(columns) != 2:
            raise line.error(f"{len(columns)} columns instead of source TAB target")
        yield Line(columns[0], line.source, line.number), Line(columns[1], line.source, line.number)


def read_bitext(pairs: Iterable[tuple[Line, ...]], config: ModelConfig) -> Bitext:
    """Records of parallel lines. Pairs with an empty side are left out, and counted on stderr."""
    source_tokenizer, target_tokenizer = config.open_tokenizers()
    checksum = hashlib.blake2b(digest_size=16)

    def checked() -> Iterator[tuple[Line, ...]]:
        for left, right in pairs:
            checksum.update(f"{left.text}\t{right.text}\n".encode())
            yield left, right

    lefts, rights = tee(checked())
    sources = source_records(
        (left for left, _ in lefts), config.side.needs(training=True), source_tokenizer, config.source_language
    )
    targets = target_records(
        (right for _, right in rights), config.target, target_tokenizer, config.target_language
    )
    bitext = Bitext([], [], [], "")
    left_out: list[Line] = []
    for (left, source), (right, target) in zip(sources, targets, strict=True):
        if not source.tokens or not target.tokens:
            left_out.append(left)
            continue
        bitext.sources.append(source)
        bitext.targets.append(target)
        bitext.places.append((replace(left, text=""), replace(right, text="")))
    report("pairs with an empty side", left_out)
    bitext.checksum = checksum.hexdigest()
    return bitext


def report(what: str, lines: list[Line], command: str = "train") -> None:
    if lines:
        places = [f"{line.source}:{line.number}" for line in lines[:3]]
        print(f"synmt {command}: left out {len(lines)} {what} ({', '.join(places)}, …)", file=sys.stderr)


def joint_bpe(bitext: Bitext, merges: int) -> Bpe:
    """Merges learned on the words of both sides together."""

    def lines() -> Iterator[str]:
        for source, target in zip(bitext.sources, bitext.targets, strict=True):
            yield " ".join(source.tokens)
            yield " ".join(target.tokens)

    return Bpe(learn_bpe(lines(), merges))


@dataclass(slots=True)
class Pair:
    """One training example: what the encoder reads, and what the decoder should say, as vocabulary entries.

    line: where the source came from; target: empty for a tree that no string spells.
    links: between their tokens, (target, source) each [k,2], for a model that learns them.
    """

    line: Line
    source: SourceFeatures
    target: list[str]
    links: Ids | None = None


def training_pairs(
    bitext: Bitext, config: ModelConfig, bpe: Bpe, tasks: Collection[Task] | None = None
) -> Iterator[Pair]:
    """Each sentence as an example of each task; without `tasks`, of all that the side has.

    Raises BadInput with the line of a record that does not do.
    """
    for task, idea in config.side.tasks.items():
        if tasks is not None and task not in tasks:
            continue
        for (left, right), source, target in zip(bitext.places, bitext.sources, bitext.targets, strict=True):
            with naming(left):
                features = config.side.features(source, bpe.segment, task)
                entries = [] if task == "translate" else idea.target(source, task)
            if task == "translate":
                with naming(right), suppress(TreeNotDerivable):
                    entries = config.target.entries(target, bpe.segment)
            yield Pair(left, features, entries)


@contextmanager
def naming(line: Line) -> Iterator[None]:
    """Turns a ValueError into a BadInput with the place of the line."""
    try:
        yield
    except ValueError as error:
        raise line.error(error) from None


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for pair in training_pairs(bitext, config, bpe):
        source.update(pair.source.tokens)
        target.update(pair.target)
        for name, column in pair.source.labels.items():
            labels.setdefault(name, Counter()).update(label for label in column if label)
    if config.target.writes_arcs:  # also those that were not seen
        target.update(dict.fromkeys(config.target.style.entries(arc_labels(target)), 0))
    return Vocabulary.build(source, target, labels)


def encode_corpus(
    pairs: Iterable[Pair],
    config: ModelConfig,
    vocabulary: Vocabulary,
    max_length: int,
    plan: PrefixPlan | None = None,
    command: str = "train",
) -> Corpus:
    """Ids of all pairs with at most `max_length` tokens on either side, arcs not counted; of what the target side
    reads besides, the graphs, and the plan. Longer pairs, and trees without a string, are counted on stderr."""
    sources, too_long, without_string = [], [], []
    corpus = Corpus(Sources([], [], {}, {}), [], plan if config.target.reads_prefixes else None)
    labels = numbered_labels(vocabulary)
    for pair in pairs:
        ids = vocabulary.encode_target(pair.target)
        if not pair.target:
            without_string.append(pair.line)
        elif max(len(pair.source.tokens), len(ids) - sum(map(is_arc, pair.target))) > max_length:
            too_long.append(pair.line)
        else:
            sources.append(pair.source)
            corpus.targets.append(np.array(ids, np.int32))
            if config.target.reads_graphs:
                corpus.edges.append(config.target.edges(pair.target, labels))
            if pair.links is not None:
                corpus.links.append(pair.links)
    report(f"pairs over {max_length} tokens", too_long, command)
    report("pairs whose target tree is not projective or has several roots", without_string, command)
    corpus.sources = Sources.encode(sources, vocabulary)
    return corpus
