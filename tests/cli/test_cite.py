"""Every component, aligner and metric has papers, and `synmt cite` prints them as BibTeX."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pybtex.database import BibliographyData, parse_string

from synmt.alignment import ALIGNERS
from synmt.citations import cited, entries, papers
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.metrics import METRICS
from synmt.parsers.config import CITES, ParserName
from tests.cli.commands import synmt

ROOT = Path(__file__).parents[2]
REQUIRED = {"inproceedings": "booktitle", "article": "journal", "misc": "howpublished", "software": "version"}
OFFERED = {
    "components": ENCODER_COMPONENTS,
    "target components": DECODER_COMPONENTS,
    "aligners": ALIGNERS,
    "metrics": METRICS,
}


def read(text: str) -> BibliographyData:
    """Read BibTeX. Raises an error unless pybtex accepts all of it."""
    return parse_string(text, "bibtex")


@pytest.mark.parametrize("name", OFFERED)
def test_everything_with_a_name_has_papers(name: str) -> None:
    for each in OFFERED[name]:
        assert entries(cited(OFFERED[name], [each])), each


def test_all_parsers_have_papers() -> None:
    assert set("+".join(get_args(ParserName)).split("+")) == set(CITES)
    assert all(entries(keys) for keys in CITES.values())


def test_all_papers_are_bibtex_and_cited() -> None:
    found = read("\n".join(papers().values())).entries
    assert list(found) == list(papers()) == re.findall(r"^@\w+\{(.*),", (ROOT / "synmt/papers.bib").read_text(), re.M)
    for key, entry in found.items():
        assert {"title", "year", REQUIRED[entry.type]} <= set(entry.fields), key
        assert key == "synmt" or entry.persons["author"], key
    used = {key for registry in OFFERED.values() for key in cited(registry, registry)}
    assert used.union(*CITES.values()) | {"synmt"} == set(papers())


def test_readme_has_the_entry_of_synmt() -> None:
    assert papers()["synmt"] in (ROOT / "README.md").read_text(encoding="utf-8")


def test_papers_are_printed_once_and_in_order() -> None:
    assert synmt("cite").stdout == papers()["synmt"] + "\n"
    done = synmt("cite", "--model", "mask+named-masks+parent", "--parser", "benepar+udpipe", "--metric", "chrf,bleu")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(read(done.stdout).entries) == [
        "synmt", "mcdonald2021syntax", "vaswani2017attention", "choshen2022enhancing", "kitaev2018constituency",
        "straka2017tokenizing", "popovic2015chrf", "post2018call", "papineni2002bleu",
    ]  # fmt: skip
    assert set(read(synmt("cite", "--method", "auto").stdout).entries) >= {"vogel1996hmm", "wang2018neural"}


@pytest.mark.parametrize("option", ["--model", "--method", "--parser", "--metric"])
def test_unknown_names_are_wrong_usage(option: str) -> None:
    done = synmt("cite", option, "nonesuch")
    assert done.returncode == 2 and "'nonesuch' is not one of " in done.stderr


def test_entries_of_other_packages_stay_unchanged() -> None:
    own = "@misc{a,\n  title = {A}\n}"
    assert entries([own, "post2018call", f"\n{own}\n"]) == [own, papers()["post2018call"]]
    with pytest.raises(ValueError, match="no paper with the key 'gone'"):
        entries(["gone"])
