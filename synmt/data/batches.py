"""Source sentences as numbers, batches of similar lengths, and their tensors."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.components.contract import Field
from synmt.data.rows import Row
from synmt.device import sent
from synmt.model.config import BatchBy
from synmt.model.source import SourceFeatures
from synmt.nn.encoding import SourceBatch
from synmt.streams import never, windows
from synmt.streams.pool import Run, alone
from synmt.text.vocabulary import Draft, Vocabulary

Ids = NDArray[np.int32]
T = TypeVar("T")
U = TypeVar("U")
MOST_SHAPES = 2**24  # with more possible pairs of lengths, each pair is sorted by itself


@dataclass
class Sources:
    """Source sentences: the fields that the encoder reads, by name, and a row of numbers for each sentence."""

    fields: Mapping[str, Field] = field(default_factory=dict)
    rows: Sequence[Row] = field(default_factory=list)

    @classmethod
    def encode(cls, sentences: Sequence[SourceFeatures], vocabulary: Vocabulary) -> "Sources":
        fields = sentences[0].fields if sentences else {}
        return cls(fields, [source_row(each, vocabulary) for each in sentences])

    def batch(self, indices: Iterable[int], padding: int, device: torch.device) -> SourceBatch:
        rows = [self.rows[index] for index in indices]
        ids, lengths = pad([row["ids"] for row in rows], padding)
        size = ids.shape[1]
        is_padding = None
        if lengths.min() < size:
            is_padding = sent(torch.arange(size).unsqueeze(0) >= lengths.unsqueeze(1), device)
        words = torch.tensor([int(row["words"]) for row in rows])
        fields = {name: padded(each, [row[name] for row in rows], size) for name, each in self.fields.items()}
        fields = {name: sent(each, device) for name, each in fields.items()}
        return SourceBatch(sent(ids, device), is_padding, sent(words, device), fields)


def source_row(sentence: SourceFeatures, vocabulary: Vocabulary | Draft) -> Row:
    """Return a sentence as numbers."""
    found: dict[str, Any] = {"ids": np.array(vocabulary.encode(sentence.tokens), np.int32), "words": sentence.words}
    for name, values in sentence.values.items():
        is_label = sentence.fields[name].shape == "label"
        found[name] = np.array(vocabulary.encode_labels(name, values), np.int32) if is_label else values
    return found


def cuts(lengths: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Return the ends of batches of at most `batch_tokens` = sentences × longest length, filled in this order."""
    ends = []
    begin = 0
    while begin < len(lengths):
        most = batch_tokens // max(1, lengths[begin]) + 1 if lengths[begin] else len(lengths)
        longest = np.maximum.accumulate(lengths[begin : begin + most])
        too_many = longest * np.arange(1, len(longest) + 1) > batch_tokens
        fitting = int(too_many.argmax()) if too_many.any() else len(longest)
        begin += max(1, fitting)
        ends.append(begin)
    return ends


def token_batches(order: Sequence[int], lengths: NDArray[np.int64], batch_tokens: int) -> list[list[int]]:
    """Split an order of sentences into batches of at most `batch_tokens` = sentences × longest length."""
    ends = cuts(lengths[order], batch_tokens)
    return [list(order[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]


class Batches(Sequence[list[int]]):
    """Batches of pairs: an order of all pairs, [n], split at `ends`; `places` is the order of the batches."""

    def __init__(
        self, order: NDArray[np.int32 | np.int64], ends: Sequence[int] | NDArray[Any], places: NDArray[np.int64]
    ) -> None:
        self._order, self._places = order, places
        self._ends = np.array([0, *ends])

    def renumbered(self, number: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> "Batches":
        """Return the same batches with other numbers for the pairs."""
        return Batches(number(self._order.astype(np.int64)), self._ends[1:], self._places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> list[int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...
    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = self._places[index]
        batch: list[int] = self._order[self._ends[place] : self._ends[place + 1]].tolist()
        return batch


def in_batches(lengths: Sequence[int], batch_tokens: int, run: Callable[[list[int]], Iterable[T]]) -> list[T]:
    """Run batches of sentences of similar lengths, the longest first; return the results in the original order."""
    count = len(lengths)
    return list(in_windows(range(count), count, lambda number: lengths[number], batch_tokens, alone(run)))


def in_windows(
    items: Iterable[T],
    size: int,
    length: Callable[[T], int],
    batch_tokens: int,
    run: Run[list[T], Iterable[U]],
    pauses: Callable[[], bool] = never,
) -> Iterator[U]:
    """Yield the results of all items in order. If the input pauses, yield all pending results before reading more.

    run: maps batches of items of similar lengths, the longest of a window first, to the results of their items.
    """
    under_way: deque[tuple[int, list[list[int]]]] = deque()  # per window: its size, and the places of each batch

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
    source: NDArray[np.int64], target: NDArray[np.int64], by: BatchBy, batch_tokens: int, seed: int, epoch: int
) -> Batches:
    """Return all pairs once, in batches of similar lengths. The order depends only on seed and epoch.

    source, target: the lengths of both sides, in what batches count, [n].
    """
    counted: dict[BatchBy, NDArray[np.int64]] = {"target-tokens": target, "sentences": np.ones_like(source)}
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(source)).astype(np.int32)
    order = order[order_by_lengths(source[order], target[order])]
    ends = cuts(counted.get(by, np.maximum(source, target))[order], batch_tokens)
    return Batches(order, ends, random.permutation(len(ends)))


def order_by_lengths(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of pairs in which neighbours have similar lengths on both sides, which needs little padding.

    Pairs are sorted by their longer side, with sources scaled to have as many tokens in total as targets. Pairs of one
    such length are sorted by the difference of their sides, in alternating directions.
    """
    ratio = target.sum() / max(1, source.sum())
    shapes, shape = distinct(source, target)
    scaled, targets = shapes[0] * ratio, shapes[1]
    longer = np.rint(np.maximum(scaled, targets)).astype(np.int64)
    excess = scaled - targets
    keys = np.where(longer % 2, -excess, excess), longer
    order = np.lexsort(keys)
    is_new = np.zeros(len(order), np.bool_)
    for key in keys:
        is_new[1:] |= np.diff(key[order]) != 0
    ranks = np.empty(len(order), np.min_scalar_type(len(order)))  # numpy sorts 16 bits in linear time
    ranks[order] = is_new.cumsum()
    return ranks[shape].argsort(kind="stable")


def distinct(source: NDArray[np.int64], target: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of lengths, [2,k], and the index of the pair at each place, [n]."""
    width = int(target.max(initial=0)) + 1
    if (int(source.max(initial=0)) + 1) * width > MOST_SHAPES:
        return np.stack([source, target]), np.arange(len(source))
    code = source * width + target
    found = np.flatnonzero(np.bincount(code))
    numbers = np.zeros(found.max(initial=0) + 1, np.int32)
    numbers[found] = np.arange(len(found))
    return np.stack(np.divmod(found, width)), numbers[code]


def batch_links(rows: Sequence[Ids], device: torch.device) -> torch.Tensor:
    """Return the links of sentences, (target, source), each [k,2], as a tensor [K,3] of (sentence, target, source)."""
    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    links = np.column_stack([places, np.concatenate(rows)]).astype(np.int64)
    return sent(torch.from_numpy(links), device)


def pad(rows: Sequence[Ids], filler: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of ids as an int64 tensor [B,longest], padded on the right, and their lengths, [B]."""
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), lengths.max()), filler, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(padded), torch.from_numpy(lengths)


def padded(field_: Field, rows: Sequence[NDArray[Any]], size: int) -> torch.Tensor:
    """Return the values of a field as a tensor, padded on the right: [B,size], integers as int64, [B,size,d] or
    [B,size,size]."""
    if field_.shape != "pair" and not field_.vector and not field_.dtype.startswith("float"):
        return pad(rows, int(field_.pad))[0]
    shape = (len(rows), size, size) if field_.shape == "pair" else (len(rows), size, *field_.vector)
    found = np.full(shape, field_.pad, "int16" if field_.dtype == "uint8" else field_.dtype)
    for row, values in zip(found, rows, strict=True):
        row[tuple(slice(length) for length in values.shape)] = values
    return torch.from_numpy(found)
