"""Configures hypothesis without deadlines (a busy machine is slow, not wrong), and one thread for small tensors."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.cli.commands import AT_THE_END

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"  # no test uses the network

settings.register_profile("synmt", deadline=None)
settings.load_profile("synmt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process is still busy with one at the end."""
    items.sort(key=lambda item: "test_recipes" not in item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let all tests share their own cache, and leave the user's cache alone."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def ended() -> Iterator[None]:
    """After the last test, end the processes that all tests shared."""
    with AT_THE_END:
        yield
