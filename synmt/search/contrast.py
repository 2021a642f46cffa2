"""Contrastive pairs: whether a model gives the right translation a higher probability than wrong ones."""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from synmt.challenge.contrast import Item, report, shares, translations
from synmt.data.words import say_warnings
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.search.config import LogprobConfig
from synmt.search.scores import forcing, scored
from synmt.search.stream import words_of_sides
from synmt.streams import BadInput, BadLines, Latest, Notes, OnError, counted, read_lines


def contrast(
    model: Path, files: Sequence[str], config: LogprobConfig, device: str, form: str, on_error: OnError
) -> Iterator[str]:
    """Return a table of the items in the files that a model wins, by category and distance. Raises BadInput."""
    folder = ModelFolder.open(model, ModelConfig)
    translator, sides = forcing(folder, local_device(device), config), words_of_sides(folder.config, config)
    bad, notes, latest, waiting = BadLines(on_error), Notes(), Latest(), deque[Item]()
    pairs = translations(read_lines(files, on_error), bad, waiting)
    items: list[Item] = []
    for forced in scored(translator, sides, pairs, config, bad, notes, latest):
        item = waiting.popleft()
        if not item.scores:
            items.append(item)
        item.scores.append(forced.total() if forced.tokens else math.nan)
    found = shares(whole := [item for item in items if not any(map(math.isnan, item.scores))])
    if not found:
        raise BadInput("no item could be scored", " + ".join(files))
    if len(whole) < len(items):
        notes.add(f"{counted(len(items) - len(whole), 'item')} left out, since a translation cannot be scored")
    say_warnings(bad, notes, *sides)
    return report(found, form)
