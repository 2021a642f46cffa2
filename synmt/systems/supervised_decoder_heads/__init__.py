"""`supervised-decoder-heads`: chosen decoder heads learn where to attend, in training only.

As `supervised-heads` on the source side, with the same loss, for heads of the decoder's causal self-attention. The
position that reads a token of word t is taught the subwords of the words that the pattern gives, as far as they come
no later: the parent where it is to the left (Deguchi, Tamura & Ninomiya 2019, "Dependency-Based Self-Attention for
Transformer NMT", RANLP), or the latest word that t is linked with. A word whose targets are all to the right is not
taught. The trained decoder is that of `sequence`, and translates at its speed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.systems.idea import SOME_HEADS, Heads
from synmt.systems.supervised_heads.idea import heads_of
from synmt.systems.supervised_heads.patterns import OF_DECODERS, OF_TREES, Taught, read_taught
from synmt.systems.target import CAUSAL, TargetIdea
from synmt.text.bpe import JOINER
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.systems.supervised_heads.attention import DecoderHeadSupervision


@dataclass(frozen=True)
class SupervisedDecoderHeads(TargetIdea):
    """Columns: as those of `supervised-heads`, for the positions of the decoder's input."""

    runs = CAUSAL
    training_only = True

    teach: str = setting(
        "previous",
        f"what each head learns to attend to, joined by +: {', '.join(OF_DECODERS)}; parent@3 is in layer 3,"
        " parent@3.2 its second head",
    )
    layer: int = setting(2, "decoder layer of heads that name none", 1, 256)
    weight: float = setting(0.3, "of the loss of attention: λ")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.taught

    @property
    def taught(self) -> list[Taught]:
        """Return the heads, as `read_taught`."""
        return read_taught(self.teach, self.layer, OF_DECODERS)

    def needs(self, training: bool) -> frozenset[str]:
        of_trees = any(each.pattern in OF_TREES for each in self.taught)
        return frozenset({SOME_HEADS}) if training and of_trees else frozenset()

    def columns(self, record: ParseRecord, entries: Sequence[str]) -> dict[str, list[int]]:
        numbers = _words_of(entries) if record.tokens else [0] * (1 + len(entries))  # of another task than translation
        found = {"taught_words": numbers}
        for name in {each.pattern: None for each in self.taught}:
            words = [0, *(word + 1 for word in OF_DECODERS[name](record))]
            found[f"taught_{name}"] = [words[number] for number in numbers]
        return found

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return heads_of(self.taught)

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "DecoderHeadSupervision":
        from synmt.systems.supervised_heads.attention import DecoderHeadSupervision

        return DecoderHeadSupervision(config.decoder_layers, self.taught, self.weight)


def _words_of(entries: Sequence[str]) -> list[int]:
    """Return the number of the word, from 1, that is read at each position, 0 at the begin of sentence and at
    structure, [1+t]."""
    numbers, word, is_open = [0], 0, False
    for entry in entries:
        if is_structural(entry):
            numbers.append(0)
            continue
        word += not is_open
        is_open = entry.endswith(JOINER)
        numbers.append(word)
    return numbers
