"""The options of training, with the settings of McDonald & Chiang (2021) as defaults.

The command line takes its options from these fields, each with a name, a default and a line of help.
"""

from dataclasses import dataclass
from typing import Literal

from synmt.model.config import BatchBy
from synmt.options import Checked, option_names, rate, setting

# Settings that only some training runs use.
OF_VALIDATION = "patience", "select", "validation-beam"
OF_FOLDER = "checkpoint-minutes", "report-every", "tensorboard"
OF_TREES, OF_PREFIXES = ("tree-dropout",), ("prefixes", "prefix-tokens")


@dataclass(frozen=True)
class TrainingConfig(Checked):
    merges: int = setting(8000, "BPE merges to learn, jointly for both sides", 1, most=2**22)
    batch_tokens: int = setting(4096, "batch size: sentences × longest", 1, most=2**24)
    batch_by: BatchBy = setting(
        "tokens",
        "what --batch-tokens counts: tokens of the longer side or of the target; subwords of the longer side, without"
        " trees, so that all systems have the same batches; or sentences",
    )
    prefixes: int = setting(
        0,
        "random prefixes of each target to learn from per update; 0: all. Fewer are cheaper and teach less",
        most=10**6,
    )
    prefix_tokens: int = setting(16384, "tokens of prefixes to compute at a time", 1, most=2**24)
    accumulate: int = setting(1, "batches per update", 1, most=10**5)
    max_length: int = setting(1000, "skip and count training pairs with more subwords on a side", 1, 10**6)
    learning_rate: float = setting(3e-4, "peak learning rate of Adam", most=100)
    schedule: Literal["constant", "inverse-sqrt", "cosine"] = setting("constant", "learning rate after warm-up")
    warmup: int = setting(0, "updates of linear warm-up")
    adam_beta2: float = rate(0.999, "β₂ of Adam")
    clip: float = setting(1.0, "clip gradients to this global norm; 0: off")
    label_smoothing: float = rate(0.1, "probability spread over the target vocabulary")
    word_dropout: float = rate(0.1, "share of tokens replaced by the unknown token")
    tree_dropout: float = rate(0.0, "share of sentences to encode without their trees")
    subword_dropout: float = rate(0.0, "share of BPE merges to skip, for new subwords in each epoch")
    epochs: int = setting(100, "maximum passes over the data", 1)
    updates: int = setting(0, "maximum updates; 0: no limit")
    minutes: float = setting(0.0, "train for about X minutes; 0: no limit")
    patience: int = setting(0, "stop N validations after the best; 0: off")
    select: Literal["bleu", "chrf", "loss"] = setting("bleu", "score that selects the best model")
    validate_every: int = setting(0, "updates between validations; 0: one epoch")
    validation_beam: int = setting(4, "beam size in validation", 1, unless="select loss", most=1000)
    average: int = setting(1, "average the parameters of the last N validations", 1, most=1000)
    checkpoint_minutes: float = setting(10.0, "minutes between extra checkpoints; 0: off")
    report_every: int = setting(0, "updates between rows of log.tsv; 0: a thirtieth of the run, at most 100")
    tensorboard: bool = setting(False, "also log for TensorBoard, in tensorboard/ of --out")
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "auto: bf16 on a GPU, else fp32 (try bf16 with AVX512-BF16)"
    )
    seed: int = setting(151, "random seed")


def training_options(*but: str) -> frozenset[str]:
    """Return the names of the options of training, except some that a method does not use."""
    return frozenset(option_names(TrainingConfig)) - frozenset(but)
