"""`bitran`: a decoder of words in which every position attends to the whole prefix.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 2, the
Bidirectional Transformer: after n tokens, every position attends to all n, so that the state of `put` changes
once `out` has followed. No new parameters; with one decoder layer it is the causal decoder.
"""

from dataclasses import dataclass

from synmt.systems.target import PREFIXES, TargetIdea


@dataclass(frozen=True)
class BiTran(TargetIdea):
    """Words; together with `transitions`, words and arcs, without their graph."""

    runs = PREFIXES
