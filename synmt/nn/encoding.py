"""The encoder's input and output, with the hooks of components in its run. Tensors only.

Shapes: B sentences, n positions, H heads, d width.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from synmt.nn.attention import Edit, Replacement, hiding, safe
from synmt.nn.config import TransformerConfig
from synmt.nn.hooks import CROSS, OF_CROSS, SELF, Hooks, Part, SideRun, edits, runs_of


@dataclass(slots=True)
class SourceBatch:
    """B sentences padded on the right to n positions, on the device.

    ids [B,n] int64.
    padding [B,n] bool: True where there is no token; None if no sentence is padded.
    words [B] int64: how many tokens are subwords.
    fields: by name, each [B,n] or [B,n,n], padded as its Field says.
    """

    ids: Tensor
    padding: Tensor | None
    words: Tensor
    fields: dict[str, Tensor] = field(default_factory=dict)

    def select(self, sentences: Tensor) -> "SourceBatch":
        padding = None if self.padding is None else self.padding[sentences]
        fields = {name: each[sentences] for name, each in self.fields.items()}
        return SourceBatch(self.ids[sentences], padding, self.words[sentences], fields)


@dataclass(slots=True)
class Encoded:
    """The encoder's output.

    states [B,n,d]; bias [B,1,1,n]: hides padding, None without padding.
    cross: the edit of each decoder layer's attention to the source, with this bias.
    source: the encoder's input; hooks: the hooks in its run.
    """

    states: Tensor
    bias: Tensor | None
    cross: Sequence[Edit]
    source: SourceBatch
    hooks: Hooks

    def select(self, sentences: Tensor) -> "Encoded":
        """Return the output for some sentences."""
        bias = None if self.bias is None else self.bias[sentences]
        cross = _selected(self.cross, sentences)
        return replace(
            self, states=self.states[sentences], bias=bias, cross=cross, source=self.source.select(sentences)
        )


def _selected(cross: Sequence[Edit], sentences: Tensor) -> list[Edit]:
    def of(tensor: Tensor | None) -> Tensor | None:
        return tensor if tensor is None or len(tensor) == 1 else tensor[sentences]

    made = {id(each): Edit(of(each.bias), of(each.scale), each.replaced, of(each.blind)) for each in cross}
    return [made[id(each)] for each in cross]


def encoder_hooks(parts: Collection[Any], source: SourceBatch, config: TransformerConfig) -> Hooks:
    """Return the hooks of components in one run of an encoder over a batch, whose padding they hide."""
    if not parts:
        return Hooks([], [Edit(hiding_bias(source.padding))] * config.encoder_layers)
    queries = torch.arange(source.ids.shape[1], device=source.ids.device)

    def new_run(part: Part, fields: dict[str, Tensor]) -> SideRun:
        return SideRun(part, fields, queries, source.padding)

    runs = runs_of(parts, source.fields, new_run)
    shape = len(source.ids), config.heads, len(queries), len(queries)
    return Hooks(
        runs, edits(runs, SELF, config.encoder_layers, shape, lambda edit: with_hidden_keys(edit, source.padding))
    )


def cross_edits(hooks: Hooks, source: SourceBatch, config: TransformerConfig) -> list[Edit]:
    """Return the edits of the decoder's attention to the source, which hide padding, with those of the encoder's
    components, which are the same for all queries."""
    plain = Edit(hiding_bias(source.padding))
    base = [plain] * config.decoder_layers
    runs = [run for run in hooks.runs if run.own.hooks & OF_CROSS]
    if not runs:
        return base
    shape = len(source.ids), config.heads, 1, source.ids.shape[1]
    return edits(runs, CROSS, config.decoder_layers, shape, base=base, replaced=_refused)


def _refused(run: SideRun, hook: str, *_: object) -> Replacement:
    raise ValueError(f"{run.own.name}: {hook} is a hook of decoders, and this is an encoder")


def with_hidden_keys(edit: Edit, padding: Tensor | None) -> Edit:
    """Return an edit with −inf on padded keys."""
    if padding is None:
        return safe(edit)
    padded = padding[:, None, None, :]
    if edit.bias is None:
        return replace(edit, bias=hiding(padded))  # every sentence has a token, so no query is blind
    return safe(replace(edit, bias=edit.bias.masked_fill(padded, float("-inf"))))


def hiding_bias(padding: Tensor | None) -> Tensor | None:
    """Return a bias of −inf on padded keys, [B,1,1,n]; padding [B,n] is True where there is no token."""
    return None if padding is None else hiding(padding)[:, None, None, :]
