"""The papers to cite for the ideas, aligners and metrics that are used, as BibTeX.

Each idea, aligner and metric names its papers in an attribute `cites`: keys of papers.bib or, in another package, whole
entries.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SYNMT = "synmt"  # the key of synmt itself
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),.*?^\}$", re.MULTILINE | re.DOTALL)


def cited(registry: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield the papers of ideas, aligners or metrics; for one without its own papers, the papers of its parts."""
    for name in names:
        made = registry[name]
        yield from getattr(made, "cites", ()) or cited(registry, getattr(made, "parts", ()))


def entries(cites: Iterable[str]) -> list[str]:
    """Return the entries of papers, each once, in their order. cites: keys of papers.bib, or entries.

    Raises ValueError for an unknown key.
    """
    known, found = papers(), dict[str, None]()
    for each in cites:
        if not each.lstrip().startswith("@") and each not in known:
            raise ValueError(f"no paper with the key {each!r}")
        found[known.get(each, each.strip())] = None
    return list(found)


@cache
def papers() -> dict[str, str]:
    """Return the entries of papers.bib by key."""
    text = (Path(__file__).parent / "papers.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in _ENTRY.finditer(text)}
