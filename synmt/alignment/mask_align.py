"""Fits mask-align (synmt.systems.mask_align) to a bitext, and aligns with it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch

from synmt import __version__
from synmt.alignment.aligner import Fit, Pair
from synmt.alignment.corpus import AlignerCorpus, Side, build_vocabulary, features, links_of_pieces
from synmt.alignment.extraction import HARMONIC_THRESHOLD, Rule, SoftLinks
from synmt.alignment.presets import PRESETS
from synmt.device import autocast, local_device
from synmt.streams import BadInput
from synmt.systems.aligner_folder import AlignerConfig, AlignerFolder
from synmt.systems.linking import check_link_options
from synmt.systems.mask_align import MaskAlign
from synmt.systems.mask_align_model import SideBatch
from synmt.systems.source import SourceFeatures, SourceSide, sides_of
from synmt.text.bpe import Bpe, learn_bpe
from synmt.training.bitext import report
from synmt.training.config import TrainingConfig
from synmt.training.distribution import join_processes
from synmt.training.loop import Trainer
from synmt.training.presets import Preset

GUIDED_THRESHOLD = 0.4  # weights of whole words are larger than those of pieces; tuned on 40 pairs linked by hand


class MaskAligner:
    """A trained model at work. batch_tokens: sentences × longest side of a batch."""

    def __init__(self, folder: AlignerFolder, device: torch.device, batch_tokens: int = 4096) -> None:
        self.folder, self.device, self.batch_tokens = folder, device, batch_tokens
        self.model = folder.load_model(device)
        config = folder.config
        self.rule: Rule = "grow-diag-lilt" if config.options.no_agreement else "harmonic"
        self.threshold = GUIDED_THRESHOLD if config.guided else HARMONIC_THRESHOLD
        self.needs = config.sides[0].needs(training=False), config.sides[1].needs(training=False)
        self.languages, self.tokenizer = config.languages, config.tokenizer

    @torch.inference_mode()
    def align(self, pairs: Sequence[Pair]) -> Sequence[SoftLinks]:
        """Raises BadInput for a record that lacks what its side needs."""
        corpus = self._encode(pairs)
        found: dict[int, SoftLinks] = {}
        for batch, x, y in self._batches(corpus):
            with autocast(self.device):
                forward, backward = self.model.weights(x, y)
            by_source = forward.transpose(1, 2).float().cpu().numpy(), backward.float().cpu().numpy()
            for row, index in enumerate(batch):
                words = corpus.source.words[index], corpus.target.words[index]
                cells = row, slice(len(words[0])), slice(len(words[1]))
                found[index] = SoftLinks(by_source[0][cells], by_source[1][cells], *words, self.threshold)
        return [found[index] for index in range(len(pairs))]

    @torch.inference_mode()
    def predicted(self, pairs: Sequence[Pair]) -> Sequence[list[bool]]:
        """As Predictor says (Chen, Sun & Liu 2021, section 4.4)."""
        corpus = self._encode(pairs)
        found: dict[int, list[bool]] = {}
        for batch, x, y in self._batches(corpus):
            with autocast(self.device):
                right = self.model.predicted(x, y).cpu().numpy()
            for row, index in enumerate(batch):
                words = corpus.target.words[index]
                found[index] = [False] * len(pairs[index].target.tokens)
                for piece in right[row, : len(words)].nonzero()[0]:
                    found[index][words[piece]] = True
        return [found[index] for index in range(len(pairs))]

    def _encode(self, pairs: Sequence[Pair]) -> AlignerCorpus:
        folder = self.folder
        return _encode(*_features(pairs, folder.config, folder.bpe), folder)

    def _batches(self, corpus: AlignerCorpus) -> Iterator[tuple[list[int], SideBatch, SideBatch]]:
        for batch in corpus.batches_by_length(self.batch_tokens):
            x, y, _ = corpus.batch(batch, self.folder.vocabulary, self.device)
            yield batch, x, y


class MaskAlignMethod:
    """What METHODS names."""

    def needs(self, settings: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        """Raises BadInput for settings that are out of bounds."""
        try:
            _, _, (source, target) = _chosen(settings)
        except ValueError as error:
            raise BadInput(str(error)) from None
        return source.needs(training=True), target.needs(training=True)

    def fit(self, what: Fit) -> MaskAligner:
        """Raises BadInput."""
        made = (what.out / "config.json").exists()
        if made != what.resume:
            cause = "holds no run to resume" if what.resume else "holds a model; --resume goes on with it"
            raise BadInput(cause, str(what.out))
        try:
            options, preset, sides = _chosen(what.settings)
            config = AlignerConfig(
                options, what.guide is not None, sides, what.languages, what.tokenizer, preset.network
            )
        except ValueError as error:
            raise BadInput(str(error)) from None
        processes = join_processes(what.device)
        try:
            folder = _matching(what, config) if what.resume else _new_folder(what, config, preset.training)
            if processes.first and not what.resume:
                folder.save()
            corpus = _training_corpus(what, folder, preset.training.max_length)
            trainer = Trainer(folder, corpus, None, preset.training, processes)
            if what.resume:
                trainer.resume()
            trainer.run()
        finally:
            processes.close()
        return MaskAligner(AlignerFolder.open(what.out), processes.device)

    def open(self, folder: Path, device: str) -> MaskAligner:
        """Raises BadInput."""
        return MaskAligner(AlignerFolder.open(folder), local_device(device))


def _chosen(settings: Mapping[str, Any]) -> tuple[MaskAlign, Preset, tuple[SourceSide, SourceSide]]:
    """Raises ValueError for settings that are out of bounds or of another method."""
    check_link_options(["mask-align"], settings)
    chosen = PRESETS[settings.get("preset") or "small"].with_settings(settings)
    options = {field.name: settings[field.name] for field in fields(MaskAlign) if field.name in settings}
    return MaskAlign(**options), chosen, sides_of(settings)


def _new_folder(what: Fit, config: AlignerConfig, training: TrainingConfig) -> AlignerFolder:
    bpe = Bpe(learn_bpe(_lines(what.pairs), training.merges))
    source, target = _features(what.pairs, config, bpe)
    made_by = {
        "synmt": __version__,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "command": sys.argv[1:],
        "pairs": len(what.pairs),
        "data": _checksum(what.pairs),
        **asdict(training),
    }
    return AlignerFolder(what.out, config, bpe, (build_vocabulary(source), build_vocabulary(target)), made_by)


def _matching(what: Fit, config: AlignerConfig) -> AlignerFolder:
    folder = AlignerFolder.open(what.out)
    if folder.config != config:
        raise BadInput("was made with another model or other sizes than this command asks for", str(what.out))
    if folder.training.get("data") != _checksum(what.pairs):
        raise BadInput("was made from other data than this command names", str(what.out))
    return folder


def _lines(pairs: Sequence[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield " ".join(pair.source.tokens)
        yield " ".join(pair.target.tokens)


def _checksum(pairs: Sequence[Pair]) -> str:
    checksum = blake2b(digest_size=16)
    for line in _lines(pairs):
        checksum.update(f"{line}\n".encode())
    return checksum.hexdigest()


def _features(
    pairs: Sequence[Pair], config: AlignerConfig, bpe: Bpe
) -> tuple[list[SourceFeatures], list[SourceFeatures]]:
    """Of both sides. Raises BadInput for a record that lacks what its side needs."""
    source, target = [], []
    for pair in pairs:
        try:
            source.append(features(pair.source, config.sides[0], bpe))
            target.append(features(pair.target, config.sides[1], bpe))
        except ValueError as error:
            raise pair.line.error(error) from None
    return source, target


def _training_corpus(what: Fit, folder: AlignerFolder, max_length: int) -> AlignerCorpus:
    """All pairs of at most `max_length` tokens a side; longer ones are counted on stderr."""
    source, target = _features(what.pairs, folder.config, folder.bpe)
    lengths = [max(len(one.tokens), len(other.tokens)) for one, other in zip(source, target, strict=True)]
    kept = [n for n, length in enumerate(lengths) if length <= max_length]
    longer = [pair.line for pair, length in zip(what.pairs, lengths, strict=True) if length > max_length]
    report(f"pairs over {max_length} tokens", longer, "align")
    corpus = _encode([source[n] for n in kept], [target[n] for n in kept], folder)
    if what.guide is not None:
        words = zip(kept, corpus.source.words, corpus.target.words, strict=True)
        corpus.links = [links_of_pieces(what.guide[n], *sides) for n, *sides in words]
    return corpus


def _encode(
    source: Sequence[SourceFeatures], target: Sequence[SourceFeatures], folder: AlignerFolder
) -> AlignerCorpus:
    of_source, of_target = folder.vocabulary
    return AlignerCorpus(Side.encode(source, of_source), Side.encode(target, of_target))
