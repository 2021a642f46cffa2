import pytest

from synmt.nn.attention import KeyCache


@pytest.fixture(autouse=True)
def rooms_for_few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make caches start small, so that they grow even in the short searches of these tests."""
    monkeypatch.setattr(KeyCache, "CHUNK", 2)
