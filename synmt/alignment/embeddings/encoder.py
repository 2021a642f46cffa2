"""States of the subwords of sentences in a pretrained encoder, and links between similar states (see aligner.py).

Shapes: J source and I target subwords, d width.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from synmt.data.batches import in_batches, pad
from synmt.device import autocast
from synmt.streams import BadInput, counted
from synmt.streams.process import quiet

if TYPE_CHECKING:
    from synmt.alignment.embeddings.aligner import Embeddings

BATCH_TOKENS = 4096  # number of sentences × longest sentence
LIBRARIES = "transformers", "huggingface_hub"
Floats = NDArray[np.float32]
Cells = NDArray[np.bool_]


class States(NamedTuple):
    """values [J,d]: states of the subwords of a sentence; words [J]: index of each subword's word."""

    values: NDArray[np.float32]
    words: list[int]


class Encoder:
    @quiet(*LIBRARIES)
    def __init__(self, name: str, layer: int, device: torch.device, trust_pickle: bool = False) -> None:
        """Load an encoder from a folder or the hub, without running code from it. Raises BadInput."""
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

        has_bars = is_progress_bar_enabled()
        disable_progress_bar()
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name, use_fast=True, trust_remote_code=False)
            model: Any = AutoModel.from_pretrained(
                name, use_safetensors=None if trust_pickle else True, trust_remote_code=False, dtype=torch.float32
            )
        except Exception as error:  # a bad file can make transformers raise any error
            raise BadInput(f"encoder {name}: {_first_line(error)}") from None
        finally:
            if has_bars:
                enable_progress_bar()
        if not self._tokenizer.is_fast:
            raise BadInput(f"encoder {name}: its tokenizer does not tell which word a subword belongs to")
        layers = model.config.num_hidden_layers
        if layer > layers:
            raise BadInput(f"encoder {name}: has no layer {layer}, only {counted(layers, 'layer')}")
        if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
            raise BadInput(f"encoder {name}: contains a number that is not finite")
        self._model, self._layer, self._device = model.to(device).eval(), layer, device
        self._before, self._after = self._special()
        longest = min(self._tokenizer.model_max_length, model.config.max_position_embeddings)
        self._longest = int(longest) - len(self._before) - len(self._after)

    def _special(self) -> tuple[list[int], list[int]]:
        """Return the ids that the tokenizer adds before and after any text."""
        bare, whole = (self._tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
        first = next(start for start in range(len(whole)) if whole[start : start + len(bare)] == bare)
        return whole[:first], whole[first + len(bare) :]

    @quiet(*LIBRARIES)
    @torch.inference_mode()
    def states(self, sentences: Sequence[Sequence[str]]) -> list[States]:
        """Return the states of sentences, given as words. A sentence too long for the encoder is encoded in pieces."""
        found = [
            self._tokenizer(list(words), is_split_into_words=True, add_special_tokens=False) for words in sentences
        ]
        pieces = [
            (sentence, each["input_ids"][start : start + self._longest])
            for sentence, each in enumerate(found)
            for start in range(0, len(each["input_ids"]), self._longest)
        ]
        values = in_batches(
            [len(ids) for _, ids in pieces], BATCH_TOKENS, lambda batch: self._run([pieces[n][1] for n in batch])
        )
        parts: list[list[NDArray[np.float32]]] = [[] for _ in sentences]
        for (sentence, _), part in zip(pieces, values, strict=True):
            parts[sentence].append(part)
        nothing = np.zeros((0, self._model.config.hidden_size), np.float32)
        return [
            States(np.concatenate([nothing, *part]), list(each.word_ids()))
            for part, each in zip(parts, found, strict=True)
        ]

    def _run(self, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        whole = [np.array([*self._before, *ids, *self._after], np.int32) for ids in rows]
        ids, lengths = pad(whole, self._tokenizer.pad_token_id or 0)
        mask = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
        with autocast(self._device):
            output = self._model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device), output_hidden_states=True
            )
        states = output.hidden_states[self._layer].float().cpu().numpy()
        first = len(self._before)
        return [row[first : first + len(own)] for row, own in zip(states, rows, strict=True)]


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def linked(options: "Embeddings", source: Floats, target: Floats) -> Cells:
    """Return which subwords are linked, [J,I], given their states [J,d] and [I,d]."""
    if options.rule == "softmax":
        return softmax_links(source @ target.T, options.threshold)
    likeness = _of_length_one(source) @ _of_length_one(target).T
    return itermax_links(likeness, options.iterations if options.rule == "itermax" else 1, options.alpha)


def _of_length_one(states: Floats) -> Floats:
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit: Floats = (states / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return unit


def argmax_links(likeness: Floats) -> Cells:
    """Return the cells that are the first maximum of their row and of their column."""
    links = np.zeros(likeness.shape, bool)
    best = likeness.argmax(axis=1)
    rows = np.arange(len(likeness))
    links[rows, best] = likeness.argmax(axis=0)[best] == rows
    return links


def itermax_links(likeness: Floats, iterations: int, alpha: float) -> Cells:
    """Return the links of argmax and the links that further passes add."""
    links = np.zeros(likeness.shape, bool)
    likeness = likeness - min(0.0, float(likeness.min()))  # or α would increase negative values
    for _ in range(iterations):
        rows, columns = links.any(axis=1, keepdims=True), links.any(axis=0, keepdims=True)
        weighted = np.where(rows | columns, alpha, 1.0) * likeness
        weighted[rows & columns] = -1  # below all other values, which are not negative
        more = links | (argmax_links(weighted.astype(np.float32)) & ~(rows & columns))
        if (more == links).all():
            break
        links = more
    return links


def softmax_links(likeness: Floats, threshold: float) -> Cells:
    """Return the cells whose softmax over the row and over the column both exceed the threshold."""
    links: Cells = (_softmax(likeness, axis=0) > threshold) & (_softmax(likeness, axis=1) > threshold)
    return links


def _softmax(values: Floats, axis: int) -> Floats:
    raised: Floats = np.exp(values - values.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)
