"""Fits a method to a bitext: translation models of both directions, links to learn from, and modules on top of the
models.

If it learns from another aligner, that aligner is fitted first and saved in full in the subfolder `guide`.
With the setting `models`, it uses the translation models of another aligner unchanged.
"""

import math
import shutil
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import FitBitext, Fitting, inputs_of, is_begun, method_config, name_of, options_of
from synmt.alignment.corpus import links_of_subwords
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.published.attention import DIRECTIONS, GUIDE_FOLDER
from synmt.alignment.published.attention.forced import Forced
from synmt.alignment.published.attention.method import AttentionMethod, TranslationFitConfig
from synmt.alignment.published.attention.models import Models, agreeing_layers, module_folder
from synmt.components.contract import Task
from synmt.data.bitext import Bitext
from synmt.data.corpus import Corpus
from synmt.data.preparation import Example, build_vocabulary, encode_corpus, training_examples
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.files import read_config
from synmt.model.folder import ModelFolder
from synmt.model.target import WORDS
from synmt.model.translation import TranslationModel
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.losses import Loss
from synmt.streams import BadInput, Notes, bar, windows
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.fit import Recipe
from synmt.training.fit import fit as fit_model
from synmt.training.loop import Trainer

if TYPE_CHECKING:
    from synmt.alignment.published.attention.aligner import AttentionAligner

FEWER_UPDATES = 5  # a module gets a fifth of the models' updates: 10,000 of 50,000 in Chen et al. (2020)
Guide = Sequence[Set[Link]]


class FitModels:
    """Fits one method to one bitext."""

    def __init__(self, method: AttentionMethod, bitext: FitBitext, how: Fitting, asked: TranslationFitConfig) -> None:
        self.method, self.bitext, self.how = method, bitext, how
        self.models, self.network, self.training = asked.models, asked.network, asked.training
        self.encoders = dict(zip(DIRECTIONS, asked.encoders, strict=True))
        self.processes = Processes(0, 1, local_device(how.device))
        self.bitexts = {"forward": bitext.pairs, "backward": bitext.pairs.reversed()}

    def run(self) -> Models:
        """Make models and modules, and open them at the layers to read."""
        method, out, base = self.method, self.how.out, self.models
        guide, layers = self.bitext.guide, None
        if self.models:
            self._check_words(self.models)
        if method.guide and guide is None:
            teacher, base = self._teacher()
            guide = links_of(teacher, self.bitext.pairs)
            layers = teacher.models.forward.layer, teacher.models.backward.layer
        for name in DIRECTIONS:
            if base and not method.trains_model:
                _copy_model(base / name, out / name, method)
            else:
                self._train_model(name, guide if method.trains_model else None, base)
        layers = self._layers(layers)
        if method.has_module:
            for name, layer in zip(DIRECTIONS, layers, strict=True):
                self._train_module(name, layer, guide)
        return Models.open(out, method, layers, self.how.device)

    def _check_words(self, models: Path) -> None:
        """Raise BadInput if the models to reuse were trained on text that was split into words differently."""
        text = self.bitext.text
        for name, own, language in zip(DIRECTIONS, text.words, text.languages, strict=True):
            config = ModelFolder.open(models / name, ModelConfig).config
            known, of_model = config.words, config.languages[0]
            if own and known and own.share == known.share == 1 and (own, language) != (known, of_model):
                theirs, ours = f"{known.tokenizer} {of_model}", f"{own.tokenizer} {language}"
                raise BadInput(f"was trained on other words ({theirs}) than given here ({ours})", str(models))

    def _teacher(self) -> "tuple[AttentionAligner, Path]":
        """Return the aligner whose links this one learns from, and its folder: `models` if suitable, or a new one."""
        name, how = self.method.guide, self.how
        if self.models and read_config(self.models).get("aligner") == name:
            return ALIGNERS[name].load(self.models, how.device), self.models
        path = how.out / GUIDE_FOLDER
        own = {f"{name_of(type(self.method))}-{each}".replace("-", "_") for each in options_of(self.method)}
        settings = {each: value for each, value in how.settings.items() if each not in own}
        config, bitext = method_config(name, settings), replace(self.bitext, guide=None)
        resume = is_begun(path, type(config))
        teacher: Any = config.fit(bitext, replace(how, settings=settings, out=path, resume=resume))
        return teacher, path

    def _train_model(self, name: str, guide: Guide | None, base: Path | None) -> None:
        """Train the translation model of one direction; with a guide, it learns the links too."""
        shared = base or (self.how.out if name == "backward" else None)
        codes = str(shared / "forward" / "codes.bpe") if shared else None
        text = self.bitext.text
        languages = text.languages if name == "forward" else text.languages[::-1]
        words = text.words[DIRECTIONS.index(name)]
        model = ModelConfig(self.encoders[name], WORDS, languages, text.tokenizer, self.network, words)
        learner = None if guide is None else lambda folder: LinkTaughtModel(folder, self.method)
        data = LinkedData(self.bitexts[name], directed(name, guide), self.how.notes)
        out, notes = self.how.out / name, self.how.notes
        fit_model(out, model, data, Recipe(self.training, codes), self.processes, learner, lambda *_: notes.say())

    def _train_module(self, name: str, layer: int, guide: Guide | None) -> None:
        """Train the method's module on top of one direction's model."""
        below = ModelFolder.open(self.how.out / name, ModelConfig)

        def learner() -> ModuleOnTop:
            module = self.method.module(below.config.network)
            return ModuleOnTop(self.method, below.load_model(self.processes.device), module, layer)

        path = module_folder(self.how.out, name)
        path.mkdir(exist_ok=True)
        training = training_of_module(self.training)
        corpus = LinkedData(self.bitexts[name], directed(name, guide), self.how.notes).examples(below, training)
        trainer = Trainer(path, learner, corpus, None, training, self.processes)
        if self.how.resume:
            trainer.resume()
        trainer.run()

    def _layers(self, layers: tuple[int, int] | None) -> tuple[int, int]:
        """Return the decoder layers to read: fixed, chosen by the teacher, or the ones that agree best."""
        out = self.how.out
        fixed = self.method.fixed_layer(ModelFolder.open(out / "forward", ModelConfig).config.network)
        if fixed:
            return fixed, fixed
        if layers:
            return layers
        reader = ALIGNERS[self.method.guide]() if self.method.guide else type(self.method)()
        return agreeing_layers(reader, Models.open(out, reader, (1, 1), self.how.device), self.bitext.pairs)


def training_of_module(training: TrainingConfig) -> TrainingConfig:
    """Return the training config of a module: as for the models under it, but shorter by the factor FEWER_UPDATES."""
    return replace(
        training,
        epochs=math.ceil(training.epochs / FEWER_UPDATES),
        updates=math.ceil(training.updates / FEWER_UPDATES),
        warmup=math.ceil(training.warmup / FEWER_UPDATES),
        minutes=training.minutes / FEWER_UPDATES,
    )


@dataclass(frozen=True)
class LinkedData:
    """The training data of one direction, with the links of each pair if the models learn them. A TrainingData."""

    bitext: Bitext
    links: Guide | None
    notes: Notes

    def fingerprint(self) -> dict[str, str]:
        return inputs_of(self.bitext, self.links)

    def __len__(self) -> int:
        return len(self.bitext)

    def vocabularies(self, config: ModelConfig, recipe: Recipe[ModelConfig]) -> tuple[Bpe, tuple[Vocabulary]]:
        bpe = recipe.merges(self.bitext.joint_bpe)
        return bpe, (build_vocabulary(self.bitext, config, bpe),)

    def examples(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        tasks: list[Task] | None = None if self.links is None else ["translate"]
        examples = training_examples(self.bitext, folder.config, folder.bpe, tasks)
        if self.links is not None:
            examples = self._with_links(examples, self.links, folder)
        return encode_corpus(examples, folder.config, folder.vocabulary, training.max_length, self.notes)

    def _with_links(
        self, examples: Iterator[Example], guide: Guide, folder: ModelFolder[ModelConfig]
    ) -> Iterator[Example]:
        """Link all subwords of linked words."""
        for example, pair, links in zip(examples, self.bitext, guide, strict=True):
            target = folder.config.learned(pair.target)
            words = [word for word, each in enumerate(target.tokens) for _ in folder.bpe.segment(each)]
            example.links = links_of_subwords(links, example.source.word_of, words)
            yield example

    def validation(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> None:
        return None


def directed(name: str, guide: Guide | None) -> Guide | None:
    """Return the links of a guide as (source, target) in that direction."""
    if guide is None or name == "forward":
        return guide
    return [{(target, source) for source, target in links} for links in guide]


def links_of(aligner: "AttentionAligner", bitext: Bitext) -> list[Set[Link]]:
    """Return the links of each pair by the aligner's own heuristic."""
    how = Extraction(aligner.heuristic)
    links: list[Set[Link]] = []
    for window in windows(bar("pairs", bitext), 1000):
        for pair, soft in zip(window, aligner.links(window), strict=True):
            links.append(set(extract(soft, pair.source.tokens, pair.target.tokens, how).links))
    return links


def _copy_model(base: Path, path: Path, method: AttentionMethod) -> None:
    """Copy the model of another aligner. Raises BadInput if the method cannot read it."""
    config = ModelFolder.open(base, ModelConfig).config.network
    if method.network(config) != config:
        raise BadInput("does not suit this method, which needs other layers", str(base))
    path.mkdir(parents=True, exist_ok=True)
    for file in base.iterdir():
        if file.is_file() and file.name != "log.tsv":
            shutil.copyfile(file, path / file.name)


class LinkTaughtModel(TranslationModel):
    """A translation model that also learns the links in `target.links`, at the method's decoder layer."""

    def __init__(self, folder: ModelFolder[ModelConfig], method: AttentionMethod) -> None:
        config = folder.config
        super().__init__(config.network, config.source, config.target, folder.vocabulary)
        self.method, self.layer = method, method.fixed_layer(config.network)

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        encoded = self.encode(source, word_dropout)
        loss = self.decoding_loss(encoded, target, smoothing, word_dropout)
        loss.total = loss.total + self.method.loss(Forced(self, None, self.layer, source, target, encoded))
        return loss


class ModuleOnTop(nn.Module):
    """A module that learns on top of a translation model, which is frozen and runs without dropout.

    Only the module belongs to its parameters and state, as `part`, its name in saved folders.
    """

    def __init__(self, method: AttentionMethod, model: TranslationModel, module: nn.Module, layer: int) -> None:
        super().__init__()
        self.method, self.part, self.layer = method, module, layer
        self._below = [model.eval().requires_grad_(False)]  # in a list, so that it is not a submodule

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        """Return the method's loss for its module; smoothing and word dropout affect only translation."""
        model = self._below[0]
        loss = self.method.loss(Forced(model, self.part, self.layer, source, target, model.encode(source)))
        return Loss(loss, target.tokens, loss)
