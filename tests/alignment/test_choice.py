"""What is fitted where no method is named."""

from pathlib import Path

import pytest

from synmt.alignment.choice import default_method, note_choice
from synmt.model.files import write_config
from synmt.streams import Notes
from tests.alignment.words import pair


def test_settings_of_a_network_ask_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_method({}, None, None) == default_method({"hmm_rounds": 2}, None, tmp_path) == "hmm"
    for settings, guide in (({"epochs": 3}, None), ({"source_syntax": "mask"}, None), ({}, "links"), ({"x": 1}, "-")):
        assert default_method(settings, guide, None) == "mask-align"
    write_config(tmp_path, {"aligner": "bao"})
    assert default_method({}, None, tmp_path) == "bao"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert default_method({}, None, None) == "mask-align"


def test_what_it_costs_grows_with_the_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes("align")
    note_choice(notes, "mask-align", [pair(["a"], ["b"])])
    notes.say()
    assert capsys.readouterr().err == ""
    note_choice(notes, "hmm", [pair(["a"] * 1000, ["b"] * 1000)] * 10)
    notes.say()
    assert capsys.readouterr().err == "synmt align: fits hmm to 10 pairs: about 23 s of one core and 0.7 GB\n"
