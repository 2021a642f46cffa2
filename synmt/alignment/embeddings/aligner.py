"""`embeddings`: links words with similar states in a pretrained multilingual encoder; nothing is fitted.

Jalili Sabet, Dufter, Yvon & Schütze (2020), "SimAlign: High Quality Word Alignments without Parallel Training Data
using Static and Contextualized Embeddings", Findings of EMNLP, and Dou & Neubig (2021), "Word Alignment by
Fine-tuning Embeddings on Parallel Corpora", EACL (awesome-align). h_j and g_i are the states of the subwords of both
sentences in one layer; each sentence is encoded on its own:

    argmax   S = cos(h_j, g_i); a cell is a link if it is the maximum of its row and of its column
    itermax  argmax, repeatedly: S is multiplied by α in cells whose row or column already has a link, and set to zero
             if both have one; new links are added
    softmax  S = h_j · g_i; a cell is a link if its softmax over the row and its softmax over the column both exceed a
             threshold

Words are linked if any of their subwords are. The folder holds only the options; the encoder is not copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from synmt.alignment.aligner import (
    NO_NEEDS,
    FitBitext,
    FittedText,
    Fitting,
    Needs,
    Settings,
    fingerprint,
    new_folder,
    read_aligner,
    write_saved,
)
from synmt.alignment.config import OF_LINKS, Heuristic
from synmt.data.records import SentencePair
from synmt.options import Checked, setting
from synmt.text.links import DirectedLinks

if TYPE_CHECKING:
    from synmt.alignment.embeddings.rules import Cells, Floats
    from synmt.alignment.encoders.encoder import PretrainedEncoder

Rule = Literal["argmax", "itermax", "softmax"]


@dataclass(frozen=True)
class Embeddings(Checked):
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
    text: FittedText | None = None
    network: "PretrainedEncoder | None" = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "intersection"

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return OF_LINKS | {"device"}

    def needs(self, settings: Settings | None = None) -> Needs:
        return NO_NEEDS

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Save the options; nothing is fitted."""
        made = replace(self, text=bitext.text)._opened(how.device)
        with new_folder(how) as folder:
            write_saved(folder, replace(made, trust_pickle=False), fingerprint=fingerprint(self, bitext))
        return made

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_saved(folder, replace(self, trust_pickle=False))

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        """Open the aligner of a folder. A folder cannot allow loading pickles."""
        return replace(read_aligner(folder, cls), trust_pickle=False)._opened(device)

    def _opened(self, device: str) -> Self:
        from synmt.alignment.encoders.encoder import open_encoder
        from synmt.device import local_device

        return replace(self, network=open_encoder(self.encoder, self.layer, local_device(device), self.trust_pickle))

    def align(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        """Return the links, which are the same in both directions."""
        from synmt.alignment.encoders.encoder import states_of

        assert self.network
        sources = states_of(self.network, [pair.source.tokens for pair in pairs])
        targets = states_of(self.network, [pair.target.tokens for pair in pairs])
        found = []
        for source, target in zip(sources, targets, strict=True):
            links = frozenset[tuple[int, int]]()
            if source.words and target.words:
                cells = self._linked(source.values, target.values).nonzero()
                links = frozenset((source.words[j], target.words[i]) for j, i in zip(*map(list, cells), strict=True))
            found.append(DirectedLinks(links, links))
        return found

    def _linked(self, source: "Floats", target: "Floats") -> "Cells":
        """Return which subwords are linked, [J,I], given their states [J,d] and [I,d]."""
        from synmt.alignment.embeddings.rules import itermax_links, softmax_links
        from synmt.alignment.encoders.similarity import unit

        if self.rule == "softmax":
            return softmax_links(source @ target.T, self.threshold)
        likeness = unit(source) @ unit(target).T
        return itermax_links(likeness, self.iterations if self.rule == "itermax" else 1, self.alpha)
