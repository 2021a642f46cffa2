"""Patterns, compared with a search of all assignments of words to nodes, which shares no code with them."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.challenge.pattern import PatternError, read_pattern
from synmt.challenge.query import Query, occurrences
from synmt.streams import BadLines, read_lines
from synmt.trees.formats import read_parses
from synmt.trees.record import ParseRecord, RecordError
from tests.cli.commands import is_wrong_usage, synmt
from tests.trees.strategies import projective_heads

FILE = __file__
UD = Path(__file__).parents[2] / ".." / "shared" / "data" / "ud"
Clause = tuple[str, ...]
NODES = st.sampled_from("ABC")
LABELS = ("nsubj", "nsubj:pass", "obj", "obl:agent")
TAGS, NUMBERS = ("VERB", "NOUN"), ("Number=Sing", "Number=Plur", "_")
FORMS = ("a", "A", "?", "*", "_", "a*", "aa", '"', "\\", "/")
OF_LABELS = {  # how labels of arcs are written, and the relations that they mean
    "": LABELS,
    "OBL*|nsubj*": ("nsubj", "nsubj:pass", "obl:agent"),
    "^nsubj|obj": ("nsubj:pass", "obl:agent"),
    '"nsubj"|"obl*"|re"o.j"': ("nsubj", "obj"),
    "/ob.*/|/NSUBJ/": ("obj", "obl:agent"),
    "/NSUBJ:?.*/i": ("nsubj", "nsubj:pass"),
    "1=nsubj": ("nsubj", "nsubj:pass"),
    "1=nsubj|obl, 2=*": ("nsubj:pass", "obl:agent"),
    '2="pass"': ("nsubj:pass",),
    "1=nsubj, !2": ("nsubj",),
    "2<>pass": ("obl:agent",),
    "!2": ("nsubj", "obj"),
}
OF_FORMS = {
    '"?"': ("?",), '"*"': ("*",), '"a"': ("a",), "a": ("a", "A"), "?": ("a", "A", "?", "*", "_", '"', "\\", "/"),
    "a*": ("a", "A", "a*", "aa"), '"a*"': ("a*",), '"_"': ("_",), '"\\\\"': ("\\",), '"\\""': ('"',), "/": ("/",),
    "/[aA]/": ("a", "A"), "/a/i": ("a", "A"), "/\\//": ("/",), 're"a+"': ("a", "aa"), "*": FORMS, '"?"|"/"': ("?", "/"),
}  # fmt: skip
CLAUSES = st.one_of(
    st.tuples(st.just("arc"), NODES, NODES, st.sampled_from([*LABELS, *OF_LABELS])),
    st.tuples(st.sampled_from(["->>", "<", "<<", ">", ">>"]), NODES, NODES),
    st.tuples(
        st.sampled_from([f"{kind} {sign}" for kind in ("length", "delta") for sign in ("<", "<=", "=", ">=", ">")]),
        NODES,
        NODES,
        st.sampled_from(["-1", "0", "1", "2", "3"]),
    ),
    st.tuples(st.sampled_from(["form=", "form<>", ".form=", ".form <> "]), NODES, st.sampled_from([*OF_FORMS])),
    st.tuples(st.sampled_from(["=", "<>"]), NODES, NODES),
    st.tuples(st.just("is"), NODES, st.sampled_from(TAGS)),
    st.tuples(st.sampled_from(["Number", "!Number", "Number<>sing"]), NODES),
)


def written(clause: Clause) -> str:
    kind, node, *rest = clause
    if kind == "arc":
        return f"{node} -[{rest[1]}]-> {rest[0]}" if rest[1] else f"{node}->{rest[0]}"
    if kind.startswith(("length", "delta")):
        name, sign = kind.split()
        return f"{name}({node}, {rest[0]}) {sign} {rest[1]}"
    if "form" in kind:
        has_quotes = rest[0][0] in '"/r' and rest[0] != "/"
        return f"{node}{kind}{rest[0]}" if kind[0] == "." and has_quotes else f"{node} [{kind.strip(' .')}{rest[0]}]"
    if kind in ("=", "<>"):
        return f"{node}.Number {kind} {rest[0]}.number"
    if kind == "is":
        return f"{node} [upos={rest[0].lower()}]"
    return f"{node} {kind} {rest[0]}" if rest else f"{node} [{kind}]"


def nodes_of(clauses: Sequence[Clause]) -> list[str]:
    return list(dict.fromkeys(part for clause in clauses for part in clause[1:3] if part in ("A", "B", "C")))


def is_true(clause: Clause, record: ParseRecord, of: dict[str, int]) -> bool:
    kind, node, *rest = clause
    word, other = of[node], of.get(rest[0], 0) if rest else 0
    if "form" in kind:
        return (record.tokens[word - 1] in OF_FORMS[rest[0]]) != ("<>" in kind)
    number, its = (record.feats[each - 1] for each in (word, other or word))
    if kind == "arc":
        relation, wanted = record.deprels[other - 1], rest[1]
        return record.heads[other - 1] == word and relation in OF_LABELS.get(wanted, (wanted,))
    if kind == "->>":
        above = [other]
        while above[-1]:
            above.append(record.heads[above[-1] - 1])
        return word in above[1:]
    if kind.startswith(("length", "delta")):
        distance, least = abs(word - other) if kind[0] == "l" else other - word, int(rest[1])
        sign = kind.split()[1]
        return (distance == least and "=" in sign) or (distance < least and "<" in sign) or (
            distance > least and ">" in sign
        )  # fmt: skip
    truths = {
        "<": word + 1 == other, "<<": word < other, ">": word - 1 == other, ">>": word > other,
        "=": number == its != "_", "<>": "_" not in (number, its) and number != its,
        "is": rest and record.upos[word - 1] == rest[0],
        "Number": number != "_", "!Number": number == "_", "Number<>sing": number == "Number=Plur",
    }  # fmt: skip
    return bool(truths[kind])


def found_slowly(
    clauses: Sequence[Clause],
    without: Sequence[Clause],
    record: ParseRecord,
    known: dict[str, int],
    also: Sequence[Clause] = (),
) -> list[dict[str, int]]:
    new = [node for node in nodes_of(clauses) if node not in known]
    words = [word for word in range(1, len(record.tokens) + 1) if word not in known.values()]
    trials = [{**known, **dict(zip(new, chosen, strict=True))} for chosen in permutations(words, len(new))]
    found = [trial for trial in trials if all(is_true(clause, record, trial) for clause in clauses)]
    found = [each for each in found if not also or found_slowly(also, [], record, each)]
    return [each for each in found if not (without and found_slowly(without, [], record, each))]


@st.composite
def tagged(draw: st.DrawFn) -> ParseRecord:
    heads = draw(projective_heads(6))
    columns = (draw(st.lists(st.sampled_from(of), min_size=6, max_size=6)) for of in (FORMS, LABELS, TAGS, NUMBERS))
    tokens, deprels, upos, feats = (column[: len(heads)] for column in columns)
    return ParseRecord(tokens=tokens, heads=heads, deprels=deprels, upos=upos, feats=feats)


@settings(max_examples=100)
@given(
    record=tagged(),
    clauses=st.lists(CLAUSES, min_size=1, max_size=3),
    without=st.lists(CLAUSES, max_size=2),
    also=st.lists(CLAUSES, max_size=1),
)
def test_matches_equal_those_of_an_exhaustive_search(
    record: ParseRecord, clauses: list[Clause], without: list[Clause], also: list[Clause]
) -> None:
    clauses, without, also = ([each for each in of if each[1:2] != each[2:3]] for of in (clauses, without, also))
    if not clauses:
        return
    text = "; ".join(map(written, clauses))
    filters = "".join(
        f" {name} {{ {'; '.join(map(written, of))} }}" for name, of in (("with", also), ("without", without)) if of
    )
    names = nodes_of(clauses)
    slowly = found_slowly(clauses, without, record, {}, also)
    expected = sorted(tuple(each[name] for name in names) for each in slowly)
    if len(re.findall(r"[=>]/\]", text + filters)) > 1:  # two slashes would enclose a regular expression
        text, filters = (re.sub(r"([=>])/\]", r'\1"/"]', each) for each in (text, filters))
    query = Query(pattern=text + filters)
    assert occurrences(record, query) == expected
    assert occurrences(record, query, one=True) in [[each] for each in expected] or not expected
    assert read_pattern(f"pattern {{ {text}; }}{filters}").names == names


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
        ("V -[E:nsubj]-> S", "E:nsubj: enhanced relations cannot be searched"),
        ("V -[enhanced=yes]-> S", "an arc has the features 1 and 2, not enhanced"),
        ("V -[^1=nsubj]-> S", "expected relations after \\^"),
        ("V -[1=]-> S", "expected a name"),
        ("V -[nsubj]- S", "expected"),
        ('V [lemma=re"("]', 're"\\(" is not a regular expression'),
        ("V [lemma=/(/]", "is not a regular expression"),
        ('V [lemma="be]', "expected a name"),
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
    pattern = ["challenge", "pattern", "V [lemma]; V -[nsubj*]-> S; S.Number <> V.Number"]
    done = synmt(*pattern, "--format", "explained", text=SENTENCES)
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
        ["pattern", "V ["],
        ["pattern", ""],
        ["pattern", "V [upos=X]", "--count", "W.upos"],
        ["query", "--word", "a", "--count", "word"],
        ["query", "--word", "a", "--count", "word.upos", "--format", "ids"],
        ["linked", "V [", FILE, FILE, FILE],
        ["linked", "V []", FILE, FILE, FILE, "--count", "word.upos"],
    ],
)
def test_wrong_patterns_and_counts_are_wrong_usage(arguments: list[str]) -> None:
    assert is_wrong_usage(synmt("challenge", *arguments, text=SENTENCES), "synmt challenge: ")


def found(*arguments: str, text: str = SENTENCES) -> tuple[int, str, str]:
    done = synmt("challenge", *arguments, text=text)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("pattern", "missing"),
    [
        ("V [upos=VERV]", "upos=VERV"),
        ('V [upos="verb"]', 'upos="verb"'),
        ("V -[nsubjj|nsubj]-> S", "relation=nsubjj"),
        ("V -[^objj]-> S", "relation=objj"),
        ("V -[1=nsubj, 2=pass]-> S", "relation.2=pass"),
        ("V [Tens]", "Tens"),
        ("V [!Tens, lemma<>run]", "Tens, lemma=run"),
        ("V [Gloss=x|y]", "Gloss=x, Gloss=y"),
        ("V.Tense = W.Tense; V -> W", "Tense"),
        ("V [upos=VERB] without { V -[xcomp]-> S }", "relation=xcomp"),
    ],
)
def test_what_no_word_has_is_announced(pattern: str, missing: str) -> None:
    status, _, errors = found("pattern", pattern)
    assert (status, errors) == (0, f"synmt challenge: no word of the input has {missing}\n")


def test_what_some_word_has_is_not_announced() -> None:
    assert found("pattern", "V [upos=VERB|NOUN]; V -[nsubj*]-> S; S.Number <> V.Number") == (0, "1\n", "")
    assert found("query", "--relation", "nsubk") == (
        0,
        "",
        "synmt challenge: no word of the input has relation=nsubk\n",
    )
    assert found("query", "--word", '"It"')[2] == 'synmt challenge: no word of the input has word="It"\n'
    assert found("query", "--word", '"it"') == found("query", "--word", "/I?t/i") == (0, "2\n", "")


MULTIWORD = """\
# sent_id = a
# text = Er geht zum Arzt 10 000.
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_
3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_
3\tzu\tzu\tADP\t_\t_\t5\tcase\t_\t_
4\tdem\tder\tDET\t_\tCase=Dat\t5\tdet\t_\t_
5\tArzt\tArzt\tNOUN\t_\t_\t2\tobl\t_\t_
6\t10 000\t10000\tNUM\t_\t_\t5\tnummod\t_\tSpaceAfter=No
7\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


def test_words_of_multiword_tokens_are_found_in_conllu_and_in_records_of_it(tmp_path: Path) -> None:
    records = synmt("convert", "--input", "conllu", text=MULTIWORD).stdout
    for text in (MULTIWORD, records):
        assert (
            found("query", "--upos", "DET", "--format", "marked", text=text)[1] == "Er geht zu *dem* *Arzt* 10 000 .\n"
        )
        assert found("pattern", 'X [form="10 000"]', text=text)[1] == "1\n"
        assert found("pattern", "X [upos=X]", text=text)[1] == ""
        assert found("pattern", "D [upos=DET]; delta(D, N) = 1", "--format", "explained", text=text)[1] == (
            "1\tD=4:dem[upos=DET] N=5:Arzt\n"
        )
    (tmp_path / "de.conllu").write_text(MULTIWORD)
    (tmp_path / "en").write_text('{"tokens":["He","goes","to","the","doctor"],"upos":["P","V","ADP","DET","N"]}\n')
    (tmp_path / "links").write_text("0-0 1-1 2-2 2-3 3-4\n")
    files = [tmp_path / name for name in ("de.conllu", "en", "links")]
    for upos, other in (("ADP", "DET"), ("DET", "DET"), ("NOUN", "N")):
        done = synmt("challenge", "linked", f"W [upos={upos}]", *files, "--linked-upos", other)
        assert done.stdout == "1\n"


def test_unconnected_nodes_are_bounded() -> None:
    record = ParseRecord(tokens=["a"] * 60, heads=[0, *range(1, 60)], deprels=["x"] * 60)
    query = Query(pattern="A []; B []; C []; D []")
    assert len(set(occurrences(record, query, one=True)[0])) == 4
    with pytest.raises(ValueError, match="more than 300000 words to try for the pattern; connect its nodes by arcs"):
        occurrences(record, query)
    none = Query(pattern="A []; B []; C []; D [] without { E [!form] }")
    assert len(occurrences(record, none, one=True)) == 1
    with pytest.raises(ValueError, match="more than 300000 words"):
        occurrences(record, Query(pattern="A []; B []; C []; D [] without { E [form] }"), one=True)


@pytest.mark.skipif(not UD.exists(), reason="needs the treebanks")
@pytest.mark.parametrize("name", ["de_pud", "fr_pud"])
def test_counts_over_treebanks_equal_those_of_the_rows(name: str) -> None:
    """Of every part of speech, relation, main relation, subtype and form of punctuation."""
    file = UD / name / f"{name}-ud-test.conllu"
    lines = list(islice(read_lines([str(file)]), 8000))
    lines = lines[: max(place for place, line in enumerate(lines) if not line.text)]
    rows = [line.text.split("\t") for line in lines if re.match(r"\d+\t", line.text)]
    marks = {row[1] for row in rows if row[3] == "PUNCT"}
    expected = Counter[str]()
    for row in rows:
        main, _, subtype = row[7].partition(":")
        expected[f'X [upos="{row[3]}"]'] += 1
        expected[f'X [relation="{row[7]}"]'] += 1
        expected[f"X [relation.1={main}]"] += 1
        if subtype:
            expected[f"X [relation.2={subtype}]"] += 1
        if row[1] in marks:
            expected[f'X [form="{row[1]}"]'.replace('"""', '"\\""')] += 1
    found = Counter[str]()
    patterns = {text: read_pattern(text) for text in expected}
    for _, parse in read_parses(iter(lines), BadLines()):
        for text, pattern in patterns.items():
            found[text] += sum(1 for _ in pattern.matches(parse.record))
    assert found == expected
