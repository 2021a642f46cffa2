"""`embeddings`: links of words whose states in a pretrained multilingual encoder are alike; nothing is fitted.

Jalili Sabet, Dufter, Yvon & Schütze (2020), "SimAlign: High Quality Word Alignments without Parallel Training Data
using Static and Contextualized Embeddings", Findings of EMNLP, and Dou & Neubig (2021), "Word Alignment by
Fine-tuning Embeddings on Parallel Corpora", EACL (awesome-align). With h_j and g_i the states of the subwords of both
sentences in one layer, each sentence read alone:

    argmax   S = cos(h_j, g_i); links are the cells that are the greatest of their row and of their column
    itermax  argmax, again and again: S of the cells whose row or column has a link counts for α of itself, and that of
             cells where both have one for nothing; new links are added
    softmax  S = h_j · g_i; links are the cells whose softmax over the row and over the column both exceed a threshold

Words are linked where any of their subwords are. A folder holds the options alone; the encoder stays where it is.
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
    new_folder,
    read_saved,
    write_saved,
)
from synmt.alignment.config import OF_LINKS, Heuristic
from synmt.model.files import CONFIG_FILE, naming
from synmt.model.records import SentencePair
from synmt.options import check_settings, setting
from synmt.text.links import DirectedLinks

if TYPE_CHECKING:
    from synmt.alignment.embeddings.encoder import Encoder

Rule = Literal["argmax", "itermax", "softmax"]


@dataclass(frozen=True)
class Embeddings:
    cites: ClassVar[tuple[str, ...]] = ("jalilisabet2020simalign", "dou2021word")
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
    text: FittedText | None = None
    network: "Encoder | None" = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "intersection"

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return OF_LINKS

    def needs(self, settings: Settings | None = None) -> Needs:
        return NO_NEEDS

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Save the options; there is nothing to fit."""
        made = replace(self, text=bitext.text)._opened(how.device)
        with new_folder(self, how) as folder:
            made.save(folder)
        return made

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_saved(folder, replace(self, trust_pickle=False))

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        """Open the aligner of a folder, which cannot ask for trust in a pickle."""
        saved = read_saved(folder, cls)
        with naming(folder / CONFIG_FILE):
            made = replace(cls(**saved["options"]), trust_pickle=False, text=FittedText.read(saved))
        return made._opened(device)

    def _opened(self, device: str) -> Self:
        from synmt.alignment.embeddings.encoder import Encoder
        from synmt.device import local_device

        return replace(self, network=Encoder(self.encoder, self.layer, local_device(device), self.trust_pickle))

    def align(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        """Return the links, the same for both directions."""
        from synmt.alignment.embeddings.encoder import linked

        assert self.network
        sources = self.network.states([pair.source.tokens for pair in pairs])
        targets = self.network.states([pair.target.tokens for pair in pairs])
        found = []
        for source, target in zip(sources, targets, strict=True):
            links = frozenset[tuple[int, int]]()
            if len(source.words) and len(target.words):
                cells = linked(self, source.values, target.values).nonzero()
                links = frozenset((source.words[j], target.words[i]) for j, i in zip(*map(list, cells), strict=True))
            found.append(DirectedLinks(links, links))
        return found
