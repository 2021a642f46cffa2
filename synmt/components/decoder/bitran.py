"""`bitran`: a decoder of words whose positions see the whole prefix, including the tokens after them.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 2, the
Bidirectional Transformer: after n tokens, every position attends to all n. The state of `put`, for example, changes
once `out` follows. No new parameters. With one decoder layer, it equals the causal decoder.
"""

from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import DecoderComponent


@dataclass(frozen=True)
class BiTran(DecoderComponent):
    """Words, or with `transitions` words and arcs, but no graph of the arcs."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing",)

    prefixes = True
