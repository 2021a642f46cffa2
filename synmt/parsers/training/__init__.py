"""Trains the embedded models from treebanks. `bin/train-parsers` runs this; nothing else imports it.

`treebank` converts treebanks to one set of labels. `constituency` trains and scores the model of English constituents,
`udpipe` the models of English and German dependencies. `projected` makes a treebank from projected trees. The treebanks
are not part of synmt: `bin/train-parsers` lists them, and synmt/parsers/models/ATTRIBUTION.md gives sources and
licences.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from synmt.parsers.parser import ModelError
from synmt.streams import BadInput, complain


@contextmanager
def complaining(name: str) -> Iterator[None]:
    """Turn bad input into one line on stderr and exit status 1. name: begins the line."""
    try:
        yield
    except (BadInput, ModelError, OSError) as error:
        raise SystemExit(complain(name, str(error))) from None
