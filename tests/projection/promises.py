"""The promises of docs/markup.md, checked on random lines in many languages.

python -m tests.projection.promises 22000
"""

import html
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

import regex

from synmt.projection.markup import MarkedLine
from synmt.streams import Line
from synmt.text.markup import read_markup
from tests.text.marked import words_of

LANGUAGES = {
    "en": "water isn't H2O 3,5 (sic) x<y R&D don’t e-mail",
    "de": "Straße EGKS\u00adVertrag Ge\u00adset\u00adze €500 Grüße U-Bahn",
    "fr": "l’amitié «\u202fmot\u202f» qu’il re\u0301sume\u0301 6\u00a0%",
    "tr": "Obama'nın İstanbul’da I\u0307 ığdır",
    "yo": "ẹ̀kọ́ Yorùbá e\u0323\u0300ko\u0323\u0301 òun",
    "vi": "tie\u0302\u0301ng Việt nu\u031bo\u031b\u0301c người",
    "ru": "за\u0301мок замо\u0301к Москва",
    "fa": "می\u200cخواهم کتاب\u200cها نامه\u200cای خانه",
    "ar": "كِتَابٌ اللُّغَةُ هذا",
    "he": "שָׁלוֹם עִבְרִית זה",
    "th": "ภาษาไทย ที่นี่ กำลัง",
    "km": "ភាសា\u200bខ្មែរ ក្រុង",
    "hi": "हिन्दी क्\u200dष क्ष श्री",
    "zh": "中文 我們 句子。 葛\U000e0100",
    "ja": "日本語 が\u3099 です。",
    "ko": "한국어 \u1112\u1161\u11ab글",
    "emoji": "👍🏽 🇩🇪🇫🇷 👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 🏴\u200d☠\ufe0f",
}
LETTERS = r"\p{L}\p{M}\p{N}"
JOINERS = "\u00ad\u200c\u200d\u2060"
INLINE = ["b", "I", "em", "a", "g", "mrk", "span", "pc", "u", "sub", "DIV"]
UNITS = ["br", "x", "IMG", "wbr", "hr", "it", "ept", "ex", "ph"]
CODES = [("bpt", "ept", "i", "i"), ("bx", "ex", "rid", "rid"), ("sc", "ec", "id", "startRef"), ("bx", "ex", "id", "id")]
ATTRIBUTES = ["", ' href="x?a=1&amp;b"', " id='z1'", ' class = "p  q"', ' title="a <b> c"', " xml:lang='d\"e'", " off"]
HIDDEN = [
    "<code {}>ls  -l &nosuch; | x</code>", "<kbd {}>C</kbd>", "<svg {}><path d='M 0'/><g>é  e\u0301</g></svg>",
    '<b translate="no" {}>Do <i>not</i></b>', '<g class="x notranslate" {}> 👍🏽 </g>', "<math {}><mi>x</mi></math>",
    '<mrk mtype="protected" {}>a <x/> b</mrk>', "<script {}>if (a<b) '</b>'</script>", "<!-- {} <b> -->", "<?php {} ?>",
    "<var {}>x</VAR>", '<mrk translate="no" {}>A&amp;B</mrk>', "<pre {}> x\u00a0 y </pre>",
    "<textarea {}>a <b> c</textarea>", '<sm translate="no" {}/>a<em startRef="" {}/>',
]  # fmt: skip
STRICT = {"a", "DIV", "li"}  # elements that may stay empty if another one has their words
LESS = re.compile("<")
END = re.compile(r"</([\w.:-]+)\s*>")


@dataclass
class Known:
    """An element as it was made. parents: the elements around it, outermost first; words: the text inside."""

    opening: str
    closing: str
    parents: list[int]
    words: str = ""
    strict: bool = False  # whether it may stay empty, like all elements inside
    codes: bool = False  # whether it is a pair of codes


@dataclass
class Made:
    """A line of random markup, made piece by piece."""

    source: random.Random
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    known: list[Known] = field(default_factory=list)
    line: str = ""
    words: str = ""  # without white space
    inside: set[int] = field(default_factory=set)  # places in `words` with tags

    def fill(self, words: Sequence[str], parents: list[int]) -> None:
        """Add words with random markup between them and inside them."""
        position = 0
        while position < len(words):
            chance = self.source.random()
            size = self.source.randint(0, min(4, len(words) - position))
            if chance < 0.12:
                self.unit()
            elif chance < 0.22 and len(parents) < 4:
                self.hidden(words[position : position + size], parents)
                position += size
            elif chance < 0.45 and len(parents) < 5:
                self.element(words[position : position + size], parents)
                position += size
            elif chance < 0.52 and len(parents) < 4:
                self.overlapping(words[position : position + size], parents)
                position += size
            elif chance < 0.56 and len(parents) < 4:
                self.items(words[position : position + size], parents)
                position += size
            elif chance < 0.62:
                place = self.source.randint(0, len(words[position]))
                self.text(words[position][:place])
                self.element(
                    [words[position][place:]] if place < len(words[position]) else [], parents, " " * (place < 1)
                )
                position += 1
            else:
                self.text(words[position])
                position += 1
            self.line += self.source.choice(["", " ", " ", "  "])

    def attributes(self) -> str:
        return f' n="{next(self.numbers)}"{self.source.choice(ATTRIBUTES)}'

    def text(self, text: str) -> None:
        escaped = html.escape(text, quote=False)
        self.line += escaped if self.source.random() < 0.8 else escaped.replace("é", "&eacute;").replace("&amp;D", "&D")
        self.words += words_of(text)

    def unit(self) -> None:
        self.inside.add(len(self.words))
        name, attributes = self.source.choice(UNITS), self.attributes()
        opening = f"<{name}{attributes}/>" if name != "ph" else f"<ph{attributes}>{{0}} &lt;<sub>x</sub></ph>"
        self.known.append(Known(opening, "", []))
        self.line += opening

    def hidden(self, words: Sequence[str], parents: list[int]) -> None:
        """Add content that is not translated, or an element of which only a part is."""
        self.inside.add(len(self.words))
        if self.source.random() < 0.7 or not words:
            number = next(self.numbers)
            opening = self.source.choice(HIDDEN).replace("{}", f'n="{number}"', 1).replace("{}", f'k="{number}"')
            self.known.append(Known(opening, "", []))
            self.line += opening
            self.fill(words, parents)
            return
        number = self.start(f'<p translate="no"{self.attributes()}>', "</p>", parents, strict=True)
        for word in words:
            raw = f'«n="{next(self.numbers)}"  e\u0301 <u>x</u>»'
            self.known.append(Known(raw, "", []))
            self.line += f"{raw} "
            each = self.start(f'<span translate="yes"{self.attributes()}>', "</span>", [*parents, number], strict=True)
            self.text(word)
            self.stop(each)
        self.stop(number)

    def element(self, words: Sequence[str], parents: list[int], space: str = "") -> None:
        name = self.source.choice(INLINE)
        opening, closing = f"<{name}{self.attributes()}>", f"</{name}>"
        codes = self.source.random() < 0.35
        if codes:
            opening, closing = self.codes()
        number = self.start(opening, closing, parents, name in STRICT and not codes)
        self.known[number].codes = codes
        self.fill(words, [*parents, number])
        self.stop(number)
        self.line += space

    def codes(self) -> tuple[str, str]:
        start, end, key, other = self.source.choice(CODES)
        first, second = next(self.numbers), next(self.numbers)
        inside = self.source.choice(["", "[b] &lt;", '<sub n="x"/>'])
        pair = [f'<{start} n="{first}" {key}="{first}"', f'<{end} n="{second}" {other}="{first}"']
        if start == "bpt":
            return f"{pair[0]}>{inside}</{start}>", f"{pair[1]}>{inside}</{end}>"
        return f"{pair[0]}/>", f"{pair[1]}/>"

    def overlapping(self, words: Sequence[str], parents: list[int]) -> None:
        """Add two pairs of codes that overlap, or one that overlaps an element."""
        first = self.codes()
        other = self.codes() if self.source.random() < 0.6 else (f"<g{self.attributes()}>", "</g>")
        parts = [words[part::3] for part in range(3)]
        one = self.start(*first, parents, strict=False)
        self.known[one].codes = True
        self.fill(parts[0], [*parents, one])
        number = self.start(*other, parents, strict=False)
        self.known[number].codes = other[1] != "</g>"
        self.fill(parts[1], [*parents, one, number])
        self.stop(one)
        self.fill(parts[2], [*parents, number])
        self.stop(number)

    def items(self, words: Sequence[str], parents: list[int]) -> None:
        number = self.start(f"<ul{self.attributes()}>", "</ul>", parents, strict=True)
        for word in words:
            each = self.start(f"<li{self.attributes()}>", "", [*parents, number], strict=True)
            self.fill([word], [*parents, number, each])
            self.stop(each)
        self.stop(number)

    def start(self, opening: str, closing: str, parents: list[int], strict: bool) -> int:
        self.known.append(Known(opening, closing, parents, self.words, strict))
        self.line += opening
        self.inside.add(len(self.words))
        return len(self.known) - 1

    def stop(self, number: int) -> None:
        self.known[number].words = self.words.removeprefix(self.known[number].words)
        self.line += self.known[number].closing
        self.inside.add(len(self.words))


def some_words(source: random.Random, most: int) -> list[str]:
    language = LANGUAGES[source.choice(list(LANGUAGES))].split()
    return source.choices(language, k=source.randint(0, most))


def cut(source: random.Random, text: str) -> list[str]:
    """Return the text as tokens: as words, as characters, or divided anywhere."""
    kind = source.choice(["words", "words", "characters", "random"])
    share = {"words": 0.0, "characters": 1.0, "random": 0.3}[kind]
    return [
        piece
        for word in text.split()
        for piece in "".join(each + " " * (source.random() < share) for each in word).split()
    ]


def safe(text: str) -> set[int]:
    """Return the places where a tag may stand."""
    ends = {0, *accumulate(len(each) for each in regex.findall(r"\X", text))}
    return {
        place
        for place in ends
        if not (
            regex.search(rf"[{LETTERS}][{JOINERS}\p{{M}}]*$", text[:place])
            and regex.match(rf"[{JOINERS}\p{{M}}]*[{LETTERS}]", text[place:])
            and (text[place - 1 : place] in JOINERS or text[place : place + 1] in JOINERS)
            and 0 < place < len(text)
        )
    }


def check(seed: int) -> None:
    """Raise AssertionError unless all promises hold for a random line."""
    source = random.Random(seed)
    made = Made(source)
    words = some_words(source, 9)
    made.fill(words, [])
    markup = read_markup(made.line)
    assert words_of(markup.text) == made.words
    target = source.choices(words, k=len(words)) if words and source.random() < 0.5 else some_words(source, 8)
    text = "".join(f"{word}{source.choice(['', ' ', ' ', '  '])}" for word in target)
    tokens, others = cut(source, markup.text), cut(source, text)
    chances = source.choice([0.05, 0.3, 1.0])
    links = {
        (i, j): source.choice([1.0, 0.5, 0.25, 0.1])
        for i in range(len(tokens))
        for j in range(len(others))
        if source.random() < chances and (source.random() < 0.5 or i == j)
    }
    written = MarkedLine(Line("", "", 0), markup, tokens, text, others, links).carried()
    tags, plain = tags_of(made, written)
    keep(made, tags, plain, text)
    stay_outside_words(made, tags, (tokens, others), [markup.text, text])
    if not made.known:
        assert written == html.escape(text, quote=False)


@dataclass
class Tag:
    """A tag of the output.

    number: of its element; before: how many characters of text precede it, and how many of these are not white space.
    """

    kind: str
    number: int
    before: tuple[int, int]


def tags_of(made: Made, written: str) -> tuple[list[Tag], str]:
    """Return the tags of the output, and its text. Raises AssertionError unless each tag occurs once, well nested."""
    openings = {each.opening: number for number, each in enumerate(made.known)}
    closings = {each.closing: number for number, each in enumerate(made.known) if each.codes}
    for each in [*openings, *closings]:
        assert written.count(each) == 1, each
    starts = {**openings, **closings}
    pattern = re.compile("|".join(re.escape(each) for each in sorted(starts, key=len, reverse=True)) or "(?!)")
    tags: list[Tag] = []
    text = ""
    open: list[int] = []
    position = 0

    def close() -> None:
        tags.append(Tag("end", open.pop(), (len(text), len(words_of(text)))))

    while position < len(written):
        before = len(text), len(words_of(text))
        if found := pattern.match(written, position):
            number = starts[found[0]]
            known = made.known[number]
            if found[0] in closings:
                tags.append(Tag("end", number, before))
            elif known.codes or not (known.closing or known.opening.startswith("<li")):
                tags.append(Tag("start" if known.codes else "unit", number, before))
            else:
                if known.opening.startswith("<li") and open and made.known[open[-1]].opening.startswith("<li"):
                    close()
                tags.append(Tag("start", number, before))
                open.append(number)
        elif found := END.match(written, position):
            while made.known[open[-1]].closing != found[0]:
                assert not made.known[open[-1]].closing
                close()
            close()
        else:
            following = [form.search(written, position) for form in (pattern, LESS)]
            end = min([len(written), *(each.start() for each in following if each)])
            assert position < end, written[position:]
            text += html.unescape(written[position:end])
            position = end
            continue
        position = found.end()
    while open:
        assert not made.known[open[-1]].closing
        close()
    return tags, text


def keep(made: Made, tags: Sequence[Tag], plain: str, text: str) -> None:
    """Check everything that does not depend on the tokens. plain: the text of the output."""
    assert words_of(plain) == words_of(text)
    units = [tag for tag in tags if tag.kind == "unit"]
    empty = {tag.number for tag in tags if tag.kind == "start"} - {
        tag.number for tag in tags if tag.kind == "end" and span(tags, tag.number)[0] < span(tags, tag.number)[1]
    }
    assert plain == text or units or empty
    allowed = safe(plain)
    assert all(tag.before[0] in allowed for tag in tags), "inside a cluster"
    open: list[int] = []
    for tag in tags:
        if tag.kind == "start":
            parents = made.known[tag.number].parents
            if not made.known[tag.number].codes:
                assert all(each in open for each in parents if not made.known[each].codes), "left its parent"
            open.append(tag.number)
        elif tag.kind == "end":
            assert tag.number in open, "ends before it begins"
            open.remove(tag.number)
    exempt = {number for number, each in enumerate(made.known) if each.strict}
    exempt |= {parent for number in exempt for parent in made.known[number].parents}
    for number, each in enumerate(made.known):
        if each.words and words_of(text) and not exempt & {number, *each.parents}:
            first, end = span(tags, number)
            assert first < end, f"{each.opening} is empty"


def span(tags: Sequence[Tag], number: int) -> tuple[int, int]:
    first, end = (next(t.before[1] for t in tags if t.number == number and t.kind == kind) for kind in ("start", "end"))
    return first, end


def stay_outside_words(made: Made, tags: Sequence[Tag], tokens: tuple[list[str], list[str]], texts: list[str]) -> None:
    """Check that tags stand inside a word only if it equals a source word that has tags at the same place."""
    source, target = (words_between(*each) for each in zip(tokens, texts, strict=True))
    known = {
        (word, place - begin) for begin, word in source for place in made.inside if begin < place < begin + len(word)
    }
    for tag in tags:
        for begin, word in target:
            if begin < tag.before[1] < begin + len(word):
                assert (word, tag.before[1] - begin) in known, f"inside the word {word}"


def words_between(tokens: Sequence[str], text: str) -> list[tuple[int, str]]:
    """Return the words of a text, and how many characters precede each.

    Tokens without a safe place between them are one word.
    """
    allowed = safe(text)
    words: list[tuple[int, str]] = []
    position = size = 0
    joins = False
    for token in tokens:
        begin = text.index(token, position)
        position = begin + len(token)
        if words and (joins or begin not in allowed):
            words[-1] = words[-1][0], words[-1][1] + token
        else:
            words.append((size, token))
        size += len(token)
        joins = position not in allowed
    return words


def main(lines: int) -> None:
    begin = time.time()
    failed: Counter[str] = Counter()
    for seed in range(lines):
        try:
            check(seed)
        except AssertionError as error:
            failed[str(error)[:60]] += 1
            if failed.total() <= 10:
                print(seed, repr(error))
    print(f"{lines} lines in {time.time() - begin:.0f} s; broken: {dict(failed)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
