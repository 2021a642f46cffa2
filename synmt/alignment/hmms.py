"""`hmms`: fits `hmm` and `neural-hmm` to the bitext, and averages them.

They make different mistakes: where one is wrong, the other is rarely as confident, because one counts words in tables
and the other has embeddings of subwords. If `hmm` uses an encoder, `neural-hmm` has nothing to add, and is not fitted
unless one of its options is given. Imports no numpy, so that `--help` is fast. The folder holds the folders of the
fitted aligners, under their names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from synmt.alignment import encoders
from synmt.alignment.aligner import (
    FitBitext,
    FittedText,
    Fitting,
    Needs,
    Settings,
    check_fitted,
    is_begun,
    read_aligner,
    read_saved,
    write_saved,
)
from synmt.alignment.config import Heuristic
from synmt.alignment.hmm.aligner import Hmm
from synmt.alignment.neural_hmm.aligner import NeuralHmm, epochs_for
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked
from synmt.options import chosen
from synmt.streams import BadInput, Message, WrongUsage

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks

HMM, NEURAL = "hmm", "neural-hmm"
# Per pair of words: time to fit hmm, to read the pair once with neural-hmm, and to align it; measured as in
# docs/results.md.
SECONDS_ENCODED, TUNED = 0.2e-3, 8  # per word; a pair to tune the encoder on takes as long as this number of others
FEW = 5000  # pairs to encode, if there is no time for all
SECONDS, SECONDS_READ, SECONDS_ALIGNED, BYTES = 0.9e-6, 1.8e-6, 1.0e-6, 42
MOST_CELLS = 3 << 23  # number of cells up to which hmm allocates all memory at once
LONGER = 1.6  # factor by which hmm is slower with more cells
START = 3, 0.6e9


@dataclass(frozen=True)
class Hmms:
    """An aligner that consists of two others and has the options of both."""

    text: FittedText | None = None
    fitted: tuple[Hmm, NeuralHmm] | tuple[Hmm] | None = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "mean"
    parts: ClassVar[tuple[str, ...]] = (HMM, NEURAL)
    subfolders: ClassVar[tuple[str, ...]] = parts

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Settings | None = None) -> Needs:
        if self.fitted:
            return self.fitted[0].needs()
        (hmm, neural), (own, others) = _both(settings or {}), _split(settings or {})
        neural.needs(None if settings is None else others)
        return hmm.needs(own)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Fit both, or only `hmm`. Parts that an earlier run has finished are reused."""
        check_new(how.out, how.resume, is_begun(how.out, self))
        with locked(how.out):
            (hmm, neural), (own, others) = _both(how.settings), _split(how.settings)
            of_hmm, of_neural = (
                replace(how, settings=each, out=how.out / name, resume=(how.out / name / CONFIG_FILE).exists())
                for name, each in ((HMM, own), (NEURAL, others))
            )
            if of_hmm.resume:
                check_fitted(of_hmm.out, hmm, bitext, {})
            hmm = Hmm.open(of_hmm.out, how.device) if of_hmm.resume else hmm.fit(bitext, of_hmm)
            alone = hmm.encoder == "auto" and hmm.has_encoder and not others
            made = replace(self, text=bitext.text, fitted=(hmm,) if alone else (hmm, neural.fit(bitext, of_neural)))
            write_saved(how.out, made, parts=made._names())
        return made

    def save(self, folder: Path) -> None:
        assert self.fitted
        check_new(folder)
        with locked(folder):
            self.fitted[0].save(folder / HMM)
            if len(self.fitted) == 2:
                self.fitted[1].save(folder / NEURAL)
            write_saved(folder, self, parts=self._names())

    @property
    def temperature(self) -> float:
        """Return the temperature of `hmm` if it is alone, otherwise 1: an average needs none."""
        return self.fitted[0].temperature if self.fitted and len(self.fitted) == 1 else 1.0

    def _names(self) -> list[str]:
        assert self.fitted
        return list(self.parts[: len(self.fitted)])

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        made, names = read_aligner(folder, cls), read_saved(folder, cls).get("parts", list(cls.parts))
        if names not in ([HMM], list(cls.parts)):
            raise BadInput("has other parts than hmm and neural-hmm", str(folder / CONFIG_FILE))
        for name in names:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a part must not be elsewhere
        hmm = Hmm.open(folder / HMM, device)
        return replace(made, fitted=(hmm, NeuralHmm.open(folder / NEURAL, device)) if NEURAL in names else (hmm,))

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return γ of each direction: between words, averaged over both models; or between parts of words, by `hmm`."""
        from synmt.alignment.extraction import mean_of_words

        assert self.fitted
        found = [part.align(pairs) for part in self.fitted]
        return found[0] if len(found) == 1 else list(map(mean_of_words, pairs, *found))

    @classmethod
    def cost(cls, settings: Settings, pairs: int, cells: int) -> str:
        """Return the estimated time of a fit, and of alternatives; cells: Σ J × I of the pairs."""
        hmm, others = _both(settings)[0], _split(settings)[1]
        if hmm.encoder == "auto" and encoders.installed() and not others:
            of_words = SECONDS * cells * min(hmm.pairs or pairs, pairs) / pairs + SECONDS_ALIGNED * cells / 3
            per_pair = SECONDS_ENCODED * 2 * (cells / pairs) ** 0.5
            encoded = min(hmm.encoded or pairs, pairs) + TUNED * min(hmm.tuning, pairs)
            seconds, less = (START[0] + of_words + per_pair * each for each in (encoded, FEW))
            faster = f"; --hmm-encoded {FEW} takes {less:.0f} s and made 24 % more errors" if encoded > 4 * FEW else ""
            return Message(
                f"fits hmm with the encoder {encoders.PACKAGE} to {pairs} pairs: about {seconds:.0f} s of a current"
                f" core{faster}; without it (--hmm-encoder none), {HMM} and {NEURAL} made 28 to 78 % more errors on"
                " German and English"
            )
        epochs = settings.get("epochs", epochs_for(pairs))
        learned, read = (cells * min(each.pairs or pairs, pairs) // pairs for each in _both(settings))
        of_hmm = 2 + SECONDS * learned * (LONGER if learned > MOST_CELLS else 1) + SECONDS_ALIGNED * cells / 3
        seconds = START[0] + of_hmm + SECONDS_READ * read * epochs + SECONDS_ALIGNED * cells * 2 / 3
        size = (START[1] + BYTES * min(learned, MOST_CELLS)) / 1e9
        installed = "installed" if find_spec("eflomal") else "of synmt[align]"
        missed = "" if encoders.installed() else "; with an encoder (synmt[encoder]), 22 to 44 % fewer"
        return Message(
            f"fits hmms to {pairs} pairs: about {seconds:.0f} s of a current core, up to four times as long on an old "
            f"one, and {size:.1f} GB; --method hmm takes {of_hmm / seconds:.0%} of that and made 9 to 13 % more errors "
            f"on German and English, eflomal ({installed}) 22 to 35 %{missed}"
        )


def _split(settings: Settings) -> tuple[Settings, Settings]:
    """Return the settings of `hmm`, whose names start with `hmm`, and the rest, for `neural-hmm`."""
    own = {name: value for name, value in settings.items() if name.startswith(f"{HMM}_")}
    return own, {name: value for name, value in settings.items() if name not in own}


def _both(settings: Settings) -> tuple[Hmm, NeuralHmm]:
    """Return both aligners with their options. Raises WrongUsage."""
    try:
        return Hmm(**chosen(Hmm, settings, f"{HMM}-")), NeuralHmm(**chosen(NeuralHmm, settings, f"{NEURAL}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
