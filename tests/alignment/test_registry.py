"""Aligners by name: our own, and one from another package."""

from pathlib import Path

from synmt.alignment import ALIGNERS
from tests.cli.commands import shell
from tests.packages import install

SAME_PLACES = """
from dataclasses import dataclass

from synmt.alignment.aligner import FittedAligner, FittedText, MethodConfig, new_folder, read_fitted, write_saved
from synmt.options import setting
from synmt.text.links import DirectedLinks


@dataclass(frozen=True)
class SamePlacesConfig(MethodConfig):
    aligner = "places:SamePlaces"
    shift: int = setting(0, "how many words further on the target's are")


@dataclass(frozen=True)
class SamePlaces(FittedAligner):
    config: SamePlacesConfig
    text: FittedText
    heuristic = "union"

    @classmethod
    def fit(cls, config, bitext, how):
        fitted = cls(config, bitext.text)
        with new_folder(how) as folder:
            fitted.save(folder)
        return fitted

    def save(self, folder):
        write_saved(folder, self.config, self.text)

    @classmethod
    def load(cls, method, folder, device):
        return cls(*read_fitted(folder, method))

    def links(self, pairs):
        return [self.between(len(pair.source.tokens), len(pair.target.tokens)) for pair in pairs]

    def between(self, source, target):
        links = {(word, word + self.config.shift) for word in range(source) if word + self.config.shift < target}
        return DirectedLinks(links, links)
"""


def test_an_aligner_of_another_package(tmp_path: Path) -> None:
    """It is fitted with an option of its own, saved in a folder, and opened from there."""
    path = install(tmp_path, "places", SAME_PLACES, "[synmt.aligners]\nsame-places = places:SamePlacesConfig\n")
    (tmp_path / "bitext").write_text("a b c\td e\n\nx\ty z\n")
    fit = "synmt align --method same-places --same-places-shift 1 --tokenizer none --out model bitext"
    done = shell(f"{fit} && synmt link model bitext", tmp_path, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == (2 * "0-1\n\n0-1\n", "")


def test_methods_that_learn_links_name_their_teacher() -> None:
    assert all(method.guide in {"", *ALIGNERS} for method in ALIGNERS.values())
