"""What both sides of a model share: components by name, their options and their heads."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from synmt.components.contract import Component
from synmt.nn.config import TransformerConfig
from synmt.options import chosen
from synmt.streams import counted

AnyComponent = TypeVar("AnyComponent")


def components_of(known: Mapping[str, type[AnyComponent]], options: Any) -> dict[str, AnyComponent]:
    """Return the components with these names and options, as stored in a config.

    Raises ValueError or TypeError for unknown names and invalid options.
    """
    if not isinstance(options, Mapping) or not all(isinstance(each, Mapping) for each in options.values()):
        raise ValueError(f"components must be an object of objects, not {options!r:.40}")
    return {name: named(known, name)(**own) for name, own in options.items()}


def options_of(
    known: Mapping[str, type[AnyComponent]], names: Iterable[str], settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return each component's options among the settings, such as `pascal_heads`. Raises ValueError for an unknown
    one."""
    return {name: chosen(named(known, name), settings, f"{name}-") for name in names}


def named(known: Mapping[str, type[AnyComponent]], name: str) -> type[AnyComponent]:
    if name not in known:
        raise ValueError(f"unknown component {name!r}; known: {', '.join(known)}")
    return known[name]


def check_components(components: Mapping[str, Component], config: TransformerConfig, layers: int) -> None:
    """Raise ValueError if a network with so many layers on this side is too small for the components, and TypeError for
    a hook that could have no effect."""
    owners_of_heads(components, config, layers)
    for each in components.values():
        each.check_hooks()
    if sum(each.channels_taken() for each in components.values()) >= config.width:
        raise ValueError(f"{'+'.join(components)} leaves no room for words in a width of {config.width}")


def owners_of_heads(
    components: Mapping[str, Component], config: TransformerConfig, layers: int
) -> dict[tuple[int, int], str]:
    """Return the component that owns each owned head, by layer, counted from 1, and head, counted from 0.

    Raises ValueError for a head that the network does not have, and for a head that two components own.
    """
    owners: dict[tuple[int, int], str] = {}
    for name, each in components.items():
        for layer, heads in each.owned_heads(config).items():
            for head in heads:
                if not (0 < layer <= layers and 0 <= head < config.heads):
                    sizes = f"{counted(layers, 'layer')} of {counted(config.heads, 'head')}"
                    raise ValueError(
                        f"{name} takes {counted(len(heads), 'head')} of layer {layer}, but the network has {sizes}"
                    )
                if (layer, head) in owners:
                    raise ValueError(f"{owners[layer, head]} and {name} both take head {head + 1} of layer {layer}")
                owners[layer, head] = name
    return owners
