"""Inline markup projected over links: laws for random lines, and a slow twin of how elements are placed."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, product
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.projection.markup import EMPTY, LONGEST, MISSED, MOST_LINKS, MOST_WORDS, NEAR, SURE, WEAK, MarkedLine, placed
from synmt.streams import Line
from synmt.text.links import Link
from synmt.text.markup import Markup, Place, Span, read_markup
from synmt.text.tags import MOST_ELEMENTS
from synmt.text.tokenization import spans_of
from tests.cli.commands import is_one_line_of_error, synmt
from tests.projection import promises
from tests.text.marked import marked_line, words_of

TARGET_WORDS = ["the", "house", "x1", "&", "<b>", "3,5", "日本", "…", "(", "?", "a"]
TAG = re.compile(r"<ph .*?</ph>|<[^<>]*(?:>\"[^<>]*)?>")


def example(source: random.Random, most: int = 6) -> MarkedLine:
    """Return a random line, an unrelated translation, and random links."""
    markup = read_markup(marked_line(source, most=most))
    words = markup.text.split()
    target = source.choices(TARGET_WORDS, k=source.randint(0, 6))
    text = "".join(f"{word}{source.choice(['', ' ', ' ', '  '])}" for word in target)
    every = list(product(range(len(words)), range(len(target))))
    links = {link: source.choice([1.0, 0.5, 0.25, 0.1]) for link in source.sample(every, source.randint(0, len(every)))}
    links = dict(list(links.items())[: source.choice([3, 100])])
    return MarkedLine(Line("", "", 0), markup, words, text, target, links)


def check(each: MarkedLine) -> None:
    """Raise AssertionError unless the laws hold for an example."""
    written = each.carried()
    root = ElementTree.fromstring(f"<line>{written}</line>")  # well-formed
    for element in each.markup.elements:  # each tag once, byte for byte
        assert written.count(element.opening) == 1
    assert len(re.findall(r' n="\d+"', written)) == sum(
        len(re.findall(r' n="\d+"', element.opening)) for element in each.markup.elements
    )
    above = {child.get("n"): parent.get("n") for parent in root.iter() for child in parent}
    for element in each.markup.elements:  # each element is still inside its parent
        number, *_ = re.findall(r' n="(\d+)"', element.opening)
        around = []
        while number := above[number]:
            around.append(f' n="{number}"')
        assert element.parent < 0 or any(one in each.markup.elements[element.parent].opening for one in around)
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
    """The output is well-formed. Each tag occurs once, unchanged, inside its parent element, and never inside a word.
    The translation's text is unchanged, except for white space next to elements without words."""
    for seed in range(10_000):
        each = example(random.Random(seed))
        check(each)
        assert not inside_words(each.carried(), each.text, each.target)


@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_other_random_lines_keep_the_laws(source: random.Random, most: int) -> None:
    check(example(source, most))


def test_random_lines_in_many_languages_keep_the_promises_of_the_docs() -> None:
    """`python -m tests.projection.promises 22000` tries more lines."""
    for seed in [*range(1000), 5920, 13289]:
        promises.check(seed)


# The slow twin, written from the docstring of synmt.projection.markup.


def slow_placed(markup: Markup, words: Sequence[Span], links: Mapping[Link, float], length: int) -> list[Place]:
    scores = {link: round(score * SURE) for link, score in links.items()}
    for i, j in product(range(len(words)), range(length)):
        if stand_between(i, j, links, len(words), length):
            scores[i, j] = WEAK
    own = slow_words(markup, words)
    held: dict[int, list[int]] = {-1: [], **{number: [] for number in range(len(markup.elements))}}
    for number, element in enumerate(markup.elements):
        held[element.parent].append(number)
    places = {-1: Place(0, length, -1)}
    due = [-1]
    while due:
        parent = due.pop(0)
        whole = places[parent][:2]
        mine = held[parent]
        all_words = set(range(len(words))) if parent < 0 else own[parent]
        taken: dict[int, Span] = {}
        last: dict[int, int] = {}

        def into(sibling: int, number: int, taken: dict[int, Span] = taken, last: dict[int, int] = last) -> None:
            first, end = taken[sibling]
            has_link = "a" in names_in(markup, number)
            held[sibling if has_link else last.get(sibling, sibling)].append(number)
            if end - first == 1 and not has_link:
                last[sibling] = number

        claims = {number: slow_best(own[number], scores, [whole])[0] for number in mine if own[number]}
        for number in sorted(claims, key=lambda number: (own[number] != all_words, -claims[number])):
            place = whole if own[number] == all_words and not taken else None
            place = place or slow_best(own[number], scores, list(slow_free(taken, whole)))[1]
            if place:
                taken[number] = place
        for number in claims:
            if number in taken:
                continue
            siblings = [each for each in taken if may_hold(markup, places, parent, each, number)]
            _, place = slow_best(own[number], scores, [taken[each] for each in siblings])
            if place:
                into(next(each for each in siblings if {*range(*place)} <= {*range(*taken[each])}), number)
                continue
            gap = slow_gap(markup, words, own, scores, number, taken, whole)
            singles = [(word, word + 1) for word in range(*whole) if word not in words_in(taken)]
            near = [(away(gap, span), first, -1) for first, span in enumerate(singles)]
            near += [(away(gap, taken[each]), len(words), each) for each in siblings if taken[each][0] < taken[each][1]]
            near = [each for each in near if each[0] == min(near)[0]]
            if not near:
                taken[number] = gap, gap
            elif near[0][2] < 0:
                follows = [first for _, first, sibling in near if sibling < 0]
                taken[number] = singles[max(follows) if near[0][0] == 0 else follows[0]]
            else:
                into(near[0][2], number)
        for number in mine:
            if not own[number]:
                gap = slow_gap(markup, words, own, scores, number, taken, whole)
                taken[number] = gap, gap
        places |= {number: Place(*span, parent) for number, span in taken.items()}
        due += [number for number in taken if held[number]]
    return [places[number] for number in range(len(markup.elements))]


def away(gap: int, span: Span) -> int:
    return min(abs(gap - place) for place in range(span[0], span[1] + 1))


def words_in(taken: Mapping[int, Span]) -> set[int]:
    return {word for span in taken.values() for word in range(*span)}


def names_in(markup: Markup, number: int) -> set[str]:
    inside = [each for each, element in enumerate(markup.elements) if element.parent == number]
    return {markup.elements[number].name}.union(*(names_in(markup, each) for each in inside))


def may_hold(markup: Markup, places: Mapping[int, Place], parent: int, outer: int, inner: int) -> bool:
    """Return whether no link would be inside another one."""
    around = [outer]
    while parent >= 0:
        around.append(parent)
        parent = places[parent].parent
    return not ("a" in names_in(markup, inner) and "a" in {markup.elements[each].name for each in around})


def slow_gap(
    markup: Markup,
    words: Sequence[Span],
    own: Sequence[set[int]],
    scores: Mapping[Link, int],
    number: int,
    taken: Mapping[int, Span],
    whole: Span,
) -> int:
    begin = markup.elements[number].begin
    before = after = sum(first < begin for first, _ in words)
    if own[number]:
        before, after = min(own[number]), max(own[number]) + 1
    gaps = [gap for gap in range(whole[0], whole[1] + 1) if not any(first < gap < end for first, end in taken.values())]
    return max(gaps, key=lambda gap: (slow_votes(gap, before, after, markup.elements[number].apart, scores), -gap))


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
    for each, element in zip(own, markup.elements, strict=True):
        inside = {*range(element.begin, element.end)}
        each |= set() if each else {word for word, span in enumerate(words) if inside & {*range(*span)}}
    return own


def slow_free(taken: Mapping[int, Span], whole: Span) -> Iterator[Span]:
    """Yield all spans inside `whole` with only words that no element has."""
    for first, end in combinations_with_replacement(range(whole[0], whole[1] + 1), 2):
        if not words_in(taken) & {*range(first, end)}:
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
    return MarkedLine(Line("", "", 0), markup, markup.text.split(), target, target.split(), known).carried()


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
        # two elements share one target word: the second one goes into the first
        ("<b>in</b> <i>the</i> house", "im Haus", "0-0 1-0 2-1", "<b><i>im</i></b> Haus"),
        ("<a>in</a> <b><a>the</a></b> house", "im Haus", "0-0 1-0 2-1", "<a>im</a> <b><a>Haus</a></b>"),
        ("<li>in<li>the house", "im Haus", "0-0 1-0", "<li>im <li>Haus"),
        ("<li>in<li>the", "im", "0-0 1-0", "<li>im<li>"),
        # words without links between linked words
        ("a <b>b</b> c", "A B C", "0-0 2-2", "A <b>B</b> C"),
        ("a <b>b</b> c", "A C", "0-0 2-1", "A <b>C</b>"),
        ("a <b>b</b> <i>c</i>", "A", "0-0", "<b><i>A</i></b>"),
        # half a word
        ("un<b>believ</b>able", "unglaublich", "0-0", "<b>unglaublich</b>"),
        ("<b>Hel</b><i>lo</i> you", "Hallo du", "0-0 1-1", "<b><i>Hallo</i></b> du"),
        # a part of a word that stays the same
        ("H<sub>2</sub>O <b>is</b>", "ist H2O", "0-1 1-0", "<b>ist</b> H<sub>2</sub>O"),
        ("<b>the H</b>2<i>O is</i>", "das H2O ist", "0-0 1-1 2-2", "<b>das H</b>2<i>O ist</i>"),
        ("H<sub>2</sub>O CO<sub>2</sub>", "CO2 H2O", "0-1 1-0", "CO<sub>2</sub> H<sub>2</sub>O"),
        ("H<sub>2</sub>O", "H2O H2O", "0-1", "H2O H<sub>2</sub>O"),
        ("H<sub>2</sub>O <b>x</b>", "H2O X", "0-0 1-0", "<sub><b>H2O</b></sub> X"),  # b would begin inside the word
        ("a<wbr>b c", "c ab", "0-1 1-0", "c a<wbr>b"),
        # elements without words
        ("a<br/> b c", "C A B", "0-1 1-2 2-0", "C A<br/> B"),
        ("a <x/>b c", "B C A", "0-2 1-0 2-1", "<x/>B C A"),
        ("<b>a <x/> b</b> c", "C A B", "0-1 1-2 2-0", "C <b>A <x/> B</b>"),
        ("a <x/>", "A B", "", "A B <x/>"),
    ],
)
def test_typical_placements(source: str, target: str, links: str, written: str) -> None:
    assert carried(source, target, links) == written


BOLD = '<bpt i="1">[b]</bpt>', '<ept i="1">[/b]</ept>'


@pytest.mark.parametrize(
    ("source", "target", "links", "written"),
    [
        # a pair of codes is an element
        (f"Bitte {BOLD[0]}das Haus{BOLD[1]} rot", "red the house please", "0-3 1-1 2-2 3-0",
         f"red {BOLD[0]}the house{BOLD[1]} please"),
        (f"Bitte {BOLD[0]}das Haus{BOLD[1]} rot", "house red the", "1-2 2-0 3-1", f"{BOLD[0]}house{BOLD[1]} red the"),
        (f"Bitte {BOLD[0]}das Haus{BOLD[1]} rot", "please red", "0-0 3-1", f"please {BOLD[0]}red{BOLD[1]}"),
        (f"{BOLD[0]}das{BOLD[1]} <i>Haus</i>", "house", "0-0 1-0", f"{BOLD[0]}<i>house</i>{BOLD[1]}"),
        ('<bx id="1"/>a<ex id="1"/> c', "C A", "0-1 1-0", 'C <bx id="1"/>A<ex id="1"/>'),
        ('<bx id="1" rid="7"/>a<ex id="2" rid="7"/> c', "C A", "0-1 1-0",
         'C <bx id="1" rid="7"/>A<ex id="2" rid="7"/>'),
        ('<sc id="1"/>a<ec startRef="1"/> c', "C A", "0-1 1-0", 'C <sc id="1"/>A<ec startRef="1"/>'),
        ('<sm id="1"/>a<em startRef="1"/> <em>c</em>', "C A", "0-1 1-0", '<em>C</em> <sm id="1"/>A<em startRef="1"/>'),
        ('<bpt i="1"/>a<bpt i="2"/> b<ept i="2"/><ept i="1"/> c', "C B A", "0-2 1-1 2-0",
         'C <bpt i="1"/><bpt i="2"/>B<ept i="2"/> A<ept i="1"/>'),
        # pairs of codes that overlap each other, or another element
        ('<sc id="1"/>a <sc id="2"/>b<ec startRef="1"/> c<ec startRef="2"/>', "C B A", "0-2 1-1 2-0",
         '<sc id="2"/>C <sc id="1"/>B<ec startRef="2"/> A<ec startRef="1"/>'),
        ('<g>a <sc id="2"/>b</g> c<ec startRef="2"/> d', "D A B C", "0-1 1-2 2-3 3-0",
         'D <g>A <sc id="2"/>B</g> C<ec startRef="2"/>'),
        ('<sc id="2"/>a <g>b<ec startRef="2"/> c</g>', "B C A", "0-2 1-0 2-1",
         '<sc id="2"/><g>B<ec startRef="2"/> C</g> A'),
        ('<sc id="2"/>a <g>b</g> <bx id="1"/>c<ec startRef="2"/> d<ex id="1"/>', "B1 B2 C A D", "0-3 1-0 1-1 2-2 3-4",
         '<sc id="2"/><g>B1 B2</g> <bx id="1"/>C<ex id="1"/> A<ec startRef="2"/> D'),
        # codes that are no pair
        ('a <bpt i="1"/>b <ept i="2"/>c', "A B C", "0-0 1-1 2-2", 'A <bpt i="1"/>B <ept i="2"/>C'),
        ('a <ec id="1" isolated="yes"/> b', "A B", "0-0 1-1", 'A <ec id="1" isolated="yes"/> B'),
        # content that is not translated
        ("Run <code>ls  -l &foo;</code> now", "Jetzt los", "0-1 1-0", "<code>ls  -l &foo;</code> Jetzt los"),
        ("a <b translate=no>X <i>y</i></b>, b", "A , B", "0-0 1-1 2-2", "A <b translate=no>X <i>y</i></b>, B"),
        ('<p translate="no">foo <b>x</b> <i translate="yes">a</i> baz <i translate="yes">b</i>!</p> c', "C B A",
         "0-2 1-1 2-0", 'C <p translate="no">foo <b>x</b> <i translate="yes">B</i> baz <i translate="yes">A</i>!</p>'),
        # marks, joiners and soft hyphens
        ("<b>a</b> b", "e\u0301a b", "0-0 1-1", "<b>e\u0301a</b> b"),
    ],
)  # fmt: skip
def test_codes_and_content_that_is_not_translated(source: str, target: str, links: str, written: str) -> None:
    assert carried(source, target, links) == written


@pytest.mark.parametrize(
    "words",
    [
        ("re", "\u0301sume\u0301"), ("e\u0323", "\u0300"), ("か", "\u3099"), ("\u1112", "\u1161"),
        ("เ\u0e01", "\u0e49า"), ("👍", "🏽"), ("🇩", "🇪"), ("👩", "\u200d👧"), ("👩\u200d", "👧"),
        ("❤", "\ufe0f"), ("1", "\ufe0f\u20e3"),
        ("EGKS\u00ad", "Vertrag"), ("EGKS", "\u00adVertrag"), ("می\u200c", "خواهم"), ("می", "\u200cخواهم"),
        ("क्", "\u200dष"), ("क्\u200d", "ष"), ("e\u0301\u00ad", "x"), ("葛", "\U000e0100"),
    ],
)  # fmt: skip
def test_no_tag_is_inside_a_grapheme_cluster_whatever_the_words(words: tuple[str, str]) -> None:
    """The element goes around all words that share a cluster, or that a joiner or a soft hyphen joins."""
    for number in range(2):
        markup = read_markup("<b>a</b> <x/>b")
        links = {(0, number): 1.0, (1, 1 - number): 1.0}
        whole = "".join(words)
        written = MarkedLine(Line("", "", 0), markup, ["a", "b"], f"{whole} c", [*words, "c"], links).carried()
        assert f"<b>{whole}</b>" in written and written.replace("<x/>", "").split() == [f"<b>{whole}</b>", "c"]


def test_a_line_of_tags_alone_needs_no_translation() -> None:
    assert carried("<p><br/></p>", "", "") == "<p><br/></p>"
    assert EMPTY.carried() == ""


def test_a_line_whose_words_are_not_in_the_text_is_a_bad_line() -> None:
    line = "<b>DOTMULTI</b> a\tx y\t0-0\n"  # which the Moses tokenizer uses itself
    assert is_one_line_of_error(
        synmt("markup", "--tokenizer", "moses", text=line), "stdin:1: the token '.' is not in the text"
    )


def test_time_is_bounded_for_any_line() -> None:
    """This would take a minute or more if each element were compared with each pair of words, or with each element."""
    words = [f"w{number}" for number in range(MOST_WORDS)]
    every = [(i, j) for i in range(0, MOST_WORDS, 8) for j in range(MOST_LINKS * 8 // MOST_WORDS)]
    units = "".join(f"<x/>{word} " for word in words)
    deep = "<b>" * MOST_ELEMENTS + " ".join(words) + "</b>" * MOST_ELEMENTS
    flat = " ".join(f"<i>{word}</i>" for word in words)
    steps = "".join(f"<b>{word} " for word in words[:500]) + "</b>" * 500
    steps += " ".join(f"<i>{word}</i>" for word in words[500:])
    inside = " ".join(f"w<i>{word[1:]}</i>" for word in words)
    for line, size in (
        (units, MOST_WORDS),
        (deep, MOST_WORDS),
        (flat, MOST_WORDS),
        (flat, 1),
        (steps, 1),
        (inside, 100),
    ):
        links = {(i, j % size): 1.0 for i, j in every}
        each = MarkedLine(Line("", "", 0), read_markup(line), words, " ".join(words[:size]), words[:size], links)
        assert each.carried().count("<") == line.count("<")
