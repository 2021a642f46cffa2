"""Sentences without a parse, in every encoder."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.contract import subwords
from synmt.data.batches import Sources
from synmt.data.corpus import Corpus
from synmt.model.source import source_side
from synmt.nn.encoding import Encoded, SourceBatch, encoder_hooks
from synmt.trees.record import UNATTACHED, ParseRecord
from tests import tiny

CPU = torch.device("cpu")
POSITIONAL = {"supervised heads", "mask+supervised heads"}  # systems that also learn positions, which need no tree
PREDICTING = {"lisa", "lisa, gold", "all but multitask"}  # systems with a head that attends to the parent it predicts


def sources_of(system: str, records: list[ParseRecord]) -> tuple[Sources, int]:
    side = source_side(tiny.SYSTEMS[system])
    _, vocabulary = tiny.sources_and_vocabulary(system)
    return Sources.encode([side.features(record, tiny.segment) for record in records], vocabulary), vocabulary.padding


def unparsed() -> list[ParseRecord]:
    return [record.without_trees() for record in tiny.records()]


def batch_of(system: str, records: list[ParseRecord]) -> SourceBatch:
    sources, padding = sources_of(system, records)
    return sources.batch(range(len(records)), padding, CPU)


def loss_of(encoded: Encoded) -> float:
    return sum(loss.item() for loss in encoded.hooks.losses(encoded.states).values())


@pytest.mark.parametrize("system", tiny.SYSTEMS)
def test_without_a_tree_the_encoder_is_plain(system: str) -> None:
    """The plain encoder reads subwords with the same parameters; with label features, it reads the features of no
    label."""
    _, vocabulary = tiny.sources_and_vocabulary(system)
    model, batch = tiny.model(system, vocabulary), batch_of(system, unparsed())
    marks = ["<translate>"] if "multitask" in tiny.SYSTEMS[system] else []
    for row, record in zip(batch.ids, tiny.records(), strict=True):
        tokens = [f" {mark}" for mark in marks] + subwords(record, tiny.segment).tokens + [f" {mark}" for mark in marks]
        assert row[: len(tokens)].tolist() == vocabulary.encode(tokens)
    encoding = model.encode(batch)
    assert (loss_of(encoding) == 0) == (system not in POSITIONAL)
    if system in PREDICTING:  # their attention is never plain
        return
    kept = [name for name in model.source_parts if name == "label-features"]
    for number, row in enumerate(batch.ids):
        real = row[row != vocabulary.padding].unsqueeze(0)
        alone = SourceBatch(real, None, torch.tensor([1]), {"deprels": torch.zeros_like(real)})
        hooks = encoder_hooks([model.source_parts[name] for name in kept], alone, tiny.CONFIG)
        plain = model.network.encode(real, hooks)
        torch.testing.assert_close(encoding.states[number : number + 1, : real.shape[1]], plain, atol=1e-6, rtol=1e-5)


def test_predicted_parents_need_no_tree() -> None:
    """This also holds for a head that attends to gold parents if there are any."""
    for name, others in (("lisa", tiny.records()), ("lisa, gold", unparsed())):
        _, vocabulary = tiny.sources_and_vocabulary(name)
        model = tiny.model(name, vocabulary)
        found = model.encode(batch_of(name, unparsed())).states
        part: Any = model.source_parts["lisa"]
        part.component = replace(part.component, test_parents="predicted")
        torch.testing.assert_close(found, model.encode(batch_of("lisa", others)).states)


@pytest.mark.parametrize("system", tiny.SYSTEMS)
def test_mixed_batches_equal_single_sentences(system: str) -> None:
    _, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    records = [each for pair in zip(tiny.records(), unparsed(), strict=True) for each in pair]
    sources, padding = sources_of(system, records)
    together = model.encode(sources.batch(range(len(records)), padding, CPU))
    losses = [loss_of(together)]
    for index, row in enumerate(sources.rows):
        alone = model.encode(sources.batch([index], padding, CPU))
        torch.testing.assert_close(together.states[index, : len(row["ids"])], alone.states[0], atol=1e-5, rtol=1e-5)
        losses.append(loss_of(alone))
    assert losses[0] == pytest.approx(sum(losses[1:]), rel=1e-4)


def test_components_read_the_available_fields() -> None:
    """The record has one of two trees, or a partial tree, which only some components can use."""
    record = tiny.records()[0]
    side = source_side({"mask": {}, "pascal": {}})
    no_heads = side.features(replace(record, heads=[]), tiny.segment)
    assert np.array_equal(no_heads.values["parents"], side.features(record, tiny.segment).values["parents"])
    assert set(no_heads.values["parent_positions"].tolist()) == {-1}
    no_tree = side.features(replace(record, tree=None), tiny.segment)
    alone = source_side({"pascal": {}}).features(record, tiny.segment)
    assert no_tree.tokens == alone.tokens
    assert np.array_equal(no_tree.values["parent_positions"], alone.values["parent_positions"])
    partial = replace(record, heads=[UNATTACHED, *record.heads[1:]])
    over_dependencies = source_side({"mask": {"tree": "dependency"}, "pascal": {}})
    bare = over_dependencies.features(record.without_trees(), tiny.segment)
    found = over_dependencies.features(partial, tiny.segment)
    assert np.array_equal(found.values["parents"], bare.values["parents"])
    assert not np.array_equal(found.values["parent_positions"], bare.values["parent_positions"])


def corpus(system: str, tree_dropout: float) -> Corpus:
    _, vocabulary = tiny.corpus(system)
    side, target = source_side(tiny.SYSTEMS[system]), tiny.TARGET_SYSTEMS["sequence"]
    made = Corpus.empty(vocabulary, target, tree_dropout=tree_dropout)
    for record, entries in zip(tiny.records(), tiny.target_entries("sequence"), strict=True):
        bare = side.features(record.without_trees(), tiny.segment)
        made.append(side.features(record, tiny.segment), entries, bare=bare)
    return made


def test_tree_dropout_selects_sentences() -> None:
    data = corpus("mask", 0.3)
    torch.manual_seed(0)
    lengths = [len(side.rows[2]["ids"]) for side in (data.sources, data.bare)]
    drawn = data.batch([2] * 2000, CPU)[0]
    assert drawn.padding is not None
    found = (~drawn.padding).sum(dim=1)
    assert set(found.tolist()) == set(lengths) and lengths[0] > lengths[1]
    assert 0.26 < (found == lengths[1]).double().mean() < 0.34


@given(st.integers(0, 100))
def test_tree_dropout_depends_only_on_the_generator(seed: int) -> None:
    data = corpus("mask+pascal", 0.5)
    batches = []
    for _ in range(2):
        torch.manual_seed(seed)
        batches.append(data.batch([0, 1, 2, 3], CPU)[0])
    assert torch.equal(batches[0].ids, batches[1].ids)
    assert all(torch.equal(values, batches[1].fields[name]) for name, values in batches[0].fields.items())
