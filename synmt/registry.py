"""Registries: what is known by name, ours and what other packages bring along."""

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any


class Registry(Mapping[str, Any]):
    """Names and what they stand for, which is imported when it is asked for.

    own: `module:attribute` of each name; other packages add names under the entry point `group`. A name of theirs
    that is ours is passed over.
    """

    def __init__(self, group: str, own: Mapping[str, str]) -> None:
        self._group, self._own = group, own

    def __getitem__(self, name: str) -> Any:
        """Import what a name stands for. Raises KeyError for an unknown one."""
        if name in self._own:
            module, attribute = self._own[name].split(":")
            return getattr(importlib.import_module(module), attribute)
        for each in entry_points(group=self._group, name=name):
            return each.load()
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._own or any(name == each.name for each in entry_points(group=self._group))

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from sorted(each.name for each in entry_points(group=self._group) if each.name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)
