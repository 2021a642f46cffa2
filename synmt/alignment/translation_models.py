"""Aligners that read two translation models, one of each direction (synmt.systems.linking).

A folder holds config.json, in `forward` and `backward` the translation models as folders of their own, and in
`forward-part` and `backward-part` what was trained on top of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import torch
from torch import nn

from synmt.alignment.aligner import Pair
from synmt.alignment.extraction import Rule, SoftLinks
from synmt.device import autocast, local_device
from synmt.streams import BadInput
from synmt.systems.batches import Sources, token_batches
from synmt.systems.linking import Forced, LinkIdea, link_idea
from synmt.systems.model_folder import (
    CONFIG_FILE,
    FORMAT,
    WEIGHTS_FILE,
    ModelFolder,
    check_inside,
    naming,
    read_config,
    write_aside,
)
from synmt.systems.records import TokenizerName
from synmt.systems.translation import TranslationModel
from synmt.training.corpus import Corpus
from synmt.weights import load_weights

DIRECTIONS = ("forward", "backward")
BATCH_TOKENS = 4096


@dataclass
class Direction:
    """One of the two models, what was trained on top of it, and the decoder layer that is read."""

    folder: ModelFolder
    model: TranslationModel
    part: nn.Module | None
    layer: int

    def sentences(self, pairs: Sequence[Pair], backward: bool = False) -> "Sentences":
        """As this direction sees them. Raises BadInput for a record that lacks what the encoder needs."""
        bpe, vocabulary, side = self.folder.bpe, self.folder.vocabulary, self.folder.config.side
        features, targets = [], []
        for pair in pairs:
            source, target = (pair.target, pair.source) if backward else (pair.source, pair.target)
            try:
                features.append(side.features(source, bpe.segment))
            except ValueError as error:
                raise pair.line.error(error) from None
            targets.append(vocabulary.encode_target(bpe.apply(target.tokens)))
        corpus = Corpus(Sources.encode(features, vocabulary), [np.array(ids, np.int32) for ids in targets])
        return Sentences(corpus, [np.array(each.word_of) for each in features])

    def force(self, sentences: "Sentences", batch: Sequence[int]) -> Forced:
        device = self.model.network.embedding.device
        source, target = sentences.corpus.batch(batch, self.folder.vocabulary, device)
        return Forced.run(self.model, self.part, self.layer, source, target)


@dataclass
class Sentences:
    """Pairs as one direction sees them. word_of: for each source token the word that it is a piece of, or −1."""

    corpus: Corpus
    word_of: list[np.ndarray]


class TranslationAligner:
    """An idea on the models of both directions."""

    def __init__(self, method: str, idea: LinkIdea, forward: Direction, backward: Direction) -> None:
        self.method, self.idea, self.forward, self.backward = method, idea, forward, backward
        self.rule: Rule = "grow-diag-lilt"
        config = forward.folder.config
        self.needs = config.side.needs(training=False), backward.folder.config.side.needs(training=False)
        self.languages: tuple[str, str] | None = (config.source_language, config.target_language)
        self.tokenizer: TokenizerName | None = config.tokenizer

    def align(self, pairs: Sequence[Pair]) -> list[SoftLinks]:
        """The weights of each pair, in order. Raises BadInput."""
        there, back = self.forward.sentences(pairs), self.backward.sentences(pairs, backward=True)
        lengths = np.array([max(len(x), len(y)) for x, y in zip(there.word_of, back.word_of, strict=True)])
        found: dict[int, SoftLinks] = {}
        order = lengths.argsort(kind="stable").tolist()
        for batch in token_batches(order, lengths, BATCH_TOKENS):
            found |= zip(batch, self._align_batch(there, back, batch), strict=True)
        return [found[number] for number in range(len(pairs))]

    @torch.no_grad()
    def _align_batch(self, there: Sentences, back: Sentences, batch: Sequence[int]) -> list[SoftLinks]:
        with autocast(self.forward.model.network.embedding.device):
            matrices = self.idea.matrices(self.forward.force(there, batch), self.backward.force(back, batch))
        forward, backward = (weights.float().cpu().numpy() for weights in matrices)
        return [
            _soft_links(forward[row], backward[row], there.word_of[number], back.word_of[number])
            for row, number in enumerate(batch)
        ]

    def save(self, path: Path) -> None:
        """Writes config.json; models and parts have been written by their training."""
        fields = {
            "format": FORMAT,
            "aligner": self.method,
            "options": self.idea.settings(),
            "layers": [self.forward.layer, self.backward.layer],
        }
        write_aside(path / CONFIG_FILE, orjson.dumps(fields, option=orjson.OPT_INDENT_2) + b"\n")

    @classmethod
    def open(cls, path: Path, device: str, method: str | None = None) -> "TranslationAligner":
        """The aligner of a folder, or another method that reads the same models off a decoder layer of its own.

        Raises BadInput, naming the file, for a folder that is missing, incomplete, inconsistent or of no use.
        """
        fields = read_config(path)
        for name in DIRECTIONS:
            check_inside(path, path / name / CONFIG_FILE)  # and not inside of its own folder alone
        with naming(path / CONFIG_FILE):
            made_by, layers = fields["aligner"], [int(layer) for layer in fields["layers"]]
            idea = link_idea(made_by, dict(fields["options"]))
        if method not in (None, made_by):
            idea = link_idea(method)
            layers = _layers_of_another(path, method, idea, made_by)
        there, back = (
            open_direction(path, direction, idea, layer, local_device(device))
            for direction, layer in zip(DIRECTIONS, layers, strict=True)
        )
        return cls(method or made_by, idea, there, back)


def open_direction(path: Path, name: str, idea: LinkIdea, layer: int, device: torch.device) -> Direction:
    """The model, and the part if the idea has one. Raises BadInput."""
    folder = ModelFolder.open(path / name)
    part = None
    if idea.has_part:
        weights = part_folder(path, name) / WEIGHTS_FILE
        check_inside(path, weights)
        with naming(weights):
            part = load_weights(lambda: _holder(idea, folder), weights)["part"].to(device).eval()
    with naming(path / CONFIG_FILE):
        if not 0 < layer <= folder.config.network.decoder_layers:
            raise ValueError(f"no decoder layer {layer}")
    return Direction(folder, folder.load_model(device), part, layer)


def _holder(idea: LinkIdea, folder: ModelFolder) -> nn.ModuleDict:
    """An untrained part, under the name by which its training knows it."""
    part = idea.part(folder.config.network)
    return nn.ModuleDict() if part is None else nn.ModuleDict({"part": part})


def part_folder(path: Path, direction: str) -> Path:
    return path / f"{direction}-part"


def _soft_links(forward: np.ndarray, backward: np.ndarray, source: np.ndarray, target: np.ndarray) -> SoftLinks:
    """Cuts padding and structure out of weights [I,n] and [J,n']."""
    x, y = source >= 0, target >= 0
    sources, targets = np.flatnonzero(x), np.flatnonzero(y)
    return SoftLinks(
        forward[: len(targets), sources].T,
        backward[: len(sources), targets],
        source[x].tolist(),
        target[y].tolist(),
    )


def _layers_of_another(path: Path, method: str, idea: LinkIdea, made_by: str) -> list[int]:
    """Where a method reads models that were not made for it. Raises BadInput if it cannot."""
    layers = []
    for name in DIRECTIONS:
        network = ModelFolder.open(path / name).config.network
        fits = idea.network(network) == network and not idea.has_part and not idea.trains_model
        layers.append(idea.fixed_layer(network) if fits else 0)
    if not all(layers):
        raise BadInput(
            f"was made by {made_by}; {method} must be fitted (--models takes its models over)", str(path)
        )
    return layers
