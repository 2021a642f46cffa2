"""Chart parsing with a character LSTM on a CPU, faster than benepar's own parsing with the same model.

The scores are benepar's (Kitaev & Klein 2018, "Constituency parsing with a self-attentive encoder"). What
differs is what is not computed: spans below the diagonal, a word's characters more than once a batch, and a
label layer for each span where the difference of two projected fenceposts will do.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

FORBIDDEN = -1e9

Span = tuple[int, int, str]


class ChartModel(Protocol):
    """The parts of a benepar model with a character LSTM, as they are named there."""

    d_model: int
    label_vocab: dict[str, int]
    tag_vocab: dict[str, int]
    retokenizer: Any
    char_encoder: Any
    morpho_emb_dropout: Any
    add_timing: Any
    encoder: Any
    f_label: Any
    f_tag: Any


class Analysis(NamedTuple):
    """One sentence of n words.

    spans: (first word, word after the last, labels joined by `::`) in preorder; single words always, with an
        empty label where no phrase consists of them, and longer spans if labelled.
    tags: parts of speech, [n].
    """

    spans: list[Span]
    tags: list[str]


class ChartScores(NamedTuple):
    """What the model says of a batch: b sentences, k labels (0 is no constituent), N spans in all.

    spans: [N, k], for each sentence its (i, j) with i <= j in `triangle` order.
    tags: [sum of lengths, number of tags].
    """

    spans: Tensor
    tags: Tensor


@lru_cache(maxsize=512)
def triangle(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last words of all spans of an n-word sentence, row by row, [n (n + 1) / 2] each."""
    return np.triu_indices(n)


def device_of(model: ChartModel) -> torch.device:
    device: torch.device = model.f_label[0].weight.device
    return device


def word_vectors(model: ChartModel, sentences: Sequence[Sequence[str]]) -> Tensor:
    """Return character-LSTM vectors with sentence start and stop, [b, longest + 2, d / 2]."""
    vocabulary: dict[str, int] = {}
    rows = torch.zeros(len(sentences), max(map(len, sentences)) + 2, dtype=torch.long)
    for sentence, words in enumerate(sentences):
        ids = [vocabulary.setdefault(word, len(vocabulary)) for word in words]
        rows[sentence, 1 : len(words) + 1] = torch.tensor(ids) + 2
        rows[sentence, len(words) + 1] = 1
    encoded = model.retokenizer(list(vocabulary), return_tensors="np")
    # The retokenizer puts the start symbol first and the stop symbol last; here both come first.
    order = np.r_[0, len(vocabulary) + 1, 1 : len(vocabulary) + 1]
    characters = pack_padded_sequence(
        torch.from_numpy(encoded["char_ids"][order]).to(device_of(model)),
        torch.from_numpy(encoded["word_lens"][order]),
        batch_first=True,
        enforce_sorted=False,
    )
    real = torch.ones(1, len(order), dtype=torch.bool, device=device_of(model))
    vectors = model.char_encoder(characters, real)[0]
    return vectors[rows.to(device_of(model))]


def score(model: ChartModel, sentences: Sequence[Sequence[str]]) -> ChartScores:
    lengths = torch.tensor([len(words) for words in sentences], device=device_of(model))
    mask = torch.arange(int(lengths.max()) + 2, device=device_of(model)) < lengths[:, None] + 2
    encoded = model.encoder(model.add_timing(model.morpho_emb_dropout(word_vectors(model, sentences))), mask)
    encoded = torch.cat([encoded[..., 0::2], encoded[..., 1::2]], -1)
    words = mask.clone()
    words[:, 0] = False
    words[torch.arange(len(sentences), device=device_of(model)), lengths + 1] = False

    half = model.d_model // 2
    fenceposts = torch.cat([encoded[:, :-1, :half], encoded[:, 1:, half:]], -1)
    first, *rest = model.f_label
    projected = F.linear(fenceposts, first.weight).flatten(0, 1)
    starts, ends = [], []
    for sentence, length in enumerate(lengths.tolist()):
        firsts, lasts = triangle(length)
        offset = sentence * fenceposts.shape[1]
        starts.append(firsts + offset)
        ends.append(lasts + offset + 1)
    hidden = (
        projected[torch.from_numpy(np.concatenate(ends))]
        - projected[torch.from_numpy(np.concatenate(starts))]
        + first.bias
    )
    for layer in rest:
        hidden = layer(hidden)
    return ChartScores(F.pad(hidden, (1, 0)), model.f_tag(encoded[words]))


def best_spans(values: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Return the flat indices of the spans of each sentence's best binary tree, by CKY, [sum of 2 n - 1].

    values: the best label's score of every span, in `triangle` order, [N].
    """
    count, n = len(lengths), max(lengths)
    chart = np.zeros((count, n, n), dtype=np.float32)
    flat = np.full((count, n, n), -1)
    offset = 0
    for sentence, length in enumerate(lengths):
        firsts, lasts = triangle(length)
        chart[sentence, firsts, lasts] = values[offset : offset + len(firsts)]
        flat[sentence, firsts, lasts] = np.arange(offset, offset + len(firsts))
        offset += len(firsts)
    by_start = np.zeros((count, n, n), dtype=np.float32)  # [sentence, first word, width - 1]
    by_end = np.zeros((count, n, n), dtype=np.float32)  # [sentence, last word, width - 1]
    splits = np.zeros((count, n, n), dtype=np.int64)
    diagonal = np.arange(n)
    by_start[:, :, 0] = by_end[:, :, 0] = chart[:, diagonal, diagonal]
    for width in range(1, n):
        firsts = np.arange(n - width)
        sums = by_start[:, : n - width, :width] + by_end[:, width:, width - 1 :: -1][:, :, :width]
        split = sums.argmax(-1)
        best = np.take_along_axis(sums, split[..., None], -1)[..., 0] + chart[:, firsts, firsts + width]
        by_start[:, : n - width, width] = best
        by_end[:, width:, width] = best
        splits[:, firsts, firsts + width] = split
    chosen: list[int] = []
    for sentence, length in enumerate(lengths):
        split_of, index_of = splits[sentence].tolist(), flat[sentence].tolist()
        open_spans = [(0, length - 1)]
        while open_spans:
            i, j = open_spans.pop()
            chosen.append(index_of[i][j])
            if i < j:
                middle = i + split_of[i][j]
                open_spans += [(middle + 1, j), (i, middle)]
    return np.array(chosen)


def roots(lengths: Sequence[int]) -> Tensor:
    """Return the flat index of each sentence's whole span, [b]."""
    sizes = np.array([length * (length + 1) // 2 for length in lengths])
    return torch.from_numpy(np.cumsum(sizes) - sizes + np.array(lengths) - 1)


@torch.no_grad()
def predict(model: ChartModel, sentences: Sequence[Sequence[str]]) -> list[Analysis]:
    """Return the best tree of each sentence; `model` must be in evaluation mode."""
    lengths = [len(words) for words in sentences]
    scores = score(model, sentences)
    scores.spans[roots(lengths), 0] = FORBIDDEN
    values, labels = scores.spans.max(-1)
    chosen = best_spans(values.cpu().numpy(), lengths)
    chosen_labels = labels.cpu().numpy()[chosen].tolist()
    tags = scores.tags.argmax(-1).tolist()
    label_names = {index: label for label, index in model.label_vocab.items()}
    tag_names = {index: tag for tag, index in model.tag_vocab.items()}
    analyses = []
    spans_before = words_before = at = 0
    for n in lengths:
        firsts, lasts = triangle(n)
        own = chosen[at : at + 2 * n - 1] - spans_before
        spans = zip(firsts[own].tolist(), (lasts[own] + 1).tolist(), chosen_labels[at : at + 2 * n - 1], strict=True)
        analyses.append(
            Analysis(
                [(start, end, label_names[label]) for start, end, label in spans if label or end - start == 1],
                [tag_names[tag] for tag in tags[words_before : words_before + n]],
            )
        )
        spans_before += len(firsts)
        words_before += n
        at += 2 * n - 1
    return analyses
