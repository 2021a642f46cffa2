"""Each phenomenon on sentences made for it, and on the parses of the published sets."""

import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from synmt.challenge.query import PHENOMENA, Phenomenon, Query, WordQuery, marked
from synmt.challenge.query import occurrences as words_of_query
from synmt.challenge.sets import query_cells
from synmt.streams import BadLines, Line
from synmt.trees.record import ParseRecord, RecordError

PUBLISHED = Path(__file__).parents[2] / ".." / "shared" / "data" / "challenge"
SETS = ["de_particle", "de_reflexive", "en_particle", "en_reflexive", "en_preposition_stranding"]

PUT_OUT = ParseRecord(
    tokens=["John", "put", "the", "coals", "out"],
    upos=["PROPN", "VERB", "DET", "NOUN", "ADP"],
    heads=[2, 0, 4, 2, 2],
    deprels=["nsubj", "root", "det", "obj", "compound:prt"],
)
RICHTET = ParseRecord(
    tokens=["an", "die", "sich", "der", "Plan", "richtet"],
    upos=["ADP", "PRON", "PRON", "DET", "NOUN", "VERB"],
    feats=["_", "Case=Acc|PronType=Rel", "Case=Acc|Reflex=Yes", "_", "Case=Nom", "_"],
    heads=[2, 6, 6, 5, 6, 0],
    deprels=["case", "obl", "obj", "det", "nsubj", "root"],
)
BLAME = ParseRecord(
    tokens=["things", "to", "blame", "us", "for"],
    upos=["NOUN", "PART", "VERB", "PRON", "ADP"],
    heads=[0, 3, 1, 3, 3],
    deprels=["root", "mark", "acl", "obj", "obl"],
)


def occurrences(record: ParseRecord, phenomenon: Phenomenon, min_distance: int) -> list[tuple[int, ...]]:
    return words_of_query(record, replace(phenomenon.query, min_distance=min_distance))


@pytest.mark.parametrize(
    ("name", "record", "found", "distance"),
    [("particle", PUT_OUT, (5, 2), 3), ("reflexive", RICHTET, (3, 6), 3), ("preposition-stranding", BLAME, (5, 3), 2)],
)
def test_words_are_found_up_to_their_distance(
    name: str, record: ParseRecord, found: tuple[int, int], distance: int
) -> None:
    for minimum in range(5):
        expected = [found] if minimum < distance else []
        assert occurrences(record, PHENOMENA[name], minimum) == expected


def test_near_words_and_other_phenomena_are_not_found() -> None:
    give_up = ParseRecord(tokens=["give", "up"], upos=["VERB", "ADP"], heads=[0, 1], deprels=["root", "compound:prt"])
    assert occurrences(give_up, PHENOMENA["particle"], 1) == []
    assert occurrences(give_up, PHENOMENA["particle"], 0) == [(2, 1)]
    assert occurrences(BLAME, PHENOMENA["particle"], 0) == []
    assert occurrences(PUT_OUT, PHENOMENA["preposition-stranding"], 0) == []
    nominal = ParseRecord(
        tokens=["a", "b", "c"], upos=["X", "X", "NOUN"], heads=[0, 1, 1], deprels=["root", "x", "obl"]
    )
    assert occurrences(nominal, PHENOMENA["preposition-stranding"], 0) == []
    not_reflexive = ParseRecord(tokens=["a", "b", "c"], feats=["_", "_", "Reflex=No"], heads=[0, 1, 1])
    assert occurrences(not_reflexive, PHENOMENA["reflexive"], 0) == []


def test_the_distance_of_a_root_is_its_position() -> None:
    """This agrees with the published sets, which contain `And ourselves , with …`."""
    record = ParseRecord(tokens=["And", "ourselves"], feats=["_", "Reflex=Yes"], heads=[2, 0], deprels=["cc", "root"])
    assert occurrences(record, PHENOMENA["reflexive"], 1) == [(2, 0)]
    assert marked(record, [(2, 0)]) == "And *ourselves*"
    alone = replace(record, heads=[0, 0], sentences=[1, 1])
    assert occurrences(alone, PHENOMENA["reflexive"], 1) == []


def test_unparsed_sentences_are_refused_and_empty_ones_are_not() -> None:
    with pytest.raises(RecordError, match="record has no heads"):
        occurrences(ParseRecord(tokens=["a"]), PHENOMENA["particle"], 1)
    assert words_of_query(ParseRecord(tokens=["a"]), Query(WordQuery(word="A"))) == [(1, 0)]
    with pytest.raises(RecordError, match="record has no deprels"):
        occurrences(ParseRecord(tokens=["a"], heads=[0]), PHENOMENA["preposition-stranding"], 1)
    assert occurrences(ParseRecord(tokens=["a"], heads=[0]), PHENOMENA["reflexive"], 0) == []
    assert occurrences(ParseRecord(), PHENOMENA["particle"], 0) == []


def test_stars_mark_words_and_their_heads() -> None:
    assert marked(PUT_OUT, [(5, 2)]) == "John *put* the coals *out*"


def published_parses(name: str) -> list[Line]:
    """Return the parses, with a line feed after each sent_id, which the files lack."""
    text = (PUBLISHED / f"{name}_news.conllu").read_text(encoding="utf-8")
    repaired = re.sub(r"^(# sent_id = \d+)1\t", r"\1\n1\t", text, flags=re.MULTILINE)
    return [Line(line, name, number) for number, line in enumerate(repaired.split("\n"), 1)]


def published_ids(name: str) -> list[str]:
    return (PUBLISHED / f"{name}_news.ids").read_text().split()


def extracted(name: str, phenomenon: str) -> list[str]:
    query = replace(PHENOMENA[phenomenon].query, min_distance=1)
    cells = query_cells(published_parses(name), query, "ids", BadLines())
    return [cell for cell in cells if cell]


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs the published sets")
@pytest.mark.parametrize("name", SETS)
def test_the_published_ids_are_reproduced(name: str) -> None:
    assert extracted(name, name.partition("_")[2].replace("_", "-")) == published_ids(name)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs the published sets")
@pytest.mark.parametrize(("first", "second"), [pair for pair in permutations(SETS, 2) if pair[0][:2] == pair[1][:2]])
def test_intersections_match_the_published_ids(first: str, second: str) -> None:
    found = extracted(first, second.partition("_")[2].replace("_", "-"))
    shared = set(published_ids(first)) & set(published_ids(second))
    assert found == [name for name in published_ids(first) if name in shared]
