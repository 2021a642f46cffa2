from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from synmt.alignment.corpus import AlignerCorpus, SideBatch, links_of_subwords
from synmt.alignment.published.mask_align.config import MaskAlignConfig
from synmt.alignment.published.mask_align.model import DirectedModel, MaskAlignModel
from synmt.model.source import source_side
from synmt.nn.config import TransformerConfig
from tests import tiny
from tests.alignment.corpora import CPU, corpus_of, sides

CONFIG = replace(tiny.CONFIG, norm="post", cross_attention="last")
ABLATIONS: dict[str, dict[str, Any]] = {
    "whole": {},
    "paper": {"loss_form": "paper"},
    "no leak": {"no_leak": True},
    "no agreement": {"no_agreement": True},
    "causal": {"causal": True},
}


def aligner(
    system: str = "sequence", config: TransformerConfig = CONFIG, guided: bool = False, **options: Any
) -> tuple[MaskAlignModel, AlignerCorpus]:
    """Return a random model and its four pairs, one of which has a single word on either side."""
    corpus = corpus_of(system)
    torch.manual_seed(1)
    encoders = source_side(tiny.SYSTEMS[system]), source_side({"sequence": {}})
    model = MaskAlignModel(config, MaskAlignConfig(**options), guided, encoders, corpus.vocabularies)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model.eval(), corpus


@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("system", ["sequence", "mask", "pascal", "label-features", "mask+pascal"])
def test_batches_equal_single_pairs(system: str, guided: bool) -> None:
    model, corpus = aligner(system, guided=guided)
    x, y, _ = corpus.batch(range(4), CPU)
    forward, backward = model.weights(x, y)
    for row in range(4):
        x, y, _ = corpus.batch([row], CPU)
        single = model.weights(x, y)
        targets, sources = single[0].shape[1:]
        torch.testing.assert_close(forward[row, :targets, :sources], single[0][0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(backward[row, :sources, :targets], single[1][0], atol=1e-5, rtol=1e-4)
        for weights, alone in zip((forward, backward), single, strict=True):  # no weight on padding
            assert float(weights[row].detach().sum()) == pytest.approx(float(alone.detach().sum()), abs=1e-4)


@pytest.mark.parametrize("form", ["code", "paper"])
def test_a_subword_never_changes_its_own_prediction(form: str) -> None:
    model, corpus = aligner(loss_form=form)
    x, y, _ = corpus.batch([3], CPU)
    for directed, read, predicted, table in ((model.forward_model, x, y, 1), (model.backward_model, y, x, 0)):
        tables = model.tables[1 - table], model.tables[table]
        states, weights = directed(read, predicted, tables, 0, 0.0)
        for place in range(predicted.subwords.shape[1]):
            subwords = predicted.subwords.clone()
            subwords[0, place] = 2 if subwords[0, place] != 2 else 3
            other_states, other_weights = directed(read, replace(predicted, subwords=subwords), tables, 0, 0.0)
            assert torch.equal(other_states[0, place], states[0, place])
            assert torch.equal(other_weights[0, place], weights[0, place])
            assert not torch.equal(other_states, states)


def test_links_of_a_guided_model_see_the_word_but_predictions_do_not() -> None:
    model, corpus = aligner(guided=True)
    x, y, _ = corpus.batch([3], CPU)
    other = replace(y, subwords=torch.cat([5 - y.subwords[:, :1].clamp(max=3), y.subwords[:, 1:]], dim=1))
    assert not torch.equal(y.subwords, other.subwords)
    tables = model.tables[0], model.tables[1]
    states, weights = model.forward_model(x, y, tables, 0, 0.0)
    other_states, other_weights = model.forward_model(x, other, tables, 0, 0.0)
    assert torch.equal(states[0, 0], other_states[0, 0])
    assert not torch.equal(weights[0, 0], other_weights[0, 0])
    torch.testing.assert_close(model.weights(x, y)[0], weights)


@pytest.mark.parametrize(
    ("ablation", "guided"), [each for each in product(ABLATIONS, (False, True)) if each != ("causal", True)]
)
def test_every_ablation_has_a_loss_with_finite_gradients(ablation: str, guided: bool) -> None:
    model, corpus = aligner(guided=guided, **ABLATIONS[ablation])
    if guided:
        links = {(0, 0)}
        words = zip(corpus.source.words, corpus.target.words, strict=True)
        corpus.links = [links_of_subwords(links, *pair) for pair in words]
    loss = model.train().loss(*corpus.batch(range(4), CPU), 0.1)
    loss.total.backward()
    assert loss.tokens == sum(len(ids) for side in (corpus.source, corpus.target) for ids in side.subwords)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name


def test_the_loss_equals_the_formula() -> None:
    """Both forms of the loss are computed cell by cell from the weights and the log-probability of each subword."""
    values = {}
    for form in ("paper", "code"):
        model, corpus = aligner(loss_form=form)
        x, y, _ = corpus.batch(range(4), CPU)
        values[form] = mean_loss(model, x, y)
        forward, backward = (weights.detach() for weights in model.weights(x, y))
        nll = [
            slow_nll(directed, read, predicted, tables, len(vocabulary.target))
            for directed, read, predicted, tables, vocabulary in (
                (model.forward_model, x, y, (model.tables[0], model.tables[1]), corpus.vocabularies[1]),
                (model.backward_model, y, x, (model.tables[1], model.tables[0]), corpus.vocabularies[0]),
            )
        ]
        sizes = [(int(i), int(j)) for i, j in zip(y.real.sum(1), x.real.sum(1), strict=True)]
        squares = sum(
            float((forward[b, i, j] - backward[b, j, i]) ** 2)
            for b, (targets, sources) in enumerate(sizes) for i in range(targets) for j in range(sources)
        )  # fmt: skip
        cells = sum(i * j for i, j in sizes)
        entropies = [
            sum(slow_entropy(weights[b, r, :n]) for b, rows, n in shapes for r in range(rows))
            for weights, shapes in (
                (forward, [(b, i, j) for b, (i, j) in enumerate(sizes)]),
                (backward, [(b, j, i) for b, (i, j) in enumerate(sizes)]),
            )
        ]
        rows = [sum(i for i, _ in sizes), sum(j for _, j in sizes)]
        over = rows if form == "paper" else [cells, cells]
        entropy = sum(each / count for each, count in zip(entropies, over, strict=True))
        expected = sum(nll) * (1 if form == "paper" else 0.5) + 5 * squares / cells + entropy
        assert values[form] == pytest.approx(expected, rel=1e-4)
    assert values["paper"] > values["code"]


def mean_loss(model: MaskAlignModel, x: SideBatch, y: SideBatch, links: Tensor | None = None) -> float:
    loss = model.loss(x, y, links)
    return float(loss.total.detach()) / loss.tokens


def slow_nll(
    directed: DirectedModel, read: SideBatch, predicted: SideBatch, tables: tuple[Tensor, Tensor], size: int
) -> float:
    """Return the mean loss over subwords."""
    states, _ = directed(read, predicted, tables, 0, 0.0)
    logs = (states @ tables[1][:size].t()).log_softmax(dim=2)
    chosen = logs.gather(2, predicted.subwords.clamp(max=size - 1).unsqueeze(2)).squeeze(2)
    return float(-(chosen.detach() * predicted.real).sum() / predicted.real.sum())


def slow_entropy(row: Tensor) -> float:
    shares = (row + 0.05) / (row + 0.05).sum()
    return float(-(shares * shares.log()).sum())


def test_guidance_counts_each_linked_subword_once_per_direction() -> None:
    model, corpus = aligner(no_agreement=True, guidance=2.0)
    links = {(0, 0), (0, 1), (2, 1)}
    words = zip(corpus.source.words, corpus.target.words, strict=True)
    corpus.links = [links_of_subwords(links, *pair) for pair in words]
    x, y, guide = corpus.batch([3], CPU)
    forward, backward = (weights.detach() for weights in model.weights(x, y))
    pairs = {(int(i), int(j)) for i, j in corpus.links[3]}
    expected = 0.0
    for weights, found in ((forward, pairs), (backward, {(j, i) for i, j in pairs})):
        rows = sorted({row for row, _ in found})
        for row in rows:
            columns = [column for each, column in found if each == row]
            expected -= sum(float(weights[0, row, column].log()) for column in columns) / len(columns) / len(rows)
    with_guide, without = (mean_loss(model, x, y, each) for each in (guide, None))
    assert with_guide - without == pytest.approx(2 * expected, rel=1e-4)


def test_structure_is_read_but_never_predicted() -> None:
    model, corpus = aligner("mask")
    source, _ = corpus.vocabularies
    assert corpus.source.places is not None
    sentences, _ = sides("mask")
    for sentence, ids, row in zip(sentences, corpus.source.subwords, corpus.source.read.rows, strict=True):
        assert len(ids) == sentence.words < len(row["ids"])
        assert np.all(ids < len(source.target))
    assert any(token.startswith(" ") for token in source.source)
    x, _, _ = corpus.batch(range(4), CPU)
    assert model.forward_model.encode(x, model.tables[0], 0.0).shape[1] == x.subwords.shape[1]
