"""The options of `embeddings`, which aligner.py explains. Imports no numpy, so that `--help` is fast."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from synmt.alignment.aligner import MethodConfig, Settings
from synmt.alignment.config import OF_LINKS
from synmt.options import setting

Rule = Literal["argmax", "itermax", "softmax"]


@dataclass(frozen=True)
class EmbeddingsConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.embeddings.aligner:Embeddings"
    cites: ClassVar[tuple[str, ...]] = ("jalilisabet2020simalign", "dou2021word")
    encoder: str = setting(
        "bert-base-multilingual-cased",
        "pretrained encoder: its name on Hugging Face's hub, or a folder",
        metavar="NAME|PATH",
    )
    layer: int = setting(8, "layer whose states are compared; 0: the embeddings", most=256)
    rule: Rule = setting("softmax", "how to turn similarities into links")
    threshold: float = setting(0.001, "of softmax", 0, 1, needs="rule softmax")
    iterations: int = setting(2, "passes of itermax, including argmax", 1, needs="rule itermax", most=1000)
    alpha: float = setting(0.9, "α of itermax", 0, 1, needs="rule itermax")
    trust_pickle: bool = setting(False, "allow a pickled encoder, which can run code")

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return OF_LINKS | {"device"}
