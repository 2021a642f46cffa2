"""Word alignment with existing models, ours and other programs'."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from synmt.alignment.aligner import FitBitext, FittedAligner, FittedText, Fitting, method_config
from synmt.alignment.extraction import Extraction, extract
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.demo.corpus import draw_pairs
from synmt.streams import Line
from synmt.text.links import write_links
from tests.bench.pairs import Comparison, clock_of, compare
from tests.bench.streams import record_of

FITTED, ALIGNED = 1000, 500  # pairs
SETTINGS: dict[str, dict[str, Any]] = {
    "hmm": {},
    "auto": {"epochs": 1},
    "mask-align": {"updates": 1},
    "naive-att": {"updates": 1},
    "eflomal": {},
    "systran-align": {},
}
COMPARED = [
    ("hmm", "systran-align"),
    ("auto", "systran-align"),
    ("mask-align", "systran-align"),
    ("mask-align", "eflomal"),
    ("naive-att", "systran-align"),
]


def demo_pairs() -> list[SentencePair]:
    drawn = islice(draw_pairs(seed=7), FITTED + ALIGNED)
    return [
        SentencePair(record_of(pair.english), record_of(pair.kel), (Line("", "demo", number),) * 2)
        for number, pair in enumerate(drawn, 1)
    ]


def fitted(method: str, pairs: list[SentencePair], out: Path, device: torch.device) -> FittedAligner:
    settings = SETTINGS[method]
    bitext = FitBitext(Bitext(pairs), FittedText(("en", "en"), "none"))
    return method_config(method, settings).fit(bitext, Fitting(settings, out, resume=False, device=str(device)))


def aligning(aligner: FittedAligner, pairs: list[SentencePair]) -> Callable[[], int]:
    """Return a function that aligns the words of pairs and writes lines of links."""
    how = Extraction(aligner.heuristic)

    def work() -> int:
        found = zip(pairs, aligner.links(pairs), strict=True)
        links = (extract(given, pair.source.tokens, pair.target.tokens, how).links for pair, given in found)
        return sum(1 for each in links if write_links(each) is not None)

    return work


def compare_alignment(rounds: int, device: torch.device) -> Iterator[Comparison]:
    pairs = demo_pairs()
    with TemporaryDirectory() as folder:
        works = {
            method: aligning(fitted(method, pairs[:FITTED], Path(folder, method), device), pairs[FITTED:])
            for method in SETTINGS
        }
        for ours, other in COMPARED:
            yield compare(
                f"align: {ours} / {other}", "pairs", works[ours], works[other], rounds, clock=clock_of(device)
            )
