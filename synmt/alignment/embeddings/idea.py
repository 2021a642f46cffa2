"""`embeddings`: links of words whose states in a pretrained multilingual encoder are alike; nothing is fitted.

Jalili Sabet, Dufter, Yvon & Schütze (2020), "SimAlign: High Quality Word Alignments without Parallel Training Data
using Static and Contextualized Embeddings", Findings of EMNLP, and Dou & Neubig (2021), "Word Alignment by
Fine-tuning Embeddings on Parallel Corpora", EACL (awesome-align). With h_j and g_i the states of the subwords of both
sentences in one layer, each sentence read alone:

    argmax   S = cos(h_j, g_i); links are the cells that are the greatest of their row and of their column
    itermax  argmax, again and again: S of the cells whose row or column has a link counts for α of itself, and that of
             cells where both have one for nothing; new links are added
    softmax  S = h_j · g_i; links are the cells whose softmax over the row and over the column both exceed a threshold

Words are linked where any of their subwords are.
"""

from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, setting

NAME = "embeddings"
Rule = Literal["argmax", "itermax", "softmax"]


@dataclass(frozen=True)
class Embeddings:
    encoder: str = setting(
        "bert-base-multilingual-cased",
        "pretrained encoder: its name on Hugging Face's hub, or a folder",
        metavar="NAME|PATH",
    )
    layer: int = setting(8, "whose states are compared; 0 is the embeddings below the first", most=256)
    rule: Rule = setting("softmax", "how likeness makes links")
    threshold: float = setting(0.001, "of softmax", 0, 1, needs="rule softmax")
    iterations: int = setting(2, "of itermax, argmax being the first", 1, needs="rule itermax", most=1000)
    alpha: float = setting(0.9, "α of itermax", 0, 1, needs="rule itermax")
    trust_pickle: bool = setting(False, "load an encoder that is a pickle, which can run code")

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)
