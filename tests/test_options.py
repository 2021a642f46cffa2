"""The settings of all configs."""

import pytest

from synmt.alignment.config import AlignConfig
from synmt.decoding.config import SearchConfig, TranslateConfig
from synmt.metrics.config import MetricConfig
from synmt.nn.config import TransformerConfig
from synmt.options import settings_of
from synmt.training.config import TrainingConfig


@pytest.mark.parametrize(
    "config", [AlignConfig, MetricConfig, SearchConfig, TrainingConfig, TransformerConfig, TranslateConfig]
)
def test_a_number_that_no_machine_counts_to_is_refused(config: type) -> None:
    """Sizes are products of settings, and these must not overflow."""
    numbers = [each for each in settings_of(config) if each.kind is int]
    assert numbers
    for each in numbers:
        assert not any(each.fits(value) for value in (2**32, 2**64, 10**30, -1)), each.name
        assert each.fits(each.default)


def test_all_seeds_of_32_bits_serve() -> None:
    assert TrainingConfig(seed=2**32 - 1).seed == 2**32 - 1
