"""Registries: what is known by name, ours and what other packages bring along."""

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Registry(Mapping[str, Any]):
    """Names and what they stand for, which is imported when it is asked for.

    own: `module:attribute` of each name. Other packages add names under the entry point `group`; one that is ours is
    passed over. base: a class, `module:Class`, that theirs must be of where several registries share a group.
    """

    def __init__(self, group: str, own: Mapping[str, str], base: str = "") -> None:
        self._group, self._own, self._base = group, own, base

    def __getitem__(self, name: str) -> Any:
        """Import what a name stands for. Raises KeyError for an unknown one."""
        if name in self._own:
            return attribute(self._own[name])
        for each in _offered(self._group):
            if each.name == name and self._takes(each):
                return each.load()
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in list(self)

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from sorted(each.name for each in _offered(self._group) if self._takes(each))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _takes(self, offered: "EntryPoint") -> bool:
        if offered.name in self._own:
            return False
        return not self._base or issubclass(offered.load(), attribute(self._base))


def attribute(place: str) -> Any:
    """Import the attribute at `module:attribute`."""
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


@cache
def _offered(group: str) -> "tuple[EntryPoint, ...]":
    """Return the entry points of the installed packages."""
    from importlib.metadata import entry_points  # slow to load, and most text commands have no use for it

    return tuple(entry_points(group=group))
