"""Scores of a model on the validation data, during training."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import torch

from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.device import autocast
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.metrics.translations import sacre_bleu
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures
from synmt.model.translation import TranslationModel
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translation, Translator
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.trees.arc_tokens import is_arc

T = TypeVar("T")
# Tokenizations for BLEU, by language. 13a needs spaces between words.
TOKENIZATIONS: dict[str, Any] = {"zh": "zh", **dict.fromkeys(["ja", "ko", "th", "lo", "km", "my"], "char")}


@dataclass(frozen=True)
class ValidationScores:
    """loss: nats per target token, without label smoothing.
    metrics: BLEU or chrF of translations, by name, if `--select` names one.
    measures: other numbers, such as the accuracy of the source components' predictions in percent.
    decides: whether the scores tell which model is better; if not, the later one is.
    losses: further losses by name. For a model that writes arcs, nats per other token and nats per arc; for each
    component that has a loss, nats per target token that it adds to the total.
    """

    loss: float
    metrics: dict[str, float]
    measures: dict[str, float]
    decides: bool = True
    losses: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Return the score that selects the best model; higher is better."""
        return next(iter(self.metrics.values()), -self.loss)


class Validate(Protocol):
    """Scores a model in all processes that train it."""

    def shard(self, model: Any, processes: Processes) -> Any:
        """Return this process's shard of the computation, which can be any picklable object."""

    def scores(self, shards: Sequence[Any]) -> ValidationScores:
        """Return the scores, given the shards of all processes in the order of ranks."""


@dataclass(frozen=True)
class ProcessResults:
    """The results of one process in a validation, with None in place of the other processes' results.

    losses: of each batch; translations: of each sentence, if the model is selected by them.
    """

    losses: "list[BatchLosses | None]"
    translations: list[str | None]


@dataclass(frozen=True)
class BatchLosses:
    """Sums over the target tokens of a batch, in nats. loss_of_arcs, arcs: loss and number of arcs among the words, or
    of labels of words.
    components: the loss of each component that has one, by name.
    accuracies: by name, the number of correct predictions of a component, and of all its predictions."""

    loss: float
    tokens: int
    loss_of_arcs: float
    arcs: float
    components: dict[str, float]
    accuracies: dict[str, tuple[int, int]]


class Validation:
    """Scores a translation model. Each process computes some of the batches. Batches and scores are the same for any
    number of processes."""

    def __init__(
        self, bitext: Bitext, corpus: Corpus, folder: ModelFolder[ModelConfig], training: TrainingConfig
    ) -> None:
        self.bitext, self.corpus, self.folder, self.training = bitext, corpus, folder, training
        self.is_arc = torch.tensor([is_arc(token) for token in corpus.vocabulary.target])

    def shard(self, model: TranslationModel, processes: Processes) -> ProcessResults:
        model.eval()
        batches = self.corpus.shuffled_batches(self.training.batch_tokens, 0, 0, self.training.batch_by)
        parts = [part for batch in batches for part in self.corpus.parts(batch)]
        losses = [self._losses(model, part) if own else None for own, part in processes.divided(parts)]
        return ProcessResults(losses, [] if self.training.select == "loss" else self._translations(model, processes))

    @torch.inference_mode()
    def _losses(self, model: TranslationModel, indices: Sequence[int]) -> BatchLosses:
        device = model.network.embedding.device
        source, target = self.corpus.batch(indices, device)
        with autocast(device, self.training.precision):
            losses = model.loss(source, target)
        of_tokens, of_labels = losses.each[: len(target.gold)], losses.each[len(target.gold) :]
        loss_of_arcs, arcs = float(of_labels.sum()), float(len(of_labels))
        if self.is_arc.any():
            these = self.is_arc.to(device)[target.gold] * (1.0 if target.counts is None else target.counts)
            loss_of_arcs, arcs = float(of_tokens @ these), float(these.sum())
        accuracies = {name: accuracy() for name, accuracy in losses.accuracies.items()}
        components = {name: float(loss) for name, loss in losses.components.items()}
        return BatchLosses(float(losses.translation), target.tokens, loss_of_arcs, arcs, components, accuracies)

    def _translations(self, model: TranslationModel, processes: Processes) -> list[str | None]:
        search = SearchConfig(beam=self.training.validation_beam)
        translator = Translator(model, self.folder, search, TranslateConfig(precision=self.training.precision))

        def run(batches: Iterable[list[SourceFeatures] | None]) -> Iterator[list[list[Translation]]]:
            for own, batch in processes.divided(batch for batch in batches if batch):
                yield translator.translate_batch(batch) if own else [[] for _ in batch]

        sources = (translator.features(pair.source) for pair in self.bitext)
        return [found[0].text if found else None for found in translator.translate(sources, run)]

    def scores(self, shards: Sequence[ProcessResults]) -> ValidationScores:
        batches = joined([shard.losses for shard in shards])
        loss, tokens = sum(each.loss for each in batches), sum(each.tokens for each in batches)
        right: Counter[str] = Counter()
        components: dict[str, float] = {}
        predicted: Counter[str] = Counter()
        for each in batches:
            for name, of_component in each.components.items():
                components[name] = components.get(name, 0.0) + of_component
            for name, counts in each.accuracies.items():
                right[name] += counts[0]
                predicted[name] += counts[1]
        accuracies = {name: 100 * right[name] / max(1, total) for name, total in predicted.items()}
        losses = {name: total / tokens for name, total in components.items()}
        if self.folder.config.target.linearization.trees:
            loss_of_arcs, arcs = sum(each.loss_of_arcs for each in batches), sum(each.arcs for each in batches)
            losses |= {"words": (loss - loss_of_arcs) / (tokens - arcs), "arcs": loss_of_arcs / max(1, arcs)}
        name, metrics = self.training.select, dict[str, float]()
        if name != "loss":
            hypotheses = joined([shard.translations for shard in shards])
            language, references = self.folder.config.languages[1], [pair.target.text for pair in self.bitext]
            metrics = {name: score_of_text(name, language, hypotheses, references)}
        return ValidationScores(loss / tokens, metrics, accuracies, losses=losses)


def joined(shards: Sequence[Sequence[T | None]]) -> list[T]:
    """Return the items of all processes, given each process's list, which has None in place of the others' items."""
    return [next(each for each in column if each is not None) for column in zip(*shards, strict=True)]


def score_of_text(metric: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Return a score of translations into a language, over characters if it does not put spaces between words.

    BLEU is 0 unless at least one n-gram of each order is correct. sacreBLEU's smoothing would give 0.01 or 1.6 there,
    and a model that repeats a word could score more than one whose translations have only two words, all correct.
    """
    config = MetricConfig(TOKENIZATIONS.get(language, "13a"))
    if metric == "bleu":
        bleu = sacre_bleu(config).corpus_score(hypotheses, [references])
        return bleu.score if all(bleu.counts) else 0.0
    return corpus_score(METRICS[metric](config), hypotheses, [references]).score
