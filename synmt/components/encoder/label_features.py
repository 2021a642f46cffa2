"""`label-features`: the labels of words as additional features of the encoder's input.

Sennrich & Haddow (2016), "Linguistic Input Features Improve Neural Machine Translation", WMT: the embeddings of a
subword and of its features are concatenated, and their sizes sum to the width of the model. As in the comparison of
Bugliarello & Okazaki (2020), subwords share the labels of their word, and a feature has 10 channels.

The paper's features are lemmas, subword tags (B, I, E: the subword begins, continues or ends its word; O: it is the
whole word), morphological features (all of a word in one label), parts of speech and dependency relations.

Features replace the last channels of the subword's own embedding, so that one matrix can still serve the source, the
target and the softmax.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.components.contract import EncoderComponent, Field, Layout, ParseRecord, TransformerConfig, setting
from synmt.trees.dependency import UNKNOWN

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun


# Fields with labels, each with the field that shows whether a record has it: `feats` can be empty in a parsed record.
RECORD_FIELDS = {"deprels": "deprels", "upos": "upos", "feats": "upos", "lemmas": "lemmas"}
SUBWORD_TAGS = "bieo"
TAGS = {(False, False): "O", (False, True): "B", (True, True): "I", (True, False): "E"}


@dataclass(frozen=True)
class LabelFeatures(EncoderComponent):
    """Fields: the chosen labels of the record, by name, and subword tags."""

    cites: ClassVar[tuple[str, ...]] = ("sennrich2016linguistic", "bugliarello2020enhancing")

    fields: str = setting("deprels", f"labels of the parse record, joined by +: {', '.join(RECORD_FIELDS)}, bieo")
    size: int = setting(10, "channels of each", 1, 2**16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self._names) <= {*RECORD_FIELDS, SUBWORD_TAGS} or len(set(self._names)) < len(self._names):
            raise ValueError(
                f"fields cannot be {self.fields!r}; choose from {', '.join(RECORD_FIELDS)} and {SUBWORD_TAGS}"
            )

    @property
    def _names(self) -> list[str]:
        return self.fields.split("+")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset(RECORD_FIELDS[name] for name in self._names if name in RECORD_FIELDS)

    def reads(self) -> Mapping[str, Field]:
        return dict.fromkeys(self._names, Field("label"))

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
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

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """One table per name, with a row for no label."""
        from torch import nn

        tables = nn.ModuleDict({name: nn.Embedding(1 + len(labels.get(name, ())), self.size) for name in self._names})
        for table in tables.parameters():
            nn.init.normal_(table, std=self.size**-0.5)
        return {"tables": tables}

    def embed(self, run: "SideRun", vectors: "Tensor") -> "Tensor":
        import torch

        features = torch.cat([table(run.fields[name]) for name, table in run.own.tables.items()], dim=-1)
        channels = run.own.channels
        return torch.cat([vectors[..., : channels.start], features, vectors[..., channels.stop :]], dim=-1)


def subword_tags(words: Sequence[int]) -> list[str]:
    """Return B, I, E or O for each token, given the word that it is part of; "" for tokens that are part of no word."""
    around = zip([-1, *words], words, [*words[1:], -1], strict=False)
    return ["" if word < 0 else TAGS[before == word, after == word] for before, word, after in around]
