"""Pairs with the target as forced output of a translation model. Imports no torch, so that `--help` is fast.

Shapes: B pairs, I target tokens, J source tokens, t = I + 1 rows of the decoder: row 0 reads the begin of sentence and
predicts y_1; row i reads y_i and predicts y_{i+1}. Layers are counted from 1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synmt.streams import BadInput, Message

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.model.translation import TranslationModel
    from synmt.nn.attention import Edit, Recorder
    from synmt.nn.decoders import TargetBatch
    from synmt.nn.encoding import Encoded, SourceBatch


@dataclass(slots=True)
class Forced:
    """A batch of pairs in one model. module: trained on top of the model, or None; layer: the decoder layer to read;
    encoded: the source in the encoder."""

    model: "TranslationModel"
    module: Any
    layer: int
    source: "SourceBatch"
    target: "TargetBatch"
    encoded: "Encoded"

    def crossing(self, context: "Edit | None" = None) -> "Recorder":
        """Run the decoder up to the layer's attention to the source, and return the recorder of that attention.

        Inputs are [B,t,d], weights [B,H,t,J]; each position sees the previous ones, or what `context` shows.
        """
        from synmt.nn.attention import Recorder

        network = self.model.network
        cross = network.decoder_layers[self.layer - 1].cross
        assert cross is not None
        with Recorder([cross], stop=True) as recorder:
            edits = None if context is None else [context] * len(network.decoder)
            network.decode(network.embed(self.target.inputs), self.encoded.states, self.encoded.cross, edits)
        return recorder

    def weights(self, context: "Edit | None" = None) -> "Tensor":
        """Return the weights of the layer's heads, [B,H,t,J] in fp32."""
        return self.crossing(context).weights[0]

    def posteriors(self) -> "Tensor":
        """Return the weights as they would be if the step that predicts y_i knew y_i (weights.py), [B,I,J]. Raises
        BadInput for a layer below the last, whose weights affect the predictions of later steps."""
        import torch

        from synmt.alignment.published.attention.weights import first_order_posteriors
        from synmt.nn.attention import Recorder
        from synmt.nn.losses import smoothed_cross_entropy

        network, real = self.model.network, self.target.real
        if self.layer != network.config.decoder_layers:
            raise BadInput(Message("--links-by posterior needs the last decoder layer, not layer {}", self.layer))
        cross = network.decoder_layers[-1].cross
        assert cross is not None
        with torch.enable_grad():
            with Recorder([cross], cut=True) as recorder:
                states = self.states()[:, :-1]
            words = self.target.inputs[:, 1:][real]
            loss = smoothed_cross_entropy(states[real], network.output_weight, network.output_bias, words, 0.0)
            return first_order_posteriors(recorder.weights[0], -loss)[:, :-1]

    def states(self) -> "Tensor":
        """Return the states from which the decoder predicts, [B,t,d]."""
        network = self.model.network
        return network.decode(network.embed(self.target.inputs), self.encoded.states, self.encoded.cross)
