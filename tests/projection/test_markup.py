"""Inline markup projected over links: laws for random lines, and a slow twin of how elements are placed."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, product
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.projection.markup import EMPTY, LONGEST, MISSED, MOST_LINKS, MOST_WORDS, NEAR, SURE, WEAK, Example, placed
from synmt.streams import Line
from synmt.text.links import Link
from synmt.text.markup import MOST_ELEMENTS, Markup, Span, read_markup
from synmt.text.tokenization import spans_of
from tests.cli.commands import is_one_line_of_error, synmt
from tests.text.marked import marked_line, words_of

TARGET_WORDS = ["the", "house", "x1", "&", "<b>", "3,5", "日本", "…", "(", "?", "a"]
TAG = re.compile(r"<ph .*?</ph>|<[^<>]*(?:>\"[^<>]*)?>")


def example(source: random.Random, most: int = 6) -> Example:
    """Return a random line, an unrelated translation, and random links."""
    markup = read_markup(marked_line(source, most=most))
    words = markup.text.split()
    target = source.choices(TARGET_WORDS, k=source.randint(0, 6))
    text = "".join(f"{word}{source.choice(['', ' ', ' ', '  '])}" for word in target)
    every = list(product(range(len(words)), range(len(target))))
    links = {link: source.choice([1.0, 0.5, 0.25, 0.1]) for link in source.sample(every, source.randint(0, len(every)))}
    links = dict(list(links.items())[: source.choice([3, 100])])
    return Example(Line("", "", 0), markup, words, text, target, links)


def check(each: Example) -> None:
    """Raise AssertionError unless the laws hold for an example."""
    written = each.carried()
    root = ElementTree.fromstring(f"<line>{written}</line>")  # well-formed
    for element in each.markup.elements:  # each tag once, byte for byte
        assert written.count(element.opening) == 1
    assert len(re.findall(r' n="\d+"', written)) == sum(
        len(re.findall(r' n="\d+"', element.opening)) for element in each.markup.elements
    )
    above = {child.get("n"): parent.get("n") for parent in root.iter() for child in parent}
    for element in each.markup.elements:  # the nesting is unchanged
        number, *_ = re.findall(r' n="(\d+)"', element.opening)
        parent = each.markup.elements[element.parent].opening if element.parent >= 0 else ""
        assert (above[number] and f' n="{above[number]}"' in parent) or not (above[number] or parent)
    units = [element.opening for element in each.markup.elements if not element.closing]
    for unit in units:
        written = written.replace(unit, "")
    found = "".join(ElementTree.fromstring(f"<line>{written}</line>").itertext())
    assert words_of(found) == words_of(each.text) and 0 <= len(found) - len(each.text) <= 2 * len(units)
    assert units or found == each.text  # the translation, byte for byte


def inside_words(written: str, text: str, target: Sequence[str]) -> bool:
    """Return whether a tag in the output is inside a word of the text."""
    plain, tagged = "", set()
    position = 0
    for tag in TAG.finditer(written):
        plain += written[position : tag.start()]
        position = tag.end()
        tagged.add(len(words_of(plain.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))))
    ends, size = {0}, 0
    for word in target:
        size += len(word)
        ends.add(size)
    return not tagged <= ends


def test_ten_thousand_random_lines_keep_the_laws() -> None:
    """The output is well-formed. Each tag occurs once, unchanged, in the same parent element, and never inside a word.
    The translation's text is unchanged, except for white space next to elements without words."""
    for seed in range(10_000):
        each = example(random.Random(seed))
        check(each)
        assert not inside_words(each.carried(), each.text, each.target)


@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_other_random_lines_keep_the_laws(source: random.Random, most: int) -> None:
    check(example(source, most))


# The slow twin, written from the docstring of synmt.projection.markup.


def slow_placed(markup: Markup, words: Sequence[Span], links: Mapping[Link, float], length: int) -> list[Span]:
    scores = {link: round(score * SURE) for link, score in links.items()}
    for i, j in product(range(len(words)), range(length)):
        if stand_between(i, j, links, len(words), length):
            scores[i, j] = WEAK
    own = slow_words(markup, words)
    places: dict[int, Span] = {-1: (0, length)}
    for parent in (-1, *range(len(markup.elements))):
        mine = [number for number, element in enumerate(markup.elements) if element.parent == parent]
        all_words = set(range(len(words))) if parent < 0 else own[parent]
        for number in sorted(mine, key=lambda number: (-slow_best(own[number], scores, [places[parent]])[0], number)):
            if own[number] and own[number] == all_words:
                places[number] = places[parent]
            else:
                _, place = slow_best(own[number], scores, list(slow_free(places, mine, places[parent])))
                if place:
                    places[number] = place
        held = [places[number] for number in mine if number in places]
        for number in mine:
            if number not in places:
                begin = markup.elements[number].begin
                before = after = sum(first < begin for first, _ in words)
                if own[number]:
                    before, after = min(own[number]), max(own[number]) + 1
                gaps = [
                    gap
                    for gap in range(places[parent][0], places[parent][1] + 1)
                    if not any(first < gap < end for first, end in held)
                ]
                apart = markup.elements[number].apart
                best = max(gaps, key=lambda gap: (slow_votes(gap, before, after, apart, scores), -gap))
                places[number] = best, best
    return [places[number] for number in range(len(markup.elements))]


def stand_between(i: int, j: int, links: Mapping[Link, float], sources: int, targets: int) -> bool:
    """Return whether neither word is linked, and the nearest linked words on either side are linked to each other."""
    linked_i, linked_j = {i for i, _ in links} | {-1, sources}, {j for _, j in links} | {-1, targets}
    if i in linked_i or j in linked_j:
        return False
    known = {*links, (-1, -1), (sources, targets)}
    left = max(each for each in linked_i if each < i), max(each for each in linked_j if each < j)
    right = min(each for each in linked_i if each > i), min(each for each in linked_j if each > j)
    near = max(right[0] - left[0], right[1] - left[1]) <= LONGEST + 1
    return left in known and right in known and near


def slow_words(markup: Markup, words: Sequence[Span]) -> list[set[int]]:
    own: list[set[int]] = [set() for _ in markup.elements]
    for word, (first, end) in enumerate(words):
        parent = -1
        while True:
            shares = [
                (sum(element.begin <= place < element.end for place in range(first, end)), -number)
                for number, element in enumerate(markup.elements)
                if element.parent == parent
            ]
            if not shares or max(shares)[0] == 0:
                break
            parent = -max(shares)[1]
            own[parent].add(word)
    return own


def slow_free(places: Mapping[int, Span], mine: Sequence[int], whole: Span) -> Iterator[Span]:
    """Yield all spans inside `whole` that overlap no element that has a place already."""
    taken = {word for number in mine if number in places for word in range(*places[number])}
    for first, end in combinations_with_replacement(range(whole[0], whole[1] + 1), 2):
        if not taken & set(range(first, end)):
            yield first, end


def slow_best(own: set[int], scores: Mapping[Link, int], spans: Sequence[Span]) -> tuple[float, Span | None]:
    linked = {j for i, j in scores if i in own}
    found: list[tuple[float, int, int]] = []
    for whole in spans:
        for first, end in combinations_with_replacement(range(whole[0], whole[1] + 1), 2):
            if first in linked and end - 1 in linked and first < end:
                total = sum(score if i in own else -score for (i, j), score in scores.items() if first <= j < end)
                found.append((-total, end, -first))
    if not found:
        return float("-inf"), None
    least, end, first = min(found)
    return -least, (-first, end)


def slow_votes(gap: int, before: int, after: int, apart: tuple[bool, bool], scores: Mapping[Link, int]) -> int:
    votes: dict[tuple[int, bool], int] = {}
    for (i, j), score in scores.items():
        if before - NEAR <= i < before:
            between, goal = before - 1 - i, j + 1 + before - 1 - i
            touches, comes_after = between == 0 and not apart[0], False
        elif after <= i < after + NEAR:
            between, goal = i - after, j - (i - after)
            touches, comes_after = between == 0 and not apart[1], True
        else:
            continue
        votes[goal, comes_after] = votes.get((goal, comes_after), 0) + score * (1 + touches) // 2**between
    return sum(
        vote // 4 ** abs(gap - goal) // (2 if (gap > goal if comes_after else gap < goal) else 1)
        for (goal, comes_after), vote in votes.items()
        if abs(gap - goal) <= MISSED
    )


def test_the_slow_twin_agrees() -> None:
    for seed in range(1500):
        each = example(random.Random(seed))
        words = spans_of(each.source, each.markup.text)
        fast = placed(each.markup, words, each.links, len(each.target))
        assert fast == slow_placed(each.markup, words, each.links, len(each.target)), seed


# Typical lines.


def carried(source: str, target: str, links: str) -> str:
    markup = read_markup(source)
    known = {(int(i), int(j)): 1.0 for i, j in re.findall(r"(\d+)-(\d+)", links)}
    return Example(Line("", "", 0), markup, markup.text.split(), target, target.split(), known).carried()


@pytest.mark.parametrize(
    ("source", "target", "links", "written"),
    [
        # one-to-one links, and another word order
        ("<b>a</b> c", "A C", "0-0 1-1", "<b>A</b> C"),
        ("<b>a</b> <i>c</i>", "C A", "0-1 1-0", "<i>C</i> <b>A</b>"),
        ("<b>a <i>c</i></b> d", "D C A", "0-2 1-1 2-0", "D <b><i>C</i> A</b>"),
        # an element around the line stays there, even without links
        ("<p>a</p>", "A B C .", "", "<p>A B C .</p>"),
        ("<p><b>a</b></p>", "A B", "", "<p><b>A B</b></p>"),
        # one source span becomes two target spans: the larger one gets the element
        ("<b>gives it up</b> now", "gibt es jetzt ganz auf", "0-0 1-1 3-2 3-3 2-4", "<b>gibt es</b> jetzt ganz auf"),
        # both get it if no word between them is linked to other words
        ("<b>gives it up</b> now", "gibt es ja auf", "0-0 1-1 2-3", "<b>gibt es ja auf</b>"),
        # two elements share one target word: the second one becomes empty, next to the word
        ("<b>in</b> <i>the</i> house", "im Haus", "0-0 1-0 2-1", "<b>im</b><i></i> Haus"),
        # words without links between linked words
        ("a <b>b</b> c", "A B C", "0-0 2-2", "A <b>B</b> C"),
        ("a <b>b</b> c", "A C", "0-0 2-1", "A<b></b> C"),
        # half a word
        ("un<b>believ</b>able", "unglaublich", "0-0", "<b>unglaublich</b>"),
        ("<b>Hel</b><i>lo</i> you", "Hallo du", "0-0 1-1", "<b>Hallo</b><i></i> du"),
        # elements without words
        ("a<br/> b c", "C A B", "0-1 1-2 2-0", "C A<br/> B"),
        ("a <x/>b c", "B C A", "0-2 1-0 2-1", "<x/>B C A"),
        ("<b>a <x/> b</b> c", "C A B", "0-1 1-2 2-0", "C <b>A <x/> B</b>"),
        ("a <x/>", "A B", "", "A B <x/>"),
    ],
)
def test_typical_placements(source: str, target: str, links: str, written: str) -> None:
    assert carried(source, target, links) == written


def test_a_line_of_tags_alone_needs_no_translation() -> None:
    assert carried("<p><br/></p>", "", "") == "<p><br/></p>"
    assert EMPTY.carried() == ""


def test_a_line_whose_words_are_not_in_the_text_is_a_bad_line() -> None:
    line = "<b>DOTMULTI</b> a\tx y\t0-0\n"  # which the Moses tokenizer uses itself
    assert is_one_line_of_error(synmt("project", "--markup", text=line), "stdin:1: the token '.' is not in the text")


def test_time_is_bounded_for_any_line() -> None:
    """This would take a minute or more if each element were compared with each pair of words."""
    words = [f"w{number}" for number in range(MOST_WORDS)]
    every = [(i, j) for i in range(0, MOST_WORDS, 8) for j in range(MOST_LINKS * 8 // MOST_WORDS)]
    units = "".join(f"<x/>{word} " for word in words)
    deep = "<b>" * MOST_ELEMENTS + " ".join(words) + "</b>" * MOST_ELEMENTS
    for line in (units, deep):
        markup = read_markup(line)
        each = Example(Line("", "", 0), markup, words, " ".join(words), words, dict.fromkeys(every, 1.0))
        assert len(each.carried()) > len(line) - 2
