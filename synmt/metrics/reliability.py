"""Whether the scores of links are probabilities: of those near 0.8, are eight of ten right?

The expected calibration error of Naeini, Cooper & Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using
Bayesian Binning", AAAI: links stand in ten bins by their score, and with n_b links in bin b of N in all,

    ECE = Σ_b n_b / N |share of right links in b − mean score in b|.

Guo et al. (2017), "On Calibration of Modern Neural Networks", ICML, make scores p into σ(logit(p) / T): a temperature T
over 1 makes what is too sure less so, and moves no score past another. The best one, here that of the least ECE, is
learnt from links that are known. (Theirs has the greatest likelihood, which follows the few links that are sure and
wrong.) Right is a link that the reference holds possible, as in the precision of links.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import orjson

from synmt.text.links import Link, Links, check_numbers

Floats = npt.NDArray[np.float64]
BINS = 10
LEAST = 1e-6  # and 1 − LEAST: scores have six digits, and certainty has no odds
TEMPERATURES = np.geomspace(0.1, 10, 401)


@dataclass(frozen=True, slots=True)
class Scored:
    """What an aligner says of a sentence pair: links between words, counted from 0, each with its score, 0 to 1."""

    links: Mapping[Link, float] = field(default_factory=dict)


def read_scored(line: str) -> Scored:
    """Read JSON with `links`, a list of [source word, target word, score].

    An empty line, and the `{}` that stands for it, has no links. Raises ValueError.
    """
    if line.strip() in ("", "{}"):
        return Scored()
    try:
        links = {(i, j): score for i, j, score in orjson.loads(line)["links"]}
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except (KeyError, TypeError, ValueError):
        raise ValueError('needs "links": [[source word, target word, score], …]') from None
    check_numbers(links)
    if any(type(score) not in (int, float) or not 0 <= score <= 1 for score in links.values()):
        raise ValueError("a score is not between 0 and 1")
    return Scored(links)


@dataclass(frozen=True, slots=True)
class Bin:
    """Links of like scores: how many, the mean of their scores, and the share of them that is right."""

    low: float
    high: float
    links: int
    mean: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """bins: those that hold links; temperature: the best one; tempered: the scores' error at that one."""

    bins: list[Bin]
    all: Bin
    error: float
    temperature: float
    tempered: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[Scored, Links]]) -> "Reliability":
        """Return that of links against those of a reference. Raises ValueError if there are no links."""
        found = [(score, link in gold.possible) for item, gold in pairs for link, score in item.links.items()]
        if not found:
            raise ValueError("no links with scores")
        scores = np.array([score for score, _ in found], np.float64)
        right = np.array([is_right for _, is_right in found])
        temperature = best_temperature(scores, right)
        bins, everything = binned(scores, right), Bin(0.0, 1.0, len(found), float(scores.mean()), float(right.mean()))
        after = binned(tempered(scores, temperature), right)
        return cls(bins, everything, calibration_error(bins), temperature, calibration_error(after))


def binned(scores: Floats, right: npt.NDArray[np.bool_]) -> list[Bin]:
    """Return the bins that hold scores; each begins with its lowest, and the last holds 1."""
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
    probabilities: Floats = 1 / (1 + (1 / kept - 1) ** (1 / temperature))
    return probabilities


def best_temperature(scores: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return that of the least error, of TEMPERATURES."""
    return min(TEMPERATURES.tolist(), key=lambda each: calibration_error(binned(tempered(scores, each), right)))
