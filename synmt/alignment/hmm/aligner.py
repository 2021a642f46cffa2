"""`hmm`: hidden Markov models of both directions, which learn from the links that they agree on.

Vogel, Ney & Tillmann (1996), "HMM-Based Word Alignment in Statistical Translation", COLING; trained as in Liang,
Taskar & Klein (2006), "Alignment by Agreement", NAACL. In each direction, word y_i comes from the source word in place
a_i, which depends on where the word before came from, or from no word (Och & Ney 2003):

    p(y, a | x) = Π_i  (1 − p₀) p(a_i | a_{i−1}) t(y_i | x_{a_i})   or   p₀ t(y_i | no word), after which a_i = a_{i−1}
    p(j | j′) = s_c(j − j′) / Σ_k s_c(k − j′),   s_c(d) one and the same for all d beyond `jump`

c is the class of the word x_j′: the most frequent words have jumps of their own, as far as these are seen, the others
share theirs (He 2007, "Using Word-Dependent Transition Models in HMM Based Word Alignment", WMT).

Forward–backward gives γ_ij = p(a_i = j | x, y) of either direction, and `agreement` steps bring both towards the same
links (chains.py).

With `trees`, each direction has a second model (after Kondo, Duh & Matsumoto 2013, "Hidden Markov Tree Model for Word
Alignment", WMT), in which y_i depends on where its head h comes from:

    p(a_i = j | a_h = j′) = r(j′, j) / Σ_k r(j′, k),   r by what x_j is to x_j′ in the tree of x (moves.py)

Roots come from anywhere. γ_ij is then the mean of both models, and there are no steps of agreement.

Both directions learn t from one table of counts, of the links that both believe in: c(u, v) = Σ γ_ij γ′_ji over all
places of the words u and v. s, r and t(· | no word) are those of each direction alone, and p₀ stays. At first,
p(j | i) ∝ exp(−κ |i/I − j/J|) stands for the jumps (Dyer, Chahuneau & Smith 2013).

Of our own: rare words borrow from words that begin alike. With v_k the first n_k letters of v, for n_k =
4, 6, 8 and at last all letters, and p(v_k | v_{k−1}) its share among the words that begin so,

    t_k(v | u) = (c(u_k, v_k) + α t_{k−1}(v | u) p(v_k | v_{k−1})) / (c(u_k) + α),   t_0 = 1,  p(v_1 | v_0) = p(v_1)

Words that are rarer than the words in them are first cut into these (bitext.py), and all of this applies to the parts.
Two words are linked where the mean of γ_ij and γ′_ji of any of their parts reaches a threshold.

A folder also holds `source.txt` and `target.txt`, one word per line with a blank between the parts of a compound, and
`model.safetensors`: how often words were seen, which parts were linked how often, and the jumps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

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
from synmt.alignment.config import Heuristic
from synmt.model.files import CONFIG_FILE, naming
from synmt.model.records import SentencePair
from synmt.options import check_settings, rate, setting

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.hmm.fitted import FittedHmm

HEADS = frozenset({"heads"})


@dataclass(frozen=True)
class Hmm:
    cites: ClassVar[tuple[str, ...]] = ("vogel1996hmm", "liang2006alignment")
    agreement: int = setting(2, "steps towards the same links in both directions", 0, unless="trees", most=100)
    compounds: int = setting(4, "letters of each word that a compound is cut into, at least; 0 cuts none", 0, most=1000)
    concentration: float = setting(2.0, "α, the weight of what is known of words that begin alike", 0.01, most=10**6)
    null: float = rate(0.04, "p₀, the share of words that come from none")
    frequent: int = setting(200, "words of a side with jumps of their own", 0, 10**4)
    jump: int = setting(10, "the longest jump with a probability of its own", 1, 1000)
    pairs: int = setting(0, "pairs to learn from, at most, spread over all; 0 is all")
    rounds: int = setting(5, "rounds of learning, after three without jumps", most=1000)
    trees: bool = setting(False, "let words depend on their heads, too; both sides need dependency trees")
    text: FittedText | None = None
    fitted: "FittedHmm | None" = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "mean"
    temperature: ClassVar[float] = 1.75  # at which γ are probabilities; tuned on 44 pairs linked by hand

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    def needs(self, settings: Settings | None = None) -> Needs:
        return (HEADS, HEADS) if self.trees else NO_NEEDS

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        from synmt.alignment.hmm.fitted import FittedHmm

        with new_folder(self, how) as folder:
            made = replace(self, text=bitext.text, fitted=FittedHmm.learn(self, bitext.pairs))
            made.save(folder)
        return made

    def save(self, folder: Path) -> None:
        assert self.fitted
        folder.mkdir(parents=True, exist_ok=True)
        self.fitted.save(folder)
        write_saved(folder, self)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        from synmt.alignment.hmm.fitted import FittedHmm

        saved = read_saved(folder, cls)
        with naming(folder / CONFIG_FILE):
            text, options = FittedText.read(saved), cls(**saved["options"])
        return replace(options, text=text, fitted=FittedHmm.open(options, folder))

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return γ of both directions, of the parts of words."""
        assert self.fitted
        return self.fitted.align(pairs)
