"""The statistical aligners, if they are installed."""

import sys
from pathlib import Path

import pytest

from synmt.alignment.aligner import FittedText, load_aligner, method_config
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.statistical import plain_words
from synmt.streams import BadInput
from tests.alignment.bitexts import bitext, fitted
from tests.alignment.words import pair
from tests.cli.commands import synmt

MODULES = {"eflomal": "eflomal", "systran-align": "systran_align"}
PAIRS, LINKS = bitext(200, monotone=True)
STRANGE = [
    pair(["Alpha", "B|||eta", "ga\u00a0mma"], ["ahpla", "|||"]),
    pair(["a\u2028b", "\u00e9"], ["\u3000x", "y", "z"]),
    pair(["never", "seen"], ["before"]),
    pair(["alpha"] * 1500, ["ahpla"] * 3),
    pair(["alpha"], ["ahpla"]),
    pair(["alpha"], ["ahpla"]),
]


@pytest.mark.parametrize("name", MODULES)
def test_links_are_found_and_stay_inside(name: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES[name])
    new = fitted(name, PAIRS + STRANGE, tmp_path / "model", {})
    opened = load_aligner(tmp_path / "model", None, "cpu")
    assert opened.text == FittedText(("de", "en"), "none")
    for aligner in (new, opened):
        pairs = PAIRS + STRANGE
        right = found = 0
        for number, (each, given) in enumerate(zip(pairs, aligner.links(pairs), strict=True)):
            words = each.source.tokens, each.target.tokens
            links = extract(given, *words, Extraction(aligner.heuristic)).links
            assert all(x < len(words[0]) and y < len(words[1]) for x, y in links)
            if number < len(LINKS):
                right, found = right + len(links.keys() & LINKS[number]), found + len(links)
        assert right > 0.6 * sum(map(len, LINKS)) and right > 0.6 * found
    with pytest.raises(BadInput, match="already has a model; name a new folder"):
        fitted(name, PAIRS, tmp_path / "model", {})


@pytest.mark.parametrize("name", MODULES)
def test_pairs_with_an_empty_side_have_no_links(name: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES[name])
    fitted(name, PAIRS, tmp_path / "model", {})
    done = synmt("link", tmp_path / "model", text="\n\t\na\t\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n\n\n", "")


@pytest.mark.parametrize("name", MODULES)
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[name], None)
    with pytest.raises(BadInput, match=rf"^{name} is not installed; pip install {name}$"):
        method_config(name, {}).needs({})


@pytest.mark.parametrize("name", MODULES)
def test_a_damaged_folder_is_named(name: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES[name])
    (tmp_path / "config.json").write_text(
        f'{{"format": 2, "aligner": "{name}", "languages": ["de", "en"], "tokenizer": "none"}}'
    )
    with pytest.raises(BadInput, match="No such file"):
        load_aligner(tmp_path, None, "cpu")
    (tmp_path / "priors.tsv").write_text("LEX\tno number\n")
    other = "eflomal" if name == "systran-align" else "systran-align"
    with pytest.raises(BadInput, match=f"expected a model of {other}, found one of {name}"):
        load_aligner(tmp_path, other, "cpu")
    if name == "eflomal":
        with pytest.raises(BadInput, match=r"priors\.tsv: not a list of priors"):
            load_aligner(tmp_path, None, "cpu")


def test_the_same_pair_has_the_same_links(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    aligner = fitted("eflomal", PAIRS, tmp_path / "model", {})
    assert aligner.links(PAIRS) == aligner.links(PAIRS)
    first, second = aligner.links([STRANGE[0], STRANGE[0]])
    assert first == second


def test_words_are_not_split() -> None:
    assert plain_words(["A|b", "c\u00a0D", "|||", "\u2028"]) == ["a_b", "c_d", "___", "_"]
