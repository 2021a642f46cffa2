"""Methods joined by `+`: each is fitted to the bitext, and their weights are averaged.

Different methods make different mistakes: where one is wrong, the other is rarely as confident. The folder holds the
folders of the fitted aligners, under the names of their methods. Imports no numpy, so that `--help` is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from synmt.alignment.aligner import (
    FitBitext,
    FittedAligner,
    FittedText,
    Fitting,
    MethodConfig,
    Needs,
    Settings,
    check_fitted,
    is_begun,
    load_aligner,
    method_config,
    read_fitted,
    read_saved,
    write_saved,
)
from synmt.alignment.choice import used_by
from synmt.alignment.config import Heuristic
from synmt.data.records import SentencePair
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked
from synmt.streams import BadInput
from synmt.text.links import DirectedLinks

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks


@dataclass(frozen=True)
class JoinedConfig(MethodConfig):
    """A method that consists of others, and has the options of all."""

    aligner: ClassVar[str] = "synmt.alignment.joined:Joined"

    def needs(self, settings: Settings) -> Needs:
        needs = [method_config(name, settings).needs(_own(name, settings)) for name in self.parts]
        source, target = zip(*needs, strict=True)
        return frozenset().union(*source), frozenset().union(*target)

    def suffices(self, fitted: "Mapping[str, FittedAligner]", settings: Settings) -> bool:
        """Return whether the remaining parts need not be fitted."""
        return False


@dataclass(frozen=True)
class Joined(FittedAligner):
    """An aligner that consists of others. parts: these, by method."""

    config: JoinedConfig
    text: FittedText
    parts: Mapping[str, FittedAligner]
    heuristic: ClassVar[Heuristic] = "mean"

    @classmethod
    def fit(cls, config: JoinedConfig, bitext: FitBitext, how: Fitting) -> Self:
        """Fit each part; those that an earlier run has finished are reused."""
        parts: dict[str, FittedAligner] = {}
        check_new(how.out, how.resume, is_begun(how.out, type(config)))
        with locked(how.out):
            for name in config.parts:
                if not config.suffices(parts, how.settings):
                    own = replace(how, settings=_own(name, how.settings), out=how.out / name)
                    parts[name] = _fitted(name, bitext, own)
            write_saved(how.out, config, bitext.text, parts=list(parts))
        return cls(config, bitext.text, parts)

    def save(self, folder: Path) -> None:
        check_new(folder)
        with locked(folder):
            for name, part in self.parts.items():
                part.save(folder / name)
            write_saved(folder, self.config, self.text, parts=list(self.parts))

    @classmethod
    def load(cls, method: type[JoinedConfig], folder: Path, device: str) -> Self:
        config, text = read_fitted(folder, method)
        known = list(method.parts)
        names = read_saved(folder, method).get("parts", known)
        if not any(names == known[:number] for number in range(1, len(known) + 1)):
            raise BadInput(f"has other parts than {' and '.join(known)}", str(folder / CONFIG_FILE))
        for name in names:
            check_inside(folder, folder / name / CONFIG_FILE)  # the folder of a part must not be elsewhere
        return cls(config, text, {name: load_aligner(folder / name, name, device) for name in names})

    def needs(self) -> Needs:
        source, target = zip(*(part.needs() for part in self.parts.values()), strict=True)
        return frozenset().union(*source), frozenset().union(*target)

    @property
    def temperature(self) -> float:
        """Return the temperature of the only part; an average needs none."""
        return next(iter(self.parts.values())).temperature if len(self.parts) == 1 else 1.0

    def links(self, pairs: Sequence[SentencePair]) -> "Sequence[SoftLinks | DirectedLinks]":
        """Return the weights of each direction between words, averaged over the parts; or those of the only part."""
        from synmt.alignment.extraction import mean_of_words

        found = [part.links(pairs) for part in self.parts.values()]
        return found[0] if len(found) == 1 else list(map(mean_of_words, pairs, *found))


@cache
def joined(*parts: str) -> type[JoinedConfig]:
    """Return the config of methods that consist of these parts."""
    return type("JoinedConfig", (JoinedConfig,), {"parts": parts})


def _own(name: str, settings: Settings) -> Settings:
    """Return the settings that a part uses."""
    used = used_by(name, {each.replace("_", "-"): value for each, value in settings.items()})
    return {each: value for each, value in settings.items() if each.replace("_", "-") in used}


def _fitted(name: str, bitext: FitBitext, how: Fitting) -> FittedAligner:
    """Return a part that is fitted to the bitext, or that an earlier run has fitted to it with the same settings."""
    config, used, is_finished = method_config(name, how.settings), used_by(name, {}), (how.out / CONFIG_FILE).exists()
    if is_finished and "resume" not in used:
        check_fitted(how.out, config, bitext, {})
        return load_aligner(how.out, name, how.device)
    return config.fit(bitext if "guide" in used else replace(bitext, guide=None), replace(how, resume=is_finished))
