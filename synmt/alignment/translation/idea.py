"""Word links from translation models: what every such aligner shares.

A model of each direction reads a pair with the target forced on it; a published idea says what in it is the
alignment. Each is one subclass of LinkIdea in a file of its own; its fields are its options.

Shapes: B pairs, I target tokens, J source tokens, t = I + 1 rows of the decoder: row 0 reads the begin of sentence
and predicts y_1, row i reads y_i and predicts y_{i+1}. Layers are counted from 1.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.alignment import ALIGNERS
from synmt.alignment.config import OF_WEIGHTS
from synmt.alignment.mask_align.presets import PAPER as MASK_ALIGN
from synmt.model.source import ENCODERS
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, check_settings, option_names
from synmt.streams import BadInput
from synmt.training.config import training_options
from synmt.training.presets import SMALL

if TYPE_CHECKING:
    from torch import Tensor, nn

    from synmt.model.translation import EncodedSource, TranslationModel
    from synmt.nn.attention import AttentionEdit, Recorder
    from synmt.nn.decoders import TargetBatch
    from synmt.nn.encoding import SourceBatch


# The models of Chen et al. (2020) have the sizes and the training of Mask-Align's.
PRESETS = {"small": SMALL, "paper": Preset({**MASK_ALIGN.settings, "cross_attention": "all"})}
UNVALIDATED = "patience", "select", "validation-beam", "prefixes", "prefix-tokens"
OF_TRAINING = training_options(*UNVALIDATED, "subword-dropout")
OF_PARTS = training_options(
    *UNVALIDATED, "subword-dropout", "merges", "label-smoothing", "word-dropout", "tree-dropout"
)
OF_MODELS = frozenset({*option_names(TransformerConfig), *ENCODERS})


@dataclass(slots=True)
class Forced:
    """A batch of pairs on one model. part: what was trained on top of it; layer: the decoder layer that is read."""

    model: "TranslationModel"
    part: Any
    layer: int
    source: "SourceBatch"
    target: "TargetBatch"
    encoded: "EncodedSource"

    @classmethod
    def run(
        cls, model: "TranslationModel", part: Any, layer: int, source: "SourceBatch", target: "TargetBatch"
    ) -> "Forced":
        """Encode the source."""
        return cls(model, part, layer, source, target, model.encode(source))

    def crossing(self, context: "AttentionEdit | None" = None) -> "Recorder":
        """Run the decoder up to the layer's attention to the source, and return what that recorded.

        Its inputs are [B,t,d], its weights [B,H,t,J]; each position sees those before it, or what `context` shows.
        """
        from synmt.nn.attention import Recorder

        network = self.model.network
        cross = network.decoder_layers[self.layer - 1].cross
        assert cross is not None
        with Recorder([cross], stop=True) as recorder:
            contexts = [context] * len(network.decoder)
            network.decode(network.embed(self.target.inputs), self.encoded.states, self.encoded.bias, contexts)
        return recorder

    def weights(self, context: "AttentionEdit | None" = None) -> "Tensor":
        """Return the weights of the layer's heads, [B,H,t,J] in fp32."""
        return self.crossing(context).weights[0]

    def posteriors(self) -> "Tensor":
        """Return what the weights of the step that predicts y_i would be, were y_i known (synmt.alignment.posteriors),
        [B,I,J]. Raises BadInput for a layer below the last, whose weights have a part in what later steps predict."""
        import torch

        from synmt.alignment.posteriors import first_order_posteriors
        from synmt.nn.attention import Recorder
        from synmt.nn.losses import smoothed_cross_entropy

        network, real = self.model.network, self.target.real
        if self.layer != network.config.decoder_layers:
            raise BadInput(f"--links-by posterior is of the last decoder layer, not of layer {self.layer}")
        cross = network.decoder_layers[-1].cross
        assert cross is not None
        with torch.enable_grad():
            with Recorder([cross], cut=True) as recorder:
                states = self.states()[:, :-1]
            words = self.target.inputs[:, 1:][real]
            loss = smoothed_cross_entropy(states[real], network.output_weight, network.output_bias, words, 0.0)
        return first_order_posteriors(recorder.weights[0], -loss)[:, :-1]

    def states(self) -> "Tensor":
        """Return what the decoder predicts from, [B,t,d]."""
        network = self.model.network
        return network.decode(network.embed(self.target.inputs), self.encoded.states, self.encoded.bias)


@dataclass(frozen=True)
class LinkIdea:
    """One way to read links. What a subclass leaves out is that of the plain models' attention.

    guide: the method whose links this one learns from, unless others are given; "" if it learns from none.
    trains_model: whether it changes the translation models, or only learns a part on top of them.
    ties_subwords: whether both models must read the same subwords, and nothing else.
    """

    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    guide: ClassVar[str] = ""
    trains_model: ClassVar[bool] = False
    ties_subwords: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        """Return the options that the method uses besides its own, as Method: with --models, only the training of what
        is not taken over."""
        used = OF_WEIGHTS | {"models", "resume"}
        if not settings.get("models"):
            used |= {"preset"} | OF_TRAINING | OF_MODELS
        elif cls.trains_model:
            used |= {"preset"} | OF_TRAINING - {"merges"} | OF_MODELS
        elif cls.part is not LinkIdea.part:
            used |= {"preset"} | OF_PARTS
        if cls.guide:
            used |= {"guide"}
        return used if cls.posteriors is LinkIdea.posteriors else used | {"links-by"}

    def network(self, config: TransformerConfig) -> TransformerConfig:
        """Return the translation models' sizes, where the idea changes them."""
        return config

    def fixed_layer(self, config: TransformerConfig) -> int:
        """Return which decoder layer is read; 0 if that depends on how well the two directions agree."""
        return max(1, config.decoder_layers - 1)

    def part(self, config: TransformerConfig) -> "nn.Module | None":
        """Return what is trained on top of each model, which then stays as it is."""
        return None

    @property
    def has_part(self) -> bool:
        return type(self).part is not LinkIdea.part

    def loss(self, forced: Forced) -> "Tensor":
        """Return what the part learns from, or what a model learns besides translation; summed over the batch."""
        raise NotImplementedError

    def weights(self, forced: Forced) -> "Tensor":
        """Return how much each target token is linked with each source token, [B,I,J]; padded rows are anything."""
        raise NotImplementedError

    def posteriors(self, forced: Forced) -> "Tensor":
        """Return what the weights would be, were y_i known to the step that they are of, [B,I,J]. Raises BadInput."""
        raise NotImplementedError

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        """Return the weights of both directions, x → y [B,I,J] and y → x [B,J,I]."""
        return self.weights(forward), self.weights(backward)

    def options(self) -> dict[str, Any]:
        return asdict(self)


def link_idea(name: str, options: Mapping[str, Any] | None = None) -> LinkIdea:
    """Return the idea of a method. Raises ValueError or TypeError for one that reads no translation models."""
    idea = ALIGNERS[name](**options or {}) if name in ALIGNERS else None
    if not isinstance(idea, LinkIdea):
        raise ValueError(f"{name!r} is no method that reads translation models")
    return idea
