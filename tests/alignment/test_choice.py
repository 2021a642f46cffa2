"""What is fitted where no method is named."""

from pathlib import Path

import pytest

from synmt.alignment import choice
from synmt.alignment.choice import default_method, note_choice
from synmt.model.files import write_config
from synmt.streams import Notes


def test_settings_of_a_network_ask_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_method({}, None, None) == default_method({"hmm_rounds": 2}, None, tmp_path) == "hmm"
    for settings, guide in (({"epochs": 3}, None), ({"source_syntax": "mask"}, None), ({}, "links"), ({"x": 1}, "-")):
        assert default_method(settings, guide, None) == "mask-align"
    write_config(tmp_path, {"aligner": "bao"})
    assert default_method({}, None, tmp_path) == "bao"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert default_method({}, None, None) == "mask-align"


@pytest.mark.parametrize(("found", "says"), [(None, "of synmt[align]"), (object(), "installed")])
def test_what_it_costs_grows_with_the_pairs(
    found: object, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: found)
    notes = Notes("align")
    note_choice(notes, "mask-align", {}, 1, 1)
    notes.say()
    assert capsys.readouterr().err == ""
    note_choice(notes, "hmm", {}, 10, 10_000_000)
    note_choice(notes, "hmm", {"hmm_pairs": 10}, 1000, 10**9)
    note_choice(notes, "hmm", {}, 1000, 10**9)
    notes.say()
    rivals = f"neural-hmm made 4 to 9 % fewer errors in four times the time, and eflomal ({says}) 8 to 24 % more"
    errors = f"; on German and English, {rivals}\n"
    assert capsys.readouterr().err == (
        f"synmt align: fits hmm to 10 pairs: about 53 s of one core and 0.7 GB{errors}"
        f"synmt align: fits hmm to 1000 pairs: about 53 s of one core and 0.7 GB{errors}"
        f"synmt align: fits hmm to 1000 pairs: about 5003 s of one core and 1.4 GB{errors}"
    )
