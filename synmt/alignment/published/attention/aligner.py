"""`AttentionAligner`, the base of aligners that read word links from the attention of translation models.

A model of each direction reads a pair with the target as forced output. A subclass decides which weights are the links;
its fields are its options.

A folder holds config.json, or begun.json while it is unfinished; in `forward` and `backward` the folders of the
translation models; in `forward-part` and `backward-part` the modules trained on top of them; and in `guide` the
aligner that this one learned from, if any.

Shapes: as in forced.py. Layers are counted from 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import (
    FitBitext,
    FittedText,
    Fitting,
    Needs,
    Settings,
    check_fitted,
    copy_saved,
    fingerprint,
    is_begun,
    name_of,
    write_saved,
)
from synmt.alignment.config import OF_WEIGHTS, Heuristic, LinksBy
from synmt.alignment.published.attention import DIRECTIONS, GUIDE_FOLDER
from synmt.alignment.published.attention.forced import Forced
from synmt.alignment.published.presets import PAPER
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked, naming, read_config, write_aside
from synmt.model.fingerprint import DIGITS, check_same, flat
from synmt.model.source import ENCODERS, SourceSide, encoders_of
from synmt.nn.config import TransformerConfig
from synmt.options import Checked, Preset, option_names
from synmt.streams import Message, WrongUsage
from synmt.streams.decoding import decoded
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import SMALL, configs

if TYPE_CHECKING:
    from torch import Tensor, nn

    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.published.attention.models import Models

__all__ = ["AttentionAligner", "Forced"]  # all that an aligner of another package needs from here

BEGUN_FILE = "begun.json"
# Chen et al. (2020) train translation models with the sizes and settings of the paper that PAPER is from, and with
# sinusoidal positions. The error rates in docs/results/alignment.md are from `small`.
PRESETS = {
    "small": Preset({**SMALL.settings, **dict(positions="sinusoidal", dropout=0.15, learning_rate=3e-3, epochs=15)}),
    "paper": Preset({**PAPER, "cross_attention": "all"}),
}
UNVALIDATED = "patience", "select", "validation-beam", "prefixes", "prefix-tokens"
OF_TRAINING = training_options(*UNVALIDATED, "subword-dropout")
OF_MODULE_ON_TOP = training_options(
    *UNVALIDATED, "subword-dropout", "merges", "label-smoothing", "word-dropout", "tree-dropout"
)
OF_MODELS = frozenset({*option_names(TransformerConfig), *ENCODERS})


@dataclass(frozen=True)
class AttentionAligner(Checked):
    """An aligner that reads links from translation models. It is fitted or opened once it has `models`.

    guide: the method that supplies links to learn from, unless they are given; "" if it learns from none.
    trains_model: whether it changes how the translation models are trained; otherwise it only trains a module on top.
    ties_subwords: whether both models must read exactly the same subwords.
    """

    models: "Models | None" = field(default=None, kw_only=True, repr=False, compare=False)
    links_by: LinksBy = field(default="attention", kw_only=True)
    heuristic: ClassVar[Heuristic] = "grow-diag-lilt"
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    guide: ClassVar[str] = ""
    subfolders: ClassVar[tuple[str, ...]] = (GUIDE_FOLDER, *DIRECTIONS)
    trains_model: ClassVar[bool] = False
    ties_subwords: ClassVar[bool] = False

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        """Return the options that the method uses besides its own, as Aligner; with --models, no options for training
        the models that it reuses."""
        used = OF_WEIGHTS | {"device", "models", "resume"}
        if not given.get("models"):
            used |= {"preset"} | OF_TRAINING | OF_MODELS
        elif cls.trains_model:
            used |= {"preset"} | OF_TRAINING - {"merges"} | OF_MODELS
        elif cls.module is not AttentionAligner.module:
            used |= {"preset"} | OF_MODULE_ON_TOP
        if cls.guide:
            used |= {"guide"}
        return used if cls.posteriors is AttentionAligner.posteriors else used | {"links-by"}

    def network(self, config: TransformerConfig) -> TransformerConfig:
        """Return the config of the translation models, with the changes that the aligner needs."""
        return config

    def fixed_layer(self, config: TransformerConfig) -> int:
        """Return the decoder layer to read, or 0 to choose it by the agreement of the two directions."""
        return max(1, config.decoder_layers - 1)

    def module(self, config: TransformerConfig) -> "nn.Module":
        """Return a module to train on top of each model, which is then frozen. By default, there is none."""
        raise NotImplementedError

    @property
    def has_module(self) -> bool:
        return type(self).module is not AttentionAligner.module

    def loss(self, forced: Forced) -> "Tensor":
        """Return the loss of the module, or a model's additional loss, summed over the batch; by default, the
        cross-entropy of the weights with the links to learn."""
        from synmt.alignment.published.attention.weights import guided_loss

        assert forced.target.links is not None
        return guided_loss(self.weights(forced), forced.target.links)

    def weights(self, forced: Forced) -> "Tensor":
        """Return how strongly target and source tokens are linked, [B,I,J]; padded rows do not matter. By default, this
        is the attention of the step that predicts each target token."""
        return forced.weights().mean(dim=1)[:, :-1]

    def posteriors(self, forced: Forced) -> "Tensor":
        """Return the posterior of the weights given y_i, [B,I,J] (weights.py). Raises BadInput."""
        raise NotImplementedError

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        """Return the weights of both directions, x → y [B,I,J] and y → x [B,J,I]."""
        return self.weights(forward), self.weights(backward)

    @property
    def text(self) -> FittedText | None:
        return self.models.text if self.models else None

    def needs(self, settings: Settings | None = None) -> Needs:
        if settings is None and self.models:
            source, target = (each.folder.config.source for each in self.models)
        else:
            source, target = fitting_config(self, settings or {}).encoders
        return source.needs(training=settings is not None), target.needs(training=settings is not None)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        from synmt.alignment.published.attention.fitting import FitModels

        check_new(how.out, how.resume, is_begun(how.out, self))
        asked = fitting_config(self, how.settings)
        of_models = asked.fingerprint()
        with locked(how.out):
            if (how.out / CONFIG_FILE).exists():
                check_fitted(how.out, self, bitext, of_models)
            else:
                made = fingerprint(self, bitext)
                self._begin(how, {**made, "--models": of_models["--models"]})
                models = FitModels(self, bitext, how, asked).run()
                layers = [models.forward.layer, models.backward.layer]
                write_saved(how.out, replace(self, models=models), layers=layers, fingerprint={**made, **of_models})
                (how.out / BEGUN_FILE).unlink()
        return self.open(how.out, how.device)

    def _begin(self, how: Fitting, made: Mapping[str, object]) -> None:
        """Record what an unfinished fit depends on besides the options of training, which may change. Raises BadInput
        if a fit to resume depended on something else."""
        file = how.out / BEGUN_FILE
        if how.resume and file.exists():
            with naming(file):
                before = dict(decoded(file.read_bytes()))
            check_same(how.out, before, made, "was begun")
        write_aside(file, msgspec.json.encode(made))

    def save(self, folder: Path) -> None:
        assert self.models
        copy_saved(self.models.folder, folder)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        """Open the aligner of a folder, or an aligner of another class that reads its models at a layer of its own.

        Raises BadInput, naming the file, for a folder that is missing, incomplete, inconsistent or unsuitable.
        """
        from synmt.alignment.published.attention.models import Models, layers_of_another

        fields = read_config(folder)
        for name in DIRECTIONS:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a model must not be elsewhere
        with naming(folder / CONFIG_FILE):
            made_by, saved = fields["aligner"], fields.get("model", fields)
            layers = [int(layer) for layer in saved["layers"]]
            if len(layers) != len(DIRECTIONS):
                raise ValueError(f"expected a layer for each of {len(DIRECTIONS)} directions, found {len(layers)}")
            made = attention_aligner(made_by, dict(saved["options"]))
        if not isinstance(made, cls):
            made = cls()
            layers = layers_of_another(folder, name_of(cls), made, made_by)
        return replace(made, models=Models.open(folder, made, layers, device))

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return the weights of each pair in order. Raises BadInput."""
        assert self.models
        return self.models.align(self, pairs)


def attention_aligner(name: str, options: Mapping[str, Any] | None = None) -> AttentionAligner:
    """Return the aligner of a method. Raises ValueError or TypeError for a method that reads no translation models."""
    made = ALIGNERS[name](**options or {}) if name in ALIGNERS else None
    if not isinstance(made, AttentionAligner):
        raise ValueError(f"{name!r} does not read translation models")
    return made


@dataclass(frozen=True)
class TranslationFitConfig:
    """Sizes, training and encoders (of source and target) of the translation models; models: the folder of the aligner
    whose translation models are reused."""

    network: TransformerConfig
    training: TrainingConfig
    encoders: tuple[SourceSide, SourceSide]
    models: Path | None

    def fingerprint(self) -> dict[str, object]:
        """Return the options that the models depend on, with checksums of reused models. Raises BadInput."""
        from synmt.model.config import ModelConfig
        from synmt.model.folder import ModelFolder

        options = {
            f"--{name}": value for name, value in flat({**asdict(self.network), **asdict(self.training)}).items()
        }
        for name, side in zip(("--source-syntax", "--target-syntax"), self.encoders, strict=True):
            options |= flat({name: side.settings()})
        paths = [self.models / name for name in DIRECTIONS] if self.models else []
        known = [ModelFolder.open(path, ModelConfig).checksum()[:DIGITS] for path in paths]
        return {**options, "--models": " ".join(known)}


def fitting_config(aligner: AttentionAligner, settings: Mapping[str, Any]) -> TranslationFitConfig:
    """Return the config for these settings. Raises WrongUsage if no translation models can have them."""
    try:
        encoders = encoders_of(settings)
        if ties_subwords(aligner) and not all(side.reads_subwords for side in encoders):
            raise ValueError("this method needs encoders that read only subwords")
        network, training = configs({**PRESETS[settings.get("preset") or "small"].settings, **settings})
        network = aligner.network(network)
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    models = Path(settings["models"]) if "models" in settings else None
    if models is None or aligner.trains_model:
        layer = aligner.fixed_layer(network)
        if layer > network.decoder_layers:
            raise WrongUsage(f"this method reads decoder layer {layer}, which does not exist")
        if aligner.links_by == "posterior" and layer not in (0, network.decoder_layers):
            raise WrongUsage(Message("--links-by posterior needs the last decoder layer, not layer {}", layer))
        if not all(map(network.crosses, [layer] if layer else range(1, network.decoder_layers + 1))):
            cause = "this method reads a decoder layer that does not attend to the source: add --cross-attention all"
            raise WrongUsage(Message(cause))
    return TranslationFitConfig(network, training, encoders, models)


def ties_subwords(aligner: AttentionAligner) -> bool:
    """Return whether a method, or the method that it learns from, needs the same subwords in both directions."""
    guide = ALIGNERS[aligner.guide]() if aligner.guide else None
    return aligner.ties_subwords or (isinstance(guide, AttentionAligner) and ties_subwords(guide))
