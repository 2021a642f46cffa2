"""`auto`: `hmm` with an encoder or, where the encoder knows too little of a language or none is installed, the average
of `hmm` and `neural-hmm`.

These two make different mistakes, because one counts words in tables and the other has embeddings of subwords; to an
`hmm` with an encoder, `neural-hmm` has nothing to add. Imports no numpy, so that `--help` is fast.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from synmt.alignment import encoders
from synmt.alignment.aligner import FittedAligner, Settings
from synmt.alignment.hmm.config import HmmConfig
from synmt.alignment.joined import JoinedConfig
from synmt.alignment.neural_hmm.config import NeuralHmmConfig, epochs_for
from synmt.options import config_of
from synmt.streams import Message

HMM, NEURAL = "hmm", "neural-hmm"
OF_ANY = frozenset({"device", "precision", "seed"})  # settings that ask for no method
# Per pair of words: time to fit hmm, to read the pair once with neural-hmm, and to align it; measured as in
# docs/results/alignment.md.
SECONDS_ENCODED, TUNED = 0.2e-3, 8  # per word; a pair to tune the encoder on takes as long as this number of others
FEW = 5000  # pairs to encode, if there is no time for all
SECONDS, SECONDS_READ, SECONDS_ALIGNED, BYTES = 0.9e-6, 1.8e-6, 1.0e-6, 42
MOST_CELLS = 3 << 23  # number of cells up to which hmm allocates all memory at once
LONGER = 1.6  # factor by which hmm is slower with more cells
START = 3, 0.6e9


@dataclass(frozen=True)
class AutoConfig(JoinedConfig):
    """`hmm`, and `neural-hmm` unless `hmm` has chosen to use an encoder and no option of `neural-hmm` is given."""

    parts: ClassVar[tuple[str, ...]] = (HMM, NEURAL)

    def suffices(self, fitted: Mapping[str, FittedAligner], settings: Settings) -> bool:
        from synmt.alignment.hmm.aligner import Hmm

        hmm = fitted.get(HMM)
        has_encoder = isinstance(hmm, Hmm) and hmm.config.encoder == "auto" and hmm.encoder is not None
        return has_encoder and not _others(settings)

    @classmethod
    def cost(cls, settings: Settings, pairs: int, cells: int) -> str:
        """Return the estimated time of a fit, and of alternatives; cells: Σ J × I of the pairs."""
        hmm, neural = config_of(HmmConfig, settings, "hmm_"), config_of(NeuralHmmConfig, settings, "neural_hmm_")
        others = _others(settings)
        if hmm.encoder == "auto" and encoders.installed() and not others:
            of_words = SECONDS * cells * min(hmm.pairs or pairs, pairs) / pairs + SECONDS_ALIGNED * cells / 3
            per_pair = SECONDS_ENCODED * 2 * (cells / pairs) ** 0.5
            encoded = min(hmm.encoded or pairs, pairs) + TUNED * min(hmm.tuning, pairs)
            seconds, less = (START[0] + of_words + per_pair * each for each in (encoded, FEW))
            faster = f"; --hmm-encoded {FEW} takes {less:.0f} s and made 24 % more errors" if encoded > 4 * FEW else ""
            return Message(
                f"fits hmm with the encoder {encoders.PACKAGE} to {pairs} pairs: about {seconds:.0f} s of a current"
                f" core{faster}"
            )
        epochs = settings.get("epochs", epochs_for(pairs))
        learned, read = (cells * min(each.pairs or pairs, pairs) // pairs for each in (hmm, neural))
        of_hmm = 2 + SECONDS * learned * (LONGER if learned > MOST_CELLS else 1) + SECONDS_ALIGNED * cells / 3
        seconds = START[0] + of_hmm + SECONDS_READ * read * epochs + SECONDS_ALIGNED * cells * 2 / 3
        size = (START[1] + BYTES * min(learned, MOST_CELLS)) / 1e9
        missed = "" if encoders.installed() else "; synmt[encoder] makes 22 to 44 % fewer errors"
        return Message(
            f"fits {HMM} and {NEURAL} to {pairs} pairs: about {seconds:.0f} s of a core, {size:.1f} GB;"
            f" --method hmm takes {of_hmm / seconds:.0%}{missed}"
        )


def _others(settings: Settings) -> Settings:
    """Return the settings that ask for `neural-hmm`: all except the options of `hmm`, and those that runs and scripts
    give to any method."""
    return {name: value for name, value in settings.items() if name not in OF_ANY and not name.startswith(f"{HMM}_")}
