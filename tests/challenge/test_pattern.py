"""Patterns, compared with a search of all assignments of words to nodes, which shares no code with them."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.challenge.pattern import PatternError, read_pattern
from synmt.challenge.query import Query, occurrences
from synmt.trees.record import ParseRecord, RecordError
from tests.cli.commands import is_wrong_usage, synmt
from tests.trees.strategies import projective_heads

Clause = tuple[str, ...]
NODES = st.sampled_from("ABC")
LABELS, TAGS, NUMBERS = ("nsubj", "obj", "obl:agent"), ("VERB", "NOUN"), ("Number=Sing", "Number=Plur", "_")
CLAUSES = st.one_of(
    st.tuples(st.just("arc"), NODES, NODES, st.sampled_from(["", *LABELS, "OBL*|nsubj", "^nsubj|obj"])),
    st.tuples(st.sampled_from(["->>", "<", "<<", ">", ">>"]), NODES, NODES),
    st.tuples(st.sampled_from(["length>", "length<"]), NODES, NODES, st.sampled_from("123")),
    st.tuples(st.sampled_from(["=", "<>"]), NODES, NODES),
    st.tuples(st.just("is"), NODES, st.sampled_from(TAGS)),
    st.tuples(st.sampled_from(["Number", "!Number", "Number<>sing"]), NODES),
)


def written(clause: Clause) -> str:
    kind, node, *rest = clause
    if kind == "arc":
        return f"{node} -[{rest[1]}]-> {rest[0]}" if rest[1] else f"{node}->{rest[0]}"
    if kind.startswith("length"):
        return f"length({node}, {rest[0]}) {kind[-1]} {rest[1]}"
    if kind in ("=", "<>"):
        return f"{node}.Number {kind} {rest[0]}.number"
    if kind == "is":
        return f'{node} [upos="{rest[0].lower()}"]'
    return f"{node} {kind} {rest[0]}" if rest else f"{node} [{kind}]"


def nodes_of(clauses: Sequence[Clause]) -> list[str]:
    return list(dict.fromkeys(part for clause in clauses for part in clause[1:3] if part in ("A", "B", "C")))


def is_true(clause: Clause, record: ParseRecord, of: dict[str, int]) -> bool:
    kind, node, *rest = clause
    word, other = of[node], of.get(rest[0], 0) if rest else 0
    number, its = (record.feats[each - 1] for each in (word, other or word))
    if kind == "arc":
        relation, wanted = record.deprels[other - 1], rest[1]
        right = {"": True, "OBL*|nsubj": relation != "obj", "^nsubj|obj": relation == "obl:agent"}
        return record.heads[other - 1] == word and right.get(wanted, relation == wanted)
    if kind == "->>":
        above = [other]
        while above[-1]:
            above.append(record.heads[above[-1] - 1])
        return word in above[1:]
    if kind.startswith("length"):
        distance = abs(word - other)
        return distance > int(rest[1]) if kind[-1] == ">" else distance < int(rest[1])
    truths = {
        "<": word + 1 == other, "<<": word < other, ">": word - 1 == other, ">>": word > other,
        "=": number == its != "_", "<>": "_" not in (number, its) and number != its,
        "is": rest and record.upos[word - 1] == rest[0],
        "Number": number != "_", "!Number": number == "_", "Number<>sing": number == "Number=Plur",
    }  # fmt: skip
    return bool(truths[kind])


def found_slowly(
    clauses: Sequence[Clause], without: Sequence[Clause], record: ParseRecord, known: dict[str, int]
) -> list[dict[str, int]]:
    new = [node for node in nodes_of(clauses) if node not in known]
    words = [word for word in range(1, len(record.tokens) + 1) if word not in known.values()]
    trials = [{**known, **dict(zip(new, chosen, strict=True))} for chosen in permutations(words, len(new))]
    found = [trial for trial in trials if all(is_true(clause, record, trial) for clause in clauses)]
    return [each for each in found if not (without and found_slowly(without, [], record, each))]


@st.composite
def tagged(draw: st.DrawFn) -> ParseRecord:
    heads = draw(projective_heads(6))
    columns = (draw(st.lists(st.sampled_from(of), min_size=6, max_size=6)) for of in (LABELS, TAGS, NUMBERS))
    deprels, upos, feats = (column[: len(heads)] for column in columns)
    return ParseRecord(tokens=["a"] * len(heads), heads=heads, deprels=deprels, upos=upos, feats=feats)


@settings(max_examples=60)
@given(record=tagged(), clauses=st.lists(CLAUSES, min_size=1, max_size=3), without=st.lists(CLAUSES, max_size=2))
def test_matches_equal_those_of_an_exhaustive_search(
    record: ParseRecord, clauses: list[Clause], without: list[Clause]
) -> None:
    different = [[each for each in of if len(each) < 3 or each[1] != each[2]] for of in (clauses, without)]
    clauses, without = different
    if not clauses:
        return
    text = "; ".join(map(written, clauses)) + (f" without {{ {'; '.join(map(written, without))} }}" if without else "")
    names = nodes_of(clauses)
    expected = sorted(tuple(each[name] for name in names) for each in found_slowly(clauses, without, record, {}))
    assert sorted(occurrences(record, Query(pattern=text))) == expected
    assert read_pattern(f"pattern {{ {text.replace(' without', '; } without')}{' }' * (not without)}").names == names


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "needs a clause"),
        ("V", r"expected \[, an arc"),
        ("V [", "expected a name at its end"),
        ("V [upos=]", "expected a name at '\\]'"),
        ("V -[obj]- O", "expected"),
        ("V [upos=VERB] O [upos=NOUN]", "expected the end at 'O "),
        ("V [upos=VERB] without { V [!Case]", "expected } at its end"),
        ("length(V, W) > x", "expected a number"),
        ("V.Case = W", "expected a column or feature of a node"),
        ("1 -> V", "expected the name of a node"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_place(text: str, cause: str) -> None:
    with pytest.raises(PatternError, match=cause):
        read_pattern(text)


def test_columns_that_a_pattern_needs_must_exist() -> None:
    record = ParseRecord(tokens=["a", "b"], heads=[0, 1], deprels=["root", "obj"])
    assert occurrences(record, Query(pattern="A -[obj]-> B")) == [(1, 2)]
    assert occurrences(record, Query(pattern='A -[iobj | "obj"]-> B')) == [(1, 2)]
    assert occurrences(record, Query(pattern='A -[^"obj"]-> B')) == []
    for pattern, column in (("A [lemma=x]", "lemmas"), ("A -> B without { A [xpos=x] }", "xpos")):
        with pytest.raises(RecordError, match=f"record has no {column}"):
            occurrences(record, Query(pattern=pattern))


@pytest.mark.parametrize("condition", ["lemma<>be", 'feature<>"Tense=Past"', "lemma", "lemma=dog"])
def test_an_unknown_value_is_no_other_value(condition: str) -> None:
    record = ParseRecord(tokens=["is", "dog"], lemmas=["_", "dog"], feats=["_", "Number=Sing"], heads=[2, 0])
    assert occurrences(record, Query(pattern=f"A [{condition}]")) == [(2,)]


SENTENCES = """\
1\tdogs\t_\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_
2\tbarks\tbark\tVERB\t_\tNumber=Sing\t0\troot\t_\t_

1\tit\t_\tPRON\t_\tNumber=Sing\t2\tnsubj\t_\t_
2\trains\train\tVERB\t_\tNumber=Sing\t0\troot\t_\t_
3\tit\t_\tPRON\t_\tNumber=Sing\t2\tnsubj\t_\t_

"""


def test_matches_are_explained_and_counted() -> None:
    query = ["challenge", "query"]
    pattern = ["--pattern", "V [lemma]; V -[nsubj*]-> S; S.Number <> V.Number"]
    done = synmt(*query, *pattern, "--format", "explained", text=SENTENCES)
    assert done.stdout == "1\tV=2:barks[lemma=bark,Number=Sing] S=1:dogs[relation=nsubj,Number=Plur]\n"
    done = synmt(*query, "--relation", "*", "--format", "explained", text=SENTENCES)
    assert done.stdout.startswith(
        "1\tword=1:dogs[relation=nsubj] head=2:barks; word=2:barks[relation=root] head=0\n2\t"
    )
    done = synmt(*query, "--relation", "*", "--count", "word.upos", "--count", "head.Number", text=SENTENCES)
    assert done.stdout.splitlines() == [
        "word.upos\thead.Number\tmatches\tsentences", "PRON\tSing\t2\t1", "VERB\t_\t2\t2", "NOUN\tSing\t1\t1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["--pattern", "V ["],
        ["--pattern", "V [upos=X]", "--relation", "x"],
        ["--pattern", "V [upos=X]", "--min-distance", "2"],
        ["--pattern", "V [upos=X]", "--count", "W.upos"],
        ["--word", "a", "--count", "word"],
        ["--word", "a", "--count", "word.upos", "--format", "ids"],
    ],
)
def test_wrong_patterns_and_counts_are_wrong_usage(arguments: list[str]) -> None:
    assert is_wrong_usage(synmt("challenge", "query", *arguments, text=SENTENCES), "synmt challenge: ")
