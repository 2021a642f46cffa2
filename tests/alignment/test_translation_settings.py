import pytest

from synmt.alignment.translation_settings import choose, own_settings
from synmt.systems import LINK_IDEAS


@pytest.mark.parametrize("name", LINK_IDEAS)
def test_each_method_knows_its_own_options_and_those_of_its_guides(name: str) -> None:
    chosen = choose(name, {"preset": "paper", "width": 64, "heads": None, "epochs": 7})
    assert (chosen.preset.network.width, chosen.preset.network.heads, chosen.preset.training.epochs) == (64, 4, 7)
    assert chosen.preset.network.cross_attention == ("last" if name == "naive-att-last" else "all")
    assert choose(name, dict.fromkeys(own_settings(name), 1)).idea.settings() != {} or not own_settings(name)
    with pytest.raises(ValueError, match=f"--loss-form is not an option of {name}"):
        choose(name, {"loss_form": "paper"})


def test_options_of_a_guide_are_known() -> None:
    assert choose("shift-aet", {"shift_att_layer": 2, "shift_aet_layer": 3}).idea.settings() == {"layer": 3}
    assert choose("bao-guided", {"bao_contiguity": 0.5})
    with pytest.raises(ValueError, match="--shift-aet-layer is not an option of shift-att"):
        choose("shift-att", {"shift_aet_layer": 2})
