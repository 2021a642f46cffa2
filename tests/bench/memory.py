"""`python -m tests.bench.memory`: memory and operations of an update on a GPU, computed without one.

The network runs on PyTorch's fake tensors, which have shapes but no numbers, on the device of tests.pretended_gpu.
Memory is the most that all tensors take at a time, each rounded up to 512 bytes as PyTorch's allocator does. It does
not include the memory of CUDA and its libraries, or gaps between allocations. Operations are calls that start at least
one kernel; views and allocations do not. With `--check`, a GPU also makes these updates.
"""

import sys
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import ceil
from typing import Any
from unittest.mock import patch

import click
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from synmt.data.corpus import Corpus
from synmt.data.preparation import Example, Frequencies
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.translation import TranslationModel
from synmt.nn.prefixes import PrefixPlan
from synmt.streams import Line
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.presets import PRESETS, model_and_training
from synmt.training.update import Updater
from tests import pretended_gpu
from tests.bench.corpus import random_sentences
from tests.bench.training import whole
from tests.training.runs import OnTheDevice

GIB, BLOCK = 2**30, 512
CARDS = (16, 24, 80)  # GB
USABLE = 0.85  # of a card; the rest is for CUDA, its libraries, and memory that the allocator cannot reuse
SENTENCES = 8  # different ones; a batch repeats them
LARGE = 50_000, 100_000  # tokens
aten = torch.ops.aten
WITHOUT_KERNEL = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten._unsafe_view}
WITHOUT_RESULT = {aten._fused_adam_, aten._foreach_copy_}
AT_ONCE = {aten.linalg_vector_norm}  # on a GPU, one call takes the norms of all gradients
# A preset for each size of network and vocabulary, and the systems that it is for.
ROWS = {
    "small": ("sequence", "pascal+label-features", "mask"),
    "medium": ("sequence", "transitions"),
    "large": ("sequence", "transitions"),
    "paper": ("sequence", "mask"),
    "nc11-en-de": ("sequence", "pascal"),
    "wmt16-en-de": ("sequence", "pascal"),
}


class Watch(TorchDispatchMode):
    """Follows the storages on a device and counts operations. bytes, peak: of all storages now, and at most."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device, self.bytes, self.peak = device, 0, 0
        self.operations: Counter[str] = Counter()
        self._known: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        made = [each for each in tree_leaves(result) if isinstance(each, Tensor) and each.device == self.device]
        for each in made:
            self._see(each.untyped_storage())
        packet = function.overloadpacket
        if (made or packet in WITHOUT_RESULT) and not function.is_view and packet not in WITHOUT_KERNEL:
            self.operations[str(packet)] += packet not in AT_ONCE or not self.operations[str(packet)]
        return result

    def _see(self, storage: torch.UntypedStorage) -> None:
        if storage not in self._known:
            self._known[storage] = size = BLOCK * ceil(storage.nbytes() / BLOCK)
            weakref.finalize(storage, self._free, size)
            self.bytes += size
            self.peak = max(self.peak, self.bytes)

    def _free(self, size: int) -> None:
        self.bytes -= size


def attention_of_a_gpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """Call the memory-efficient kernel as PyTorch's function would on a GPU, where a row of the mask is padded to 16
    bytes. On other devices, that function chooses the plain definition."""
    if attn_mask is not None:
        keys = key.shape[2]
        attn_mask = F.pad(attn_mask, (0, -keys % 8))[..., :keys].expand(*query.shape[:3], keys)
    mixed: Tensor = aten._scaled_dot_product_efficient_attention(
        query, key, value, attn_mask, True, dropout_p, is_causal
    )[0]
    return mixed


@dataclass(frozen=True)
class Update:
    """parameters: their number; bytes: at most; operations: by name, with their number."""

    parameters: int
    bytes: int
    operations: Counter[str]


@dataclass(frozen=True)
class Trained:
    """A system in a preset, and a few sentence pairs of one length for it."""

    model: ModelConfig
    training: TrainingConfig
    corpus: Corpus

    @classmethod
    def of(cls, preset: str, system: str, length: int) -> "Trained":
        """length: words per side."""
        model, training = model_and_training(PRESETS[preset], {"model": system})
        return cls(model, replace(training, precision="bf16"), corpus_of(model, training, length))

    def tokens(self, sentences: int) -> int:
        """Return what --batch-tokens counts in a batch of this many sentences."""
        longest = max(len(row["ids"]) for rows in (self.corpus.sources.rows, self.corpus.targets) for row in rows)
        return sentences * longest

    def update(self, sentences: int, device: torch.device) -> Update:
        """Return what the second update with a batch of this many sentences needs; the first allocates Adam's state."""
        indices = [number % SENTENCES for number in range(sentences)]
        batch = self.corpus.batch(indices, torch.device("cpu"))
        on_a_gpu = patch.object(F, "scaled_dot_product_attention", attention_of_a_gpu)
        with on_a_gpu, FakeTensorMode(allow_non_fake_inputs=True), Watch(device) as watch:
            network, source, target = self.model.network, self.model.source, self.model.target
            model = TranslationModel(network, source, target, self.vocabulary)
            for module in model.modules():  # `model.to` cannot move fake tensors
                for name, each in module.named_parameters(recurse=False):
                    setattr(module, name, torch.nn.Parameter(moved(each, device)))
                for name, buffer in module.named_buffers(recurse=False):
                    setattr(module, name, moved(buffer, device))
            updater = Updater(model, OnTheDevice(moved(batch, device)), self.training, Processes(0, 1, device))
            updater(updater.step([[0]], 1), 1e-3)
            watch.operations.clear()
            watch.peak = watch.bytes
            updater(updater.step([[0]], 2), 1e-3)
            return Update(sum(each.numel() for each in updater.parameters), watch.peak, watch.operations)

    def allocated(self, sentences: int) -> int:
        """Return the most bytes that PyTorch allocates on a GPU for the same update."""
        device = local_device("cuda")
        updater = self.updater(sentences, device)
        updater(updater.step([[0]], 1), 1e-3)
        torch.cuda.reset_peak_memory_stats()
        updater(updater.step([[0]], 2), 1e-3)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()

    def updater(self, sentences: int, device: torch.device) -> Updater:
        """Return an updater of a new model, whose only batch has so many sentences."""
        batch = self.corpus.batch([number % SENTENCES for number in range(sentences)], device)
        model = TranslationModel(self.model.network, self.model.source, self.model.target, self.vocabulary).to(device)
        return Updater(model, OnTheDevice(batch), self.training, Processes(0, 1, device))

    @property
    def vocabulary(self) -> Any:
        return self.corpus.vocabulary

    def largest(self, sizes: Sequence[int], device: torch.device) -> list[int]:
        """Return for each size of memory in bytes the most tokens whose update needs no more.

        Memory grows linearly once the loss takes several steps, so two batches tell how much a token needs.
        """
        counts = [tokens // self.tokens(1) for tokens in LARGE]
        (few, less), (many, more) = ((self.tokens(count), self.update(count, device).bytes) for count in counts)
        per_token = (more - less) / (many - few)
        return [int(few + (size - less) / per_token) for size in sizes]


def corpus_of(model: ModelConfig, training: TrainingConfig, length: int) -> Corpus:
    """Return a few random pairs. Their vocabulary has as many entries as the preset has merges."""
    sources, targets = (random_sentences(SENTENCES, seed, length).sources for seed in (1, 2))
    line = Line("", "", 0)
    examples = []
    for source, target in zip(sources, targets, strict=True):
        entries = model.target.tokens(target, whole)
        lessons = model.target.lessons(target, entries)
        examples.append(Example(line, model.source.features(source, whole), entries, lessons))
    counts = Frequencies.of(examples)
    counts.target.update(f"more{number}" for number in range(training.merges - len(counts.target)))
    vocabulary = counts.vocabulary(model.target)
    corpus = Corpus.empty(vocabulary, model.target, PrefixPlan(training.prefixes, training.prefix_tokens))
    for example in examples:
        corpus.append(example.source, example.target, example.lessons)
    return corpus


def moved(each: Any, device: torch.device) -> Any:
    """Return a batch with fake tensors on a device in place of all its tensors."""
    if isinstance(each, Tensor):
        return torch.empty_like(each, device=device)
    if isinstance(each, dict):
        return {name: moved(value, device) for name, value in each.items()}
    if isinstance(each, list | tuple):
        return type(each)(moved(value, device) for value in each)
    if is_dataclass(each) and not isinstance(each, type):
        return replace(each, **{field.name: moved(getattr(each, field.name), device) for field in fields(each)})
    return each


def checked(presets: Sequence[str], length: int, device: torch.device) -> Iterator[str]:
    """Yield the lines of a table of computed and measured memory."""
    yield "\t".join(["preset", "system", "batch", "GiB computed", "GiB allocated"])
    for preset in presets:
        for system in ROWS[preset]:
            each = Trained.of(preset, system, length)
            for tokens in (each.training.batch_tokens, *LARGE):
                sentences = max(1, tokens // each.tokens(1))
                found = each.update(sentences, device).bytes / GIB, each.allocated(sentences) / GIB
                yield "\t".join([preset, system, str(tokens), *(f"{number:.2f}" for number in found)])


def rows(presets: Sequence[str], length: int, device: torch.device) -> Iterator[str]:
    """Yield the lines of a table."""
    cards = (f"batch on {card} GB" for card in CARDS)
    yield "\t".join(["preset", "system", "million parameters", "batch", "GiB", "operations", *cards])
    for preset in presets:
        for system in ROWS[preset]:
            each = Trained.of(preset, system, length)
            sentences = max(1, each.training.batch_tokens // each.tokens(1))
            own = each.update(sentences, device)
            sizes = each.largest([int(USABLE * card * 10**9) for card in CARDS], device)
            found = f"{own.parameters / 1e6:.1f}", each.training.batch_tokens, f"{own.bytes / GIB:.2f}"
            yield "\t".join(map(str, [preset, system, *found, own.operations.total(), *sizes]))


@click.command()
@click.argument("presets", nargs=-1, type=click.Choice(list(ROWS)))
@click.option("--length", default=30, show_default=True, help="Words per sentence.")
@click.option("--check", is_flag=True, help="Also measure the memory of real updates on a GPU.")
def command(presets: tuple[str, ...], length: int, check: bool) -> None:
    """Print, for PRESETs and their systems, the memory of an update and the largest batches for three cards."""
    libraries = pretended_gpu.set_up()  # noqa: F841 (must live as long as the device)
    table = checked if check else rows
    for row in table(presets or list(ROWS), length, torch.device(pretended_gpu.NAME, 0)):
        print(row, flush=True)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    command()
