"""Registries of named plug-ins, from synmt and from other packages."""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Registry(Mapping[str, Any]):
    """A mapping from names to attributes, which are imported on access.

    own: `module:attribute` by name. Other packages add names under the entry point `group`; they cannot replace ours.
    base: if several registries share a group, the base class, `module:Class`, of this registry's attributes.
    noun: what one of them is called in messages.
    """

    def __init__(self, group: str, own: Mapping[str, str], base: str = "", noun: str = "name") -> None:
        self._group, self._own, self._base, self._noun = group, own, base, noun

    def __getitem__(self, name: str) -> Any:
        """Import the attribute of a name. Raises KeyError for an unknown name."""
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

    def named(self, name: str) -> Any:
        """Import the attribute of a name. Raises ValueError for an unknown name."""
        if name not in self:
            raise ValueError(f"unknown {self._noun} {name!r}; known: {', '.join(self)}{meant(name, self)}")
        return self[name]

    def made(self, options: Any) -> dict[str, Any]:
        """Return the objects with these names and options, as a config stores them. Raises ValueError or TypeError for
        unknown names and invalid options."""
        if not isinstance(options, Mapping) or not all(isinstance(each, Mapping) for each in options.values()):
            raise ValueError(f"{self._noun}s must be an object of objects, not {options!r:.40}")
        return {name: self.named(name)(**own) for name, own in options.items()}

    def _takes(self, offered: "EntryPoint") -> bool:
        if offered.name in self._own:
            return False
        return not self._base or issubclass(offered.load(), attribute(self._base))


def parts_of(joined: str) -> list[str]:
    """Return the names that are joined by `+`. Raises ValueError for a name that occurs twice."""
    names = joined.split("+")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{joined} has {name} more than once")
    return names


def meant(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known ones, or "" if none is close."""
    from difflib import get_close_matches  # needed for errors only

    close = [repr(each) for each in get_close_matches(str(name), known, 2, 0.65)]  # one letter of three may be wrong
    return f"; did you mean {' or '.join(close)}?" if close else ""


def attribute(place: str) -> Any:
    """Import the attribute at `module:attribute`."""
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


@cache
def _offered(group: str) -> "tuple[EntryPoint, ...]":
    """Return the entry points of the installed packages."""
    from importlib.metadata import entry_points  # slow to load, and most text commands have no use for it

    return tuple(entry_points(group=group))
