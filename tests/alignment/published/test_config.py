from pathlib import Path
from typing import Any

import pytest

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import method_config, options_of
from synmt.alignment.choice import used_by
from synmt.alignment.published.attention.method import AttentionMethod, TranslationFitConfig, fitting_config
from synmt.options import settings_of
from synmt.streams import WrongUsage
from tests.alignment.published.forced import METHODS


def asked(name: str, settings: dict[str, Any]) -> tuple[AttentionMethod, TranslationFitConfig]:
    aligner = method_config(name, settings)
    assert isinstance(aligner, AttentionMethod)
    return aligner, fitting_config(aligner, settings)


@pytest.mark.parametrize("name", METHODS)
def test_settings_reach_their_configs(name: str) -> None:
    fields = [each.name for each in settings_of(ALIGNERS[name])]
    own = {f"{name}-{field}".replace("-", "_"): 1 for field in fields}
    aligner, config = asked(name, {"preset": "paper", "width": 64, "epochs": 7} | own)
    assert options_of(aligner) == dict.fromkeys(fields, 1)
    assert (config.network.width, config.network.heads, config.training.epochs) == (64, 4, 7)
    assert config.network.cross_attention == ("last" if name == "naive-att-last" else "all")


@pytest.mark.parametrize("name", METHODS)
def test_layers_without_cross_attention_are_refused_before_training(name: str) -> None:
    settings = {"cross_attention": "last", "decoder_layers": 3}
    if name == "naive-att-last":
        asked(name, settings)
    else:
        with pytest.raises(
            WrongUsage, match="a decoder layer that does not attend to the source: add --cross-attention all"
        ):
            asked(name, settings)


def test_unsuitable_encoders_are_refused_before_training() -> None:
    with pytest.raises(WrongUsage, match="label-features leaves no room for words in a width of 8"):
        asked("naive-att", {"source_syntax": "label-features", "width": 8, "heads": 2})


def test_only_relevant_options_are_accepted() -> None:
    aligner, _ = asked("shift-aet", {"shift_att_layer": 2, "shift_aet_layer": 3})
    assert options_of(aligner) == {"layer": 3}
    assert asked("bao-guided", {"bao_contiguity": 0.5})
    assert {"shift-att-layer", "shift-aet-layer", "guide"} < used_by("shift-aet", {})
    assert "shift-att-layer" not in used_by("shift-aet", {"guide": "links"})  # with a guide, it needs no teacher
    assert "shift-aet-layer" not in used_by("shift-att", {})
    assert "pascal-heads" not in used_by("bao", {}) and "pascal-heads" in used_by("bao", {"source-syntax": "pascal"})


def test_missing_layers_are_named_before_training() -> None:
    with pytest.raises(WrongUsage, match="this method reads decoder layer 5, which does not exist"):
        asked("shift-att", {"shift_att_layer": 5, "decoder_layers": 4})
    _, config = asked("shift-att", {"shift_att_layer": 5, "models": "folder"})
    assert config.models == Path("folder")
