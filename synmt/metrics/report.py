"""Scores of several systems as text, TSV or JSON lines."""

from collections.abc import Callable, Iterator, Sequence

import orjson

from synmt.metrics.metric import Score

Scores = Sequence[tuple[str, Sequence[Score]]]  # of each system its name, and one score a metric


def as_text(scores: Scores) -> Iterator[str]:
    """For one system a line a metric as sacreBLEU prints it; for several a table, then the signatures."""
    if len(scores) == 1:
        yield from (score.line for score in scores[0][1])
        return
    header = scores[0][1]
    width = max(len(system) for system in ["system", *(system for system, _ in scores)])
    yield "  ".join(["system".ljust(width), *(f"{score.name:>7}" for score in header)])
    for system, row in scores:
        cells = (f"{score.score:{max(7, len(score.name))}.2f}" for score in row)
        yield "  ".join([system.ljust(width), *cells])
    yield from (f"{score.name}|{score.signature}" for score in header)


def as_tsv(scores: Scores) -> Iterator[str]:
    """A header and a row a system and metric."""
    yield "system\tmetric\tscore\tsignature"
    for system, row in scores:
        for score in row:
            yield f"{system}\t{score.name}\t{score.score:.4f}\t{score.signature}"


def as_json(scores: Scores) -> Iterator[str]:
    """One JSON object a system and metric, its score in full precision."""
    for system, row in scores:
        for score in row:
            fields = {"system": system, "metric": score.name, "score": score.score}
            yield orjson.dumps({**fields, "signature": score.signature}).decode()


FORMATS: dict[str, Callable[[Scores], Iterator[str]]] = {"text": as_text, "tsv": as_tsv, "json": as_json}
