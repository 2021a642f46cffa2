from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synmt.parsers.benepar_models import load_model
from synmt.parsers.benepar_parser import BeneparParser, benepar_analyses, best_spans, chart_analyses, triangle


def best_score(values: dict[tuple[int, int], float]) -> float:
    """Return the score of the best binary tree, found by trying every split of every span."""

    @cache
    def best(i: int, j: int) -> float:
        below = max((best(i, k) + best(k + 1, j) for k in range(i, j)), default=0.0)
        return values[i, j] + below

    return best(0, max(j for _, j in values))


@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_the_best_spans_form_the_best_tree(lengths: list[int], seed: int) -> None:
    sizes = [n * (n + 1) // 2 for n in lengths]
    values = np.random.default_rng(seed).normal(size=sum(sizes)).astype(np.float32)
    chosen = best_spans(values, lengths).tolist()
    offset = 0
    for n, size in zip(lengths, sizes, strict=True):
        own, chosen = chosen[: 2 * n - 1], chosen[2 * n - 1 :]
        firsts, lasts = triangle(n)
        spans = [(int(firsts[flat - offset]), int(lasts[flat - offset])) for flat in own]
        assert spans == sorted(set(spans), key=lambda span: (span[0], -span[1]))
        assert all(not (a < c <= b < d) for a, b in spans for c, d in spans)
        by_span = dict(zip(zip(firsts.tolist(), lasts.tolist(), strict=True), values[offset:].tolist(), strict=False))
        assert np.isclose(sum(by_span[span] for span in spans), best_score(by_span), atol=1e-4)
        offset += size


def test_analyses_equal_those_of_benepar(benepar: BeneparParser) -> None:
    from benepar import InputSentence
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

    ours = load_model()
    config = dict(ours.config)
    theirs = ChartParser(**{**config, "hparams": HParams(**config["hparams"])})
    theirs.load_state_dict(ours.state_dict())
    texts = [
        "Two young, White males are outside near many bushes.",
        "The dog that chased the cat",
        "Yes",
        "If it rains tomorrow, we shall not go to the small village near the lake that you told me about.",
    ]
    sentences = [InputSentence(words=text.split(), space_after=[True] * len(text.split())) for text in texts]
    assert chart_analyses(ours, sentences) == benepar_analyses(theirs.eval(), sentences)
