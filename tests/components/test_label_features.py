"""Labels next to the words of the encoder's input."""

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.encoder.label_features import subword_tags
from synmt.model.source import source_side
from synmt.nn.encoding import encoder_hooks
from synmt.trees.record import ParseRecord
from tests import tiny

RECORD = ParseRecord(tokens=["father", "is"], upos=["NOUN", "AUX"], heads=[2, 0], deprels=["nsubj", "root"])


def test_subwords_share_the_labels_of_their_word() -> None:
    side = source_side({"label-features": {"fields": "deprels+upos"}})
    assert side.features(RECORD, tiny.segment).values == {
        "deprels": ["nsubj", "nsubj", "root"],
        "upos": ["NOUN", "NOUN", "AUX"],
    }


def test_labels_use_the_last_channels_before_positions_are_added() -> None:
    data, vocabulary = tiny.corpus("label-features")
    model = tiny.model("label-features", vocabulary)
    source, _ = data.batch([0], torch.device("cpu"))
    network = model.network
    change = encoder_hooks(model.source_parts.values(), source, tiny.CONFIG).embed
    embedded = network.embed(source.ids, change=change) - network.positions(source.ids.shape[1])
    table = model.get_parameter("source_parts.label-features.tables.deprels.weight")
    torch.testing.assert_close(embedded[..., -4:], table[source.fields["deprels"]])
    torch.testing.assert_close(embedded[..., :-4], network.embedding[source.ids][..., :-4] * 4)


def test_an_unseen_label_counts_as_none() -> None:
    _, vocabulary = tiny.corpus("label-features")
    assert vocabulary.encode_labels("deprels", ["rel1", "unseen", ""]) == [2, 0, 0]


def test_features_that_leave_no_channels_for_words() -> None:
    side = source_side({"label-features": {"fields": "deprels+upos", "size": 8}})
    with pytest.raises(ValueError, match="leaves no room for words in a width of 16"):
        side.check_network(tiny.CONFIG)


def test_a_record_without_the_field_has_no_labels() -> None:
    side = source_side({"label-features": {"fields": "upos"}})
    assert side.features(ParseRecord(tokens=["a", "b"]), tiny.segment).values == {"upos": ["", ""]}


def test_morphology_lemmas_and_subword_tags() -> None:
    record = replace(RECORD, tokens=["grandfather", "is", "father"], upos=["NOUN", "AUX", "NOUN"], heads=[2, 0, 2])
    record = replace(record, deprels=["nsubj", "root", "obj"], lemmas=["grandfather", "be", "father"])
    side = source_side({"label-features": {"fields": "feats+lemmas+bieo", "size": 2}})
    with_feats = replace(record, feats=["Number=Sing|Gender=Masc", "_", "Number=Sing"])
    assert side.features(with_feats, tiny.segment).values == {
        "feats": ["Number=Sing|Gender=Masc"] * 4 + ["_"] + ["Number=Sing"] * 2,
        "lemmas": ["grandfather"] * 4 + ["be"] + ["father"] * 2,
        "bieo": ["B", "I", "I", "E", "O", "B", "E"],
    }
    assert side.features(record, tiny.segment).values["feats"] == ["_"] * 7  # parsed, and no word has any


@given(st.lists(st.integers(1, 5), max_size=6))
def test_subword_tags_match_a_regular_expression(counts: list[int]) -> None:
    """The tags of each word are O or B I* E."""
    words = [word for word, count in enumerate(counts) for _ in range(count)]
    tags = "".join(subword_tags(words))
    found = re.findall("O|BI*E", tags)
    assert "".join(found) == tags and list(map(len, found)) == counts
    assert subword_tags([-1, *words, -1]) == ["", *tags, ""]


@pytest.mark.parametrize("fields", ["", "heads", "upos+upos", "deprels+"])
def test_unknown_fields(fields: str) -> None:
    with pytest.raises(ValueError, match="fields cannot be"):
        source_side({"label-features": {"fields": fields}})
