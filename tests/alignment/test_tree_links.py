from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.derived import tree_links
from synmt.text.links import Link
from synmt.trees.record import ParseRecord
from tests.trees.strategies import dependency_records

# Er hat den Zwerg gesehen / he saw the gnome
SEEN = ParseRecord(
    tokens=["er", "hat", "den", "Zwerg", "gesehen"], upos=["PRON", "AUX", "DET", "NOUN", "VERB"], heads=[5, 5, 4, 5, 0]
)
SAW = ParseRecord(tokens=["he", "saw", "the", "gnome"], upos=["PRON", "VERB", "DET", "NOUN"], heads=[2, 0, 4, 2])


def test_unlinked_words_next_to_linked_ones_in_both_trees_are_linked() -> None:
    assert tree_links({(0, 0), (4, 1)}, SEEN, SAW) == {
        (3, 3)
    }  # the gnome; the heads of the articles have no links before this
    assert tree_links({(0, 0), (4, 1), (3, 3)}, SEEN, SAW) == {(2, 2)}
    assert tree_links({(0, 0)}, SEEN, SAW) == {(4, 1)}
    assert tree_links({(0, 0), (1, 1)}, SEEN, SAW) == set()  # the verb has a link
    assert tree_links(set(), SEEN, SAW) == set()


@st.composite
def linked_records(draw: st.DrawFn) -> tuple[set[Link], ParseRecord, ParseRecord]:
    records = []
    for _ in range(2):
        record = draw(dependency_records())
        record.upos = [draw(st.sampled_from(["NOUN", "VERB"])) for _ in record.tokens]
        records.append(record)
    source, target = records
    words = st.tuples(*(st.integers(0, len(record.tokens) - 1) for record in records))
    return draw(st.sets(words, max_size=4)), source, target


@given(linked_records())
def test_tree_links_match_their_definition(given: tuple[set[Link], ParseRecord, ParseRecord]) -> None:
    links, source, target = given

    def is_above(head: int, word: int, record: ParseRecord) -> bool:
        return record.heads[word] == head + 1

    expected = set()
    for i, j in product(range(len(source.tokens)), range(len(target.tokens))):
        free = all(i != u and j != v for u, v in links)
        heads = any(is_above(u, i, source) and is_above(v, j, target) for u, v in links)
        some_dependents = any(is_above(i, u, source) and is_above(j, v, target) for u, v in links)
        if free and source.upos[i] == target.upos[j] and (heads or some_dependents):
            expected.add((i, j))
    assert tree_links(links, source, target) == expected
