"""Too little memory for a library is told before the library loads, for native code ends the process where it lacks.

Only where the user limits the address space (`ulimit -v`): else nobody knows how much there is.
"""

import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

# MiB of address space that a library takes as it loads and starts, on one core, and for each core. torch's is enough
# for all that loads after it, and for a small model.
NEEDS = {"ufal.udpipe": (96, 0), "benepar": (128, 48), "numpy": (96, 48), "torch": (1024, 64)}


class Scarcity:
    """Looks at the limit before a library is searched for. A finder of modules that finds none itself."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise MemoryError for a library for which too little is left."""
        if name not in NEEDS:
            return
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        left = (self._limit - pages * resource.getpagesize()) >> 20
        base, each = NEEDS[name]
        needed = base + each * (os.cpu_count() or 1)
        if left < needed:
            raise MemoryError(f"{name} needs {needed} MiB of address space to load, and the limit leaves {left}")


def watch_limit() -> None:
    """Look at the limit from now on, where there is one."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if sys.platform == "linux" and limit != resource.RLIM_INFINITY:
        sys.meta_path.insert(0, Scarcity(limit))
