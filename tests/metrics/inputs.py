"""Inputs for metrics, made in memory instead of read from files."""

from collections.abc import Sequence
from typing import Any

from synmt.metrics.metric import Metric, Row
from synmt.metrics.reading import Input


def given_input(
    metrics: Sequence[Metric[Any]],
    systems: Sequence[Sequence[Any]],
    references: Sequence[Sequence[Any]],
    buckets: Sequence[int] | None = None,
) -> Input:
    """Return an input with the systems named a, b, c … systems: [systems][n]; references: [references][n]."""
    columns = zip(
        zip(*systems, strict=True), zip(*references, strict=True), buckets or [0] * len(systems[0]), strict=True
    )
    return Input("abcdefgh"[: len(systems)], metrics, (Row(*row) for row in columns), [""] * len(systems))
