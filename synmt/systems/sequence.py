"""`sequence`: the plain Transformer on word pieces (Vaswani et al. 2017), the baseline of every other system."""

from synmt.nn.config import TransformerConfig
from synmt.systems.source import Segment, SourceFeatures
from synmt.trees.record import ParseRecord


class Sequence:
    """Tokens: the pieces of the record's words, without begin or end of sentence."""

    needs_tree = False

    def features(self, record: ParseRecord, segment: Segment) -> SourceFeatures:
        pieces = [piece for word in record.tokens for piece in segment(word)]
        return SourceFeatures(pieces, words=len(pieces))

    def attention_bias(self, config: TransformerConfig) -> None:
        return None
