"""An aligner that is fitted to the very pairs that it is then to align."""

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import Aligner, FitConfig, Needs
from synmt.alignment.choice import note_choice
from synmt.alignment.config import AlignConfig
from synmt.alignment.methods import open_method
from synmt.alignment.pairs import note_bases, read_pairs, with_known_links
from synmt.alignment.tree_links import NEEDS as TREES
from synmt.caller import random_numbers_kept
from synmt.model.files import CONFIG_FILE
from synmt.model.records import SentencePair
from synmt.model.words import note_doubts, sides_of, words_of
from synmt.streams import BadInput, BadLines, Line, Notes, WrongUsage
from synmt.text.links import Link
from synmt.text.tokenization import TextConfig
from synmt.training.bitext import Bitext
from synmt.trees.record import ParseRecord


@dataclass(frozen=True)
class Fitted:
    """An aligner and what it was fitted to: all pairs but those with an empty side."""

    aligner: Aligner
    bitext: Bitext
    kept: "KeptPairs"

    def pairs(self) -> Iterator[SentencePair]:
        """Yield the pairs of all lines; those with an empty side have two."""
        return self.kept.all(self.bitext)


@contextmanager
def fitted(
    method: str,
    settings: Mapping[str, Any],
    lines: Iterable[Line],
    guide: str | None,
    out: Path | None,
    resume: bool,
    device: str,
    config: AlignConfig,
    text: TextConfig,
    bad: BadLines,
    notes: Notes,
    say: bool = False,
) -> Iterator[Fitted]:
    """Give an aligner that is fitted to the pairs of lines; one without a folder is gone in the end.

    As `fit_stream`; notes: of what is doubtful, also in fitting. Raises BadInput.
    """
    if out and (out / CONFIG_FILE).exists() and not resume:  # before hours of parsing, not after
        raise BadInput("holds a model; --resume goes on with it", str(out))
    chosen = open_method(method, settings)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not getattr(ALIGNERS[method], "several", False):
        joined = " or ".join(name for name in ALIGNERS if getattr(ALIGNERS[name], "several", False))
        raise WrongUsage(f"one process fits {method}, not several: add --method {joined}")
    tokenizer = text.tokenizer or "moses"
    sides = sides_of(text.languages, tokenizer)
    pairs = read_pairs(lines, needed(chosen.needs(settings), config), sides, config.max_words, bad)
    kept = KeptPairs()
    bitext = Bitext(kept.whole(with_known_links(pairs, [guide]) if guide else pairs))
    if not len(bitext):
        raise BadInput("no sentence pairs to be fitted to")
    note_doubts(notes, *sides)
    note_bases(notes, [guide] if guide else [])
    if say:
        note_choice(notes, method, settings, len(bitext), kept.cells)
    words = (
        words_of((pair.source for pair in bitext), text.languages[0], tokenizer),
        words_of((pair.target for pair in bitext), text.languages[1], tokenizer),
    )
    known = kept.links if guide else None
    with TemporaryDirectory(prefix="synmt-align-") as temporary:
        folder = out or Path(temporary) / "model"
        fitting = FitConfig(
            method, bitext, known, text.languages, tokenizer, settings, folder, resume, device, words, notes
        )
        with random_numbers_kept():
            aligner = chosen.fit(fitting)
        yield Fitted(aligner, bitext, kept)


class KeptPairs:
    """What is to be known of pairs that are kept on disk, in order.

    cells: Σ J × I; links: those that the pairs without an empty side have brought along.
    """

    def __init__(self) -> None:
        self.cells = 0
        self.links: list[Set[Link]] = []
        self._whole = bytearray()

    def whole(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield the pairs without an empty side."""
        for pair in pairs:
            cells = len(pair.source.tokens) * len(pair.target.tokens)
            self._whole.append(cells > 0)
            if cells:
                self.cells += cells
                if pair.links:
                    self.links.append(pair.links[0].keys())
                yield pair

    def all(self, bitext: Bitext) -> Iterator[SentencePair]:
        """Yield what has been kept of all pairs; those with an empty side have two."""
        pairs, line = iter(bitext), Line("", "", 0)
        for whole in self._whole:
            yield next(pairs) if whole else SentencePair(ParseRecord(), ParseRecord(), (line, line))


def needed(needs: Needs, config: AlignConfig) -> Needs:
    """Return what the records of both sides must have for an aligner of these needs."""
    return (needs[0] | TREES, needs[1] | TREES) if config.tree_links else needs
