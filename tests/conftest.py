"""Hypothesis without deadlines (a busy machine is slow, not wrong), and one thread for small tensors."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("synmt", deadline=None)
settings.load_profile("synmt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no process is left alone with it at the end."""
    items.sort(key=lambda item: "test_recipes" not in item.nodeid)
