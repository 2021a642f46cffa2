"""Encoders from Hugging Face's hub, or from a folder in its format."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from synmt.alignment.encoders import chosen_layer
from synmt.device import autocast
from synmt.streams import BadInput
from synmt.streams.process import quiet

LIBRARIES = "transformers", "huggingface_hub"


class HubEncoder:
    @quiet(*LIBRARIES)
    def __init__(self, name: str, layer: int | None, device: torch.device, trust_pickle: bool = False) -> None:
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
        self.layer = chosen_layer(name, layer, model.config.num_hidden_layers)
        if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
            raise BadInput(f"encoder {name}: contains a number that is not finite")
        self.name = name
        self._model, self._device = model.to(device).eval(), device
        self.around = self._special()
        longest = min(self._tokenizer.model_max_length, model.config.max_position_embeddings)
        self.longest = int(longest) - sum(map(len, self.around))
        self.width = int(model.config.hidden_size)

    @property
    def checksum(self) -> str:
        """Return a checksum of all parameters."""
        checksum = hashlib.blake2b(digest_size=16)
        for name, values in sorted(self._model.state_dict().items()):
            checksum.update(name.encode())
            checksum.update(values.cpu().contiguous().numpy().data)
        return checksum.hexdigest()

    def _special(self) -> tuple[list[int], list[int]]:
        """Return the ids that the tokenizer adds before and after any text."""
        bare, whole = (self._tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
        first = next(start for start in range(len(whole)) if whole[start : start + len(bare)] == bare)
        return whole[:first], whole[first + len(bare) :]

    @quiet(*LIBRARIES)
    def subwords(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the ids of the subwords of a sentence, and the index of each subword's word."""
        found = self._tokenizer(list(words), is_split_into_words=True, add_special_tokens=False)
        return found["input_ids"], list(found.word_ids())

    @property
    def weights(self) -> dict[str, Tensor]:
        """Return the biases and norms."""
        return {name: weight for name, weight in self._model.named_parameters() if weight.ndim == 1}

    def run(self, ids: Tensor, real: Tensor) -> Tensor:
        """Return the states [B,J,d] of the chosen layer; ids [B,J], real [B,J] bool: False where padded."""
        ids = ids.masked_fill(~real, self._tokenizer.pad_token_id or 0)
        with autocast(self._device):
            output = self._model(
                input_ids=ids.to(self._device), attention_mask=real.to(self._device), output_hidden_states=True
            )
        return torch.as_tensor(output.hidden_states[self.layer])


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
