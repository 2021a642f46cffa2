"""`label-features`: the labels of words as further features of the encoder's input.

Sennrich & Haddow (2016), "Linguistic Input Features Improve Neural Machine Translation", WMT: the embeddings of a
subword and of each of its features, of sizes that sum to the width of the model, stand side by side. As in
Bugliarello & Okazaki's (2020) comparison, subwords of a word share its labels, and a feature has 10 channels.

Their features are lemmas, subword tags (B, I, E: a subword begins, continues or ends its word; O: it is the whole),
morphological features (all of a word as one label), parts of speech and dependency relations.

The last channels of a subword's own embedding give way to the features, so that one matrix still serves the source,
the target and the softmax.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import Layout, SourceIdea
from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.systems.label_features.embeddings import LabelEmbeddings


# Fields with labels, and those that tell whether a record has them: where no word has features, `feats` is empty.
FIELDS = {"deprels": "deprels", "upos": "upos", "feats": "upos", "lemmas": "lemmas"}
SUBWORD_TAGS = "bieo"
TAGS = {(False, False): "O", (False, True): "B", (True, True): "I", (True, False): "E"}


@dataclass(frozen=True)
class LabelFeatures(SourceIdea):
    """Labels: those of some fields of the record, by their names, and subword tags."""

    fields: str = setting("deprels", f"labels of the parse record, joined by +, of {', '.join(FIELDS)}; and bieo")
    size: int = setting(10, "channels of each", 1, 2**16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self._names) <= {*FIELDS, SUBWORD_TAGS} or len(set(self._names)) < len(self._names):
            raise ValueError(f"fields cannot be {self.fields!r}; they are {', '.join(FIELDS)} and {SUBWORD_TAGS}")

    @property
    def _names(self) -> list[str]:
        return self.fields.split("+")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset(FIELDS[name] for name in self._names if name in FIELDS)

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        labels = {}
        for name in self._names:
            if name == SUBWORD_TAGS:
                labels[name] = subword_tags(layout.words)
            else:
                of_words = getattr(record, name) or [UNKNOWN] * len(record.tokens)
                labels[name] = layout.of_words(of_words, "")
        return labels

    def channels_taken(self) -> int:
        return self.size * len(self._names)

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "LabelEmbeddings":
        from synmt.systems.label_features.embeddings import LabelEmbeddings

        counts = {name: 1 + len(labels.get(name, ())) for name in self._names}
        return LabelEmbeddings(config.encoder_layers, counts, self.size)


def subword_tags(words: Sequence[int]) -> list[str]:
    """Return B, I, E or O for each token by the word that it is of, "" for -1; words' subwords stand together."""
    around = zip([-1, *words], words, [*words[1:], -1], strict=False)
    return ["" if word < 0 else TAGS[before == word, after == word] for before, word, after in around]
