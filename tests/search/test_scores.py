"""Forced decoding: scores of given translations equal those computed in training and search."""

import math
from pathlib import Path

import pytest
import torch

from synmt.model.source import SourceFeatures
from synmt.search.config import LogprobConfig
from synmt.search.scores import ForcedPair, ForcedTarget, force, forced_targets, forcing
from synmt.search.translation import Translator
from synmt.streams import BadInput
from synmt.text.vocabulary import END_TOKEN
from synmt.trees.arc_tokens import is_arc
from tests import tiny
from tests.components.slow_tags import slow_log_probabilities
from tests.inspection.models import write_model
from tests.search.slow_search import next_logits, slow_arcs

CPU = torch.device("cpu")


def forced(path: Path, system: str, target: str, batch_tokens: int = 100) -> tuple[Translator, list[ForcedTarget]]:
    """Return the scores of the tiny pairs, and of a pair between them that cannot be scored."""
    folder = write_model(path / "model", system, target)
    translator = forcing(folder, CPU, LogprobConfig(batch_tokens=batch_tokens))
    entries, labels = tiny.target_entries(target), tiny.target_labels(target)
    pairs = [*map(ForcedPair, tiny.source_features(system), entries, labels)]
    pairs.insert(2, ForcedPair(pairs[0].source, []))
    found = force(translator, pairs)
    assert found.pop(2) == ForcedTarget()
    return translator, found


@pytest.mark.parametrize(
    ("system", "target"),
    [("sequence", target) for target in tiny.TARGET_SYSTEMS] + [(system, "compose") for system in tiny.SYSTEMS],
)
def test_scores_equal_the_losses_of_training(system: str, target: str, tmp_path: Path) -> None:
    """Scores are negative losses: for a batch, for each sentence alone, and separately for words and arcs."""
    translator, found = forced(tmp_path, system, target)
    corpus, _ = tiny.corpus(system, target)
    together = float(translator.model.loss(*corpus.batch([0, 1, 2, 3], CPU)).translation.detach())
    assert -math.fsum(each.total() for each in found) == pytest.approx(together, rel=1e-6)
    for index, each in enumerate(found):
        alone = float(translator.model.loss(*corpus.batch([index], CPU)).translation.detach())
        assert -each.total() == pytest.approx(alone, rel=1e-6)
        assert each.total(of_arcs=True) + each.total(of_arcs=False) == pytest.approx(each.total())
        words, labels = tiny.target_entries(target)[index], tiny.target_labels(target)[index]
        assert each.tokens == ForcedPair(SourceFeatures([], 0), words, labels).tokens()
        if not labels:
            assert each.tokens == [*words, END_TOKEN]
        assert bool(each.total(of_arcs=True)) == any(map(is_arc, each.tokens))


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
@torch.inference_mode()
def test_token_scores_match_a_slow_search(target: str, tmp_path: Path) -> None:
    translator, found = forced(tmp_path, "sequence", target)
    corpus, vocabulary = tiny.corpus("sequence", target)
    side = tiny.TARGET_SYSTEMS[target]
    arcs = slow_arcs(side, vocabulary)
    for index, each in enumerate(found):
        row = corpus.targets[index]
        encoded, ids = translator.model.encode(corpus.batch([index], CPU)[0]), row["ids"].tolist()
        expected = []
        for place, number in enumerate(ids):
            if "tag" in row and row["tag"][place]:
                of_tags = slow_log_probabilities(translator.model, [vocabulary.begin, *ids[:place]], encoded, True)
                expected.append(float(of_tags[row["tag"][place] - 1]))
            logits = next_logits(translator.model, ids[:place], encoded, arcs)
            expected.append(float(logits.log_softmax(dim=0)[number]))
        assert each.log_probabilities == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("target", ["sequence", "compose", "gcn"])
def test_batches_change_nothing(target: str, tmp_path: Path) -> None:
    _, together = forced(tmp_path, "mask", target)
    _, alone = forced(tmp_path, "mask", target, batch_tokens=1)
    for one, other in zip(together, alone, strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)


@pytest.mark.parametrize(("target", "sum_trees"), [("sequence", 0), ("gcn", 0), ("tags", 2), ("compose", 2)])
def test_a_model_that_overflows_has_no_scores(target: str, sum_trees: int, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "sequence", target)
    config = LogprobConfig(sum_trees=sum_trees)
    translator = forcing(folder, CPU, config)
    translator.model.network.embedding.data *= 1e37
    words = [[entry for entry in entries if not is_arc(entry)] for entries in tiny.target_entries(target)]
    pairs = [*map(ForcedPair, tiny.source_features("sequence"), words)]
    with pytest.raises(BadInput, match="this model computes NaN or infinite values"):
        forced_targets(translator, pairs, config)
