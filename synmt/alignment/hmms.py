"""`hmms`: fits `hmm` and `neural-hmm` to the bitext, and averages them.

They make different mistakes: where one is wrong, the other is rarely as confident, because one counts words in tables
and the other has embeddings of subwords. Imports no numpy, so that `--help` is fast. The folder holds the folders of
both, under their names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from synmt.alignment.aligner import (
    FitBitext,
    FittedText,
    Fitting,
    Needs,
    Settings,
    check_fitted,
    is_begun,
    read_aligner,
    write_saved,
)
from synmt.alignment.config import Heuristic
from synmt.alignment.hmm.aligner import Hmm
from synmt.alignment.neural_hmm.aligner import NeuralHmm, epochs_for
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked
from synmt.options import chosen
from synmt.streams import Message, WrongUsage

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks

HMM, NEURAL = "hmm", "neural-hmm"
# Per pair of words: time to fit hmm, to read the pair once with neural-hmm, and to align it; measured as in
# docs/results.md.
SECONDS, SECONDS_READ, SECONDS_ALIGNED, BYTES = 0.9e-6, 1.8e-6, 1.0e-6, 42
MOST_CELLS = 3 << 23  # number of cells up to which hmm allocates all memory at once
LONGER = 1.6  # factor by which hmm is slower with more cells
START = 3, 0.6e9


@dataclass(frozen=True)
class Hmms:
    """An aligner that consists of two others and has the options of both."""

    text: FittedText | None = None
    both: tuple[Hmm, NeuralHmm] | None = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "mean"
    parts: ClassVar[tuple[str, ...]] = (HMM, NEURAL)
    subfolders: ClassVar[tuple[str, ...]] = parts

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Settings | None = None) -> Needs:
        (hmm, neural), (own, others) = self.both or _both(settings or {}), _split(settings or {})
        neural.needs(None if settings is None else others)
        return hmm.needs(own)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Fit both. Parts that an earlier run has finished are reused."""
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
            made = replace(self, text=bitext.text, both=(hmm, neural.fit(bitext, of_neural)))
            write_saved(how.out, made)
        return made

    def save(self, folder: Path) -> None:
        assert self.both
        check_new(folder)
        with locked(folder):
            self.both[0].save(folder / HMM)
            self.both[1].save(folder / NEURAL)
            write_saved(folder, self)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        made = read_aligner(folder, cls)
        for name in cls.parts:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a part must not be elsewhere
        return replace(made, both=(Hmm.open(folder / HMM, device), NeuralHmm.open(folder / NEURAL, device)))

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return the mean of both γ, for each direction, between words."""
        from synmt.alignment.extraction import mean_of_words

        assert self.both
        return list(map(mean_of_words, pairs, *(part.align(pairs) for part in self.both)))

    @classmethod
    def cost(cls, settings: Settings, pairs: int, cells: int) -> str:
        """Return the estimated time of a fit, and of alternatives; cells: Σ J × I of the pairs."""
        epochs = settings.get("epochs", epochs_for(pairs))
        learned, read = (cells * min(each.pairs or pairs, pairs) // pairs for each in _both(settings))
        of_hmm = 2 + SECONDS * learned * (LONGER if learned > MOST_CELLS else 1) + SECONDS_ALIGNED * cells / 3
        seconds = START[0] + of_hmm + SECONDS_READ * read * epochs + SECONDS_ALIGNED * cells * 2 / 3
        size = (START[1] + BYTES * min(learned, MOST_CELLS)) / 1e9
        installed = "installed" if find_spec("eflomal") else "of synmt[align]"
        return Message(
            f"fits hmms to {pairs} pairs: about {seconds:.0f} s of a current core, up to four times as long on an old "
            f"one, and {size:.1f} GB; --method hmm takes {of_hmm / seconds:.0%} of that and made 9 to 13 % more errors "
            f"on German and English, eflomal ({installed}) 22 to 35 %"
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
