"""Aligners at work on two translation models, one of each direction.

A folder holds config.json, in `forward` and `backward` the translation models as folders of their own, and in
`forward-part` and `backward-part` what was trained on top of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from synmt.alignment.aligner import KnownWords, Needs
from synmt.alignment.config import Heuristic, LinksBy
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.translation.idea import Forced, LinkIdea, link_idea
from synmt.device import autocast, local_device
from synmt.model.batches import Sources, in_batches
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.files import CONFIG_FILE, PARAMETERS_FILE, check_inside, naming, read_config, write_config
from synmt.model.folder import ModelFolder
from synmt.model.records import SentencePair
from synmt.model.translation import TranslationModel
from synmt.parameters import load_parameters
from synmt.streams import BadInput
from synmt.text.tokenization import TokenizerName

DIRECTIONS = ("forward", "backward")
BATCH_TOKENS = 4096


@dataclass
class Direction:
    """One of the two models, what was trained on top of it, and the decoder layer that is read."""

    folder: ModelFolder[ModelConfig]
    model: TranslationModel
    part: nn.Module | None
    layer: int

    def sentences(self, pairs: Sequence[SentencePair], backward: bool = False) -> "Sentences":
        """Return pairs as this direction sees them. Raises BadInput for a record that lacks what the encoder needs."""
        bpe, vocabulary, side = self.folder.bpe, self.folder.vocabulary, self.folder.config.source
        features, targets = [], []
        for pair in pairs:
            source, target = (pair.target, pair.source) if backward else (pair.source, pair.target)
            with pair.lines[0].naming():
                features.append(side.features(source, bpe.segment))
            targets.append(vocabulary.encode_target(bpe.apply(target.tokens)))
        sources = Sources.encode(features, vocabulary)
        corpus = Corpus(vocabulary, sources, [np.array(ids, np.int32) for ids in targets])
        return Sentences(corpus, [np.array(each.word_of) for each in features])

    def force(self, sentences: "Sentences", batch: Sequence[int]) -> Forced:
        source, target = sentences.corpus.batch(batch, self.model.network.embedding.device)
        return Forced.run(self.model, self.part, self.layer, source, target)


@dataclass
class Sentences:
    """Pairs as one direction sees them. word_of: for each source token the word that it is a subword of, or −1."""

    corpus: Corpus
    word_of: list[np.ndarray]


class TranslationAligner:
    """An idea on the models of both directions."""

    def __init__(self, method: str, idea: LinkIdea, forward: Direction, backward: Direction) -> None:
        self.method, self.idea, self.forward, self.backward = method, idea, forward, backward
        self.heuristic: Heuristic = "grow-diag-lilt"
        self.links_by: LinksBy = "attention"
        config = forward.folder.config
        self.needs: Needs = (config.source.needs(training=False), backward.folder.config.source.needs(training=False))
        self.languages: tuple[str, str] | None = config.languages
        self.tokenizer: TokenizerName | None = config.tokenizer
        self.words: KnownWords = config.words, backward.folder.config.words

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return the weights of each pair, in order. Raises BadInput."""
        forward, backward = self.forward.sentences(pairs), self.backward.sentences(pairs, backward=True)
        lengths = [max(len(x), len(y)) for x, y in zip(forward.word_of, backward.word_of, strict=True)]
        return in_batches(lengths, BATCH_TOKENS, lambda batch: self._align_batch(forward, backward, batch))

    @torch.no_grad()
    def _align_batch(self, forward: Sentences, backward: Sentences, batch: Sequence[int]) -> list[SoftLinks]:
        with autocast(self.forward.model.network.embedding.device):
            forced = self.forward.force(forward, batch), self.backward.force(backward, batch)
            if self.links_by == "posterior":
                matrices = self.idea.posteriors(forced[0]), self.idea.posteriors(forced[1])
            else:
                matrices = self.idea.matrices(*forced)
        of_targets, of_sources = (weights.float().cpu().numpy() for weights in matrices)
        return [
            _soft_links(of_targets[row], of_sources[row], forward.word_of[number], backward.word_of[number])
            for row, number in enumerate(batch)
        ]

    def save(self, path: Path) -> None:
        """Write config.json; models and parts have been written by their training."""
        layers = [self.forward.layer, self.backward.layer]
        write_config(path, {"aligner": self.method, "options": self.idea.options(), "layers": layers})

    @classmethod
    def open(cls, path: Path, device: str, method: str | None = None) -> "TranslationAligner":
        """Open the aligner of a folder, or another method that reads the same models off a layer of its own.

        Raises BadInput, naming the file, for a folder that is missing, incomplete, inconsistent or of no use.
        """
        fields = read_config(path)
        for name in DIRECTIONS:
            check_inside(path, path / name / CONFIG_FILE)  # and not inside of its own folder alone
        with naming(path / CONFIG_FILE):
            made_by, layers = fields["aligner"], [int(layer) for layer in fields["layers"]]
            if len(layers) != len(DIRECTIONS):
                raise ValueError(f"layers of {len(layers)} directions, not of {len(DIRECTIONS)}")
            idea = link_idea(made_by, dict(fields["options"]))
        if method not in (None, made_by):
            idea = link_idea(method)
            layers = _layers_of_another(path, method, idea, made_by)
        forward, backward = (
            open_direction(path, name, idea, layer, local_device(device))
            for name, layer in zip(DIRECTIONS, layers, strict=True)
        )
        return cls(method or made_by, idea, forward, backward)


def open_direction(path: Path, name: str, idea: LinkIdea, layer: int, device: torch.device) -> Direction:
    """Open the model, and the part if the idea has one. Raises BadInput."""
    folder = ModelFolder.open(path / name, ModelConfig)
    part = None
    if idea.has_part:
        parameters = part_folder(path, name) / PARAMETERS_FILE
        check_inside(path, parameters)
        with naming(parameters):
            part = load_parameters(lambda: _holder(idea, folder), parameters)["part"].to(device).eval()
    with naming(path / CONFIG_FILE):
        if not 0 < layer <= folder.config.network.decoder_layers:
            raise ValueError(f"no decoder layer {layer}")
        if not folder.config.network.crosses(layer):
            raise ValueError(f"decoder layer {layer} does not attend to the source")
    return Direction(folder, folder.load_model(device), part, layer)


def _holder(idea: LinkIdea, folder: ModelFolder[ModelConfig]) -> nn.ModuleDict:
    """Return an untrained part, under the name by which its training knows it."""
    part = idea.part(folder.config.network)
    return nn.ModuleDict() if part is None else nn.ModuleDict({"part": part})


def part_folder(path: Path, direction: str) -> Path:
    return path / f"{direction}-part"


def _soft_links(forward: np.ndarray, backward: np.ndarray, source: np.ndarray, target: np.ndarray) -> SoftLinks:
    """Cut padding and structure out of weights [I,n] and [J,n']."""
    x, y = source >= 0, target >= 0
    sources, targets = np.flatnonzero(x), np.flatnonzero(y)
    return SoftLinks(
        forward[: len(targets), sources].T, backward[: len(sources), targets], source[x].tolist(), target[y].tolist()
    )


def _layers_of_another(path: Path, method: str, idea: LinkIdea, made_by: str) -> list[int]:
    """Return where a method reads models that were not made for it. Raises BadInput if it cannot."""
    layers = []
    for name in DIRECTIONS:
        network = ModelFolder.open(path / name, ModelConfig).config.network
        fits = idea.network(network) == network and not idea.has_part and not idea.trains_model
        layers.append(idea.fixed_layer(network) if fits else 0)
    if not all(layers):
        raise BadInput(f"was made by {made_by}; {method} must be fitted (--models takes its models over)", str(path))
    return layers
