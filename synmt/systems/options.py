"""Options of ideas among the settings of a command, where each carries its idea's name: `pascal_heads`."""

import importlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any


def open_class(place: str) -> type[Any]:
    """The class at `module:Class`."""
    module, name = place.split(":")
    found: type[Any] = getattr(importlib.import_module(module), name)
    return found


def options_of(name: str, idea: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of the settings is the idea's, by the names of its fields."""
    names = {field.name: f"{name}_{field.name}".replace("-", "_") for field in fields(idea)}
    return {field: settings[key] for field, key in names.items() if key in settings}


def check_owners(
    ideas: Iterable[tuple[str, type[Any]]], chosen: Collection[str], settings: Mapping[str, Any], whose: str
) -> None:
    """Raises ValueError for an option of an idea that was not chosen; whose: what was, in words."""
    for name, idea in ideas:
        if name not in chosen and options_of(name, idea, settings):
            raise ValueError(f"an option of {name} for {whose}")
