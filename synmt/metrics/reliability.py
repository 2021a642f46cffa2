"""Calibration of link scores: are eight in ten links with scores near 0.8 correct?

The expected calibration error of Naeini, Cooper & Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using
Bayesian Binning", AAAI: we sort links into ten bins by score. With n_b of N links in bin b,

    ECE = Σ_b n_b / N |share of correct links in b − mean score in b|.

Guo et al. (2017), "On Calibration of Modern Neural Networks", ICML, replace scores p by σ(logit(p) / T): a temperature
T over 1 makes overconfident scores less confident, without changing their order. The best temperature, here the one
with the least ECE, is fitted to gold links. (Guo et al. maximize likelihood, which depends mostly on the few links that
are confident and wrong.) A link is correct if it is a possible link of the reference, as in the precision of links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synmt import __version__
from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_rows
from synmt.metrics.report import Fields, Part, Table, in_form
from synmt.streams import readable
from synmt.text.links import Link, Links

Floats = npt.NDArray[np.float64]
BINS = 10
LEAST = 1e-6  # keeps scores away from 0 and 1, where logits are infinite; scores have six digits
TEMPERATURES = np.geomspace(0.1, 10, 401)
BIN_HEADER = ["score", "links", "mean", "right"]


@dataclass(frozen=True, slots=True)
class Bin:
    """Links of similar scores: their number, their mean score, and the share of correct ones."""

    low: float
    high: float
    links: int
    mean: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """bins: the bins that contain links; temperature: the best temperature; error, tempered: ECE before and after
    tempering with it."""

    bins: list[Bin]
    all: Bin
    error: float
    temperature: float
    tempered: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[Mapping[Link, float], Links]]) -> "Reliability":
        """Compare the scores of links with a reference. Raises ValueError if there are no links."""
        found = [(score, link in gold.possible) for links, gold in pairs for link, score in links.items()]
        if not found:
            raise ValueError("no links with scores")
        scores = np.array([score for score, _ in found], np.float64)
        right = np.array([is_right for _, is_right in found])
        temperature = best_temperature(scores, right)
        bins, everything = binned(scores, right), Bin(0.0, 1.0, len(found), float(scores.mean()), float(right.mean()))
        after = binned(tempered(scores, temperature), right)
        return cls(bins, everything, calibration_error(bins), temperature, calibration_error(after))


def binned(scores: Floats, right: npt.NDArray[np.bool_]) -> list[Bin]:
    """Return the bins that contain scores. A bin includes its lower bound; the last bin also includes 1."""
    places = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    chosen = ((place, places == place) for place in np.unique(places).tolist())
    return [
        Bin(place / BINS, (place + 1) / BINS, int(here.sum()), float(scores[here].mean()), float(right[here].mean()))
        for place, here in chosen
    ]


def calibration_error(bins: list[Bin]) -> float:
    return sum(each.links * abs(each.right - each.mean) for each in bins) / sum(each.links for each in bins)


def tempered(scores: npt.ArrayLike, temperature: float) -> Floats:
    """Return σ(logit(p) / T)."""
    kept = np.clip(np.asarray(scores, np.float64), LEAST, 1 - LEAST)
    with np.errstate(over="ignore"):  # 1 / (1 + ∞) is 0
        probabilities: Floats = 1 / (1 + (1 / kept - 1) ** (1 / temperature))
    return probabilities


def best_temperature(scores: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return the one of TEMPERATURES with the least error."""
    return min(TEMPERATURES.tolist(), key=lambda each: calibration_error(binned(tempered(scores, each), right)))


def report_reliability(files: Files, config: MetricConfig, form: str) -> Iterator[str]:
    """Return for each file one row per bin and one for all links, in percent. Raises BadInput and ValueError."""
    rows, notes = open_rows("inspect reliability", "scored links", files, config)
    kept = [(row.hypotheses, row.references[0]) for row in rows]
    found = [
        (readable(name), note, Reliability.of((items[place], gold) for items, gold in kept))
        for place, (name, note) in enumerate(zip(files.hypotheses, notes, strict=True))
    ]
    fields = (row for name, _, reliability in found for row in _fields(name, reliability))
    return in_form(form, reliability_as_text(found), fields)


def reliability_as_text(found: Sequence[tuple[str, str, Reliability]]) -> Iterator[Part]:
    for name, note, reliability in found:
        rows = [_cells_of_bin(f"{each.low:.1f}-{each.high:.1f}", each) for each in reliability.bins]
        yield Table([BIN_HEADER, *rows, _cells_of_bin("all", reliability.all)])
        best = f"{100 * reliability.tempered:.2f} at temperature {reliability.temperature:.2f}"
        system = f" ({name})" if len(found) > 1 else ""
        yield f"ECE|bins:{BINS}|synmt:{__version__}|{note} = {100 * reliability.error:.2f} ({best}){system}"


def _cells_of_bin(name: str, each: Bin) -> list[str]:
    return [name, str(each.links), f"{100 * each.mean:.2f}", f"{100 * each.right:.2f}"]


def _fields(name: str, reliability: Reliability) -> Iterator[Fields]:
    for each in (*reliability.bins, reliability.all):
        is_all = each is reliability.all
        yield {
            "system": name,
            "low": each.low,
            "high": each.high,
            "links": each.links,
            "mean": 100 * each.mean,
            "right": 100 * each.right,
            "ece": 100 * reliability.error if is_all else None,
            "temperature": reliability.temperature if is_all else None,
            "tempered_ece": 100 * reliability.tempered if is_all else None,
        }
