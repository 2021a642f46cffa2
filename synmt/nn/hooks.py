"""The hooks by which components change a run of an encoder or a decoder: what they return, combined and checked.

This module knows components only by their methods, which synmt.components.contract describes.
Shapes: B sentences (or rows of a decoder), H heads, Q queries, K keys, n positions, d width.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, Attended, Edit, Recorder, Replacement, safe
from synmt.nn.config import TransformerConfig

Value = Tensor | Mapping[int, Tensor] | None  # for all layers, for some by number, or for none
SELF = {"bias": "bias", "penalty": "penalty", "scale": "scale", "weights": "weights"}
CROSS = {"bias": "cross_bias", "scale": "cross_scale", "weights": "cross_weights"}
OF_CROSS = frozenset(CROSS.values())


class Part(nn.Module):
    """A component in a model, with its parameters as attributes.

    name: of the component; hooks: the methods that it defines; channels: the channels of the embeddings that it owns;
    heads: the heads that it owns, by layer; layers_after: the layers after which `after` runs.
    """

    def __init__(
        self, name: str, component: Any, config: TransformerConfig, parameters: Mapping[str, Any], channels: slice
    ) -> None:
        super().__init__()
        self.name, self.component, self.config, self.channels = name, component, config, channels
        self.hooks: frozenset[str] = component.hooks
        self.heads: Mapping[int, tuple[int, ...]] = component.owned_heads(config)
        self.layers_after: Sequence[int] = component.layers_after(config)
        for key, value in parameters.items():
            if hasattr(self, key):
                raise ValueError(f"{name}: a parameter cannot be called {key}")
            if not isinstance(value, nn.Module | nn.Parameter):
                if not isinstance(value, Tensor):
                    raise TypeError(f"{name}: parameter {key} is a {type(value).__name__}, not a tensor or a module")
                value = nn.Parameter(value)
            setattr(self, key, value)


class OwnAttention(dict[int, Attended]):
    """The attention of the layers in which a component owns heads, by layer, counted from 1."""

    def __missing__(self, layer: int) -> Attended:
        raise ValueError(f"a loss reads the attention of layer {layer}, where its component owns no head (owned_heads)")


@dataclass(slots=True)
class SideRun:
    """One run of the layers of a side, as one component sees it.

    own: the component's parameters, such as `run.own.slopes`, and whether the model is training, `run.own.training`.
    fields: its fields, by name, each [B,n], or [B,n,n] for pairs.
    queries [Q]: the positions to compute; all n, or the last one in a search.
    padding [B,n] bool: where an encoder has no token, None if every position has one.
    source: for a decoder, the encoder's batch; sentences [B]: the sentence of each row in it.
    memory: anything that one hook keeps for another.
    attended: for `loss` and `accuracies`, the attention of each layer in which the component owns heads.
    states: for `loss`, the output of the encoder [B,n,d], or the states of a decoder that predict tokens [P,d].
    positions [P]: for `loss` of a decoder, the index of these states among all flattened positions [B·n].
    """

    own: Any
    fields: Mapping[str, Tensor]
    queries: Tensor
    padding: Tensor | None = None
    source: Any = None
    sentences: Tensor | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    attended: OwnAttention = field(default_factory=OwnAttention)
    states: Tensor = field(default_factory=lambda: torch.empty(0))
    positions: Tensor = field(default_factory=lambda: torch.empty(0))

    def call(self, hook: str, *given: Any) -> Any:
        return getattr(self.own.component, hook)(self, *given)

    def has(self, hook: str) -> bool:
        return hook in self.own.hooks

    @property
    def learns(self) -> bool:
        """Whether it has all fields, also those that exist only in training and validation."""
        return all(name in self.fields for name in self.own.component.fields_by_name)


def checked(run: SideRun, hook: str, value: Any, shape: Sequence[int]) -> Tensor:
    """Return what a hook returned. Raises TypeError unless it is numbers, and ValueError unless it fits a shape."""
    name = f"{run.own.name}: {hook}"
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"{name} must return a tensor of floating point, not {kind}")
    if value.ndim != len(shape) or any(own not in (1, size) for own, size in zip(value.shape, shape, strict=True)):
        raise ValueError(f"{name} returned the shape {list(value.shape)}, which does not fit {list(shape)}")
    return value


def by_layer(run: SideRun, hook: str, layers: int, shape: Sequence[int]) -> dict[int, Tensor]:
    """Return the value of a static hook for each layer, counted from 1. Raises TypeError and ValueError."""
    value: Value = run.call(hook)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return dict.fromkeys(range(1, layers + 1), checked(run, hook, value, shape))
    if wrong := [layer for layer in value if layer not in range(1, layers + 1)]:
        raise ValueError(f"{run.own.name}: {hook} returned a value for layer {wrong[0]} of {layers}")
    return {layer: checked(run, hook, each, shape) for layer, each in value.items()}


def replacement(run: SideRun, hook: str, layer: int, shape: Sequence[int]) -> Replacement:
    """Return the weights of the heads that a component owns in a layer."""
    heads = run.own.heads[layer]
    own = (shape[0], len(heads), *shape[2:])
    return Replacement(heads, lambda inputs: checked(run, hook, run.call(hook, layer, inputs), own))


def edits(
    runs: Sequence[SideRun],
    site: Mapping[str, str],
    layers: int,
    shape: Sequence[int],
    finish: Callable[[Edit], Edit] = safe,
    base: Sequence[Edit] = (),
    replaced: Callable[..., Replacement] = replacement,
) -> list[Edit]:
    """Return the edit of each layer's attention, of the shape (B, H, Q, K): biases add up, scales multiply, and the
    strengths of masks add up, so penalties multiply before they are subtracted.

    site: SELF or CROSS; base: edits to start with; finish: completes an edit; layers that share all values share it.
    """
    found = {
        kind: [(run, by_layer(run, hook, layers, shape)) for run in runs if run.has(hook)]
        for kind, hook in site.items()
        if kind != "weights"
    }
    made: dict[Any, Edit] = {}
    every = []
    for layer in range(1, layers + 1):
        first = base[layer - 1] if base else PLAIN
        parts = {kind: [value[layer] for _, value in each if layer in value] for kind, each in found.items()}
        own = tuple(
            replaced(run, site["weights"], layer, shape)
            for run in runs
            if run.has(site["weights"]) and layer in run.own.heads
        )
        key = id(first), *(tuple(map(id, each)) for each in parts.values()), *map(id, own)
        if key not in made:
            made[key] = finish(_joined(first, parts, own))
        every.append(made[key])
    return every


def _joined(first: Edit, parts: Mapping[str, Sequence[Tensor]], own: tuple[Replacement, ...]) -> Edit:
    biases = [*([] if first.bias is None else [first.bias]), *parts["bias"]]
    scales = [*([] if first.scale is None else [first.scale]), *parts["scale"]]
    if penalties := parts.get("penalty"):
        biases.append(-reduce(torch.mul, penalties))
    if not (biases or scales or own or first.replaced):
        return PLAIN
    bias = reduce(torch.add, biases) if biases else None
    return Edit(bias, reduce(torch.mul, scales) if scales else None, first.replaced + own)


class Hooks:
    """The hooks of one side's components in one run: `edits` of each layer, changes of states, and losses."""

    def __init__(self, runs: Sequence[SideRun], edits: Sequence[Edit]) -> None:
        self.runs, self.edits = runs, edits

    def embed(self, vectors: Tensor) -> Tensor:
        """Return the embedded tokens [B,Q,d], before positions are added."""
        return self._changed("embed", [run for run in self.runs if run.has("embed")], vectors)

    def after(self, layer: int, states: Tensor) -> Tensor:
        """Return the output of a layer [B,Q,d]; layer 0: the embedded input, with positions."""
        runs = [run for run in self.runs if layer in run.own.layers_after]
        return self._changed("after", runs, states, layer) if runs else states

    def _changed(self, hook: str, runs: Sequence[SideRun], states: Tensor, *given: Any) -> Tensor:
        for run in runs:
            value = checked(run, hook, run.call(hook, *given, states), states.shape)
            states = value.expand(states.shape)
        return states

    @contextmanager
    def recording(self, modules: Sequence[Any]) -> Iterator[None]:
        """Record the attention of the layers in which components with a loss own heads; modules: of all layers."""
        learning = [run for run in self.runs if run.has("loss") and run.own.heads]
        layers = sorted({layer for run in learning for layer in run.own.heads})
        with Recorder([modules[layer - 1] for layer in layers]) as recorder:
            yield
        found = dict(zip(layers, recorder.calls, strict=False))
        for run in learning:
            run.attended = OwnAttention({layer: found[layer] for layer in run.own.heads if layer in found})

    def losses(self, states: Tensor, positions: Tensor | None = None) -> dict[str, Tensor]:
        """Return the loss of each component that has one, by name, summed over the batch. Raises TypeError and
        ValueError."""
        found = {}
        for run in self.runs:
            run.states = states
            run.positions = run.positions if positions is None else positions
            if run.has("loss") and run.learns and (loss := run.call("loss")) is not None:
                found[run.own.name] = checked(run, "loss", loss, ())
        return found

    def accuracies(self) -> dict[str, Callable[[], tuple[int, int]]]:
        """Return functions that count right predictions and all predictions, by name. Raises ValueError for a name that
        two components use."""
        found: dict[str, Callable[[], tuple[int, int]]] = {}
        for run in self.runs:
            if run.has("accuracies") and run.learns:
                own = run.own.component.accuracies(run)
                if twice := found.keys() & own.keys():
                    raise ValueError(f"two accuracies are called {', '.join(sorted(twice))}")
                found |= own
        return found


def parts_of(
    components: Mapping[str, Any], config: TransformerConfig, parameters: Callable[[Any], Mapping[str, Any]]
) -> nn.ModuleDict:
    """Return the components that have hooks, with new parameters, by name."""
    place = config.width - sum(each.channels_taken() for each in components.values())
    parts = {}
    for name, each in components.items():
        channels = slice(place, place + each.channels_taken())
        place = channels.stop
        if each.hooks:
            parts[name] = Part(name, each, config, parameters(each), channels)
    return nn.ModuleDict(parts)


def runs_of(parts: Iterable[Part], fields: Mapping[str, Tensor], new_run: Callable[..., SideRun]) -> list[SideRun]:
    """Return a run for each component whose fields a batch has. A component that only works in training is left out of
    batches without them. Raises ValueError for any other."""
    runs = []
    for part in parts:
        names = part.component.fields_by_name
        lacking = [name for name in names if name not in fields]
        if lacking and part.component.training_only:
            continue
        for name in lacking:
            if not names[name].training:
                raise ValueError(f"{part.name} lacks the field {name}")
        runs.append(new_run(part, {name: fields[name] for name in names if name in fields}))
    return runs
