"""Inline markup, read and written."""

import random
import re
from xml.etree import ElementTree

import pytest

from synmt.text.markup import Markup, Place, Span, read_markup, write_markup
from synmt.text.tags import MOST_ELEMENTS, MarkupError
from tests.text.marked import html_line, marked_line, words_of


def spans(text: str) -> list[Span]:
    return [found.span() for found in re.finditer(r"\S+", text)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", ""),
        ("no markup", "no markup"),
        ("<b>two</b> <i>words</i>", "two words"),
        ("H<u>e</u>llo", "Hello"),
        ("Space<br>please", "Space please"),
        ("Space<BR/>please", "Space please"),
        ("a long<wbr>word", "a longword"),
        ("<p>One.</p><p>Two.</p>", "One.Two."),
        ("<li>One</li><li>Two</li>", "One Two"),
        ("You have <x id='1'/> messages", "You have messages"),
        ("Hello <x id='1'/>, you", "Hello , you"),
        ("<x id='1'/> Hello", "Hello"),
        ('the <ph id="1">&lt;img src=<sub>"a"</sub>&gt;</ph> picture', "the picture"),
        ("a<!-- no <b> tag -->b<?php 1 > 2 ?>", "ab"),
        ("<script>if (a < b) f('</b>');</script>then", "then"),
        ("R&D &amp; AT&T &lt;tag&gt; &eacute; &#233; &#xE9; &nbsp;&amp", "R&D & AT&T <tag> é é é \u00a0&"),
        (
            "Q&A; AT&T &nosuch; &copy 2 &#233 &#0233; &notin; &notit; &#150; &Tab;&#10;x",
            "Q&A; AT&T &nosuch; © 2 é é ∉ ¬it; –   x",
        ),
        ('<img alt="a <b> c" title=\'"<\'>x <a href=x?a=1&b=/ class>y</a>', "x y"),
        ("<!DOCTYPE html><html><head><body><p>a<P>b</html>", "a b"),
        ("<UL><li>a<li>b<ul><li>c<li>d</ul><LI>e</UL>", "a b c d e"),
        ("<dl><dt>a<dd>b<p>c<dt>d</dl><p>e<div>f</div>g<hr>", "a b c d e f g"),
        (
            "<table><caption>a<colgroup><col><thead><tr><th>b<tbody><tr><td>c<td>d<tr><td>e<tfoot><tr><td>f</table>",
            "a b c d e f",
        ),
        ("<select><optgroup><option>a<option selected>b<optgroup><option>c</select>", "a b c"),
        ("<ruby>x<rp>(<rt>y<rp>)</ruby>", "x(y)"),
        ("<td>a<td>b", "a b"),
        ("<script-x>a</script-x> <style-guide>b</style-guide><!-- > -->c<!-- a - - b -->", "a bc"),
        (
            "a <code>x &foo; y</code> <kbd>b</kbd> <samp>c</samp> <var>d</var> <pre> e</pre> <math><mi>f</mi></math> g",
            "a g",
        ),
        ("<svg><![CDATA[<b>]]><style>b{}</style><path d='M1'/></svg>x<textarea>a <b> c</textarea>", "x"),
        ("a <b translate=no>b</b> <b TRANSLATE='NO'>c</b> <b class='x notranslate'>d</b> <b class=no>e</b>", "a e"),
        ("<mrk mtype='protected'>a</mrk> <mrk mtype='term'>b</mrk> <g its:translate='no'>c</g>", "b "),
        ("<p translate=no>a <b translate=yes>b <code>c</code></b> d <code translate=yes>e</code> f</p> g", "b e g"),
        ("<code translate>a</code> <code translate=yes>b <kbd>c</kbd></code>", "a b "),
        ("Mark<bpt i='1'>[</bpt>up<ept i='1'>]</ept> x<it pos='begin'>[</it>y<bx id='1'/>z", "Markup x y z"),
        ("ẹ̀<br>kọ́<br/>e\u0301<br>क<br>कि<p>x", "ẹ̀ kọ́ e\u0301 क कि x"),
        ("5 > 3", "5 > 3"),
    ],
)
def test_markup_is_read(line: str, text: str) -> None:
    assert read_markup(line).text == text


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("<b>x", "<b> is not closed"),
        ("<script>x", "<script> is not closed"),
        ("x</b>", "character 2: '</b>', but no <b> is open"),
        ("<b><i>x</b></i>", "character 8: '</b>', but </i> should come first"),
        ("<ul><li><b>x<li>y</b></ul>", "character 13: '<li>', but </b> should come first"),
        ("<b><bpt i='1'/><i>x</b><ept i='1'/></i>", "'</b>', but </i> should come first"),
        ("<p>x<div>y</div></p>", "character 17: '</p>', but <div> has ended the <p>"),
        ("<p><i>a <b>x<p>y</b></i></p>", "'<p>', but </b> should come first"),
        ("<li>x</b>", "'</b>', but no <b> is open"),
        ("<svg><path></svg>", "'</svg>', but </path> should come first"),
        ("<textarea>x", "<textarea> is not closed"),
        ("<!-->x-->", "'<!-->x-->' does not begin a tag"),
        ("<!-- a --!> b", "does not begin a tag"),
        ("<a b='1'c>x</a>", "does not begin a tag"),
        ("<br>x</br>", "'</br>', but no <br> is open"),
        ("a < b", "'<' does not begin a tag; write &lt;"),
        ("<3", "'<3' does not begin a tag"),
        ("<b x</b>", "'<b' does not begin a tag"),
        ('<a href="x>y</a> <a href="z">w</a>', "'<a' does not begin a tag"),
        ("<!-- x", "'<!--' does not begin a tag"),
        ("a<![CDATA[x]]>", "character 2: a CDATA section outside <svg> and <math>; write &lt;"),
        ("</b x>", "'</b' does not begin a tag"),
        ("x &#1;", "character 3: &#1; is not a text character"),
        ("&#129;", "&#129; is not a text character"),
        ("&#0;", "&#0; is not a text character"),
        ("&#xFFFF;", "&#xFFFF; is not a text character"),
        (f"&#{'9' * 5000};", "is not a text character"),
        ("&#xD800;", "&#xD800; is not a text character"),
        ("&#x110000;", "&#x110000; is not a text character"),
        ("<br>" * (MOST_ELEMENTS + 1), f"more than {MOST_ELEMENTS} elements"),
    ],
)
def test_bad_markup_is_refused(line: str, cause: str) -> None:
    with pytest.raises(MarkupError, match=re.escape(cause)):
        read_markup(line)


def test_time_is_linear_in_the_length_of_a_line() -> None:
    """These lines would take minutes if the end of a tag were searched for more than once, or if text were copied."""
    for part in (
        *(
            "<script>",
            "<!--",
            "<a ",
            '<a b="',
            "&",
            "<a b =",
            "&amp;",
            "< ",
            "<?",
            "<!doctype ",
            "<![CDATA[",
            "&#1",
            "&a",
        ),
        *("<b>", "<b></b>", "<li>", "<tr><li>", "<p><b>", "<code>", "<svg><i/>", "<bx/>", '<p translate="no">x'),
    ):
        line = part * 30_000
        try:
            read_markup(line)
        except MarkupError:
            continue
        assert part.startswith("&")


def test_another_parser_reads_the_same() -> None:
    """The test compares the text, the elements and their parents, for lines that are also XML."""
    for seed in range(2000):
        line = marked_line(random.Random(seed))
        markup = read_markup(line)
        root = ElementTree.fromstring(f"<line>{line}</line>")
        for code in root.iter("ph"):
            code.text = ""
            code.remove(code[0])
        assert words_of(markup.text) == words_of(" ".join(root.itertext())), line
        opened = [each.get("n") for each in root.iter() if each.get("n")]
        found = [number for each in markup.elements for number in re.findall(r' n ?= ?"(\d+)"', each.opening)]
        assert found == opened, line
        above = {child: each for each in root.iter() for child in each}
        number_of = {each.get("n"): each for each in root.iter()}
        for each in markup.elements:
            number = re.findall(r' n ?= ?"(\d+)"', each.opening)[0]
            parent = above[number_of[number]].get("n")
            held_by = markup.elements[each.parent].opening if each.parent >= 0 else ""
            assert (f'"{parent}"' in held_by) if parent else each.parent == -1
            if each.closing:
                inside = "".join(number_of[number].itertext())
                assert words_of(markup.text[each.begin : each.end]) == words_of(inside), line


def test_left_out_end_tags_of_html_change_nothing() -> None:
    for seed in range(500):
        short, long = html_line(random.Random(seed))
        found, expected = read_markup(short), read_markup(long)
        assert found.text == expected.text
        for one, other in zip(found.elements, expected.elements, strict=True):
            assert (one.opening, one.parent, one.begin, one.end) == (
                other.opening,
                other.parent,
                other.begin,
                other.end,
            )


def test_lines_with_unmoved_words_stay_unchanged() -> None:
    """The line stays the same byte for byte if end tags come before white space and start tags after it."""
    for seed in range(2000):
        line = marked_line(random.Random(seed), tidy=True)
        markup = read_markup(line)
        words = spans(markup.text)
        starts, ends = [first for first, _ in words], [end for _, end in words]
        places = []
        for each in markup.elements:
            first = sum(end <= each.begin for end in ends)
            places.append(Place(first, max(first, sum(start < each.end for start in starts)), each.parent))
        assert write_markup(markup, markup.text.rstrip(), words, places) == line


@pytest.mark.parametrize(
    ("source", "target", "place", "written"),
    [
        ("a <br/>b", "A B", 1, "A <br/>B"),
        ("a<br/> b", "A B", 1, "A<br/> B"),
        ("a<br/>b", "A B", 1, "A<br/> B"),
        ("a <x/> b", "A B", 1, "A <x/> B"),
        ("a <x/> b", "A B", 0, "<x/> A B"),
        ("a <x/> b", "A B", 2, "A B <x/>"),
        ("a <x/>, b", "A , B", 1, "A <x/>, B"),
        ("<x/> a", "A B", 1, "A <x/> B"),
        ("<x/>a", "A B", 1, "A <x/>B"),
        ("a <x/><y/> b", "A B", 1, "A <x/><y/> B"),
        ("a <x/> <y/> b", "A B", 1, "A <x/> <y/> B"),
        ("a <x/> b", "", 0, "<x/>"),
        ("a <a href='x'> <img/> </a> b", "  A  B ", 1, "  A  <a href='x'> <img/> </a> B "),
        ("a <x/> b", "<A> & B", 2, "&lt;A&gt; &amp; <x/> B"),
    ],
)
def test_an_element_without_words_keeps_the_white_space_around_it(
    source: str, target: str, place: int, written: str
) -> None:
    markup = read_markup(source)
    places = [Place(place, place, element.parent) for element in markup.elements]
    assert write_markup(markup, target, spans(target), places) == written


def test_end_tags_come_before_white_space_and_start_tags_after_it() -> None:
    markup = read_markup("<b>a<x/></b> <y/> <i><z/>b</i>")
    for places, written in (
        ([(0, 1), (1, 1), (1, 1), (1, 2), (1, 1)], "<b>A<x/></b>  <y/> <i><z/>B</i>"),
        ([(0, 0), (0, 0), (0, 0), (0, 2), (2, 2)], "<b><x/></b> <y/> <i>A  B <z/></i>"),
    ):
        all_places = [Place(*span, each.parent) for span, each in zip(places, markup.elements, strict=True)]
        assert write_markup(markup, "A  B", spans("A  B"), all_places) == written
    assert write_markup(Markup("", []), "A <  B", spans("A <  B"), []) == "A &lt;  B"
