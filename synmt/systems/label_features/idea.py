"""`label-features`: the labels of words as further features of the encoder's input.

Sennrich & Haddow (2016), "Linguistic Input Features Improve Neural Machine Translation", WMT: the embeddings of a
subword and of each of its features, of sizes that sum to the width of the model, stand side by side. As in
Bugliarello & Okazaki's (2020) comparison, subwords of a word share its labels, and a feature has 10 channels.

The last channels of a subword's own embedding give way to the features, so that one matrix still serves the source,
the target and the softmax.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import Layout, SourceIdea
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.systems.label_features.embeddings import LabelEmbeddings


@dataclass(frozen=True)
class LabelFeatures(SourceIdea):
    """Labels: those of some fields of the record, by their names."""

    fields: Literal["deprels", "upos", "deprels+upos"] = setting("deprels", "which labels of the parse record")
    size: int = setting(10, "channels of each", 1)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset(self.fields.split("+"))

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        labels = {name: getattr(record, name) for name in self.fields.split("+")}
        return {name: [each[word] if word >= 0 else "" for word in layout.words] for name, each in labels.items()}

    def channels_taken(self) -> int:
        return self.size * len(self.fields.split("+"))

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, int]) -> "LabelEmbeddings":
        from synmt.systems.label_features.embeddings import LabelEmbeddings

        counts = {name: labels.get(name, 1) for name in self.fields.split("+")}
        return LabelEmbeddings(config.encoder_layers, counts, self.size)
