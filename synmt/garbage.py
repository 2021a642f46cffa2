"""How often Python's garbage collector searches for reference cycles."""

import gc

OBJECTS = 100_000  # created since the last search; Python's default of 700 is about twenty sentences


def search_rarely() -> None:
    """Search less often in this process. Records and examples contain no cycles and are numerous: searching them
    takes a third of the time that it takes to create them."""
    gc.set_threshold(OBJECTS, 20, 20)
