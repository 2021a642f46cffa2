"""The options of `mask-align`, which aligner.py explains, and the config in its folder.

Imports no torch, so that `--help` is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from synmt.alignment.aligner import FittedText, MethodConfig, Needs, Settings, options_of
from synmt.alignment.config import ALL_OF_LINKS
from synmt.alignment.published.presets import PAPER
from synmt.model.source import ENCODERS, SourceSide, encoders_of, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, option_names, setting
from synmt.streams import WrongUsage
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs

if TYPE_CHECKING:
    from synmt.alignment.published.mask_align.model import MaskAlignModel

# `small` is for about ten thousand pairs on two CPU cores, with a schedule that ends.
PRESETS = {
    "small": Preset({**PAPER, **dict(
        width=128, feedforward=256, encoder_layers=2, decoder_layers=2, dropout=0.05,
        merges=4000, batch_tokens=1024, accumulate=1, epochs=10, updates=0,
        learning_rate=2e-3, schedule="cosine", warmup=400,
    )}),
    "paper": Preset(PAPER),
}  # fmt: skip
# Positions are sinusoidal. No validation chooses a model, because there are no gold links.
USED = ALL_OF_LINKS.union(
    {"device", "guide", "resume", "preset", *ENCODERS},
    set(option_names(TransformerConfig)) - {"positions"},
    training_options(
        "patience", "select", "validation-beam", "prefixes", "prefix-tokens", "tree-dropout", "subword-dropout"
    ),
)


@dataclass(frozen=True)
class MaskAlignConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.published.mask_align.aligner:MaskAlign"
    cites: ClassVar[tuple[str, ...]] = ("chen2021mask",)
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    of_guide: ClassVar[tuple[str, ...]] = ("guidance",)
    several: ClassVar[bool] = True
    loss_form: Literal["code", "paper"] = setting("code", "how the terms of Mask-Align's loss are normalized")
    agreement: float = setting(5.0, "α, the weight of both directions' agreement", unless="no_agreement")
    entropy: float = setting(1.0, "β, the weight of the entropy of attention", unless="no_agreement")
    entropy_smoothing: float = setting(
        0.05, "λ, added to attention weights before their entropy is computed", 1e-9, unless="no_agreement"
    )
    guidance: float = setting(4.0, "γ, the weight of the links from --guide")
    diagonal: float = setting(0.0, "κ, how strongly attention favours the diagonal at first; try 4 with few pairs")
    causal: bool = setting(False, "predict each word only from the previous ones")
    no_leak: bool = setting(False, "do without the key for words that have no counterpart")
    no_agreement: bool = setting(False, "train the two directions independently: α and β are 0")

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return USED - {"links-by"} if given.get("guide") else USED

    def needs(self, settings: Settings) -> Needs:
        (source, target), _, _ = fitting_config(settings)
        return source.needs(training=True), target.needs(training=True)


@dataclass(frozen=True)
class MaskAlignModelConfig:
    """The config in the folder. guided: whether the model learned from given links; encoders: of source and target;
    text: the text that it was fitted to; network: all sizes. A FolderConfig."""

    options: MaskAlignConfig
    guided: bool
    encoders: tuple[SourceSide, SourceSide]
    text: FittedText
    network: TransformerConfig
    aligner: ClassVar[str] = "mask-align"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for incompatible fields."""
        if type(self.guided) is not bool:
            raise ValueError(f"guided cannot be {self.guided!r}")
        if self.guided and self.options.causal:
            raise ValueError("a causal decoder cannot learn from given links")
        for side in self.encoders:
            side.check_network(self.network)

    def fields(self) -> dict[str, Any]:
        encoders = {"guided": self.guided, "encoders": [side.settings() for side in self.encoders]}
        network = {"network": asdict(self.network)}
        return {"options": options_of(self.options), **encoders, **asdict(self.text), **network}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        source, target = (source_side(side) for side in fields["encoders"])
        options, network = MaskAlignConfig(**fields["options"]), TransformerConfig(**fields["network"])
        return cls(options, fields["guided"], (source, target), FittedText.read(fields), network)

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "MaskAlignModel":
        from synmt.alignment.published.mask_align.model import MaskAlignModel

        source, target = vocabularies
        return MaskAlignModel(self.network, self.options, self.guided, self.encoders, (source, target))


def fitting_config(
    settings: Mapping[str, Any],
) -> tuple[tuple[SourceSide, SourceSide], TransformerConfig, TrainingConfig]:
    """Return the encoders, the network and the training config of these settings. Raises WrongUsage if no model can
    have them."""
    try:
        encoders = encoders_of(settings)
        network, training = configs({**PRESETS[settings.get("preset") or "small"].settings, **settings})
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return encoders, network, training
