"""Methods joined by `+`: each is fitted to the bitext, and their weights are averaged.

Different methods make different mistakes: where one is wrong, the other is rarely as confident. The folder holds the
folders of the fitted aligners, under the names of their methods. Imports no numpy, so that `--help` is fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from synmt.alignment.aligner import (
    AlignmentMethod,
    FitBitext,
    FittedText,
    Fitting,
    Needs,
    Settings,
    check_fitted,
    is_begun,
    new_aligner,
    open_aligner,
    read_aligner,
    read_saved,
    write_saved,
)
from synmt.alignment.choice import used_by
from synmt.alignment.config import OF_WEIGHTS, Heuristic
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked
from synmt.streams import BadInput
from synmt.text.links import DirectedLinks

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks


@dataclass(frozen=True)
class Joined:
    """An aligner that consists of others, and has the options of all. fitted: the aligners, by method."""

    text: FittedText | None = None
    fitted: dict[str, AlignmentMethod] = field(default_factory=dict, repr=False, compare=False)
    heuristic: ClassVar[Heuristic] = "mean"
    parts: ClassVar[tuple[str, ...]] = ()
    subfolders: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return OF_WEIGHTS

    def needs(self, settings: Settings | None = None) -> Needs:
        parts = self.fitted.items() or [(name, new_aligner(name, settings or {})) for name in self.parts]
        needs = [part.needs(None if settings is None else _own(name, settings)) for name, part in parts]
        source, target = zip(*needs, strict=True)
        return frozenset().union(*source), frozenset().union(*target)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Fit each part; those that an earlier run has finished are reused."""
        check_new(how.out, how.resume, is_begun(how.out, type(self)))
        with locked(how.out):
            made = self
            for name in self.parts:
                if not made.suffices(how.settings):
                    part = _fitted(name, bitext, replace(how, settings=_own(name, how.settings), out=how.out / name))
                    made = replace(made, text=bitext.text, fitted={**made.fitted, name: part})
            write_saved(how.out, made, parts=list(made.fitted))
        return made

    def suffices(self, settings: Settings) -> bool:
        """Return whether the remaining parts need not be fitted."""
        return False

    def save(self, folder: Path) -> None:
        check_new(folder)
        with locked(folder):
            for name, part in self.fitted.items():
                part.save(folder / name)
            write_saved(folder, self, parts=list(self.fitted))

    @property
    def temperature(self) -> float:
        """Return the temperature of the only part; an average needs none."""
        return getattr(next(iter(self.fitted.values())), "temperature", 1.0) if len(self.fitted) == 1 else 1.0

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        made, names = read_aligner(folder, cls), read_saved(folder, cls).get("parts", list(cls.parts))
        if not any(names == list(cls.parts[:number]) for number in range(1, len(cls.parts) + 1)):
            raise BadInput(f"has other parts than {' and '.join(cls.parts)}", str(folder / CONFIG_FILE))
        for name in names:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a part must not be elsewhere
        return replace(made, fitted={name: open_aligner(folder / name, name, device) for name in names})

    def align(self, pairs: Sequence[SentencePair]) -> "Sequence[SoftLinks | DirectedLinks]":
        """Return the weights of each direction between words, averaged over the parts; or those of the only part."""
        from synmt.alignment.extraction import mean_of_words

        found = [part.align(pairs) for part in self.fitted.values()]
        return found[0] if len(found) == 1 else list(map(mean_of_words, pairs, *found))


@cache
def joined(*parts: str) -> type[Joined]:
    """Return the class of aligners with these parts."""
    return type("Joined", (Joined,), {"parts": parts, "subfolders": parts})


def _own(name: str, settings: Settings) -> Settings:
    """Return the settings that a part uses."""
    used = used_by(name, {each.replace("_", "-"): value for each, value in settings.items()})
    return {each: value for each, value in settings.items() if each.replace("_", "-") in used}


def _fitted(name: str, bitext: FitBitext, how: Fitting) -> AlignmentMethod:
    """Return a part that is fitted to the bitext, or that an earlier run has fitted to it with the same settings."""
    part, used, is_finished = new_aligner(name, how.settings), used_by(name, {}), (how.out / CONFIG_FILE).exists()
    if is_finished and "resume" not in used:
        check_fitted(how.out, part, bitext, {})
        return open_aligner(how.out, name, how.device)
    return part.fit(bitext if "guide" in used else replace(bitext, guide=None), replace(how, resume=is_finished))
