"""Tunes an encoder, so that words which an aligner links become similar.

As awesome-align does (Dou & Neubig 2021), but the teacher is an aligner that knows the whole bitext. Let s_ij be the
similarity of subwords, and T_xy how likely the words x and y are linked. For every subword i of x, and likewise in the
other direction,

    L = −Σ_i Σ_y T_xy log P(y | i),   P(y | i) = Σ_{j ∈ y} exp(s_ij / τ) / Σ_k exp(s_ik / τ),

divided by the sum of all T. So the words are taught, not which of their subwords are similar.

Only biases and norms learn, after Ben Zaken, Ravfogel & Goldberg (2022), "BitFit".

Tuning takes minutes. If it is interrupted, the same tuning continues from the state in the user's cache.

Shapes: B pairs of J source and I target subwords of m source and n target words, padded; d width.
"""

import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import normalize, one_hot

from synmt.alignment.encoders.encoder import Floats, PretrainedEncoder, padded
from synmt.alignment.encoders.similarity import TEMPERATURE, Sentences, Similarity
from synmt.model.files import save_tensors
from synmt.parameters import check_header, check_shapes
from synmt.streams import BadInput, bar, note
from synmt.streams.paths import cache_folder

EPOCHS = 2
BATCH_TOKENS = 640  # number of pairs × length of the longer side
RATE = 1e-3
WARMUP = 20  # updates
ROWS, COLUMNS = 4, 16  # inputs are padded to multiples: on a CPU, PyTorch keeps code for each shape that it has seen
LONGEST = 400  # subwords; longer sentences do not teach
LEAST = 1e-6
SAVED_EVERY = 30.0  # seconds
LONGEST_KEPT = 7 * 24 * 3600  # seconds; older states are removed
MOMENTS = ("exp_avg", "exp_avg_sq")


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
    """Tune the biases and norms of the encoder, and return its new similarity.

    links: how likely the words of each pair are linked, [m,n]. The result is rounded to bf16, in which some devices
    keep it, so that a saved aligner computes the same.
    """
    encoder, means, lessons = similarity.encoder, similarity.means, []
    outside = sum(map(len, encoder.around))
    longest = min(LONGEST, (encoder.longest + outside) // COLUMNS * COLUMNS) - outside
    for source, target, each in zip(sources, targets, links, strict=True):
        (x, of_x), (y, of_y) = encoder.subwords(source), encoder.subwords(target)
        if 0 < max(len(x), len(y)) <= longest and each.any():
            lessons.append(_Lesson((x, y), (of_x, of_y), each))
    batches = list(_batches(lessons))
    weights = encoder.weights
    dtypes = {name: weight.dtype for name, weight in weights.items()}
    for weight in weights.values():
        weight.data = weight.data.float()
        weight.requires_grad_()
    optimizer = torch.optim.AdamW(weights.values(), lr=RATE, weight_decay=0)
    total, draws = EPOCHS * len(batches), random.Random(seed)
    order: list[list[_Lesson]] = []
    for _ in range(EPOCHS):
        draws.shuffle(batches)
        order += batches
    state = _State.of(similarity, lessons, seed, optimizer)
    done, saved = state.load(total), time.monotonic()
    with bar("updates", total=total, initial=done, desc="tuning") as line:
        for update, batch in enumerate(order[done:], start=done):
            if time.monotonic() - saved > SAVED_EVERY:
                state.save(update)
                saved = time.monotonic()
            rate = min((update + 1) / WARMUP, (total - update) / max(1, total - WARMUP))
            optimizer.param_groups[0]["lr"] = RATE * rate
            optimizer.zero_grad()
            with sdpa_kernel(SDPBackend.MATH):  # for short sentences on a CPU, fused attention takes twice as long
                _loss(encoder, batch, means).backward()
            torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
            optimizer.step()
            line.update()
    state.remove()
    for name, weight in weights.items():
        weight.requires_grad_(False)
        weight.data, weight.grad = weight.data.bfloat16().to(dtypes[name]), None
    return Similarity(encoder, means, {})


@dataclass(frozen=True)
class _State:
    """The state of tuning, in a file of the user's cache: weights and moments of Adam, and how many updates are done.

    path: None if the cache cannot be used; its name depends on all that decides the numbers.
    """

    path: Path | None
    weights: Mapping[str, Tensor]
    optimizer: torch.optim.AdamW

    @classmethod
    def of(
        cls, similarity: Similarity, lessons: Sequence[_Lesson], seed: int, optimizer: torch.optim.AdamW
    ) -> "_State":
        encoder = similarity.encoder
        settings = encoder.checksum, encoder.layer, seed, EPOCHS, BATCH_TOKENS, RATE, WARMUP, torch.__version__
        whole = hashlib.sha256(repr(settings).encode() + b"".join(mean.tobytes() for mean in similarity.means))
        for lesson in lessons:
            *lists, links = astuple(lesson)
            whole.update(repr(lists).encode() + links.tobytes())
        try:
            path = cache_folder("tuning") / f"{whole.hexdigest()[:32]}.safetensors"
            for each in path.parent.iterdir():
                if time.time() - each.stat().st_mtime > LONGEST_KEPT:
                    each.unlink()
        except OSError as error:
            note(f"if tuning is interrupted, it starts again: {error}")
            path = None
        return cls(path, encoder.weights, optimizer)

    def save(self, update: int) -> None:
        """Save the state before an update; a cache that is full is noted."""
        if not self.path:
            return
        tensors = dict(self.weights)
        for name, each in self.weights.items():  # a layer above the chosen one has no moments
            tensors |= {f"{kind}.{name}": moments[kind] for kind in MOMENTS if (moments := self.optimizer.state[each])}
        try:
            save_tensors(self.path, tensors, {"update": str(update)})
        except BadInput as error:
            note(f"if tuning is interrupted, it starts again: {error}")

    def load(self, total: int) -> int:
        """Continue from the saved state; return the number of updates that are done, 0 without a state."""
        if not self.path or not self.path.exists():
            return 0
        try:
            check_header(self.path)
            with safe_open(self.path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
                done = int((file.metadata() or {})["update"])
            taught = {name: each for name, each in self.weights.items() if f"{MOMENTS[0]}.{name}" in tensors}
            moments = {f"{kind}.{name}": each for name, each in taught.items() for kind in MOMENTS}
            check_shapes({**self.weights, **moments}, {name: list(each.shape) for name, each in tensors.items()})
            if not 0 < done <= total or not all(each.isfinite().all() for each in tensors.values()):
                raise ValueError("it is damaged")
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            note(f"tuning starts again, since its state in {self.path} cannot be used: {error}")
            return 0
        for name, weight in self.weights.items():
            weight.data.copy_(tensors[name])
        for name, weight in taught.items():
            own = {kind: tensors[f"{kind}.{name}"].to(weight.device) for kind in MOMENTS}
            self.optimizer.state[weight] = {"step": torch.tensor(float(done)), **own}
        note(f"tuning continues after {done} of {total} updates")
        return done

    def remove(self) -> None:
        if self.path:
            self.path.unlink(missing_ok=True)


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
