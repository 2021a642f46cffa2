"""From parallel lines to training data: records, BPE, vocabulary, ids."""

import hashlib
import sys
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from synmt.streams import Line, read_lines
from synmt.systems.batches import Ids, Sources
from synmt.systems.model_folder import ModelConfig
from synmt.systems.records import source_records
from synmt.systems.source import SourceFeatures, SourceSide, Task
from synmt.text.bpe import Bpe, learn_bpe
from synmt.text.vocabulary import Vocabulary
from synmt.training.corpus import Corpus
from synmt.trees.record import ParseRecord


@dataclass
class Bitext:
    """Parallel sentences of which neither side is empty: source records, target words, target lines as given.

    lines: where each source came from; checksum: of all lines read, to know the data again on --resume.
    """

    sources: list[ParseRecord]
    targets: list[list[str]]
    references: list[str]
    lines: list[Line]
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
    """Records and words of parallel lines. Pairs with an empty side are left out, and counted on stderr."""
    source_tokenizer, target_tokenizer = config.open_tokenizers()
    references: deque[str] = deque()  # of the sources that are under way
    checksum = hashlib.blake2b(digest_size=16)

    def source_lines() -> Iterator[Line]:
        for left, right in pairs:
            checksum.update(f"{left.text}\t{right.text}\n".encode())
            references.append(right.text)
            yield left

    bitext = Bitext([], [], [], [], "")
    left_out: list[Line] = []
    needs = config.side.needs(training=True)
    for line, record in source_records(source_lines(), needs, source_tokenizer, config.source_language):
        reference = references.popleft()
        words = target_tokenizer.tokenize(reference)
        if not words or not record.tokens:
            left_out.append(line)
            continue
        bitext.sources.append(record)
        bitext.targets.append(words)
        bitext.references.append(reference)
        bitext.lines.append(line)
    report("pairs with an empty side", left_out)
    bitext.checksum = checksum.hexdigest()
    return bitext


def report(what: str, lines: list[Line]) -> None:
    if lines:
        places = [f"{line.source}:{line.number}" for line in lines[:3]]
        print(f"synmt train: left out {len(lines)} {what} ({', '.join(places)}, …)", file=sys.stderr)


def joint_bpe(bitext: Bitext, merges: int) -> Bpe:
    """Merges learned on the words of both sides together."""

    def lines() -> Iterator[str]:
        for record, words in zip(bitext.sources, bitext.targets, strict=True):
            yield " ".join(record.tokens)
            yield " ".join(words)

    return Bpe(learn_bpe(lines(), merges))


@dataclass(slots=True)
class Pair:
    """One training example: what the encoder reads, and what the decoder should say, as vocabulary entries; links
    between their tokens, (target, source) each [k,2], for a model that learns them."""

    line: Line
    source: SourceFeatures
    target: list[str]
    links: Ids | None = None


def training_pairs(
    bitext: Bitext, side: SourceSide, bpe: Bpe, tasks: Collection[Task] | None = None
) -> Iterator[Pair]:
    """Each sentence as an example of each task; without `tasks`, of all that the side has.

    Raises BadInput with the line of a record that does not do.
    """
    for task, idea in side.tasks.items():
        if tasks is not None and task not in tasks:
            continue
        for line, record, words in zip(bitext.lines, bitext.sources, bitext.targets, strict=True):
            try:
                target = bpe.apply(words) if task == "translate" else idea.target(record, task)
                yield Pair(line, side.features(record, bpe.segment, task), target)
            except ValueError as error:
                raise line.error(error) from None


def build_vocabulary(bitext: Bitext, side: SourceSide, bpe: Bpe) -> Vocabulary:
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    labels: dict[str, Counter[str]] = {}
    for pair in training_pairs(bitext, side, bpe):
        source.update(pair.source.tokens)
        target.update(pair.target)
        for name, column in pair.source.labels.items():
            labels.setdefault(name, Counter()).update(label for label in column if label)
    return Vocabulary.build(source, target, labels)


def encode_corpus(pairs: Iterable[Pair], vocabulary: Vocabulary, max_length: int) -> Corpus:
    """Ids of all pairs with at most `max_length` tokens on either side; longer ones are counted on stderr."""
    sources, targets, links, left_out = [], [], [], []
    for pair in pairs:
        ids = vocabulary.encode_target(pair.target)
        if max(len(pair.source.tokens), len(ids)) > max_length:
            left_out.append(pair.line)
        else:
            sources.append(pair.source)
            targets.append(np.array(ids, np.int32))
            if pair.links is not None:
                links.append(pair.links)
    report(f"pairs over {max_length} tokens", left_out)
    return Corpus(Sources.encode(sources, vocabulary), targets, links or None)
