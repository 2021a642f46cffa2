"""Everything that decides a training run, its defaults the settings of McDonald & Chiang (2021).

The command line takes its options from these fields: a name, a default and a line of help, in one place.
"""

from dataclasses import dataclass
from typing import Literal

from synmt.model.config import BatchBy
from synmt.options import check_settings, option_names, rate, setting

VALIDATION, PREFIXES = "validation data", "a decoder that reads its whole prefix at each step"
TREES, SPELLED_ARCS = "an encoder that reads trees", "a decoder that writes arcs among its words"
OTHER_IDEAS = "other ideas in its place (--source-syntax, --target-syntax)"


@dataclass(frozen=True)
class TrainingConfig:
    merges: int = setting(8000, "BPE merges learned jointly on both sides", 1, unless=("--codes", "--init"), most=2**22)
    batch_tokens: int = setting(
        4096, "size of a batch: sentences × tokens of the longest, or what --batch-by says", 1, most=2**24
    )
    batch_by: BatchBy = setting(
        "tokens",
        "what of the longest sentence counts: tokens of its longer side, of its target, or words of its source as"
        " subwords; or sentences alone, so that systems with longer inputs learn from as many an update",
    )
    prefixes: int = setting(
        0,
        "prefixes of each target to learn from per update, drawn at random; 0 is all: fewer are cheaper and teach less",
        needs=PREFIXES,
        most=10**6,
    )
    prefix_tokens: int = setting(
        16384, "tokens of prefixes computed at a time; more of a batch come one by one", 1, needs=PREFIXES, most=2**24
    )
    accumulate: int = setting(1, "batches of one update", 1, most=10**5)
    max_length: int = setting(
        1000, "longer training pairs are left out (tokens, either side, arcs aside) and counted", 1, 10**6
    )
    learning_rate: float = setting(3e-4, "Adam's learning rate at its peak", most=100)
    schedule: Literal["constant", "inverse-sqrt", "cosine"] = setting("constant", "after the warm-up")
    warmup: int = setting(0, "updates of linear warm-up")
    adam_beta2: float = rate(0.999, "decay of Adam's second moment")
    clip: float = setting(1.0, "global norm at which gradients are clipped; 0 is off")
    label_smoothing: float = rate(0.1, "share of the probability spread over the target vocabulary")
    word_dropout: float = rate(0.1, "share of tokens, source and target, that the model reads as unknown")
    tree_dropout: float = rate(
        0.0, "share of sentences that the encoder reads without their trees in training", needs=TREES
    )
    subword_dropout: float = rate(
        0.0, "share of BPE merges left out in training, so that a word has other subwords in each epoch"
    )
    epochs: int = setting(100, "passes over the data, at most", 1)
    updates: int = setting(0, "updates, at most; 0 is no limit")
    minutes: float = setting(0.0, "stop after the first validation past this time; 0 is no limit")
    patience: int = setting(0, "stop after N validations without a better score; 0 is off", needs=VALIDATION)
    select: Literal["bleu", "chrf", "loss"] = setting(
        "bleu", "validation score that picks the best model", needs=VALIDATION
    )
    validate_every: int = setting(0, "updates between validations; 0 is once an epoch")
    validation_beam: int = setting(
        4, "beam of the translations that are validated", 1, needs=VALIDATION, unless="select loss", most=1000
    )
    average: int = setting(1, "validate and keep the mean of the last N validated parameters", 1, most=1000)
    checkpoint_minutes: float = setting(
        10.0, "minutes between checkpoints, besides those of validations; 0 is off", needs="--out"
    )
    report_every: int = setting(100, "updates between rows of log.tsv", 1, needs="--out")
    tensorboard: bool = setting(
        False, "also write the rows of log.tsv for TensorBoard, to tensorboard/ in --out", needs="--out"
    )
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "of matrix products; auto: bf16 on a GPU, fp32 on a CPU (try bf16 on one with AVX512-BF16)"
    )
    seed: int = setting(151, "seed of initialization, order, dropout")

    def __post_init__(self) -> None:
        """Raise ValueError for settings that no run can have."""
        check_settings(self)


def training_options(*but: str) -> frozenset[str]:
    """Return the names of all options of training but some that a method has no use for."""
    return frozenset(option_names(TrainingConfig)) - frozenset(but)
