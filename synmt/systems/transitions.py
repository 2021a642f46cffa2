"""`linearized` on the target side, `--model transitions`: a decoder that writes the tree between the words.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, the ablation
Linearized: the arcs of the dependency tree are tokens of the target string, each as soon as both its words are
complete (synmt.trees.transitions), for a causal decoder as in `sequence`. The graph decoders write this string too.
"""

from dataclasses import dataclass

from synmt.systems.target import TargetIdea


@dataclass(frozen=True)
class LinearizedTarget(TargetIdea):
    """Words and arcs."""

    writes_arcs = True
