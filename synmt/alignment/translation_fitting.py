"""Fits an aligner on translation models to a bitext: models of both directions, links to learn from, parts on top.

What a method learns from is fitted first, into the folder `guide` within its own, an aligner in its own right. With
the setting `models`, the translation models of another aligner are taken as they are.
"""

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from torch import nn
from tqdm import tqdm

from synmt.alignment.aligner import Fit, Pair
from synmt.alignment.corpus import links_of_pieces
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.layers import agreeing_layers
from synmt.alignment.translation_models import DIRECTIONS, TranslationAligner, open_direction, part_folder
from synmt.alignment.translation_settings import choose
from synmt.device import local_device
from synmt.streams import BadInput, windows
from synmt.systems.link_learning import LinkedTranslation, PartOnTop
from synmt.systems.linking import LinkIdea, link_idea
from synmt.systems.model_folder import CONFIG_FILE, WEIGHTS_FILE, ModelConfig, ModelFolder
from synmt.systems.target import target_side
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.training.bitext import Bitext, SentencePair
from synmt.training.config import TrainingConfig
from synmt.training.corpus import Corpus
from synmt.training.distribution import Processes
from synmt.training.learning import LearnerFolder
from synmt.training.loop import Trainer
from synmt.training.preparation import Example, encode_corpus, training_examples
from synmt.training.run import matching_folder, new_folder

PART_SHARE = 5  # a part gets a fifth of the models' training: 10,000 of 50,000 updates in Chen et al. (2020)
GUIDE_FOLDER = "guide"
Guide = Sequence[Set[Link]]
WORDS = target_side({"sequence": {}})


def fit(method: str, request: Fit) -> TranslationAligner:
    """Raises BadInput."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise BadInput(f"one process fits {method}, not several")
    begun = any((request.out / name).exists() for name in (CONFIG_FILE, GUIDE_FOLDER, *DIRECTIONS))
    if begun != request.resume:
        cause = "holds no run to resume" if request.resume else "holds a model; --resume goes on with it"
        raise BadInput(cause, str(request.out))
    if not (request.out / CONFIG_FILE).exists():
        try:
            _Fitting(method, request).run()
        except ValueError as error:
            raise BadInput(str(error)) from None
    return TranslationAligner.open(request.out, request.device)


class _Fitting:
    """One method on one bitext."""

    def __init__(self, method: str, request: Fit) -> None:
        """Raises ValueError for settings that are out of bounds or not of this method."""
        self.method, self.request = method, request
        chosen = choose(method, request.settings)
        self.idea, self.models = chosen.idea, chosen.models
        self.network, self.training = chosen.preset.network, chosen.preset.training
        self.sides = dict(zip(DIRECTIONS, chosen.sides, strict=True))
        if request.guide is not None and not self.idea.guide:
            raise ValueError(f"{method} learns from no links, so it needs no --guide")
        self.processes = Processes(0, 1, local_device(request.device))

    def run(self) -> None:
        """Models, layers, parts, and last config.json, which says that the folder is whole."""
        idea, out, base = self.idea, self.request.out, self.models
        guide, layers = self.request.guide, None
        if idea.guide and guide is None:
            teacher, base = self._teacher()
            guide, layers = links_of(teacher, self.request.pairs), (teacher.forward.layer, teacher.backward.layer)
        for name in DIRECTIONS:
            if base and not idea.trains_model:
                _copy_model(base / name, out / name, idea)
            else:
                self._train_model(name, guide if idea.trains_model else None, base)
        forward, backward = layers = self._layers(layers)
        if idea.has_part:
            for name, layer in zip(DIRECTIONS, layers, strict=True):
                self._train_part(name, layer, guide)
        device = self.processes.device
        TranslationAligner(
            self.method,
            idea,
            open_direction(out, "forward", idea, forward, device),
            open_direction(out, "backward", idea, backward, device),
        ).save(out)

    def _teacher(self) -> tuple[TranslationAligner, Path]:
        """The aligner whose links this one learns from, and its folder: `models` if that fits, or a new one."""
        if self.models:
            made = TranslationAligner.open(self.models, self.request.device)
            if made.method == self.idea.guide:
                return made, self.models
        path = self.request.out / GUIDE_FOLDER
        own = f"{self.method}-".replace("-", "_")
        settings = {name: value for name, value in self.request.settings.items() if not name.startswith(own)}
        request = replace(self.request, settings=settings, out=path, resume=path.exists() and self.request.resume)
        return fit(self.idea.guide, request), path

    def _train_model(self, name: str, guide: Guide | None, base: Path | None) -> None:
        """The translation model of one direction; it learns the links of `guide`, if there are any, too."""
        path, bitext = self.request.out / name, self._bitext(name)
        config = self._model_config(name)
        if (path / CONFIG_FILE).exists():
            folder = matching_folder(path, config, bitext)
        else:
            shared = base or (self.request.out if name == "backward" else None)
            codes = str(shared / "forward" / "codes.bpe") if shared else None
            folder = new_folder(path, config, self.training, codes, bitext, self.processes)
        corpus = self._corpus(folder, bitext, self._directed(name, guide))
        stage: LearnerFolder = folder
        if guide is not None:
            stage = _Stage(path, folder.vocabulary, lambda: self._linked_model(folder))
        self._train(stage, corpus, self.training)

    def _linked_model(self, folder: ModelFolder) -> LinkedTranslation:
        config = folder.config
        model = LinkedTranslation(config.network, config.side, config.target, folder.vocabulary)
        model.idea, model.layer = self.idea, self.idea.fixed_layer(config.network)
        return model

    def _train_part(self, name: str, layer: int, guide: Guide | None) -> None:
        """What the idea puts on top of one direction's model."""
        below = ModelFolder.open(self.request.out / name)

        def learner() -> PartOnTop:
            part = self.idea.part(below.config.network)
            assert part is not None
            return PartOnTop(self.idea, below.load_model(self.processes.device), part, layer)

        path = part_folder(self.request.out, name)
        path.mkdir(exist_ok=True)
        share = replace(
            self.training,
            epochs=math.ceil(self.training.epochs / PART_SHARE),
            updates=math.ceil(self.training.updates / PART_SHARE),
            minutes=self.training.minutes / PART_SHARE,
        )
        corpus = self._corpus(below, self._bitext(name), self._directed(name, guide))
        self._train(_Stage(path, below.vocabulary, learner), corpus, share)

    def _train(self, folder: LearnerFolder, corpus: Corpus, config: TrainingConfig) -> None:
        trainer = Trainer(folder, corpus, None, config, self.processes)
        if self.request.resume:
            trainer.resume()
        trainer.run()

    def _layers(self, layers: tuple[int, int] | None) -> tuple[int, int]:
        """Which decoder layers are read: those of the idea, of the aligner that it learns from, or that agree."""
        out, device = self.request.out, self.processes.device
        fixed = self.idea.fixed_layer(ModelFolder.open(out / "forward").config.network)
        if fixed:
            return fixed, fixed
        if layers:
            return layers
        reader = link_idea(self.idea.guide or self.method)
        there, back = (open_direction(out, name, reader, 1, device) for name in DIRECTIONS)
        return agreeing_layers(reader, there, back, self.request.pairs)

    def _model_config(self, name: str) -> ModelConfig:
        languages = self.request.languages if name == "forward" else self.request.languages[::-1]
        return ModelConfig(self.sides[name], WORDS, *languages, self.request.tokenizer, self.network)

    def _bitext(self, name: str) -> Bitext:
        backward = name == "backward"
        pairs = [
            (pair.target, pair.source) if backward else (pair.source, pair.target) for pair in self.request.pairs
        ]
        checksum = blake2b(digest_size=16)
        for source, target in pairs:
            checksum.update(f"{' '.join(source.tokens)}\t{' '.join(target.tokens)}\n".encode())
        lines = (replace(pair.line, text="") for pair in self.request.pairs)
        found = (SentencePair(*pair, (line, line)) for pair, line in zip(pairs, lines, strict=True))
        return Bitext(found, checksum.hexdigest())

    def _directed(self, name: str, guide: Guide | None) -> Guide | None:
        """The links of `guide` as (source, target) of that direction."""
        if guide is None or name == "forward":
            return guide
        return [{(target, source) for source, target in links} for links in guide]

    def _corpus(self, folder: ModelFolder, bitext: Bitext, guide: Guide | None) -> Corpus:
        examples = training_examples(bitext, folder.config, folder.bpe, None if guide is None else ["translate"])
        if guide is not None:
            examples = _with_links(examples, bitext, guide, folder.bpe)
        max_length = self.training.max_length
        return encode_corpus(examples, folder.config, folder.vocabulary, max_length, command="align")


@dataclass(frozen=True)
class _Stage:
    """Where something is trained that is not the folder's own model."""

    path: Path
    vocabulary: Vocabulary
    new_model: Callable[[], nn.Module]

    @property
    def weights(self) -> Path:
        return self.path / WEIGHTS_FILE


def links_of(aligner: TranslationAligner, pairs: Sequence[Pair]) -> list[Set[Link]]:
    """The links of each pair, as the aligner's own rule takes them."""
    how = Extraction(aligner.rule)
    links: list[Set[Link]] = []
    with tqdm(total=len(pairs), unit="pair", disable=not sys.stderr.isatty()) as line:
        for window in windows(pairs, 1000):
            for pair, found in zip(window, aligner.align(window), strict=True):
                links.append(set(extract(found, pair.source.tokens, pair.target.tokens, how).links))
            line.update(len(window))
    return links


def _with_links(examples: Iterator[Example], bitext: Bitext, guide: Guide, bpe: Bpe) -> Iterator[Example]:
    """All pieces of two linked words are linked."""
    for example, pair, links in zip(examples, bitext, guide, strict=True):
        words = [word for word, each in enumerate(pair.target.tokens) for _ in bpe.segment(each)]
        example.links = links_of_pieces(links, example.source.word_of, words)
        yield example


def _copy_model(base: Path, path: Path, idea: LinkIdea) -> None:
    """The model of another aligner. Raises BadInput if it is none that the idea can read."""
    config = ModelFolder.open(base).config.network
    if idea.network(config) != config:
        raise BadInput("is no model for this method, which needs other layers", str(base))
    path.mkdir(parents=True, exist_ok=True)
    for file in base.iterdir():
        if file.is_file() and file.name != "log.tsv":
            shutil.copyfile(file, path / file.name)
