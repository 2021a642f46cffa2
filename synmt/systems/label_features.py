"""`label-features`: the labels of words as further features of the encoder's input.

Sennrich & Haddow (2016), "Linguistic Input Features Improve Neural Machine Translation", WMT: the embeddings of a
word piece and of each of its features, of sizes that sum to the width of the model, stand side by side. As in
Bugliarello & Okazaki's (2020) comparison, pieces of a word share its labels, and a feature has 10 channels.

The last channels of a piece's own embedding give way to the features, so that one matrix still serves the source,
the target and the softmax.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.nn.config import TransformerConfig, setting
from synmt.systems.source import Layout, SourceIdea
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.nn.features import LabelEmbeddings


@dataclass(frozen=True)
class LabelFeatures(SourceIdea):
    """Labels: the columns of the record, by their names."""

    columns: Literal["deprels", "upos", "deprels+upos"] = setting("deprels", "which labels of the parse record")
    size: int = setting(10, "channels of each", 1)

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset(self.columns.split("+"))

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        columns = {name: getattr(record, name) for name in self.columns.split("+")}
        return {
            name: [column[word] if word >= 0 else "" for word in layout.words] for name, column in columns.items()
        }

    def channels_taken(self) -> int:
        return self.size * len(self.columns.split("+"))

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, int]) -> "LabelEmbeddings":
        from synmt.nn.features import LabelEmbeddings

        counts = {name: labels.get(name, 1) for name in self.columns.split("+")}
        return LabelEmbeddings(config.encoder_layers, counts, self.size)
