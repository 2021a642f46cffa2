"""The translation models of both directions in use, and the choice of the layers to read (see method.py).

How layers are chosen without gold links: Chen, Liu, Chen, Jiang & Liu (2020), "Accurate Word Alignment Induction from
Neural Machine Translation", EMNLP. Among all combinations of a layer of one model with a layer of the other, take the
one whose links have the lowest alignment error rate against each other. As all links of both directions are sure, the
rate is 1 − 2|F∩B| / (|F| + |B|).
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import nn

from synmt.alignment.aligner import FittedText
from synmt.alignment.config import LinksBy
from synmt.alignment.extraction import SoftLinks, directions
from synmt.alignment.published.attention import DIRECTIONS
from synmt.alignment.published.attention.forced import Forced
from synmt.alignment.published.attention.method import AttentionMethod
from synmt.data.batches import in_batches
from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.records import SentencePair
from synmt.device import autocast, local_device
from synmt.model.config import ModelConfig
from synmt.model.files import CONFIG_FILE, PARAMETERS_FILE, check_inside, naming
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.parameters import load_parameters
from synmt.streams import BadInput, Message
from synmt.text.links import Link

BATCH_TOKENS = 4096
SAMPLE = 1000  # pairs, the size of the paper's validation sets


@dataclass
class Direction:
    """One of the two models, the module on top of it, and the decoder layer to read."""

    folder: ModelFolder[ModelConfig]
    model: TranslationModel
    module: nn.Module | None
    layer: int

    def corpus(self, pairs: Sequence[SentencePair], backward: bool = False) -> tuple[Corpus, list[np.ndarray]]:
        """Return the pairs in this direction, and for each the index of its source tokens' words, −1 for structure.

        Raises BadInput for a record that lacks something the encoder needs.
        """
        bpe, vocabulary, config = self.folder.bpe, self.folder.vocabulary, self.folder.config
        corpus, words = Corpus(vocabulary), []
        for pair in pairs:
            source, target = (pair.target, pair.source) if backward else (pair.source, pair.target)
            with pair.lines[0].naming():
                features = config.source.features(config.learned(source), bpe.segment)
            corpus.append(features, bpe.apply(config.learned(target).tokens))
            words.append(np.array(features.word_of))
        return corpus, words

    def force(self, corpus: Corpus, batch: Sequence[int]) -> Forced:
        source, target = corpus.batch(batch, self.model.network.embedding.device)
        return Forced(self.model, self.module, self.layer, source, target, self.model.encode(source))


@dataclass(frozen=True)
class Models:
    """The models of both directions. folder: the folder of the aligner."""

    folder: Path
    forward: Direction
    backward: Direction

    def __iter__(self) -> Iterator[Direction]:
        yield from (self.forward, self.backward)

    @property
    def text(self) -> FittedText:
        forward, backward = (each.folder.config for each in self)
        return FittedText(forward.languages, forward.tokenizer, (forward.words, backward.words))

    @classmethod
    def open(cls, folder: Path, method: AttentionMethod, layers: Sequence[int], device: str) -> Self:
        """Open the models and modules that a method reads at these layers. Raises BadInput."""
        forward, backward = (
            open_direction(folder, name, method, layer, local_device(device))
            for name, layer in zip(DIRECTIONS, layers, strict=True)
        )
        return cls(folder, forward, backward)

    def links(
        self, method: AttentionMethod, pairs: Sequence[SentencePair], links_by: LinksBy = "attention"
    ) -> list[SoftLinks]:
        """Return the weights of each pair in order, as a method reads them. Raises BadInput."""
        forward, of_sources = self.forward.corpus(pairs)
        backward, of_targets = self.backward.corpus(pairs, backward=True)
        lengths = [max(len(x), len(y)) for x, y in zip(of_sources, of_targets, strict=True)]

        @torch.no_grad()
        def of_batch(batch: Sequence[int]) -> list[SoftLinks]:
            with autocast(self.forward.model.network.embedding.device):
                forced = self.forward.force(forward, batch), self.backward.force(backward, batch)
                if links_by == "posterior":
                    matrices = method.posteriors(forced[0]), method.posteriors(forced[1])
                else:
                    matrices = method.matrices(*forced)
            x_to_y, y_to_x = (weights.float().cpu().numpy() for weights in matrices)
            return [
                _soft_links(x_to_y[row], y_to_x[row], of_sources[number], of_targets[number])
                for row, number in enumerate(batch)
            ]

        return in_batches(lengths, BATCH_TOKENS, of_batch)


def open_direction(path: Path, name: str, method: AttentionMethod, layer: int, device: torch.device) -> Direction:
    """Open the model, and its module if the method has one. Raises BadInput."""
    folder = ModelFolder.open(path / name, ModelConfig)
    module = None
    if method.has_module:
        parameters = module_folder(path, name) / PARAMETERS_FILE
        check_inside(path, parameters)
        with naming(parameters):
            network = folder.config.network
            saved = load_parameters(lambda: nn.ModuleDict({"part": method.module(network)}), parameters)
            module = saved["part"].to(device).eval()
    with naming(path / CONFIG_FILE):
        if not 0 < layer <= folder.config.network.decoder_layers:
            raise ValueError(f"no decoder layer {layer}")
        if not folder.config.network.crosses(layer):
            raise ValueError(f"decoder layer {layer} does not attend to the source")
    return Direction(folder, folder.load_model(device), module, layer)


def module_folder(path: Path, direction: str) -> Path:
    return path / f"{direction}-part"


def _soft_links(forward: np.ndarray, backward: np.ndarray, source: np.ndarray, target: np.ndarray) -> SoftLinks:
    """Remove padding and structure from the weights [I,n] and [J,n']."""
    x, y = source >= 0, target >= 0
    sources, targets = np.flatnonzero(x), np.flatnonzero(y)
    return SoftLinks(
        forward[: len(targets), sources].T, backward[: len(sources), targets], source[x].tolist(), target[y].tolist()
    )


def layers_of_another(path: Path, name: str, method: AttentionMethod, made_by: str) -> list[int]:
    """Return the layers at which a method reads models made by another. Raises BadInput if it cannot read them."""
    layers = []
    for direction in DIRECTIONS:
        network = ModelFolder.open(path / direction, ModelConfig).config.network
        fits = method.network(network) == network and not method.has_module and not method.trains_model
        layers.append(method.fixed_layer(network) if fits else 0)
    if not all(layers):
        raise BadInput(Message("was made by {}; to use {}, fit it with --models", made_by, name), str(path))
    return layers


def agreeing_layers(method: AttentionMethod, models: Models, bitext: Bitext) -> tuple[int, int]:
    """Return the two layers that agree best, counted from 1; the lower ones if several agree equally well."""
    sample = list(islice(bitext, 0, None, max(1, len(bitext) // SAMPLE)))[:SAMPLE]
    links = []
    for layer in range(1, models.forward.folder.config.network.decoder_layers + 1):
        at = Models(models.folder, replace(models.forward, layer=layer), replace(models.backward, layer=layer))
        links.append([directions(soft) for soft in at.links(method, sample)])
    layers = range(len(links))
    scores = {
        (first, second): disagreement([f for f, _ in links[first]], [b for _, b in links[second]])
        for first, second in product(layers, layers)
    }
    of_forward, of_backward = min(scores, key=lambda both: scores[both])
    return of_forward + 1, of_backward + 1


def disagreement(forward: Sequence[Set[Link]], backward: Sequence[Set[Link]]) -> float:
    """Return the alignment error rate of one direction's links against the other's."""
    common = sum(len(f & b) for f, b in zip(forward, backward, strict=True))
    return 1 - 2 * common / max(1, sum(map(len, forward)) + sum(map(len, backward)))
