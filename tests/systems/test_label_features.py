"""Labels beside the words of the encoder's input."""

import pytest
import torch

from synmt.model.source import source_side
from synmt.systems.label_features.embeddings import LabelEmbeddings
from synmt.trees.record import ParseRecord
from tests import tiny

RECORD = ParseRecord(tokens=["father", "is"], upos=["NOUN", "AUX"], heads=[2, 0], deprels=["nsubj", "root"])


def test_subwords_share_the_labels_of_their_word() -> None:
    side = source_side({"label-features": {"fields": "deprels+upos"}})
    assert side.features(RECORD, tiny.segment).labels == {
        "deprels": ["nsubj", "nsubj", "root"],
        "upos": ["NOUN", "NOUN", "AUX"],
    }


def test_labels_stand_in_the_last_channels_before_the_positions() -> None:
    data, vocabulary = tiny.corpus("label-features")
    model = tiny.model("label-features", vocabulary)
    source, _ = data.batch([0], torch.device("cpu"))
    network, part = model.network, model.source_parts["label-features"]
    assert isinstance(part, LabelEmbeddings)
    features = part(source).features
    embedded = network.embed(source.ids, features=features) - network.positions(source.ids.shape[1])
    table = model.get_parameter("source_parts.label-features.tables.deprels.weight")
    torch.testing.assert_close(embedded[..., -4:], table[source.columns["deprels"]])
    torch.testing.assert_close(embedded[..., :-4], network.embedding[source.ids][..., :-4] * 4)


def test_an_unseen_label_is_none() -> None:
    _, vocabulary = tiny.corpus("label-features")
    assert vocabulary.encode_labels("deprels", ["rel1", "unseen", ""]) == [2, 0, 0]


def test_features_that_leave_no_room_for_words() -> None:
    side = source_side({"label-features": {"fields": "deprels+upos", "size": 8}})
    with pytest.raises(ValueError, match="leaves words none of the 16 channels"):
        side.check_network(tiny.CONFIG)


def test_a_record_without_the_field_has_no_labels() -> None:
    side = source_side({"label-features": {"fields": "upos"}})
    assert side.features(ParseRecord(tokens=["a", "b"]), tiny.segment).labels == {"upos": ["", ""]}
