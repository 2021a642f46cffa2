"""The decoder's attention on its own translation, compared with the decoder during search."""

from pathlib import Path

import numpy as np
import pytest
import torch

from synmt.inspection.sentence import BEGIN, head_matrices, read_translation, source_of
from synmt.nn.attention import Recorder
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translator
from synmt.trees.arc_tokens import is_arc, write_tokens
from tests import tiny
from tests.components.slow_compose import slow_sets
from tests.inspection.models import SENTENCE, write_model

CPU = torch.device("cpu")


@pytest.mark.parametrize("target", ["sequence", "bitran", "parent", "parent, split arcs", "parent+gcn", "compose"])
def test_the_tokens_belong_to_the_best_translation(target: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "sequence", target)
    read = read_translation(folder, SENTENCE)
    record, _ = source_of(folder, SENTENCE)
    translator = Translator.open(folder, CPU, SearchConfig(), TranslateConfig())
    best = next(translator.translate([translator.features(record)]))[0]
    begin, *entries = read.layout.tokens
    assert begin == BEGIN
    assert write_tokens(entries) == best.transitions or best.transitions is None
    assert read.record.tokens == best.tokens and read.record.heads == (best.heads or [])
    joined: dict[int, str] = {}
    for entry, word in zip(read.layout.tokens, read.layout.words, strict=True):
        if word >= 0:
            joined[word] = joined.get(word, "") + entry.removesuffix("@@")
    assert list(joined.values()) == best.tokens
    assert read.weights.shape == (2, 2, 1 + len(entries), 1 + len(entries))
    np.testing.assert_allclose(read.weights.sum(axis=-1), 1, atol=1e-5)


def test_causal_decoders_see_no_later_tokens_but_bitran_does(tmp_path: Path) -> None:
    causal = read_translation(write_model(tmp_path / "causal", "sequence"), SENTENCE).weights
    assert not causal[..., np.triu_indices(causal.shape[-1], 1)[0], np.triu_indices(causal.shape[-1], 1)[1]].any()
    assert (read_translation(write_model(tmp_path / "bitran", "sequence", "bitran"), SENTENCE).weights > 0).all()


def test_the_parent_head_sees_itself_its_parents_and_their_arcs(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "sequence", "parent")
    read = read_translation(folder, SENTENCE)
    assert [read.head_name(1, 0), read.head_name(1, 1)] == ["head 1 (parent)", "head 2"]
    matrices, _ = head_matrices(read, "weights", 2, None)
    assert [matrix.title for matrix in matrices] == ["layer 2, head 1 (parent)", "layer 2, head 2"]
    seen = read.weights[0, 0] > 0
    words = read.layout.words
    for token, word in enumerate(words):
        if word >= 0:
            head = read.record.heads[word]
            of_words = {words[key] for key in np.flatnonzero(seen[token]) if key != token and words[key] >= 0}
            assert of_words <= {head - 1}
    assert (read.weights[0, 1] > 0).all()


def test_the_heads_of_compose_see_what_its_table_specifies(tmp_path: Path) -> None:
    read = read_translation(write_model(tmp_path / "model", "sequence", "compose"), SENTENCE)
    assert [read.head_name(1, 0), read.head_name(1, 1)] == ["head 1 (compose)", "head 2 (compose)"]
    for head, rows in enumerate(slow_sets(write_tokens(read.layout.tokens[1:]))):
        for layer in read.weights[:, head]:
            assert [set(np.flatnonzero(row)) for row in layer] == rows


def test_words_with_tags_are_shown_without_tags(tmp_path: Path) -> None:
    read = read_translation(write_model(tmp_path / "model", "sequence", "tags"), SENTENCE)
    assert read.layout.tokens[0] == " <s>" and not any(map(is_arc, read.layout.tokens))
    assert read.weights.shape[2:] == (len(read.layout.tokens),) * 2
    assert max(read.layout.words) + 1 == len(read.record.heads) == len(read.record.tokens)


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
def test_the_shown_attention_is_that_of_the_decoder(target: str) -> None:
    """It gives the same mixtures of values as a run of the decoder over the whole target."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    source, batch = corpus.batch([0], CPU)
    outputs: list[torch.Tensor] = []
    projections: list[torch.Tensor] = []
    for layer in model.network.decoder_layers:
        layer.attention.out.register_forward_hook(lambda _, given, __: outputs.append(given[0]))
        layer.attention.qkv.register_forward_hook(lambda _, __, output: projections.append(output))
    encoded = model.encode(source)
    with torch.inference_mode():
        model.decoder(model.network, batch, encoded)
        at_work = [output.reshape(-1, tiny.CONFIG.width) for output in outputs]
        projections.clear()
        with Recorder([layer.attention for layer in model.network.decoder_layers]) as recorder:
            model.decoder.read(model.network, batch.inputs, batch.fields, encoded)
    for number, weights in enumerate(recorder.weights):
        value = projections[number].chunk(3, dim=-1)[2]
        by_head = value.unflatten(2, (tiny.CONFIG.heads, -1)).transpose(1, 2)
        mixed = (weights @ by_head).transpose(1, 2).flatten(2)[0]
        count = 1 if batch.prefixes and number == len(recorder.weights) - 1 else len(mixed)
        torch.testing.assert_close(mixed[-count:], at_work[number][-count:], atol=1e-5, rtol=1e-5)
