"""`AttentionMethod`, the base of methods that read word links from the attention of translation models.

A model of each direction reads a pair with the target as forced output. A subclass decides which weights are the links;
its fields are its options. aligner.py fits the models and reads them.

Shapes: as in forced.py. Layers are counted from 1.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import MethodConfig, Needs, Settings
from synmt.alignment.config import OF_WEIGHTS
from synmt.alignment.published.attention import DIRECTIONS, GUIDE_FOLDER
from synmt.alignment.published.attention.forced import Forced
from synmt.alignment.published.presets import PAPER
from synmt.model.fingerprint import DIGITS, flat
from synmt.model.source import ENCODERS, SourceSide, encoders_of
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, option_names
from synmt.streams import Message, WrongUsage
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import SMALL, configs

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["AttentionMethod", "Forced"]  # all that a method of another package needs from here

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
class AttentionMethod(MethodConfig):
    """How links are read from translation models, and from what the models learn.

    guide: the method that supplies links to learn from, unless they are given; "" if it learns from none.
    trains_model: whether it changes how the translation models are trained; otherwise it only trains a module on top.
    ties_subwords: whether both models must read exactly the same subwords.
    """

    aligner: ClassVar[str] = "synmt.alignment.published.attention.aligner:AttentionAligner"
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    subfolders: ClassVar[tuple[str, ...]] = (GUIDE_FOLDER, *DIRECTIONS)
    trains_model: ClassVar[bool] = False
    ties_subwords: ClassVar[bool] = False

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        """With --models, these are no options for training the models that it reuses."""
        used = OF_WEIGHTS | {"device", "models", "resume"}
        if not given.get("models"):
            used |= {"preset"} | OF_TRAINING | OF_MODELS
        elif cls.trains_model:
            used |= {"preset"} | OF_TRAINING - {"merges"} | OF_MODELS
        elif cls.module is not AttentionMethod.module:
            used |= {"preset"} | OF_MODULE_ON_TOP
        if cls.guide:
            used |= {"guide"}
        return used if cls.posteriors is AttentionMethod.posteriors else used | {"links-by"}

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
        return type(self).module is not AttentionMethod.module

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

    def needs(self, settings: Settings) -> Needs:
        source, target = fitting_config(self, settings).encoders
        return source.needs(training=True), target.needs(training=True)


def attention_method(name: str, options: Mapping[str, Any] | None = None) -> AttentionMethod:
    """Return a method with these options. Raises ValueError or TypeError for one that reads no translation models."""
    method = ALIGNERS[name](**options or {}) if name in ALIGNERS else None
    if not isinstance(method, AttentionMethod):
        raise ValueError(f"{name!r} does not read translation models")
    return method


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


def fitting_config(method: AttentionMethod, settings: Mapping[str, Any]) -> TranslationFitConfig:
    """Return the config for these settings. Raises WrongUsage if no translation models can have them."""
    try:
        encoders = encoders_of(settings)
        if ties_subwords(method) and not all(side.reads_subwords for side in encoders):
            raise ValueError("this method needs encoders that read only subwords")
        network, training = configs({**PRESETS[settings.get("preset") or "small"].settings, **settings})
        network = method.network(network)
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    models = Path(settings["models"]) if "models" in settings else None
    if models is None or method.trains_model:
        layer = method.fixed_layer(network)
        if layer > network.decoder_layers:
            raise WrongUsage(f"this method reads decoder layer {layer}, which does not exist")
        if settings.get("links_by") == "posterior" and layer not in (0, network.decoder_layers):
            raise WrongUsage(Message("--links-by posterior needs the last decoder layer, not layer {}", layer))
        if not all(map(network.crosses, [layer] if layer else range(1, network.decoder_layers + 1))):
            cause = "this method reads a decoder layer that does not attend to the source: add --cross-attention all"
            raise WrongUsage(Message(cause))
    return TranslationFitConfig(network, training, encoders, models)


def ties_subwords(method: AttentionMethod) -> bool:
    """Return whether a method, or the method that it learns from, needs the same subwords in both directions."""
    guide = ALIGNERS[method.guide]() if method.guide else None
    return method.ties_subwords or (isinstance(guide, AttentionMethod) and ties_subwords(guide))
