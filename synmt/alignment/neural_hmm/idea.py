"""`neural-hmm`: the model of `hmm` with embeddings of subwords in place of tables of counts.

Wang, Alkhouli, Zhu & Ney (2017), "Hybrid Neural Network Alignment and Lexicon Model in Direct HMM for Statistical
Machine Translation", ACL, and Wang, Zhu, Alkhouli, Gan & Ney (2018), "Neural Hidden Markov Model for Machine
Translation", ACL; the chain is that of Vogel, Ney & Tillmann (1996) and Och & Ney (2003), as in `hmm`:

    p(y, a | x) = Π_i  (1 − p₀) p(a_i | a_{i−1}) p(y_i | x_{a_i})   or   p₀ p(y_i | none), after which a_i = a_{i−1}

Of our own is how little it takes. Each subword of either side has one vector, which both directions share:

    p(v | u) = softmax_v(f_v · e_u + b_v),   p(u | v) = softmax_u(e_u · f_v + b′_u),   p(v | none) = softmax_v(n_v)
    p(j | j′) = softmax_j(s_d + w_d · e_u),   u = x_j′, d = j − j′, all d beyond `jump` being one

with s, w, b and n of each direction. The first word comes from a place near the beginning: p(j) ∝ exp(−κ j/J).

Both directions learn from the links that both believe in, as in Liang, Taskar & Klein (2006), "Alignment by
Agreement", NAACL. Forward–backward gives γ_ij = p(a_i = j | x, y) of the one and γ′_ji of the other, which give way to
each other in `agreement` steps (Graça, Ganchev & Taskar 2010; see hmm/idea.py); then γ, γ′ and the ξ of jumps stay as
they are for this update, and

    L = −Σ_ij γ_ij γ′_ji (log p(y_i | x_j) + log p(x_j | y_i)) − Σ_i γ_i0 log p(y_i | none) − Σ_jj′ ξ_jj′ log p(j | j′)

with the last two sums of either direction. Without steps of agreement, and with γ and γ′ in place of their product, its
gradient is that of −log p(y | x) − log p(x | y).

Learning begins where counts are (start.py): e and f are the factors of how much more often than by chance two subwords
meet in a pair. From random vectors, the same model is far worse after twice the updates (docs/results.md).
"""

from dataclasses import dataclass

from synmt.options import check_settings, rate, setting

NAME = "neural-hmm"


@dataclass(frozen=True)
class NeuralHmm:
    agreement: int = setting(1, "steps towards the same links in both directions", 0, most=100)
    null: float = rate(0.04, "p₀, the share of subwords that come from none")
    jump: int = setting(10, "the longest jump with a probability of its own", 1, 1000)

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)
        if not self.null:
            raise ValueError("null cannot be 0: some subwords come from none")
