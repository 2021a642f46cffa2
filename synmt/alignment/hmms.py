"""`hmms`: `hmm` and `neural-hmm`, each fitted to the bitext, and the mean of both.

They err at different places: where one of them, of words in tables, is wrong, the other one, of subwords that have
embeddings, is seldom as sure. Free of numpy, as `--help` is. A folder holds those of both, under their names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from synmt.alignment.aligner import FitBitext, FittedText, Fitting, Needs, Settings, read_saved, write_saved
from synmt.alignment.config import Heuristic
from synmt.alignment.hmm.aligner import Hmm
from synmt.alignment.neural_hmm.aligner import NeuralHmm, epochs_for
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked, naming
from synmt.model.records import SentencePair
from synmt.options import chosen
from synmt.streams import WrongUsage

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks

HMM, NEURAL = "hmm", "neural-hmm"
# For one pair of words: to fit hmm, to read it once with neural-hmm, and to align it; measured, as in docs/results.md.
SECONDS, SECONDS_READ, SECONDS_ALIGNED, BYTES = 0.9e-6, 1.8e-6, 1.0e-6, 42
MOST_CELLS = 3 << 23  # for which hmm takes memory at once; more take longer
LONGER = 1.6
START = 3, 0.6e9


@dataclass(frozen=True)
class Hmms:
    """An aligner whose options are those of its parts."""

    text: FittedText | None = None
    both: tuple[Hmm, NeuralHmm] | None = field(default=None, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "mean"
    parts: ClassVar[tuple[str, ...]] = (HMM, NEURAL)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Settings | None = None) -> Needs:
        (hmm, neural), (own, others) = self.both or _both(settings or {}), _split(settings or {})
        neural.needs(None if settings is None else others)
        return hmm.needs(own)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Fit both; what an earlier run has finished stays."""
        begun = any((how.out / name).exists() for name in (CONFIG_FILE, HMM, NEURAL))
        check_new(how.out, how.resume, begun)
        with locked(how.out):
            (hmm, neural), (own, others) = _both(how.settings), _split(how.settings)
            of_hmm, of_neural = (
                replace(how, settings=each, out=how.out / name, resume=(how.out / name / CONFIG_FILE).exists())
                for name, each in ((HMM, own), (NEURAL, others))
            )
            hmm = Hmm.open(of_hmm.out, how.device) if of_hmm.resume else hmm.fit(bitext, of_hmm)
            made = replace(self, text=bitext.text, both=(hmm, neural.fit(bitext, of_neural)))
            write_saved(how.out, made)
        return made

    def save(self, folder: Path) -> None:
        assert self.both
        check_new(folder, resume=False)
        with locked(folder):
            self.both[0].save(folder / HMM)
            self.both[1].save(folder / NEURAL)
            write_saved(folder, self)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        saved = read_saved(folder, cls)
        with naming(folder / CONFIG_FILE):
            text = FittedText.read(saved)
        for name in cls.parts:
            check_inside(folder, folder / name / CONFIG_FILE)  # and not inside of its own folder alone
        return cls(text, (Hmm.open(folder / HMM, device), NeuralHmm.open(folder / NEURAL, device)))

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return the mean of both γ of each direction, between words."""
        from synmt.alignment.extraction import mean_of_words

        assert self.both
        return list(map(mean_of_words, pairs, *(part.align(pairs) for part in self.both)))

    @classmethod
    def cost(cls, settings: Settings, pairs: int, cells: int) -> str:
        """Return what a fit takes, and what others take; cells: Σ J × I of the pairs."""
        epochs = settings.get("epochs", epochs_for(pairs))
        learned, read = (cells * min(each.pairs or pairs, pairs) // pairs for each in _both(settings))
        of_hmm = 2 + SECONDS * learned * (LONGER if learned > MOST_CELLS else 1) + SECONDS_ALIGNED * cells / 3
        seconds = START[0] + of_hmm + SECONDS_READ * read * epochs + SECONDS_ALIGNED * cells * 2 / 3
        size = (START[1] + BYTES * min(learned, MOST_CELLS)) / 1e9
        installed = "installed" if find_spec("eflomal") else "of synmt[align]"
        return (
            f"fits hmms to {pairs} pairs: about {seconds:.0f} s of one core and {size:.1f} GB; --method hmm takes "
            f"{of_hmm:.0f} s and made 9 to 13 % more errors on German and English, eflomal ({installed}) 22 to 35 %"
        )


def _split(settings: Settings) -> tuple[Settings, Settings]:
    """Return the settings of `hmm`, which start with its name, and all others, which `neural-hmm` gets."""
    own = {name: value for name, value in settings.items() if name.startswith(f"{HMM}_")}
    return own, {name: value for name, value in settings.items() if name not in own}


def _both(settings: Settings) -> tuple[Hmm, NeuralHmm]:
    """Return both, with their options. Raises WrongUsage."""
    try:
        return Hmm(**chosen(Hmm, settings, f"{HMM}-")), NeuralHmm(**chosen(NeuralHmm, settings, f"{NEURAL}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
