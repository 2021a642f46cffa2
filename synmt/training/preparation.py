"""From parallel lines to training data: records, BPE, vocabulary, ids."""

import hashlib
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from synmt.streams import Line, read_lines
from synmt.systems.batches import Sources
from synmt.systems.model_folder import ModelConfig
from synmt.systems.records import source_records
from synmt.systems.source import SourceFeatures
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
    for line, record in source_records(source_lines(), config.side.needs_tree, source_tokenizer):
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


def build_vocabulary(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Vocabulary:
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    for sentence in features(bitext, config, bpe):
        source.update(sentence.tokens)
    for words in bitext.targets:
        target.update(bpe.apply(words))
    return Vocabulary.build(source, target)


def features(bitext: Bitext, config: ModelConfig, bpe: Bpe) -> Iterator[SourceFeatures]:
    """What the encoder reads, sentence by sentence. Raises BadInput with the line of a record that does not do."""
    side = config.side
    for line, record in zip(bitext.lines, bitext.sources, strict=True):
        try:
            yield side.features(record, bpe.segment)
        except ValueError as error:
            raise line.error(error) from None


def encode_corpus(bitext: Bitext, config: ModelConfig, bpe: Bpe, vocabulary: Vocabulary, max_length: int) -> Corpus:
    """Ids of all pairs with at most `max_length` tokens on either side; longer ones are counted on stderr."""
    sentences, targets, left_out = [], [], []
    for line, sentence, words in zip(bitext.lines, features(bitext, config, bpe), bitext.targets, strict=True):
        ids = vocabulary.encode_target(bpe.apply(words))
        if max(len(sentence.tokens), len(ids)) > max_length:
            left_out.append(line)
        else:
            sentences.append(sentence)
            targets.append(np.array(ids, np.int32))
    report(f"pairs over {max_length} tokens", left_out)
    return Corpus(Sources.encode(sentences, vocabulary), targets)
