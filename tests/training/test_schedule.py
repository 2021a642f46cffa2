from typing import Literal

import pytest

from synmt.training.update import learning_rate


def rates(schedule: Literal["constant", "inverse-sqrt", "cosine"], updates: list[int]) -> list[float]:
    return [learning_rate(update, 1.0, 4, schedule, 12) for update in updates]


def test_all_schedules_warm_up_alike() -> None:
    for schedule in ("constant", "inverse-sqrt", "cosine"):
        assert rates(schedule, [1, 2, 3, 4]) == [0.25, 0.5, 0.75, 1.0]


def test_after_the_warm_up() -> None:
    assert rates("constant", [5, 12]) == [1, 1]
    assert rates("inverse-sqrt", [16, 64]) == [0.5, 0.25]
    assert rates("cosine", [13]) == pytest.approx([0.0])
    falling = rates("cosine", list(range(4, 13)))
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] > 0


def test_without_a_warm_up() -> None:
    assert learning_rate(1, 3e-4, 0, "constant", 10) == 3e-4
    assert learning_rate(4, 1.0, 0, "inverse-sqrt", 10) == 0.5
