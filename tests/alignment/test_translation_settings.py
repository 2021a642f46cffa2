from pathlib import Path

import pytest

from synmt.alignment.methods import open_method
from synmt.alignment.translation.config import choose
from synmt.alignment.translation.idea import open_link_idea
from synmt.streams import BadInput
from synmt.systems import LINK_IDEAS
from tests.alignment.bitexts import bitext, fit_to


@pytest.mark.parametrize("name", LINK_IDEAS)
def test_settings_go_where_they_belong(name: str) -> None:
    own = name.replace("-", "_")
    fields = open_link_idea(name)().settings()
    chosen = choose(name, {"preset": "paper", "width": 64, "epochs": 7} | {f"{own}_{field}": 1 for field in fields})
    assert chosen.idea.settings() == dict.fromkeys(fields, 1)
    assert (chosen.preset.network.width, chosen.preset.network.heads, chosen.preset.training.epochs) == (64, 4, 7)
    assert chosen.preset.network.cross_attention == ("last" if name == "naive-att-last" else "all")


def test_options_of_a_guide_are_known_and_others_are_not() -> None:
    assert choose("shift-aet", {"shift_att_layer": 2, "shift_aet_layer": 3}).idea.settings() == {"layer": 3}
    assert choose("bao-guided", {"bao_contiguity": 0.5})
    with pytest.raises(ValueError, match="an option of shift-aet for shift-att"):
        choose("shift-att", {"shift_aet_layer": 2})
    with pytest.raises(ValueError, match="an option of mask-align for bao"):
        choose("bao", {"loss_form": "paper"})
    with pytest.raises(ValueError, match="an option of pascal for sequence"):
        choose("bao", {"pascal_heads": 1})


def test_a_layer_that_is_not_there_is_named_before_anything_is_trained() -> None:
    with pytest.raises(ValueError, match="shift-att reads decoder layer 5, which there is not"):
        choose("shift-att", {"shift_att_layer": 5, "decoder_layers": 4})
    assert choose("shift-att", {"shift_att_layer": 5, "models": "folder"}).models == Path("folder")


def test_mask_align_knows_none_of_them() -> None:

    pairs, _ = bitext(3)
    with pytest.raises(BadInput, match="an option of bao for mask-align"):
        open_method("mask-align").fit(fit_to(pairs, Path("nowhere"), bao_steps=1))
