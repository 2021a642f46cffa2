"""Projected trees: examples worked by hand, and laws."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.projection.config import Method, ProjectionConfig
from synmt.projection.tree import projected
from synmt.projection.votes import Source, Votes, is_mark, project, vote, whole
from synmt.text.links import Link
from synmt.trees.constituency import read_brackets, write_brackets
from synmt.trees.record import UNATTACHED, ParseRecord
from tests.trees.strategies import dependency_records

METHODS: tuple[Method, ...] = ("direct", "votes")
GAVE = ParseRecord(
    tokens=["She", "gave", "it", "up"],
    upos=["PRON", "VERB", "PRON", "ADP"],
    heads=[2, 0, 2, 2],
    deprels=["nsubj", "root", "obj", "compound:prt"],
)


def source(record: ParseRecord, *links: Link, scores: Mapping[Link, float] | None = None) -> Source:
    return Source(record, scores or dict.fromkeys(links, 1.0))


def carried(target: str, *sources: Source, **settings: Any) -> ParseRecord:
    return projected(ParseRecord(tokens=target.split()), sources, ProjectionConfig(**settings))


@pytest.mark.parametrize("method", METHODS)
@given(record=dependency_records())
def test_a_sentence_linked_to_itself_keeps_its_tree(method: Method, record: ParseRecord) -> None:
    links = {(word, word): 1.0 for word in range(len(record.tokens))}
    found = projected(record, [Source(record, links)], ProjectionConfig(method, projective=False))
    for word, token in enumerate(record.tokens):
        if is_mark(token) or (record.heads[word] and is_mark(record.tokens[record.heads[word] - 1])):
            return  # punctuation is not projected
        assert found.heads[word] == record.heads[word]
        assert found.deprels[word] == (record.deprels[word] if record.heads[word] else "root")
        assert (found.upos[word], found.confidences[word]) == (record.upos[word], 1.0)


@st.composite
def linked_pairs(draw: st.DrawFn) -> tuple[ParseRecord, list[Source]]:
    """Draw a target, and one or two sources with random links and scores."""
    words = draw(st.lists(st.sampled_from(["a", "b", ",", "."]), min_size=1, max_size=7))
    target = ParseRecord(tokens=words)
    if draw(st.booleans()):
        cut = draw(st.integers(1, len(words)))
        target.sentences = [cut, *([len(words) - cut] if cut < len(words) else [])]
    sources = []
    for _ in range(draw(st.integers(1, 2))):
        record = draw(dependency_records())
        pairs = st.tuples(st.integers(0, len(record.tokens) - 1), st.integers(0, len(words) - 1))
        scores = st.sampled_from([1.0, 0.5, 0.01, 0.0])
        sources.append(Source(record, draw(st.dictionaries(pairs, scores, max_size=10))))
    return target, sources


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("method", METHODS)
@given(pair=linked_pairs())
def test_any_links_give_a_tree(method: Method, projective: bool, pair: tuple[ParseRecord, list[Source]]) -> None:
    """Each sentence gets one tree with all labels. A threshold detaches words from their heads, and leaves other words
    unchanged."""
    target, sources = pair
    found = projected(target, sources, ProjectionConfig(method, projective))
    found.check()
    n = len(target.tokens)
    assert len(found.heads) == len(found.deprels) == len(found.confidences) == n
    assert all((relation == "root") == (head == 0) for relation, head in zip(found.deprels, found.heads, strict=True))
    if projective:
        arcs = [(min(w, h), max(w, h)) for w, h in enumerate(found.heads, 1) if h]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs)
    partial = projected(target, sources, ProjectionConfig(method, projective, min_confidence=0.3))
    partial.check(partial=True)
    for word in range(n):
        kept = found.confidences[word] >= 0.3
        assert partial.heads[word] == (found.heads[word] if kept else UNATTACHED)
        assert partial.deprels[word] == (found.deprels[word] if kept else "_")


@given(pair=linked_pairs())
def test_direct_projection_gives_each_word_one_head_without_cycles(pair: tuple[ParseRecord, list[Source]]) -> None:
    target, sources = pair
    votes = Votes()
    project(whole(sources[0], replace(target, sentences=[])), votes)
    heads = {word: head for head, word in votes.arcs if votes.arc((head, word))}
    assert len(heads) == sum(votes.arc(arc) > 0 for arc in votes.arcs)
    for word in heads:
        seen = set()
        while word:
            assert word not in seen
            seen.add(word)
            word = heads.get(word, 0)


@given(pair=linked_pairs())
def test_a_source_votes_at_most_once_for_each_root(pair: tuple[ParseRecord, list[Source]]) -> None:
    target, (first, *_) = pair
    votes = Votes()
    vote(whole(first, target), votes)
    assert all(votes.arc(arc) <= 1 + 1e-9 for arc in votes.arcs if arc[0] == 0)


def test_many_to_one() -> None:
    """`gave … up` is one target word, which gets the analysis of the verb, not of the particle."""
    found = carried("Sie verwarf es", source(GAVE, (0, 0), (1, 1), (3, 1), (2, 2)), method="direct")
    assert (found.heads, found.deprels) == ([2, 0, 2], ["nsubj", "root", "obj"])
    assert found.upos == ["PRON", "VERB", "PRON"]


def test_one_to_many() -> None:
    """The word with the best link takes the place of the source word; the other word depends on it."""
    scores = {(0, 0): 1.0, (1, 1): 0.5, (1, 3): 0.8, (2, 2): 1.0}
    found = carried("Sie hat es aufgegeben", source(GAVE, scores=scores), method="direct")
    assert (found.heads, found.deprels) == ([4, 4, 4, 0], ["nsubj", "dep", "obj", "root"])
    assert found.upos == ["PRON", "VERB", "PRON", "VERB"]
    assert found.confidences == pytest.approx([0.8, 0.4, 0.8, 0.8])


@pytest.mark.parametrize("method", METHODS)
def test_dependents_of_an_unlinked_word_attach_above_it(method: Method) -> None:
    english = ParseRecord(tokens=["I", "want", "to", "see"], heads=[2, 0, 4, 2], deprels=["a", "root", "b", "c"])
    found = carried("ich zu", source(english, (0, 0), (2, 1)), method=method)
    assert set(found.heads) == {0, 1} or set(found.heads) == {2, 0}
    linked = carried("ich will zu", source(english, (0, 0), (1, 1), (2, 2)), method=method)
    assert (linked.heads, linked.deprels) == ([2, 0, 2], ["a", "root", "b"])


def test_votes_are_weighted_by_links() -> None:
    """`b` is attached to the word with the better link to its head."""
    english = ParseRecord(tokens=["a", "b"], heads=[0, 1], deprels=["root", "x"])
    scores = {(0, 0): 0.9, (0, 2): 0.3, (1, 1): 1.0}
    found = carried("A B aa", source(english, scores=scores))
    assert found.heads == [0, 1, 1]
    assert found.confidences == pytest.approx([0.9, 0.9, 0.5 * 0.9 * 0.3])


def test_several_sources_vote() -> None:
    def chain(*heads: int) -> ParseRecord:
        return ParseRecord(
            tokens=["a", "b", "c"], heads=list(heads), deprels=["r" if head else "root" for head in heads]
        )

    links = [(0, 0), (1, 1), (2, 2)]
    sources = [source(chain(*heads), *links) for heads in ((2, 0, 2), (2, 0, 2), (0, 1, 1))]
    found = carried("A B C", *sources)
    assert found.heads == [2, 0, 2]
    assert found.confidences == pytest.approx([2 / 3] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_without_links_the_tree_has_no_confidence(method: Method) -> None:
    for given_source, tags in ((source(GAVE), ["X", "X", "X", "PUNCT"]), (source(ParseRecord()), [])):
        found = carried("das ist gut .", given_source, method=method)
        found.check()
        assert found.heads.count(0) == 1 and found.confidences == [0.0] * 4
        assert found.upos == tags
    assert carried("", source(GAVE), method=method) == ParseRecord()
    assert carried("das gut", source(GAVE), method=method, min_confidence=0.1).heads == [UNATTACHED] * 2


def test_unlinked_words_attach_to_nearby_words() -> None:
    """An article is attached to the following noun, and an adverb to the preceding verb, not to the following function
    word."""
    english = ParseRecord(
        tokens=["He", "saw", "dogs", "too"], upos=["PRON", "VERB", "NOUN", "ADV"], heads=[2, 0, 2, 2], deprels=["x"] * 4
    )
    found = carried("Er sah die Hunde bald auch", source(english, (0, 0), (1, 1), (2, 3), (3, 5)))
    assert found.heads == [2, 0, 4, 2, 4, 2]
    assert found.deprels[2] == found.deprels[4] == "dep" and found.upos[2] == found.upos[4] == "X"


def test_several_sentences_of_a_source() -> None:
    two = ParseRecord(
        tokens=["Go", "now", "Stay", "here"], heads=[0, 1, 0, 3], deprels=["root", "x", "root", "y"], sentences=[2, 2]
    )
    links = source(two, *((word, word) for word in range(4)))
    for method in METHODS:
        one = carried("geh jetzt bleib hier", links, method=method)
        assert (one.heads, one.deprels) == ([0, 1, 1, 3], ["root", "x", "parataxis", "y"])
        target = ParseRecord(tokens=["geh", "jetzt", "bleib", "hier"], sentences=[2, 2])
        both = projected(target, [links], ProjectionConfig(method))
        assert (both.heads, both.deprels) == ([0, 1, 0, 3], ["root", "x", "root", "y"])


def test_punctuation_is_attached_as_in_treebanks() -> None:
    """The commas around a clause are attached to the clause, and the full stop to the root, whatever their links."""
    english = ParseRecord(
        tokens=["He", "who", "came", "slept", "."],
        upos=["PRON", "PRON", "VERB", "VERB", "PUNCT"],
        heads=[4, 3, 1, 0, 1],
        deprels=["nsubj", "nsubj", "acl:relcl", "root", "punct"],
    )
    found = carried("Er , der kam , schlief .", source(english, (0, 0), (1, 2), (2, 3), (3, 5), (4, 6)))
    assert found.heads == [6, 4, 4, 1, 1, 0, 6]
    assert [found.deprels[mark] for mark in (1, 4, 6)] == ["punct"] * 3
    assert [found.upos[mark] for mark in (1, 4, 6)] == ["PUNCT"] * 3
    marks = carried("... !", source(english, (4, 1)))
    assert (marks.heads, marks.deprels) == ([0, 1], ["root", "punct"])


def test_columns_of_the_target_are_preserved() -> None:
    target = ParseRecord(text="ja", tokens=["ja"], spaces=[False], lemmas=["ja"], feats=["A=B"], heads=[0], sent_id="x")
    found = projected(target, [source(GAVE, (1, 0))], ProjectionConfig())
    assert (found.text, found.lemmas, found.feats, found.sent_id) == ("ja", ["ja"], ["A=B"], "x")
    assert (found.upos, found.deprels) == (["VERB"], ["root"])
    target = replace(target, tree=read_brackets("(S ja)"), masks={"words": ["1"], "nodes": ["11", "01"]})
    found = projected(target, [source(GAVE, (1, 0))], ProjectionConfig())
    assert found.masks == {"words": ["1"]}  # the others belong to a tree that it no longer has


ENGLISH = ParseRecord(tokens=["He", "saw", "the", "old", "dog", "."])
ENGLISH.tree = read_brackets("(S (NP (PRP He)) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .))")


@pytest.mark.parametrize(
    ("target", "links", "tree"),
    [
        (
            "Er sah den alten Hund .",
            [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)],
            "(S (NP (PRP Er)) (VP (VBD sah) (NP (DT den) (JJ alten) (NN Hund))) (. .))",
        ),
        (
            "Er hat den Hund gesehen .",  # unlinked words belong to the phrase around them
            [(0, 0), (1, 4), (2, 2), (4, 3)],
            "(S (NP (PRP Er)) (XX hat) (VP (NP (DT den) (NN Hund)) (VBD gesehen)) (. .))",
        ),
        (
            "Den sah er Hund",  # the object and its verb are both discontinuous
            [(2, 0), (1, 1), (0, 2), (4, 3)],
            "(S (DT Den) (VBD sah) (NP (PRP er)) (NN Hund))",
        ),
        ("ja", [], "(S (XX ja))"),
    ],
)
def test_phrases_are_projected_where_links_allow(target: str, links: list[Link], tree: str) -> None:
    found = carried(target, source(ENGLISH, *links))
    assert found.tree is not None and write_brackets(found.tree) == tree
    assert found.heads == []


@given(pair=linked_pairs(), brackets=st.sampled_from(["(S (A a) (X (B b) (C c)))", "(S (Y (X (A a) (B b))) (C c))"]))
def test_any_links_give_a_tree_of_phrases(pair: tuple[ParseRecord, list[Source]], brackets: str) -> None:
    target, (first, *_) = pair
    record = ParseRecord(tokens=["a", "b", "c"], tree=read_brackets(brackets))
    links = {(i % 3, j): score for (i, j), score in first.links.items()}
    found = projected(target, [Source(record, links)], ProjectionConfig())
    assert found.tree is not None
    found.tree.check()
    found.check()
