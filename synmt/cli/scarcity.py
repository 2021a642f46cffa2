"""Reports too little memory for a library before the library loads, because native code aborts without memory.

This works only if the user limits the address space (`ulimit -v`); otherwise the available memory is unknown.
"""

import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

# MiB of address space that a library needs to load and start: a base, and more per core. torch's also covers the
# libraries that load after it, and a small model.
NEEDS = {"ufal.udpipe": (96, 0), "benepar": (128, 48), "numpy": (96, 48), "torch": (1024, 64)}


class Scarcity:
    """A module finder that finds nothing, but checks the limit before a library is imported."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise MemoryError if too little memory is left for a library."""
        if name not in NEEDS:
            return
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        left = (self._limit - pages * resource.getpagesize()) >> 20
        base, each = NEEDS[name]
        needed = base + each * (os.cpu_count() or 1)
        if left < needed:
            raise MemoryError(f"{name} needs {needed} MiB of address space to load, but the limit leaves {left}")


def watch_limit() -> None:
    """Check imports against the limit, if there is one."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if sys.platform == "linux" and limit != resource.RLIM_INFINITY:
        sys.meta_path.insert(0, Scarcity(limit))
