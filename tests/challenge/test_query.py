"""Queries, compared with a plain check of each word, and queries over links from either side."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import synmt as api
from synmt.api.queries import Match
from synmt.challenge.query import LinkedTranslation, Query, WordQuery, occurrences
from synmt.trees.record import ParseRecord
from tests.cli.commands import is_wrong_usage, shell, synmt
from tests.trees.strategies import dependency_records

MOST = 9  # positions


@given(
    record=dependency_records(),
    distance=st.integers(0, MOST),
    direction=st.sampled_from([None, "before", "after"]),
    data=st.data(),
)
def test_matches_equal_those_of_a_plain_check(
    record: ParseRecord, distance: int, direction: str | None, data: st.DataObject
) -> None:
    relation = data.draw(st.sampled_from([None, *record.deprels]))
    head_word = data.draw(st.sampled_from([None, *record.tokens]))
    escaped = [each and f'"{each}"' for each in (relation, head_word)]
    words = WordQuery(relation=escaped[0]), WordQuery(word=escaped[1])
    query = Query(*words, min_distance=distance, direction=direction)  # type: ignore[arg-type]
    expected = []
    for word, (deprel, head) in enumerate(zip(record.deprels, record.heads, strict=True), 1):
        if relation is not None and deprel != relation:
            continue
        if head_word is not None and (head == 0 or record.tokens[head - 1] != head_word):
            continue
        if (direction == "before" and not 0 < word < head) or (direction == "after" and not word > head > 0):
            continue
        if distance == 0 or max(word, head) - min(word, head) > distance:
            expected.append((word, head))
    if not record.sentences:
        assert occurrences(record, query) == expected


def test_patterns_have_wildcards_and_ignore_case() -> None:
    record = ParseRecord(tokens=["Der", "Hunde"], upos=["DET", "NOUN"], feats=["Case=Nom|Gender=Masc", "_"])

    def found(**patterns: object) -> list[int]:
        return [word for word, _ in occurrences(record, Query(WordQuery(**patterns)))]  # type: ignore[arg-type]

    assert found(word="der") == found(word="D?r") == found(word="*r") == [1]
    assert found(word="d") == found(word="?") == found(feature=("Case=Nom", "Gender=Fem")) == []
    assert found(feature=("case=*", "gender=masc")) == [1] and found(upos="*") == [1, 2]


def test_links_lead_to_the_translation_of_a_word() -> None:
    source = ParseRecord(tokens=["he", "gave", "it", "up"], upos=["PRON", "VERB", "PRON", "ADP"])
    beside = LinkedTranslation(
        ParseRecord(tokens=["gab", "er", "auf"], upos=["VERB", "PRON", "ADP"]), frozenset({(0, 1), (1, 0), (3, 2)})
    )
    everything = Query(linked=WordQuery(word="*"))
    assert [word for word, _ in occurrences(source, everything, beside)] == [1, 2, 4]
    assert [word for word, _ in occurrences(source, Query(linked=WordQuery(upos="pron")), beside)] == [1]
    assert [word for word, _ in occurrences(source, Query(min_move=0), beside)] == [1, 2, 4]
    assert occurrences(source, Query(min_move=1), beside) == []


SOURCE = '{"tokens": ["he", "left"], "upos": ["PRON", "VERB"], "heads": [2, 0], "deprels": ["nsubj", "root"]}\n'
TARGET = "1\tfort\t_\tADV\t_\t_\t2\tadvmod\t_\t_\n2\ter\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n"


def test_queries_work_from_either_side(tmp_path: Path) -> None:
    for name, text in (("en", 2 * SOURCE), ("de", 2 * TARGET), ("links", "0-1 1-0\n1-0\n")):
        (tmp_path / name).write_text(text)
    find = "synmt challenge linked"
    done = shell(
        f"{find} 'N [upos=PRON]' en de links --linked-upos PRON --min-move 0;"
        f" {find} 'W []' en de links --side target --linked-word left",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("1\n1\n2\n", "")
    from_target = f"{find} 'W []' en de links --side target --linked-word he --format whole"
    assert shell(from_target, tmp_path).stdout == TARGET
    done = shell(
        f"{find} 'W []' en de links --min-move 1; echo 5-0 > links; head -1 en | {find} 'W []' - de links --min-move 1",
        tmp_path,
    )
    assert done.stderr == "synmt challenge: links:1: link 5-0 for 2 source and 2 target words\n"
    (tmp_path / "bare").write_text('{"tokens": ["fort", "er"], "heads": [2, 0], "deprels": ["dep", "root"]}\n' * 2)
    (tmp_path / "links").write_text("0-1 1-0\n1-0\n")
    done = shell(f"{find} 'N [upos=PRON]' en bare links --linked-upos PRON", tmp_path)
    assert done.stderr == "synmt challenge: en:1: translation has no upos\n"


def test_features_that_no_translation_has_are_refused(tmp_path: Path) -> None:
    for name, text in (("en", SOURCE), ("de", TARGET), ("links", "0-1 1-0\n")):
        (tmp_path / name).write_text(text)
    done = shell("synmt challenge linked 'W []' en de links --linked-feature Case=Acc", tmp_path)
    cause = "de: no sentence has morphological features, which this phenomenon needs"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"synmt challenge: {cause}\n")


def test_a_query_needs_a_condition() -> None:
    assert is_wrong_usage(synmt("challenge", "query"), "synmt challenge: a query needs a condition, such as --relation")


@pytest.mark.parametrize(
    ("option", "command"),
    [("--pattern", "pattern PATTERN"), ("--links", "linked"), ("--target", "linked"), ("--linked-word", "linked")],
)
def test_other_questions_are_other_commands(option: str, command: str) -> None:
    done = synmt("challenge", "query", "--word", "a", option, "x")
    assert is_wrong_usage(done, f"synmt challenge: unknown option {option}; `synmt challenge {command}`")


def test_python_finds_the_sentences_of_the_command(tmp_path: Path) -> None:
    other = '{"tokens": ["go"], "upos": ["VERB"], "heads": [0], "deprels": ["root"]}\n'
    (tmp_path / "records").write_text(SOURCE + other + SOURCE)
    lines = synmt("challenge", "query", "--upos", "PRON", "--format", "marked", tmp_path / "records").stdout
    found = list(api.query(tmp_path / "records", api.Query(api.WordQuery(upos="PRON"))))
    assert lines == "*he* *left*\n" * 2 and [each.number for each in found] == [1, 3]
    assert found[0].words == [{"word": 1, "head": 2}] and found[0].record.tokens == ["he", "left"]
    assert list(api.query([SOURCE, other, SOURCE], "N [upos=PRON]; H -> N")) == [
        Match(number, found[0].record, [{"N": 1, "H": 2}]) for number in (1, 3)
    ]


@pytest.mark.parametrize(
    ("asked", "kind", "cause"),
    [
        (dict, ValueError, "^a query needs a condition, such as relation or word$"),
        (lambda: {"words": WordQuery(word="a")}, TypeError, "^Query has no 'words'; did you mean 'word'[?]$"),
        (lambda: {"min_distance": -1}, ValueError, "^min_distance cannot be -1$"),
        (lambda: {"word": WordQuery(upos=3)}, ValueError, "^upos cannot be 3$"),  # type: ignore[arg-type]
        (lambda: {"min_move": 1}, ValueError, "^linked and min_move need links, as in synmt challenge linked$"),
        (
            lambda: {"pattern": "V [upos=VERB]", "word": WordQuery("obj")},
            ValueError,
            "^pattern replaces all other conditions$",
        ),
        (lambda: {"word": WordQuery(lemma="go")}, api.BadInput, "^sentences:1: record has no lemmas$"),
    ],
)
def test_wrong_queries_in_python(asked: Callable[[], dict[str, Any]], kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        list(api.query([SOURCE], Query(**asked())))
