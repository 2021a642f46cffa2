"""How often Python looks for objects that only hold each other."""

import gc

OBJECTS = 100_000  # made since the last search; Python's own 700 are those of some twenty sentences


def search_rarely() -> None:
    """Search less often in this process: records and examples hold no cycles, and are many. To look for some among
    them takes a third of the time that it takes to make them."""
    gc.set_threshold(OBJECTS, 20, 20)
