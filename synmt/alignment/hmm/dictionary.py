"""Entries of a dictionary as prior counts (see aligner.py)."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np

from synmt.alignment.hmm.bitext import Compounds, Sides
from synmt.alignment.hmm.lexicon import Tally, distinct
from synmt.alignment.statistical import plain_words
from synmt.streams import BadInput, read_lines

KAPPA = 1.0
Words = tuple[str, ...]
Entry = tuple[Words, Words]


def read_dictionary(path: str) -> list[Entry]:
    """Return the distinct entries of a file, each as the words of both sides in lower case. Raises BadInput."""
    if not Path(path).is_file():  # it is read more than once
        raise BadInput("is not a file", path)
    entries: dict[Entry, None] = {}
    for line in read_lines([path]):
        source, *others = [tuple(plain_words(column.split())) for column in line.text.split("\t")]
        if len(others) != 1 or not source or not others[0]:
            raise line.error("is not an entry: `word TAB word`")
        entries[source, others[0]] = None
    if not entries:
        raise BadInput("has no entries", path)
    return list(entries)


def prior_counts(entries: Iterable[Entry], compounds: tuple[Compounds, Compounds], sides: Sides) -> Tally:
    """Return the counts that links start from: κ for each entry whose words all occur, spread evenly over all pairs of
    their parts. sides: the pairs, cut into parts of words."""
    keys: list[int] = []
    counts: list[float] = []
    for entry in entries:
        if all(word in known.parts for words, known in zip(entry, compounds, strict=True) for word in words):
            sources, targets = (
                [side.words[part] for word in words for part in known.parts[word]]
                for words, known, side in zip(entry, compounds, sides, strict=True)
            )
            keys += [target * len(sides[0].words) + source for source, target in product(sources, targets)]
            counts += [KAPPA / len(sources) / len(targets)] * (len(sources) * len(targets))
    types, places = distinct(np.array(keys, np.int64))
    return Tally(types, np.bincount(places, counts, len(types)).astype(np.float32))
