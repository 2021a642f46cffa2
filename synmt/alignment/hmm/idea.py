"""`hmm`: hidden Markov models of both directions, which learn from the links that they agree on.

Vogel, Ney & Tillmann (1996), "HMM-Based Word Alignment in Statistical Translation", COLING; trained as in Liang,
Taskar & Klein (2006), "Alignment by Agreement", NAACL. In each direction, word y_i comes from the source word in place
a_i, which depends on where the word before came from, or from no word (Och & Ney 2003):

    p(y, a | x) = Π_i  (1 − p₀) p(a_i | a_{i−1}) t(y_i | x_{a_i})   or   p₀ t(y_i | no word), after which a_i = a_{i−1}
    p(j | j′) = s(j − j′) / Σ_k s(k − j′),   s(d) one and the same for all d beyond `jump`

Forward–backward gives γ_ij = p(a_i = j | x, y) of either direction. Both learn t from one table of counts, of the links
that both believe in: c(u, v) = Σ γ_ij γ′_ji over all places of the words u and v. s and t(· | no word) are those of
each direction alone, and p₀ stays. At first, p(j | i) ∝ exp(−κ |i/I − j/J|) stands for the jumps (Dyer, Chahuneau &
Smith 2013).

Of our own: rare words borrow from words that begin alike. With v_k the first n_k letters of v, for n_k =
4, 6 and at last all letters, and p(v_k | v_{k−1}) its share among the words that begin so,

    t_k(v | u) = (c(u_k, v_k) + α t_{k−1}(v | u) p(v_k | v_{k−1})) / (c(u_k) + α),   t_0 = 1,  p(v_1 | v_0) = p(v_1)

Links are where the mean of γ_ij and γ′_ji reaches a threshold.
"""

from dataclasses import dataclass

from synmt.options import check_settings, rate, setting

NAME = "hmm"


@dataclass(frozen=True)
class Hmm:
    concentration: float = setting(2.0, "α, the weight of what is known of words that begin alike", 0.01)
    null: float = rate(0.1, "p₀, the share of words that come from none")
    jump: int = setting(10, "the longest jump with a probability of its own", 1)
    pairs: int = setting(100_000, "pairs to learn from, at most, spread over all; 0 is all")
    rounds: int = setting(5, "rounds of learning, after three without jumps")

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)
