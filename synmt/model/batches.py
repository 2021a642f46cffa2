"""Source sentences in memory as arrays of ids, batches of similar lengths, and their tensors."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.model.source import SourceFeatures
from synmt.nn.encoding import SourceBatch
from synmt.pool import Run
from synmt.streams import never, windows
from synmt.text.vocabulary import Vocabulary

Ids = NDArray[np.int32]
Matrix = NDArray[np.bool_]
T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Sources:
    """Source sentences: ids each [n], words [sentences], columns and labels by name, as numbers each [n], and
    matrices by name, each [n,n]."""

    ids: list[Ids] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    columns: dict[str, list[Ids]] = field(default_factory=dict)
    matrices: dict[str, list[Matrix]] = field(default_factory=dict)

    @classmethod
    def encode(cls, sentences: Iterable[SourceFeatures], vocabulary: Vocabulary) -> "Sources":
        sources = cls()
        for sentence in sentences:
            sources.append(sentence, vocabulary)
        return sources

    def append(self, sentence: SourceFeatures, vocabulary: Vocabulary) -> None:
        self.ids.append(np.array(vocabulary.encode(sentence.tokens), np.int32))
        self.words.append(sentence.words)
        labels = {name: vocabulary.encode_labels(name, column) for name, column in sentence.labels.items()}
        for name, column in (sentence.columns | labels).items():
            self.columns.setdefault(name, []).append(np.array(column, np.int32))
        for name, matrix in sentence.matrices.items():
            self.matrices.setdefault(name, []).append(matrix)

    def copy(self, other: "Sources", index: int) -> None:
        """Add a sentence of other sources."""
        self.ids.append(other.ids[index])
        self.words.append(other.words[index])
        for name, column in other.columns.items():
            self.columns.setdefault(name, []).append(column[index])
        for name, matrix in other.matrices.items():
            self.matrices.setdefault(name, []).append(matrix[index])

    def batch(self, indices: Sequence[int], padding: int, device: torch.device) -> SourceBatch:
        ids, lengths = pad([self.ids[i] for i in indices], padding)
        is_padding = None
        if lengths.min() < ids.shape[1]:
            is_padding = torch.arange(ids.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
            is_padding = is_padding.to(device, non_blocking=True)
        return SourceBatch(
            ids=ids.to(device, non_blocking=True),
            padding=is_padding,
            words=torch.tensor([self.words[i] for i in indices], device=device),
            columns={
                name: pad([column[i] for i in indices], 0)[0].to(device, non_blocking=True)
                for name, column in self.columns.items()
            },
            matrices={
                name: pad_square([column[i] for i in indices], ids.shape[1]).to(device, non_blocking=True)
                for name, column in self.matrices.items()
            },
        )


def token_batches(order: Sequence[int], lengths: NDArray[np.int64], batch_tokens: int) -> list[list[int]]:
    """Cut an order of sentences into batches of at most `batch_tokens` = sentences × longest length."""
    batches: list[list[int]] = []
    batch: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, int(lengths[index]))
        if batch and longest * (len(batch) + 1) > batch_tokens:
            batches.append(batch)
            batch, longest = [], int(lengths[index])
        batch.append(index)
    return [*batches, batch] if batch else batches


def in_batches(lengths: Sequence[int], batch_tokens: int, run: Callable[[list[int]], Iterable[T]]) -> list[T]:
    """Run batches of sentences of similar lengths, the longest first; return what each gives, in order."""
    sizes = np.array(lengths, np.int64)
    results: dict[int, T] = {}
    for batch in token_batches(sizes.argsort(kind="stable")[::-1].tolist(), sizes, batch_tokens):
        results |= zip(batch, run(batch), strict=True)
    return [results[number] for number in range(len(lengths))]


def in_windows(
    items: Iterable[T],
    size: int,
    length: Callable[[T], int],
    batch_tokens: int,
    run: Run[list[T], Iterable[U]],
    pauses: Callable[[], bool] = never,
) -> Iterator[U]:
    """Yield what each item gives, in order, and all of it before more is read where the input pauses.

    run: maps batches of items of similar lengths, the longest of a window first, to what its items give.
    """
    under_way: deque[tuple[int, list[list[int]]]] = deque()  # of each window its size, and the places in its batches

    def batches() -> Iterator[list[T] | None]:
        for window in windows(items, size, pauses=pauses):
            lengths = np.array([length(item) for item in window], np.int64)
            places = token_batches(lengths.argsort(kind="stable")[::-1].tolist(), lengths, batch_tokens)
            under_way.append((len(window), places))
            for batch in places:
                yield [window[place] for place in batch]
            if pauses():
                yield None

    given = run(batches())
    for first in given:
        count, places = under_way.popleft()
        results = dict(zip(places[0], first, strict=True))
        for batch in places[1:]:
            results |= zip(batch, next(given), strict=True)
        yield from (results[place] for place in range(count))


def shuffled_batches(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    counted: NDArray[np.int64],
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[list[int]]:
    """Return pairs of these lengths, each once, in batches of similar ones; a function of seed and epoch alone.

    counted: what takes the place of lengths in `token_batches`.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(source))
    order = order[order_by_lengths(source[order], target[order])]
    batches = token_batches(order.tolist(), counted, batch_tokens)
    return [batches[i] for i in random.permutation(len(batches))]


def order_by_lengths(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of pairs of these lengths in which neighbours are alike on both sides, so that little is padded.

    That is by the longer side, as if all sources together had as many tokens as all targets; and of one such length
    from pairs whose target is the longer side to those whose source is, in turn forth and back.
    """
    scaled = source * (target.sum() / max(1, source.sum()))
    longer = np.rint(np.maximum(scaled, target)).astype(np.int64)
    excess = scaled - target
    return np.lexsort((np.where(longer % 2, -excess, excess), longer))


def batch_links(rows: Sequence[Ids], device: torch.device) -> torch.Tensor:
    """Return links of each sentence, (target, source) each [k,2], as one tensor [K,3] that begins with the row."""
    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    links = np.column_stack([places, np.concatenate(rows)]).astype(np.int64)
    return torch.from_numpy(links).to(device, non_blocking=True)


def pad(rows: Sequence[Ids], filler: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of ids as one int64 tensor [B, longest] padded on the right, and their lengths [B]."""
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), lengths.max()), filler, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def pad_square(matrices: Sequence[Matrix], size: int) -> torch.Tensor:
    """Return matrices [n,n] as one tensor [B,size,size], False where padded."""
    padded = torch.zeros(len(matrices), size, size, dtype=torch.bool)
    for row, matrix in zip(padded, matrices, strict=True):
        row[: len(matrix), : len(matrix)] = torch.from_numpy(matrix)
    return padded
