"""Laws of the transition system, and the worked example of the paper edge by edge."""

import random
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.arcs import GRAPH, NEVER, graph, graph_numbers
from synmt.components.contract import Automaton
from synmt.text.bpe import JOINER
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary, structural
from synmt.trees.arc_tokens import ArcStyle, Kind, Token, arc_labels, is_arc, read_tokens, write_tokens
from synmt.trees.record import ParseRecord, RecordError
from synmt.trees.transitions import (
    Constraints,
    State,
    TransitionError,
    TreeNotDerivable,
    read_forest,
    read_transitions,
    transitions,
    transitions_of_record,
)
from tests.trees.strategies import projective_heads

PLAIN = ArcStyle()
STYLES = [ArcStyle(split, root_arc) for split in (False, True) for root_arc in (False, True)]
COALS = "Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt"
SUBWORDS = [["Jo@@", "hn"], ["put"], ["the"], ["coals"], ["out"]]
HEADS = [2, 0, 4, 2, 2]
DEPRELS = ["nsubj", "root", "det", "obj", "compound:prt"]


def edge_set(entries: Sequence[str], style: ArcStyle) -> list[tuple[int, int, str, int]]:
    """Return edges as (parent, child, label, birth), with tokens counted from 0."""
    labels = arc_labels(entries)
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *dict.fromkeys(entries)], [])
    automaton = Automaton(State(style), [], style, [(tuple(GRAPH), graph_numbers(vocabulary))])
    found = graph({name: torch.tensor([row]) for name, row in automaton.fields(entries).items()})
    births, numbers = found["births"][0].tolist(), found["labels"][0].tolist()
    edges = [(b, c, p) for c, row in enumerate(births) for p, b in enumerate(row) if b < NEVER]
    return [(p - 1, c - 1, labels[numbers[c] - 1], b - 1) for b, c, p in sorted(edges)]


def edges_of(line: str, style: ArcStyle = PLAIN) -> list[tuple[int, int, str, int]]:
    return edge_set(read_tokens(line), style)


def test_john_puts_the_coals_out() -> None:
    assert write_tokens(transitions(SUBWORDS, HEADS, DEPRELS, PLAIN)) == COALS
    assert sorted(edges_of(COALS)) == sorted(
        [
            (2, 0, "nsubj", 3),
            (2, 1, "nsubj", 3),
            (3, 0, "nsubj", 3),
            (3, 1, "nsubj", 3),
            (2, 3, "nsubj", 3),
            (5, 4, "det", 6),
            (6, 4, "det", 6),
            (5, 6, "det", 6),
            (2, 5, "obj", 7),
            (7, 5, "obj", 7),
            (2, 7, "obj", 7),
            (2, 8, "compound:prt", 9),
            (9, 8, "compound:prt", 9),
            (2, 9, "compound:prt", 9),
        ]
    )


def test_what_may_come_next_in_the_example() -> None:
    subword = Kind.OPEN | Kind.WORD
    arcs = Kind.LEFT | Kind.RIGHT
    state = State(PLAIN)
    seen = []
    for entry in read_tokens(COALS):
        state = state.after(PLAIN.token(entry))
        seen.append((state.words, state.legal() & ~subword, state.is_tree()))
    assert seen == [
        (0, 0, False),
        (1, Kind.END, True),
        (2, arcs | Kind.END, False),
        (1, Kind.END, True),
        (2, arcs | Kind.END, False),
        (3, arcs | Kind.END, False),
        (2, arcs | Kind.END, False),
        (1, Kind.END, True),
        (2, arcs | Kind.END, False),
        (1, Kind.END, True),
    ]


def test_small_examples() -> None:
    assert sorted(edges_of("the coals LEFT-ARC:det")) == sorted([(1, 0, "det", 2), (2, 0, "det", 2), (1, 2, "det", 2)])
    assert sorted(edges_of("put co@@ als RIGHT-ARC:obj")) == sorted(
        [(0, 1, "obj", 3), (0, 2, "obj", 3), (3, 1, "obj", 3), (3, 2, "obj", 3), (0, 3, "obj", 3)]
    )
    assert sorted(edges_of("John")) == sorted([])


def test_both_halves_of_a_split_arc_count_as_its_token() -> None:
    assert sorted(edges_of("the coals LEFT-ARC ARC:det", ArcStyle(split=True))) == sorted(
        [(1, 0, "det", 3), (2, 0, "det", 3), (3, 0, "det", 3), (1, 2, "det", 3), (1, 3, "det", 3)]
    )


def test_the_root_arc_attaches_to_the_begin_of_sentence() -> None:
    style = ArcStyle(root_arc=True)
    line = write_tokens(transitions([["Jo@@", "hn"]], [0], ["root"], style))
    assert line == "Jo@@ hn RIGHT-ARC:root"
    assert sorted(edges_of(line, style)) == sorted(
        [(-1, 0, "root", 2), (-1, 1, "root", 2), (2, 0, "root", 2), (2, 1, "root", 2), (-1, 2, "root", 2)]
    )


LOOKALIKES = [
    "LEFT-ARC:nsubj",
    "RIGHT-ARC",
    "ARC:det",
    "\\LEFT-ARC:x",
    "\\\\ARC:y",
    "\\",
    "ARC:",
    "</s>",
    "RIGHT-ARC:root",
]
SPELLINGS = st.sampled_from(["a", "bc", "é", "@@d", *LOOKALIKES])


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[list[str]], list[int], list[str]]:
    """Draw the subwords, heads and relations of a projective tree."""
    heads = draw(projective_heads())
    subwords = [
        [f"{part}{JOINER}" for part in draw(st.lists(SPELLINGS, max_size=2))] + [draw(SPELLINGS)] for _ in heads
    ]
    labels = st.sampled_from(["nsubj", "a:b", "ARC", "left"])
    return subwords, heads, [draw(labels) if head else "root" for head in heads]


@given(tree=trees(), style=st.sampled_from(STYLES))
def test_a_string_can_be_turned_back_into_its_tree(
    tree: tuple[list[list[str]], list[int], list[str]], style: ArcStyle
) -> None:
    subwords, heads, deprels = tree
    entries = transitions(subwords, heads, deprels, style)
    assert read_tokens(write_tokens(entries)) == entries
    record = read_transitions(entries, style)
    assert (record.heads, record.deprels) == (heads, deprels)
    assert record.tokens == ["".join(part.removesuffix(JOINER) for part in parts) for parts in subwords]
    assert record == read_forest(entries, style)
    record.check()

    arcs = len(heads) - 1 + style.root_arc
    tokens = 2 if style.split else 1
    assert [entry for entry in entries if not is_arc(entry)] == [subword for parts in subwords for subword in parts]
    assert len(entries) == sum(map(len, subwords)) + arcs * tokens

    state = State(style)
    for entry in entries:
        token = style.token(entry)
        assert token.kind & state.legal()
        state = state.after(token)
    assert state.words == 1
    assert state.is_tree()

    sizes = [1, *map(len, subwords)]  # of the begin of sentence and of each word
    edges = edge_set(entries, style)
    attached = [(sizes[head], sizes[word]) for word, head in enumerate(heads, 1) if head or style.root_arc]
    assert len(edges) == sum(h * m + tokens * (h + m) for h, m in attached)
    assert sorted(birth for *_, birth in edges) == [birth for *_, birth in edges]
    assert all(birth >= max(parent, child) for parent, child, _, birth in edges)


@given(tree=trees(), style=st.sampled_from(STYLES))
def test_edges_lead_from_heads_to_dependents_directly_and_through_the_arc(
    tree: tuple[list[list[str]], list[int], list[str]], style: ArcStyle
) -> None:
    subwords, heads, deprels = tree
    entries = transitions(subwords, heads, deprels, style)
    edges = edge_set(entries, style)
    places = iter([place for place, entry in enumerate(entries) if not is_arc(entry)])
    words = [[-1], *([next(places) for _ in parts] for parts in subwords)]
    straight = {
        (parent, child, deprels[word - 1])
        for word, head in enumerate(heads, 1)
        if head or style.root_arc
        for parent in words[head]
        for child in words[word]
    }
    middles = {place for place, entry in enumerate(entries) if is_arc(entry)}
    above = [(parent, child, label) for parent, child, label, _ in edges if child in middles]
    below = [(parent, child, label) for parent, child, label, _ in edges if parent in middles]
    assert {edge[:3] for edge in edges if not middles & {*edge[:2]}} == straight
    through = {(p, c, label) for p, x, label in above for y, c, other in below if (x, label) == (y, other)}
    assert through == straight
    assert all(0 <= birth - middle < 1 + style.split for middle, _, _, birth in edges if middle in middles)


def is_projective(heads: Sequence[int]) -> bool:
    """Return whether each word between a head and its dependent is below that head, directly or not."""

    def hangs_on(word: int, head: int) -> bool:
        while word and word != head:
            word = heads[word - 1]
        return word == head

    return all(
        hangs_on(between, head)
        for word, head in enumerate(heads, 1)
        if head
        for between in range(min(word, head) + 1, max(word, head))
    )


@given(order=st.permutations(range(1, 7)), choices=st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_the_oracle_refuses_exactly_the_nonprojective_trees(order: list[int], choices: list[int]) -> None:
    heads = [0] * 6
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = order[choices[place] % place]
    arguments = ([["a"]] * 6, heads, ["x"] * 6, PLAIN)
    if is_projective(heads):
        assert read_transitions(transitions(*arguments), PLAIN).heads == heads
    else:
        with pytest.raises(TreeNotDerivable, match="not projective"):
            transitions(*arguments)


def test_trees_without_a_string() -> None:
    def spell(heads: list[int], deprels: Sequence[str] = "wxyz", style: ArcStyle = PLAIN) -> list[str]:
        n = len(heads)
        return transitions([["a"]] * n, heads, deprels[:n], style)

    with pytest.raises(TreeNotDerivable, match="not projective"):
        spell([3, 4, 0, 3])
    with pytest.raises(TreeNotDerivable, match="several roots"):
        spell([0, 1, 0])
    with pytest.raises(RecordError, match="its own ancestor"):
        spell([2, 1, 0])
    with pytest.raises(ValueError, match="word 2 ends in @@"):
        transitions([["a"], ["b@@"]], [0, 1], "xy", PLAIN)
    with pytest.raises(ValueError, match="word 1 is empty"):
        transitions([[""]], [0], ["root"], PLAIN)
    with pytest.raises(ValueError, match="word 2 has no relation"):
        spell([0, 1], ["root", ""])
    with pytest.raises(ValueError, match="its relation is 'root'"):
        spell([0, 1], ["root", "root"], ArcStyle(root_arc=True))
    assert spell([0, 1], ["root", "root"]) == ["a", "a", " RIGHT-ARC:root"]
    assert spell([]) == []


def test_records() -> None:
    record = ParseRecord(tokens=["the", "coals"], heads=[2, 0], deprels=["det", "root"])

    def segment(word: str) -> list[str]:
        return [f"{word[0]}{JOINER}", word[1:]]

    assert transitions_of_record(record, segment, PLAIN) == ["t@@", "he", "c@@", "oals", " LEFT-ARC:det"]
    assert transitions_of_record(ParseRecord(), segment, PLAIN) == []
    assert read_transitions([], PLAIN) == ParseRecord()
    with pytest.raises(RecordError, match="no dependency tree"):
        transitions_of_record(ParseRecord(tokens=["ab"]), segment, PLAIN)


# Entries of the vocabulary


def test_arcs_differ_from_words_in_the_vocabulary() -> None:
    entries = ["LEFT-ARC:nsubj", " LEFT-ARC:nsubj", "ARC:", ":"]
    assert read_tokens("\\LEFT-ARC:nsubj LEFT-ARC:nsubj  ARC: :") == entries
    assert PLAIN.token("LEFT-ARC:nsubj") == Token(Kind.WORD)
    assert PLAIN.token("LEFT-ARC:nsubj@@") == Token(Kind.OPEN)
    assert PLAIN.token(" LEFT-ARC:nsubj") == Token(Kind.LEFT, "nsubj")
    assert PLAIN.token(" RIGHT-ARC:a:b") == Token(Kind.RIGHT, "a:b")
    assert PLAIN.token(UNKNOWN_TOKEN).kind == Kind.WORD
    assert PLAIN.token(END_TOKEN).kind == Kind.END
    for other in (" RIGHT-ARC", " ARC:det", structural("(NP"), structural(")"), " UP-ARC:x", " LEFT-ARC:"):
        assert PLAIN.token(other).kind == Kind.OTHER
    split = ArcStyle(split=True, root_arc=True)
    assert split.token(" RIGHT-ARC") == Token(Kind.RIGHT)
    assert split.token(" ARC:det") == Token(Kind.LABEL, "det")
    assert split.token(" ARC:root") == Token(Kind.ROOT, "root")
    assert split.token(" LEFT-ARC:det").kind == Kind.OTHER


@pytest.mark.parametrize("style", STYLES)
def test_the_vocabulary_has_both_arcs_of_each_relation(style: ArcStyle) -> None:
    entries = style.tokens(["det", "obj"])
    assert len(entries) == len(set(entries)) == (4 if style == PLAIN else 4 + style.root_arc)
    assert arc_labels([*entries, "LEFT-ARC:no", " (NP", " x:y"]) == ["det", "obj", *["root"] * style.root_arc]
    assert all(is_arc(entry) for entry in entries)
    assert not any(is_arc(entry) for entry in ("LEFT-ARC:det", " (NP", END_TOKEN))


# Constraints


@given(style=st.sampled_from(STYLES), limit=st.integers(1, 14), seed=st.integers(0, 10**6))
def test_strict_constraints_always_end_in_a_tree(style: ArcStyle, limit: int, seed: int) -> None:
    choices = random.Random(seed)
    vocabulary = ["a", "b@@", *style.tokens(["x", "y"]), END_TOKEN]
    entries: list[str] = []
    state = State(style)
    while True:
        assert len(entries) < limit
        allowed = state.allowed("strict", limit - len(entries))
        entry = choices.choice([entry for entry in vocabulary if style.token(entry).kind & allowed])
        if entry == END_TOKEN:
            break
        entries.append(entry)
        state = state.after(style.token(entry))
    read_transitions(entries, style)


@given(style=st.sampled_from(STYLES), limit=st.integers(2, 10), data=st.data())
def test_strict_constraints_allow_every_tree_that_fits(style: ArcStyle, limit: int, data: st.DataObject) -> None:
    entries = transitions(*data.draw(trees()), style)
    if len(entries) < limit:
        state = State(style)
        for length, entry in enumerate([*entries, END_TOKEN]):
            token = style.token(entry)
            assert token.kind & state.allowed("strict", limit - length)
            state = state.after(token)


def test_tokens_that_constraints_allow() -> None:
    def allowed(line: str, constraints: Constraints, left: int = 99, style: ArcStyle = PLAIN) -> int:
        state = State(style)
        for entry in read_tokens(line):
            state = state.after(style.token(entry))
        return state.allowed(constraints, left)

    subwords, arcs, end = Kind.OPEN | Kind.WORD, Kind.LEFT | Kind.RIGHT, Kind.END
    assert allowed("a@@", "legal") == allowed("a@@", "strict") == subwords
    assert allowed("a b", "legal") == subwords | arcs | end
    assert allowed("a b", "strict") == subwords | arcs
    assert allowed("a b", "strict", left=5) == subwords | arcs
    assert allowed("a b", "strict", left=4) == Kind.WORD | arcs
    assert allowed("a b", "strict", left=3) == arcs
    assert allowed("a", "strict", left=1) == end
    assert allowed("", "strict") == subwords | end
    assert allowed("", "strict", left=1) == end
    assert allowed("a@@", "none") & (arcs | end) == arcs | end
    rooted, split = ArcStyle(root_arc=True), ArcStyle(split=True, root_arc=True)
    assert allowed("a", "strict", style=rooted) == subwords | Kind.ROOT
    assert allowed("a RIGHT-ARC:root", "strict", style=rooted) == end
    assert allowed("a", "legal", style=split) == subwords | Kind.RIGHT | end
    assert allowed("a RIGHT-ARC", "legal", style=split) == Kind.ROOT
    assert allowed("a b RIGHT-ARC", "legal", style=split) == Kind.LABEL


ANY_ENTRY = st.sampled_from(["a", "b@@", " (NP", *{entry for style in STYLES for entry in style.tokens(["x"])}])


@given(entries=st.lists(ANY_ENTRY, max_size=10), style=st.sampled_from(STYLES))
def test_any_string_has_a_forest_and_its_first_error_a_position(entries: list[str], style: ArcStyle) -> None:
    forest = read_forest(entries, style)
    assert forest.heads.count(0) >= bool(forest.heads)
    try:
        assert read_transitions(entries, style) == forest
    except TransitionError as error:
        rest = entries[: error.token - 1]
        state = State(style)
        for entry in rest:
            assert style.token(entry).kind & state.legal()
            state = state.after(style.token(entry))
        if error.token <= len(entries):
            assert not style.token(entries[error.token - 1]).kind & state.legal()


@given(entries=st.lists(ANY_ENTRY, max_size=10), style=st.sampled_from(STYLES), more=ANY_ENTRY)
def test_states_are_immutable(entries: list[str], style: ArcStyle, more: str) -> None:
    state = State(style)
    for entry in entries:
        state = state.after(style.token(entry))
    before = repr(state)
    state.after(style.token(more))
    assert repr(state) == before


@pytest.mark.parametrize(
    ("line", "style", "token", "cause"),
    [
        ("a LEFT-ARC:x", PLAIN, 2, "LEFT-ARC:x: an arc needs two words, but 1 word waits for a head"),
        ("RIGHT-ARC:x", PLAIN, 1, "0 words wait"),
        ("a b@@ LEFT-ARC:x", PLAIN, 3, "the word before it is not complete"),
        ("a LEFT-ARC", PLAIN, 2, "not an arc of this style"),
        ("a b", PLAIN, 3, "the string ends, but 2 words have no head"),
        ("a b@@", PLAIN, 3, "its last word is not complete"),
        ("a", STYLES[1], 2, "its root has no arc"),
        ("a b RIGHT-ARC:root", STYLES[1], 3, "the arc of the root needs exactly one word, but 2 words wait"),
        ("a RIGHT-ARC:root b", STYLES[1], 3, "b: the arc of the root has ended the sentence"),
        ("a b LEFT-ARC:x", STYLES[2], 3, "not an arc of this style"),
        ("a b LEFT-ARC c", STYLES[2], 4, "c: the arc before it has no relation"),
        ("a b LEFT-ARC", STYLES[2], 4, "its last arc has no relation"),
        ("a b ARC:x", STYLES[2], 3, "a relation without a direction"),
        ("a RIGHT-ARC ARC:x", STYLES[3], 3, "an arc needs two words"),
        ("a b RIGHT-ARC ARC:root", STYLES[3], 4, "the arc of the root needs exactly one word"),
    ],
)
def test_errors_name_the_token_of_a_broken_string(line: str, style: ArcStyle, token: int, cause: str) -> None:
    with pytest.raises(TransitionError, match=cause) as caught:
        read_transitions(read_tokens(line), style)
    assert caught.value.token == token
