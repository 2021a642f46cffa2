"""Tunes an encoder, so that words which an aligner links become similar.

As awesome-align does (Dou & Neubig 2021), but the teacher is an aligner that knows the whole bitext. Let s_ij be the
similarity of subwords, and T_xy how likely the words x and y are linked. For every subword i of x, and likewise in the
other direction,

    L = −Σ_i Σ_y T_xy log P(y | i),   P(y | i) = Σ_{j ∈ y} exp(s_ij / τ) / Σ_k exp(s_ik / τ),

divided by the sum of all T. So the words are taught, not which of their subwords are similar.

Shapes: B pairs of J source and I target subwords of m source and n target words, padded; d width.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from synmt.alignment.encoders.encoder import Floats, PretrainedEncoder, padded
from synmt.alignment.encoders.similarity import OF_MEANS, TEMPERATURE, Sentences, Similarity
from synmt.streams import bar

EPOCHS = 2
BATCH_TOKENS = 640  # number of pairs × length of the longer side
RATE = 5e-5
WARMUP = 20  # updates
ROWS, COLUMNS = 4, 16  # inputs are padded to multiples: on a CPU, PyTorch keeps code for each shape that it has seen
LONGEST = 400  # subwords; longer sentences do not teach
LEAST = 1e-6


@dataclass(frozen=True)
class _Lesson:
    """The ids of the subwords of both sides, the index of each subword's word, and how likely words are linked,
    [m,n]."""

    ids: tuple[list[int], list[int]]
    words: tuple[list[int], list[int]]
    links: Floats

    @property
    def length(self) -> int:
        return max(map(len, self.ids))


def tune(
    similarity: Similarity, sources: Sentences, targets: Sentences, links: Sequence[Floats], seed: int
) -> Similarity:
    """Tune the weights of the encoder, and return its new similarity.

    links: how likely the words of each pair are linked, [m,n]. Weights are rounded to bf16, in which they are saved.
    """
    encoder, means, lessons = similarity.encoder, similarity.means, []
    outside = sum(map(len, encoder.around))
    longest = min(LONGEST, (encoder.longest + outside) // COLUMNS * COLUMNS) - outside
    for source, target, each in zip(sources, targets, links, strict=True):
        (x, of_x), (y, of_y) = encoder.subwords(source), encoder.subwords(target)
        if 0 < max(len(x), len(y)) <= longest and each.any():
            lessons.append(_Lesson((x, y), (of_x, of_y), each))
    batches = list(_batches(lessons))
    weights = list(encoder.weights.values())
    dtypes = [weight.dtype for weight in weights]
    for weight in weights:
        weight.data = weight.data.float()
        weight.requires_grad_()
    optimizer = torch.optim.AdamW(weights, lr=RATE)
    total, draws = EPOCHS * len(batches), random.Random(seed)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda update: min((update + 1) / WARMUP, (total - update) / max(1, total - WARMUP))
    )
    with bar("updates", total=total, desc="tuning") as line:
        for _ in range(EPOCHS):
            draws.shuffle(batches)
            for batch in batches:
                optimizer.zero_grad()
                _loss(encoder, batch, means).backward()
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
                schedule.step()
                line.update()
    for weight, dtype in zip(weights, dtypes, strict=True):
        weight.requires_grad_(False)
        weight.data, weight.grad = weight.data.bfloat16().to(dtype), None
    return Similarity.learn(encoder, sources[:OF_MEANS], targets[:OF_MEANS])


def _batches(lessons: Sequence[_Lesson]) -> Iterator[list[_Lesson]]:
    """Yield lessons of similar lengths."""
    batch: list[_Lesson] = []
    for lesson in sorted(lessons, key=lambda lesson: lesson.length):
        if batch and (len(batch) + 1) * lesson.length > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(lesson)
    if batch:
        yield batch


def _loss(encoder: PretrainedEncoder, batch: Sequence[_Lesson], means: tuple[Floats, Floats]) -> Tensor:
    states, rows = [], -(-len(batch) // ROWS) * ROWS
    for side, mean in enumerate(means):
        inputs = [lesson.ids[side] for lesson in batch] + [[]] * (rows - len(batch))
        ids, real = padded(inputs, encoder.around, COLUMNS)
        found = encoder.run(torch.from_numpy(ids), torch.from_numpy(real)).float()
        states.append(normalize(found - torch.from_numpy(mean).to(found.device), dim=-1))
    likeness = states[0] @ states[1].transpose(-1, -2) / float(TEMPERATURE)
    begin, device = len(encoder.around[0]), likeness.device
    loss, total = torch.zeros((), device=device), torch.zeros((), device=device)
    for lesson, each in zip(batch, likeness, strict=False):  # later rows are padding
        (x, y), links = lesson.words, torch.from_numpy(lesson.links).to(device)
        own = each[begin : begin + len(x), begin : begin + len(y)]
        for pairs, of_given, of_other, expected in ((own, x, y, links), (own.T, y, x, links.T)):
            membership = one_hot(torch.tensor(of_other), expected.shape[1]).float().to(device)
            likely = (pairs.softmax(dim=1) @ membership + LEAST).log()
            loss = loss - (expected[of_given] * likely).sum()
            total = total + expected[of_given].sum()
    return loss / total
