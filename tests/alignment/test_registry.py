"""Aligners by name: ours, and one of another package."""

from pathlib import Path

from synmt.alignment import ALIGNERS
from tests.cli.commands import shell
from tests.packages import install

SAME_PLACES = """
from dataclasses import dataclass

from synmt.model.files import check_new, read_config, write_config
from synmt.options import check_settings, setting
from synmt.text.links import DirectedLinks


@dataclass(frozen=True)
class SamePlaces:
    shift: int = setting(0, "how many words further on the target's are")

    def __post_init__(self):
        check_settings(self)

    def needs(self, settings):
        return frozenset(), frozenset()

    def fit(self, config):
        check_new(config.out, config.resume)
        text = {"languages": config.languages, "tokenizer": config.tokenizer}
        write_config(config.out, {"aligner": config.method, "shift": self.shift, **text})
        return self.open(config.out, config.device)

    def open(self, folder, device):
        return PlaceAligner(read_config(folder))


class PlaceAligner:
    heuristic = "union"
    needs = frozenset(), frozenset()
    words = None, None

    def __init__(self, fields):
        self.shift, self.tokenizer = fields["shift"], fields["tokenizer"]
        self.languages = tuple(fields["languages"])

    def align(self, pairs):
        return [self.links(len(pair.source.tokens), len(pair.target.tokens)) for pair in pairs]

    def links(self, source, target):
        links = {(word, word + self.shift) for word in range(source) if word + self.shift < target}
        return DirectedLinks(links, links)
"""


def test_an_aligner_of_another_package(tmp_path: Path) -> None:
    """It is fitted with an option of its own, kept in a folder, and opened from there."""
    path = install(tmp_path, "places", SAME_PLACES, "[synmt.aligners]\nsame-places = places:SamePlaces\n")
    (tmp_path / "bitext").write_text("a b c\td e\n\nx\ty z\n")
    fit = "synmt align --fit --method same-places --same-places-shift 1 --tokenizer none --out model bitext"
    done = shell(f"{fit} && synmt align model bitext", tmp_path, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == (2 * "0-1\n\n0-1\n", "")


def test_methods_that_are_taught_name_their_teacher() -> None:
    assert all(getattr(method, "guide", "") in {"", *ALIGNERS} for method in ALIGNERS.values())
