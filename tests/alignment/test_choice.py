"""What is fitted where no method is named."""

from pathlib import Path
from typing import Any

import pytest

from synmt.alignment import choice
from synmt.alignment.choice import default_method, note_choice
from synmt.model.files import write_config
from synmt.streams import Notes

TAKEN: list[dict[str, Any]] = [
    {}, {"hmm_rounds": 2, "neural_hmm_null": 0.1}, {"epochs": 3, "seed": 2}, {"hmm_rounds": -1},
    {"hmm_rounds": 2, "heads": 3},
]  # fmt: skip
REFUSED: list[dict[str, Any]] = [{"heads": 2}, {"source_syntax": "mask"}, {"preset": "paper"}]


def test_what_the_best_one_does_not_take_asks_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But it says itself what is wrong with options under its name."""
    for settings in TAKEN:
        assert default_method(settings, None, None) == default_method(settings, None, tmp_path) == "hmms"
        assert default_method(settings, "links", None) == "mask-align"
    for settings in REFUSED:
        assert default_method(settings, None, None) == "mask-align"
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
    note_choice(notes, "hmm", {}, 1, 1)
    note_choice(notes, "hmms", {}, 20_000, 20_000_000)
    note_choice(notes, "hmms", {"hmm_pairs": 20_000}, 1_000_000, 10**9)
    note_choice(notes, "hmms", {}, 1_000_000, 10**9)
    notes.say()

    def errors(seconds: int) -> str:
        return (
            f"; --method hmm takes {seconds} s and made 9 to 13 % more errors on German and English, eflomal ({says}) "
            "22 to 35 %\n"
        )

    assert capsys.readouterr().err == (
        f"synmt align: fits hmms to 20000 pairs: about 365 s of one core and 1.4 GB{errors(103)}"
        f"synmt align: fits hmms to 1000000 pairs: about 8513 s of one core and 1.4 GB{errors(103)}"
        f"synmt align: fits hmms to 1000000 pairs: about 13413 s of one core and 1.7 GB{errors(5003)}"
    )
