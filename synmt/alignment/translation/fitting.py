"""Fits an aligner on translation models to a bitext: models of both directions, links to learn from, parts on top.

What a method learns from is fitted first, into the folder `guide` within its own, an aligner in its own right. With
the setting `models`, the translation models of another aligner are taken as they are.
"""

import math
import shutil
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from synmt.alignment.aligner import FitConfig
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.guidance import links_of_subwords
from synmt.alignment.translation.aligner import DIRECTIONS, TranslationAligner, open_direction, part_folder
from synmt.alignment.translation.config import fitting_config
from synmt.alignment.translation.idea import LinkIdea, link_idea
from synmt.alignment.translation.layers import agreeing_layers
from synmt.alignment.translation.learning import LinkedTranslation, PartOnTop
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.corpus import Corpus
from synmt.model.files import CONFIG_FILE, check_new, locked
from synmt.model.folder import ModelFolder
from synmt.model.target import WORDS
from synmt.options import chosen, settings_of
from synmt.streams import BadInput, Notes, windows
from synmt.systems.idea import Task
from synmt.text.bpe import Bpe
from synmt.text.links import Link
from synmt.text.vocabulary import Vocabulary
from synmt.training.bitext import Bitext
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.fit import fit as fit_model
from synmt.training.loop import Trainer
from synmt.training.preparation import Example, build_vocabulary, encode_corpus, training_examples

PART_SHARE = 5  # a part gets a fifth of the models' training: 10,000 of 50,000 updates in Chen et al. (2020)
GUIDE_FOLDER = "guide"
Guide = Sequence[Set[Link]]


def fit(idea: LinkIdea, config: FitConfig) -> TranslationAligner:
    """Fit an idea. Raises BadInput."""
    begun = any((config.out / name).exists() for name in (CONFIG_FILE, GUIDE_FOLDER, *DIRECTIONS))
    check_new(config.out, config.resume, begun)
    with locked(config.out):
        if not (config.out / CONFIG_FILE).exists():
            _Fitting(idea, config).run()
    return TranslationAligner.open(config.out, config.device)


class _Fitting:
    """One method on one bitext."""

    def __init__(self, idea: LinkIdea, config: FitConfig) -> None:
        self.idea, self.config = idea, config
        asked = fitting_config(idea, config.settings)
        self.models, self.network, self.training = asked.models, asked.network, asked.training
        self.encoders = dict(zip(DIRECTIONS, asked.encoders, strict=True))
        self.processes = Processes(0, 1, local_device(config.device))
        self.bitexts = {"forward": config.bitext, "backward": config.bitext.reversed()}

    def run(self) -> None:
        """Make models, layers, parts, and last config.json, which says that the folder is whole."""
        idea, out, base = self.idea, self.config.out, self.models
        guide, layers = self.config.guide, None
        if self.models:
            self._check_words(self.models)
        if idea.guide and guide is None:
            teacher, base = self._teacher()
            guide = links_of(teacher, self.config.bitext)
            layers = teacher.forward.layer, teacher.backward.layer
        for name in DIRECTIONS:
            if base and not idea.trains_model:
                _copy_model(base / name, out / name, idea)
            else:
                self._train_model(name, guide if idea.trains_model else None, base)
        layers = self._layers(layers)
        if idea.has_part:
            for name, layer in zip(DIRECTIONS, layers, strict=True):
                self._train_part(name, layer, guide)
        device = self.processes.device
        opened = (
            open_direction(out, name, idea, layer, device) for name, layer in zip(DIRECTIONS, layers, strict=True)
        )
        TranslationAligner(self.config.method, idea, *opened).save(out)

    def _check_words(self, models: Path) -> None:
        """Raise BadInput if the models that are taken over were trained on other words than they are to read."""
        for name, own, language in zip(DIRECTIONS, self.config.words, self.config.languages, strict=True):
            config = ModelFolder.open(models / name, ModelConfig).config
            known, of_model = config.words, config.languages[0]
            if own and known and own.share == known.share == 1 and (own, language) != (known, of_model):
                theirs, ours = f"{known.tokenizer} {of_model}", f"{own.tokenizer} {language}"
                raise BadInput(f"was fitted to other words ({theirs}) than those that are given ({ours})", str(models))

    def _teacher(self) -> tuple[TranslationAligner, Path]:
        """Return the aligner whose links this one learns from, and its folder: `models` if that fits, or a new one."""
        if self.models:
            made = TranslationAligner.open(self.models, self.config.device)
            if made.method == self.idea.guide:
                return made, self.models
        path = self.config.out / GUIDE_FOLDER
        own = {f"{self.config.method}-{each.name}".replace("-", "_") for each in settings_of(type(self.idea))}
        settings = {name: value for name, value in self.config.settings.items() if name not in own}
        resume = path.exists() and self.config.resume
        guide = self.idea.guide
        teacher = link_idea(guide, chosen(type(link_idea(guide)), settings, f"{guide}-"))
        return fit(teacher, replace(self.config, method=guide, settings=settings, out=path, resume=resume)), path

    def _train_model(self, name: str, guide: Guide | None, base: Path | None) -> None:
        """Train the translation model of one direction; it learns the links of `guide`, if there are any, too."""
        shared = base or (self.config.out if name == "backward" else None)
        codes = str(shared / "forward" / "codes.bpe") if shared else None
        languages = self.config.languages if name == "forward" else self.config.languages[::-1]
        words = WORDS
        of_source = self.config.words[DIRECTIONS.index(name)]
        model = ModelConfig(self.encoders[name], words, languages, self.config.tokenizer, self.network, of_source)
        learner = None if guide is None else lambda folder: LinkedTranslation(folder, self.idea)
        data = LinkedData(self.bitexts[name], directed(name, guide), self.config.notes)
        out, notes = self.config.out / name, self.config.notes
        fit_model(out, model, data, self.training, self.processes, codes, learner, lambda *_: notes.say())

    def _train_part(self, name: str, layer: int, guide: Guide | None) -> None:
        """Train what the idea puts on top of one direction's model."""
        below = ModelFolder.open(self.config.out / name, ModelConfig)

        def learner() -> PartOnTop:
            part = self.idea.part(below.config.network)
            assert part is not None
            return PartOnTop(self.idea, below.load_model(self.processes.device), part, layer)

        path = part_folder(self.config.out, name)
        path.mkdir(exist_ok=True)
        share = training_of_part(self.training)
        corpus = LinkedData(self.bitexts[name], directed(name, guide), self.config.notes).examples(below, share)
        trainer = Trainer(path, learner, corpus, None, share, self.processes)
        if self.config.resume:
            trainer.resume()
        trainer.run()

    def _layers(self, layers: tuple[int, int] | None) -> tuple[int, int]:
        """Return which decoder layers are read: those of the idea, of its teacher, or those that agree."""
        out, device = self.config.out, self.processes.device
        fixed = self.idea.fixed_layer(ModelFolder.open(out / "forward", ModelConfig).config.network)
        if fixed:
            return fixed, fixed
        if layers:
            return layers
        reader = link_idea(self.idea.guide or self.config.method)
        forward, backward = (open_direction(out, name, reader, 1, device) for name in DIRECTIONS)
        return agreeing_layers(reader, forward, backward, self.config.bitext)


def training_of_part(training: TrainingConfig) -> TrainingConfig:
    """Return the training of what stands on top of models that have been trained so: all of it shorter alike."""
    return replace(
        training,
        epochs=math.ceil(training.epochs / PART_SHARE),
        updates=math.ceil(training.updates / PART_SHARE),
        warmup=math.ceil(training.warmup / PART_SHARE),
        minutes=training.minutes / PART_SHARE,
    )


@dataclass(frozen=True)
class LinkedData:
    """What the models of one direction learn from, with the links of each pair if they learn these. A TrainingData."""

    bitext: Bitext
    links: Guide | None
    notes: Notes

    def vocabularies(self, config: ModelConfig, bpe: Bpe) -> tuple[Vocabulary]:
        return (build_vocabulary(self.bitext, config, bpe),)

    def examples(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> Corpus:
        tasks: list[Task] | None = None if self.links is None else ["translate"]
        examples = training_examples(self.bitext, folder.config, folder.bpe, tasks)
        if self.links is not None:
            examples = self._with_links(examples, self.links, folder.bpe)
        return encode_corpus(examples, folder.config, folder.vocabulary, training.max_length, self.notes)

    def _with_links(self, examples: Iterator[Example], guide: Guide, bpe: Bpe) -> Iterator[Example]:
        """Link all subwords of two linked words."""
        for example, pair, links in zip(examples, self.bitext, guide, strict=True):
            words = [word for word, each in enumerate(pair.target.tokens) for _ in bpe.segment(each)]
            example.links = links_of_subwords(links, example.source.word_of, words)
            yield example

    def validation(self, folder: ModelFolder[ModelConfig], training: TrainingConfig) -> None:
        return None


def directed(name: str, guide: Guide | None) -> Guide | None:
    """Return the links of a guide as (source, target) of that direction."""
    if guide is None or name == "forward":
        return guide
    return [{(target, source) for source, target in links} for links in guide]


def links_of(aligner: TranslationAligner, bitext: Bitext) -> list[Set[Link]]:
    """Return the links of each pair, as the aligner's own heuristic takes them."""
    how = Extraction(aligner.heuristic)
    links: list[Set[Link]] = []
    with tqdm(total=len(bitext), unit="pair", disable=not sys.stderr.isatty()) as line:
        for window in windows(bitext, 1000):
            for pair, soft in zip(window, aligner.align(window), strict=True):
                links.append(set(extract(soft, pair.source.tokens, pair.target.tokens, how).links))
            line.update(len(window))
    return links


def _copy_model(base: Path, path: Path, idea: LinkIdea) -> None:
    """Copy the model of another aligner. Raises BadInput if it is none that the idea can read."""
    config = ModelFolder.open(base, ModelConfig).config.network
    if idea.network(config) != config:
        raise BadInput("is no model for this method, which needs other layers", str(base))
    path.mkdir(parents=True, exist_ok=True)
    for file in base.iterdir():
        if file.is_file() and file.name != "log.tsv":
            shutil.copyfile(file, path / file.name)
