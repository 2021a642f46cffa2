"""How translations are searched for. Free of torch, as `--help` is."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.options import MOST_JOBS, Scope, check_settings, setting
from synmt.text.tokenization import TokenizerName
from synmt.trees.transitions import Constraints

if TYPE_CHECKING:
    from synmt.model.target import TargetSide

SearchName = Literal["tokens", "words", "greedy-arcs"]
# What a model does, or what is asked of it, as far as settings depend on it.
AMONG_WORDS = "a model that writes arcs among its words"
OF_SEARCHES = ("--score",)  # which rules out the settings of a search
SHOWS_ARCS = "translations that are written with their arcs"


@dataclass(frozen=True)
class SearchConfig:
    """A length penalty divides a hypothesis' log-probability by ((5+L)/6)^alpha (gnmt; Wu et al. 2016, eq. 14) or by
    L^alpha (plain), L its tokens with the end of sentence; without arcs, if words compete."""

    beam: int = setting(4, "hypotheses per sentence", 1, unless="sample", most=1000)
    length_penalty: Literal["gnmt", "plain"] = setting("gnmt", "scores are divided by ((5+L)/6)^alpha, or by L^alpha")
    alpha: float = setting(0.6, "0 is no length penalty", -10, most=10)
    max_length_offset: int = setting(50, "subwords that a translation may have beyond its source's", most=10**5)
    max_length_ratio: float | None = setting(
        None, "subwords that it may have for each of its source's, at most", most=1000
    )
    min_length_ratio: float = setting(
        0.0, "subwords that it must have for each of its source's, without arcs", unless=AMONG_WORDS, most=1000
    )
    no_repeat: int = setting(
        0,
        "no sequence of N subwords occurs twice in a translation without arcs; 0 allows all",
        unless=AMONG_WORDS,
        most=1000,
    )
    sample: bool = setting(False, "draw each token at random instead; --n-best: so many translations, one without it")
    top_k: int = setting(0, "draw among the N likeliest tokens; 0: among all", needs="sample", most=2**22)
    seed: int = setting(1, "seed of --sample: a sentence gets the same translations again", needs="sample")
    search: SearchName = setting(
        "tokens",
        "of a model that writes arcs: hypotheses compete after as many tokens; or words, the same ones in other trees"
        " as one; or words, each with its likeliest arcs",
        needs=AMONG_WORDS,
        unless="sample",
    )
    constraints: Constraints = setting(
        "strict",
        "of a model that writes arcs. none: those that make no sense do nothing; legal: they are not written;"
        " strict: and every translation is one tree",
        needs=SHOWS_ARCS,
    )

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds."""
        check_settings(self)

    def shortest(self, words: int) -> int:
        """Return how many subwords a translation of so many must have: at least one, and no more than it may have."""
        return max(1, min(self.longest(words), math.ceil(self.min_length_ratio * words)))

    def longest(self, words: int) -> int:
        """Return how many it may have."""
        most = words + self.max_length_offset
        return most if self.max_length_ratio is None else min(most, max(1, int(self.max_length_ratio * words)))

    def penalty(self, length: int) -> float:
        base = (5 + length) / 6 if self.length_penalty == "gnmt" else length
        return float(base**self.alpha)


@dataclass(frozen=True)
class TranslateConfig:
    n_best: int | None = setting(
        None, "translations per line, as JSON lines; at most the beam", 1, unless=("score", "format conllu"), most=10**4
    )
    task: Literal["translate", "parse"] = setting(
        "translate", "a multitask model parses too: brackets without words", unless="score"
    )
    score: bool = setting(False, "read source TAB target lines, and write the log-probability of each target")
    sum_trees: int = setting(
        0,
        "with --score: that of the words alone; of a model that writes arcs among them, summed over the strings with"
        " arcs that a beam of N finds, some of which may spell the same tree; 0: of words and tree, given or parsed",
        needs="score",
        most=10**4,
    )
    format: Literal["text", "jsonl", "conllu"] = setting(
        "text", "text; JSON lines; or, of a model that writes arcs, trees as CoNLL-U"
    )
    markup: bool = setting(
        False,
        "lines are text with inline HTML or XLIFF tags, which their translations get",
        needs="--aligner",
        unless=("score", "n_best", "task parse", "format jsonl", "format conllu"),
    )
    tokenizer: TokenizerName | None = setting(
        None, "of raw text, if not as in training; none: words already stand between spaces"
    )
    batch_tokens: int = setting(4096, "source tokens of a batch", 1, 2**24)
    precision: Literal["auto", "fp32", "bf16", "int8"] = setting(
        "auto", "of matrix products, logits aside; auto: bf16 on a GPU, fp32 on a CPU; int8: on a CPU, logits too"
    )
    jobs: int = setting(1, "processes, each with all models and one thread", 1, unless="score", most=MOST_JOBS)
    max_tokens: int = setting(
        2000, "a longer sentence, in source tokens, gets no translation and is counted", 1, most=10**6
    )

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds, or that exclude each other."""
        check_settings(self)
        if self.score and self.format == "conllu":
            raise ValueError("--score writes log-probabilities as text or JSON lines, not as --format conllu")
        if self.score and self.precision == "int8":
            raise ValueError("--score gives the numbers of the model, not those of --precision int8")

    def check_search(self, search: SearchConfig) -> None:
        """Raise ValueError for a search that cannot find what is asked for."""
        if (
            self.n_best and self.n_best > search.beam and not search.sample
        ):  # a wider beam would find another best translation
            raise ValueError(f"--n-best {self.n_best} needs a --beam of {self.n_best} or more")


def scope_of(side: "TargetSide", config: TranslateConfig) -> Scope:
    """Return which circumstances hold where a model with this target side translates as the config asks."""
    trees = side.spelling.trees if config.task == "translate" else ""
    with_trees = config.format != "text" or config.n_best is not None
    holding = {AMONG_WORDS: trees == "among", SHOWS_ARCS: trees == "among" or (trees == "apart" and with_trees)}
    return Scope(circumstances=holding)
