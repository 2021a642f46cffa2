"""Word links from translation models: what every such aligner shares.

A model of each direction reads a pair with the target forced on it; a published idea says what in it is the
alignment. Each is one subclass of LinkIdea in a file of its own; its fields are its options.

Shapes: B pairs, I target tokens, J source tokens, t = I + 1 rows of the decoder: row 0 reads the begin of sentence
and predicts y_1, row i reads y_i and predicts y_{i+1}. Layers are counted from 1.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.nn.config import TransformerConfig, check_settings
from synmt.systems import LINK_IDEAS
from synmt.systems.options import check_owners, open_class

if TYPE_CHECKING:
    from torch import Tensor, nn

    from synmt.nn.attention import AttentionEdit
    from synmt.nn.encoding import SourceBatch
    from synmt.systems.translation import EncodedSource, TargetBatch, TranslationModel


@dataclass(slots=True)
class Forced:
    """A batch of pairs on one model. part: what was trained on top of it; layer: the decoder layer that is read."""

    model: "TranslationModel"
    part: "nn.Module | None"
    layer: int
    source: "SourceBatch"
    target: "TargetBatch"
    encoded: "EncodedSource"

    @classmethod
    def run(
        cls,
        model: "TranslationModel",
        part: "nn.Module | None",
        layer: int,
        source: "SourceBatch",
        target: "TargetBatch",
    ) -> "Forced":
        """Encodes the source."""
        return cls(model, part, layer, source, target, model.encode(source))

    def queries(self, context: "AttentionEdit | None" = None) -> "Tensor":
        """What the layer's cross-attention asks with, [B,t,d]."""
        network, encoded = self.model.network, self.encoded
        each = network.cross_queries(self.target.inputs, encoded.states, encoded.bias, context)
        return next(islice(each, self.layer - 1, None))

    def weights(self, context: "AttentionEdit | None" = None) -> "Tensor":
        """The weights of the layer's heads, [B,H,t,J] in fp32."""
        encoded = self.encoded
        return self.model.network.cross_weights(self.layer, self.queries(context), encoded.states, encoded.bias)

    def states(self) -> "Tensor":
        """What the decoder predicts from, [B,t,d]."""
        return self.model.network.decode(self.target.inputs, self.encoded.states, self.encoded.bias)


@dataclass(frozen=True)
class LinkIdea:
    """One way to read links. What a subclass does not say is that of the plain models' attention.

    guide: the idea whose links this one learns from, unless others are given; "" if it learns from none.
    trains_model: whether it changes the translation models, or only learns a part on top of them.
    ties_pieces: whether both models must read the same pieces, and nothing else.
    """

    guide: ClassVar[str] = ""
    trains_model: ClassVar[bool] = False
    ties_pieces: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raises ValueError for options out of bounds."""
        check_settings(self)

    def network(self, config: TransformerConfig) -> TransformerConfig:
        """The translation models' sizes, where the idea changes them."""
        return config

    def fixed_layer(self, config: TransformerConfig) -> int:
        """Which decoder layer is read; 0 if that depends on how well the two directions agree."""
        return max(1, config.decoder_layers - 1)

    def part(self, config: TransformerConfig) -> "nn.Module | None":
        """What is trained on top of each model, which then stays as it is."""
        return None

    @property
    def has_part(self) -> bool:
        return type(self).part is not LinkIdea.part

    def loss(self, forced: Forced) -> "Tensor":
        """What the part learns from, or what a model learns besides translation; summed over the batch."""
        raise NotImplementedError

    def weights(self, forced: Forced) -> "Tensor":
        """How much each target token is linked with each source token, [B,I,J]; rows of padding are anything."""
        raise NotImplementedError

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        """The weights of both directions, x → y [B,I,J] and y → x [B,J,I]."""
        return self.weights(forward), self.weights(backward)

    def settings(self) -> dict[str, Any]:
        return asdict(self)


def link_idea(name: str, settings: dict[str, Any] | None = None) -> LinkIdea:
    """The idea of that name. Raises ValueError or TypeError for an unknown name, or for wrong options."""
    return open_link_idea(name)(**settings or {})


def check_link_options(names: Collection[str], settings: Mapping[str, Any]) -> None:
    """Raises ValueError for an option of an idea that is not among these, the first of which is to be named."""
    check_owners(((name, open_link_idea(name)) for name in LINK_IDEAS), names, settings, next(iter(names)))


def open_link_idea(name: str) -> type[LinkIdea]:
    """Raises ValueError for a name that is not in LINK_IDEAS."""
    if name not in LINK_IDEAS:
        raise ValueError(f"unknown method {name!r}")
    return open_class(LINK_IDEAS[name])
