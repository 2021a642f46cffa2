"""Options of search and translation. Does not import torch, so that `--help` starts fast."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synmt.options import MOST_JOBS, Checked, Choice, setting
from synmt.streams import Message
from synmt.text.tokenization import TokenizerName
from synmt.trees.transitions import Constraints

if TYPE_CHECKING:
    from synmt.model.target import TargetSide

SearchName = Literal["tokens", "words"]
AMONG_WORDS = "a model that writes arcs among its words"
EXPORTED = "a model exported for CTranslate2"


@dataclass(frozen=True)
class SearchConfig(Checked):
    """How to search. The length penalty divides the log-probability of a hypothesis by ((5+L)/6)^alpha (gnmt; Wu et al.
    2016, eq. 14) or by L^alpha (plain). L counts tokens and the end of sentence, without arcs if words compete."""

    beam: int = setting(4, "beam size", 1, unless="sample", most=1000)
    length_penalty: Literal["gnmt", "plain"] = setting("gnmt", "divide scores by ((5+L)/6)^alpha or by L^alpha")
    alpha: float = setting(0.6, "exponent of length penalty", -10, most=10)
    max_length_offset: int = setting(50, "maximum subwords beyond the length of the source", most=10**5)
    max_length_ratio: float | None = setting(None, "maximum subwords per source subword", most=1000)
    min_length_ratio: float = setting(0.0, "minimum subwords per source subword", most=1000)
    no_repeat: int = setting(0, "never repeat N subwords in a row; 0: no limit", most=1000)
    sample: bool = setting(False, "sample tokens at random, --n-best times")
    top_k: int = setting(0, "sample from the N most likely tokens; 0: all", needs="sample", most=2**22)
    seed: int = setting(1, "random seed of --sample", needs="sample")
    search: SearchName = setting(
        "tokens",
        "if the model writes arcs, compare hypotheses with the same number of tokens; or of words, adding up"
        " trees of the same words",
        unless="sample",
    )
    constraints: Constraints = setting(
        "strict", "if the model writes arcs: allow any; only legal ones; or only one tree"
    )

    def shortest(self, words: int) -> int:
        """Return the fewest subwords of a translation, from 1 to `longest`; words: subwords of the source."""
        return max(1, min(self.longest(words), math.ceil(_product(self.min_length_ratio, words))))

    def longest(self, words: int) -> int:
        """Return the most subwords of a translation; words: subwords of the source."""
        most = words + self.max_length_offset
        return most if self.max_length_ratio is None else min(most, max(1, int(_product(self.max_length_ratio, words))))

    def penalty(self, length: int) -> float:
        base = (5 + length) / 6 if self.length_penalty == "gnmt" else length
        return float(base**self.alpha)


def _product(ratio: float, words: int) -> float:
    """Return ratio · words without rounding errors: 55 for 1.1 · 50, whose binary product is a little more."""
    return round(ratio * words, 6)


@dataclass(frozen=True)
class InputConfig(Checked):
    """How the input of a translation model is read and batched."""

    tokenizer: TokenizerName | None = setting(None, "tokenizer of raw text, instead of the one from training")
    batch_tokens: int = setting(4096, "source tokens per batch", 1, 2**24)
    max_tokens: int = setting(2000, "skip and count sentences with more source tokens", 1, most=10**6)


@dataclass(frozen=True)
class TranslateConfig(InputConfig):
    n_best: int | None = setting(None, "N translations per line, as JSON lines", 1, unless="format conllu", most=10**4)
    task: Literal["translate", "parse"] = setting("translate", "parse: write brackets without words (multitask models)")
    format: Literal["text", "jsonl", "conllu"] = setting("text", "text, JSON lines, or CoNLL-U trees")
    precision: Literal["auto", "fp32", "bf16", "int8"] = setting(
        "auto", "auto: bf16 on a GPU, else fp32; int8 for CPUs"
    )
    jobs: int = setting(1, "processes, each with one thread", 1, most=MOST_JOBS)

    def check_search(self, search: SearchConfig) -> None:
        """Raise ValueError for a search that cannot find enough translations."""
        # The beam is not widened in silence, since a wider one can find another best translation.
        if self.n_best and self.n_best > search.beam and not search.sample:
            raise ValueError(Message("--n-best {} needs --beam {} or more", self.n_best, self.n_best))


@dataclass(frozen=True)
class LogprobConfig(InputConfig):
    """What to write about given translations. int8 is not a precision here, because it changes the probabilities."""

    sum_trees: int = setting(
        0,
        "score only the words, summed over the trees that a beam of N finds; 0: also score one tree, given or parsed",
        most=10**4,
    )
    format: Literal["text", "jsonl"] = setting("text", "text or JSON lines")
    precision: Literal["auto", "fp32", "bf16"] = setting("auto", "auto: bf16 on a GPU, else fp32")


def choose(side: "TargetSide", config: TranslateConfig, exported: bool) -> Choice:
    """Return which options a model with this target side uses. exported: whether CTranslate2 runs it, which samples
    otherwise, and in the precision of the export."""
    trees = side.linearization.trees if config.task == "translate" else ""
    among, with_trees = trees == "among", config.format != "text" or config.n_best is not None
    needs = {} if among else {"search": AMONG_WORDS}
    if not (among or (trees == "apart" and with_trees)):
        needs["constraints"] = "translations that are written with their arcs"
    if exported:
        return Choice(EXPORTED, lambda option: option not in ("sample", "precision"), needs)
    return Choice(AMONG_WORDS, lambda option: not (among and option in ("min-length-ratio", "no-repeat")), needs)
