"""Aligners by name: our own, and one from another package."""

from pathlib import Path

from synmt.alignment import ALIGNERS
from tests.cli.commands import shell
from tests.packages import install

SAME_PLACES = """
from dataclasses import dataclass, replace
from typing import ClassVar

from synmt.alignment.aligner import NO_NEEDS, FittedText, new_folder, read_saved, write_saved
from synmt.options import Checked, setting
from synmt.text.links import DirectedLinks


@dataclass(frozen=True)
class SamePlaces(Checked):
    shift: int = setting(0, "how many words further on the target's are")
    text: FittedText | None = None
    heuristic: ClassVar[str] = "union"

    def needs(self, settings=None):
        return NO_NEEDS

    def fit(self, bitext, how):
        made = replace(self, text=bitext.text)
        with new_folder(how) as folder:
            made.save(folder)
        return made

    def save(self, folder):
        write_saved(folder, self)

    @classmethod
    def open(cls, folder, device):
        saved = read_saved(folder, cls)
        return cls(**saved["options"], text=FittedText.read(saved))

    def align(self, pairs):
        return [self.links(len(pair.source.tokens), len(pair.target.tokens)) for pair in pairs]

    def links(self, source, target):
        links = {(word, word + self.shift) for word in range(source) if word + self.shift < target}
        return DirectedLinks(links, links)
"""


def test_an_aligner_of_another_package(tmp_path: Path) -> None:
    """It is fitted with an option of its own, saved in a folder, and opened from there."""
    path = install(tmp_path, "places", SAME_PLACES, "[synmt.aligners]\nsame-places = places:SamePlaces\n")
    (tmp_path / "bitext").write_text("a b c\td e\n\nx\ty z\n")
    fit = "synmt align --method same-places --same-places-shift 1 --tokenizer none --out model bitext"
    done = shell(f"{fit} && synmt link model bitext", tmp_path, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == (2 * "0-1\n\n0-1\n", "")


def test_methods_that_learn_links_name_their_teacher() -> None:
    assert all(getattr(method, "guide", "") in {"", *ALIGNERS} for method in ALIGNERS.values())
