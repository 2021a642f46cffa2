"""An aligner on a small random multilingual encoder, which the test makes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synmt.alignment.aligner import load_aligner
from synmt.alignment.embeddings.aligner import Embeddings
from synmt.alignment.encoders.encoder import open_encoder, states_of
from synmt.streams import BadInput
from tests.alignment.bitexts import fitted
from tests.alignment.words import pair

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "haus", "rot", "##es", "das", "house", "red", "the", "##s"]
CPU = torch.device("cpu")
PAIRS = [
    pair(["das", "rotes", "haus"], ["the", "red", "houses"]),
    pair(["haus"], ["the", "house"]),
    pair(["rot"], ["?"]),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


def write_encoder(folder: Path) -> Path:
    """Save a small random encoder in Hugging Face's format."""
    from transformers import BertConfig, BertModel, BertTokenizer

    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "num_hidden_layers": 3,
    }
    model = BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=12, **sizes))
    with torch.no_grad():
        model.embeddings.word_embeddings.weight *= 50  # so that words matter more than their positions
    model.save_pretrained(folder)
    BertTokenizer(str(vocabulary), model_max_length=12).save_pretrained(folder)
    return folder


@torch.no_grad()
def slow_states(folder: Path, subwords: list[str], layer: int) -> np.ndarray:
    from transformers import AutoModel

    ids = [WORDS.index(each) for each in ["[CLS]", *subwords, "[SEP]"]]
    output = AutoModel.from_pretrained(folder).eval()(torch.tensor([ids]), output_hidden_states=True)
    states: np.ndarray = output.hidden_states[layer][0, 1:-1].numpy()
    return states


@pytest.mark.parametrize("layer", [0, 2, 3])
def test_states_do_not_depend_on_other_sentences(encoder: Path, layer: int) -> None:
    found = states_of(open_encoder(str(encoder), layer, CPU), [["das", "rotes", "haus"], ["haus"], []])
    assert [each.words for each in found] == [[0, 1, 1, 2], [0], []]
    np.testing.assert_allclose(found[0].values, slow_states(encoder, ["das", "rot", "##es", "haus"], layer), atol=1e-5)
    np.testing.assert_allclose(found[1].values, slow_states(encoder, ["haus"], layer), atol=1e-5)
    assert found[2].values.shape == (0, 16)


def test_sentences_too_long_for_the_encoder_are_split(encoder: Path) -> None:
    words = ["das", "haus", "rot"] * 8
    (found,) = states_of(open_encoder(str(encoder), 3, CPU), [words])
    assert found.words == list(range(24))
    # windows of 10 words, of which 2 at each inner end only give context
    windows = [(0, 10, 0, 8), (6, 16, 8, 14), (12, 22, 14, 20), (18, 24, 20, 24)]
    expected = [
        slow_states(encoder, words[begin:end], 3)[first - begin : last - begin] for begin, end, first, last in windows
    ]
    np.testing.assert_allclose(found.values, np.concatenate(expected), atol=1e-5)


@pytest.mark.parametrize("rule", ["argmax", "itermax", "softmax"])
def test_words_are_linked_by_their_subwords(rule: str, encoder: Path, tmp_path: Path) -> None:
    settings = {"embeddings_encoder": str(encoder), "embeddings_layer": 0, "embeddings_rule": rule}
    aligner = fitted("embeddings", PAIRS, tmp_path / "kept", settings)
    assert isinstance(aligner, Embeddings)
    same = [pair(["das", "rotes", "haus"], ["haus", "das", "rotes"])]
    (found,) = aligner.links(same)
    if rule != "softmax":  # its threshold suits states that are longer than random ones
        assert {(0, 1), (1, 2), (2, 0)} <= set(found.forward)
    for links, each in zip(aligner.links(PAIRS), PAIRS, strict=True):
        assert links.forward == links.backward
        assert all(j < len(each.source.tokens) and i < len(each.target.tokens) for j, i in links.forward)
    opened = load_aligner(tmp_path / "kept", None, "cpu")
    assert opened.links(PAIRS) == aligner.links(PAIRS)


def test_unloadable_encoders_give_one_line(encoder: Path, tmp_path: Path) -> None:
    def refused(cause: str, name: Path | str = encoder, **settings: Any) -> None:
        own = {"embeddings_encoder": str(name), "embeddings_layer": 1, **settings}
        with pytest.raises(BadInput, match=cause) as error:
            fitted("embeddings", PAIRS, tmp_path / "new", own)
        assert "\n" not in str(error.value)

    refused("has no layer 8, only 3 layers", embeddings_layer=8)
    refused("encoder .*missing: ", tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    refused("encoder .*empty: ", tmp_path / "empty")
    assert not (tmp_path / "new").exists()


def test_pickles_are_loaded_only_on_request_and_never_from_a_folder(encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    pickled = tmp_path / "pickled"
    pickled.mkdir()
    for path in encoder.iterdir():
        if path.suffix != ".safetensors":
            (pickled / path.name).write_bytes(path.read_bytes())
    torch.save(load_file(encoder / "model.safetensors"), pickled / "pytorch_model.bin")
    settings = {"embeddings_encoder": str(pickled), "embeddings_layer": 1}
    with pytest.raises(BadInput, match=r"encoder .*pickled: "):
        fitted("embeddings", PAIRS, tmp_path / "no", settings)
    fitted("embeddings", PAIRS, tmp_path / "yes", {**settings, "embeddings_trust_pickle": True})
    with pytest.raises(BadInput, match=r"encoder .*pickled: "):
        load_aligner(tmp_path / "yes", None, "cpu")
