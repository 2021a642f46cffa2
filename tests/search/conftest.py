import pytest

from synmt.nn.attention import KeyCache


@pytest.fixture(autouse=True)
def rooms_for_few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches are short here, and caches should grow in them."""
    monkeypatch.setattr(KeyCache, "CHUNK", 2)
