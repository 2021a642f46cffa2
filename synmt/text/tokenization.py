"""Splits raw text into words, by several tokenizers, and joins them again."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import PurePath
from typing import Any, ClassVar, Literal, Protocol, Self, get_args

from synmt.options import REGIONAL, Checked, setting
from synmt.streams import BadInput, Notes, counted
from synmt.streams.inputs import without_compression
from synmt.text.graphemes import SPACELESS, clusters, is_spaceless, shadow
from synmt.text.marks import spelled, unmarked

SAMPLE = 1000  # sentences of a text to examine
LIST = 10  # sentences; fewer of one word each are no surprise
REMEMBERED = 200_000  # chunks; bounds the memory of a long stream
_WORD = "xQx"  # not an abbreviation in any language
_DIGITS = frozenset("0123456789")
_RARE = re.compile(r"MULTI|[\x00-\x1f]")  # Moses' placeholder for dots, and characters that it removes
# Any other character may belong to a cluster of several, or to a script without spaces, or be an apostrophe.
_PLAIN = re.compile("[\\x20-\\x7e\\xa0-\\xac\\xae-\\u02bb\\u02bd-\\u02ff\\u0370-\\u0482\\u048a-\\u058f‐-‘‚-‧₠-₿]*")
_FALLBACK = re.compile(r"[^\W_]+|.", re.DOTALL)
TokenizerName = Literal["words", "moses", "none", "mecab", "jieba"]
SEGMENTERS = {"mecab": "fugashi unidic-lite", "jieba": "jieba"}  # and the packages that they need
UNMARKED = "moses", "none"  # tokenizers whose words models learn without marks for spacing
WordsName = Literal["words", "moses", "none", "mecab", "jieba", "spacy", "udpipe"]  # the last two belong to parsers
ISO_639_1 = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(ISO_639_1.split())


class MosesTokenizer:
    """Splits raw text into tokens and joins them again, by the rules of Moses (Koehn et al. 2007) in sacremoses.

    Nothing is escaped as HTML: `&` stays `&`.

    The rules look no further than the next white space, with one exception: a full stop may belong to its word before a
    lower-case letter, a digit or the end. They also treat all words that are not abbreviations alike. So we apply them
    only once to each word with punctuation, and remember the result.
    """

    marks: ClassVar[bool] = False

    def __init__(self, language: str) -> None:
        """language: ISO 639-1, such as `en`; it determines which abbreviations keep their full stop."""
        import sacremoses

        self._tokenizer = rules = sacremoses.MosesTokenizer(lang=language)
        self._detokenizer = sacremoses.MosesDetokenizer(lang=language)
        self._small, self._letters = frozenset(rules.IsLower), frozenset(rules.IsAlpha) - frozenset(rules.IsN)
        self._abbreviations = frozenset([*rules.NONBREAKING_PREFIXES, *rules.NUMERIC_ONLY_PREFIXES])
        self._special = re.compile(f"{rules.PAD_NOT_ISALNUM[0].pattern}|[.,']")
        self._plain = lru_cache(REMEMBERED)(self._is_plain)
        self._found = lru_cache(REMEMBERED)(self._between)

    def tokenize(self, text: str) -> list[str]:
        if _RARE.search(text):
            return self._by_rules(text)
        chunks = text.split()
        tokens: list[str] = []
        begin = 0
        for place, chunk in enumerate(chunks):
            if self._plain(chunk):
                if begin < place:
                    tokens += self._of_run(chunks, begin, place)
                tokens.append(chunk)
                begin = place + 1
        return tokens + self._of_run(chunks, begin, len(chunks)) if begin < len(chunks) else tokens

    def _is_plain(self, chunk: str) -> bool:
        """Return whether no rule applies to any character of a chunk."""
        return not self._special.search(chunk)

    def _of_run(self, chunks: list[str], begin: int, end: int) -> list[str]:
        """Return the tokens of consecutive chunks that are not plain."""
        before = "x " if begin else ""
        next_one = chunks[end][0] if end < len(chunks) else ""
        after = next_one and (" x" if next_one in self._small else " 0" if next_one in _DIGITS else " X")
        run = " ".join(chunks[begin:end])
        word = self._word(run)
        tokens = self._found(before, word and _WORD, run[len(word) :], after)
        return [word + tokens[0].removeprefix(_WORD), *tokens[1:]] if word else tokens

    def _word(self, run: str) -> str:
        """Return the first word of a run if the rules treat it like any other word, else ""."""
        special = self._special.search(run)
        word = run[: special.start()] if special else run
        return word if word and word[-1] in self._letters and word not in self._abbreviations else ""

    def _between(self, before: str, word: str, rest: str, after: str) -> list[str]:
        """Return the tokens of `word` and `rest`. before, after: a neighbouring word, or ""."""
        tokens = self._by_rules(f"{before}{word}{rest}{after}")
        return tokens[bool(before) : len(tokens) - bool(after)]

    def _by_rules(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def detokenize(self, tokens: list[str], unescape: bool = False) -> str:
        """Join tokens. unescape: they come from Moses' own tokenizer, which writes `&amp;` for `&`."""
        text: str = self._detokenizer.detokenize(tokens, unescape=unescape)
        return text


class WordTokenizer:
    """Splits raw text into words that spell it: their concatenation is the text without its white space.

    No word ends inside a grapheme cluster. The rules see one character for each cluster; the clusters of scripts
    without spaces are words, or are grouped by `segment`.
    """

    marks: ClassVar[bool] = True

    def __init__(self, split: Callable[[str], list[str]], segment: Callable[[str], list[str]] = list) -> None:
        """split: returns the words of a text. If they do not spell it, runs of letters and digits are words instead.

        segment: returns the words of a text without spaces; a word does not end where they end inside a cluster.
        """
        self._split, self._segment = split, lru_cache(REMEMBERED)(segment)
        self._clusters = lru_cache(REMEMBERED)(clusters)

    def tokenize(self, text: str) -> list[str]:
        if "MULTI" not in text and _PLAIN.fullmatch(text):
            return self._split(text)
        chunks = [self._clusters(chunk) for chunk in text.split()]
        shown = ["".join(map(shadow, chunk)).replace("MULTI", "multi") for chunk in chunks]
        found = self._split(" ".join(shown))
        if "".join(found) != "".join(shown):
            found = [word for chunk in shown for word in _FALLBACK.findall(chunk)]
        words = iter(found)
        return [word for chunk, seen in zip(chunks, shown, strict=True) for word in self._words(chunk, seen, words)]

    def _words(self, chunk: list[str], seen: str, found: Iterator[str]) -> Iterator[str]:
        """Yield the words of a chunk between spaces. seen: its shadow, [n]; found: consumes the shadow's words."""
        place = 0
        while place < len(chunk):
            end = place + len(next(found))
            if seen[place] != SPACELESS:
                yield "".join(chunk[place:end])
            elif place == 0 or seen[place - 1] != SPACELESS:
                run = len(seen) - place - len(seen[place:].lstrip(SPACELESS))
                yield from self._segments(chunk[place : place + run])
            place = end

    def _segments(self, run: list[str]) -> Iterator[str]:
        """Yield the words of clusters without spaces."""
        ends = {*accumulate(map(len, self._segment("".join(run))))}
        begun, place = "", 0
        for cluster in run:
            begun += cluster
            place += len(cluster)
            if place in ends:
                yield begun
                begun = ""
        if begun:
            yield begun

    def detokenize(self, tokens: list[str]) -> str:
        """Join words with the marks of `synmt.text.marks`."""
        words, spaces, _ = unmarked(tokens)
        return spelled(words, spaces)


@dataclass(frozen=True)
class TextConfig(Checked):
    """The languages of the raw text on both sides, and its tokenizer."""

    source_language: str | None = setting(None, "language of the source (that of its file, or en)", metavar=REGIONAL)
    target_language: str | None = setting(None, "language of the target (that of its file, or en)", metavar=REGIONAL)
    tokenizer: TokenizerName | None = setting(None, "tokenizer of text, by default words; none: words between spaces")

    @property
    def languages(self) -> tuple[str, str]:
        """The languages without regions: en for en-US."""
        source, target = (
            re.split("[-_]", each or "en")[0].lower() for each in (self.source_language, self.target_language)
        )
        return source, target


@dataclass(frozen=True)
class Words:
    """How a model's training data was tokenized.

    share: the share of training sentences, 0 to 1, whose words come from this tokenizer.
    """

    tokenizer: WordsName
    share: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown tokenizer, or a share outside 0 to 1."""
        if self.tokenizer not in get_args(WordsName):
            raise ValueError(f"unknown tokenizer {self.tokenizer!r:.40}")
        if not isinstance(self.share, int | float) or not 0 <= self.share <= 1:
            raise ValueError(f"the share cannot be {self.share!r:.40}")

    @classmethod
    def read(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """Return the words of a config, None if it has none. Raises ValueError or TypeError."""
        return None if fields is None else cls(**fields)


def with_languages(settings: Mapping[str, Any], source: str | None, target: str | None) -> dict[str, Any]:
    """Return the settings, with languages that they do not set taken from the suffixes of the text files."""
    known = dict(settings)
    for name, path in (("source_language", source), ("target_language", target)):
        if language := language_of(path or ""):
            known.setdefault(name, language)
    return known


def language_of(path: str) -> str:
    """Return the language in the suffix of a file such as `train.de` or `train.de.jsonl.gz`, "" if it has none."""
    suffix = PurePath(without_compression(path).removesuffix(".jsonl")).suffix.removeprefix(".")
    return suffix if suffix in LANGUAGES else ""


def note_tokenizers(notes: Notes, tokenizer: TokenizerName, languages: Mapping[str, str]) -> None:
    """Note in which language raw text is tokenized, unless it is tokenized already. languages: by side."""
    if tokenizer != "none" and languages:
        first, *others = (f"{side} text as {language}" for side, language in languages.items())
        notes.add(", ".join([first.replace(" as ", " is tokenized as ", 1), *others]))


class Tokenizer(Protocol):
    """marks: whether the tokens to detokenize have the marks of `synmt.text.marks`."""

    marks: ClassVar[bool]

    def tokenize(self, text: str) -> list[str]: ...

    def detokenize(self, tokens: list[str]) -> str: ...


class SpaceTokenizer:
    """For text that is tokenized already, with spaces between words."""

    marks: ClassVar[bool] = False

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)


def open_tokenizer(name: TokenizerName, language: str) -> Tokenizer:
    """Open a tokenizer. Raises BadInput for one whose package is not installed."""
    if name == "none":
        return SpaceTokenizer()
    moses = MosesTokenizer(language)
    if name == "moses":
        return moses
    return WordTokenizer(moses.tokenize, _segmenter(name) if name in SEGMENTERS else list)


def _segmenter(name: str) -> Callable[[str], list[str]]:
    """Return a function that finds the words of Japanese (MeCab) or Chinese (jieba). Raises BadInput."""
    try:
        if name == "mecab":
            import fugashi

            tagger = fugashi.Tagger()
            return lambda text: [word.surface for word in tagger(text)]
        import jieba

        jieba.setLogLevel("ERROR")
        return lambda text: list(jieba.cut(text))
    except (ImportError, RuntimeError) as error:
        cause = str(error).strip().partition("\n")[0] or "no dictionary"
        raise BadInput(f"cannot be opened ({cause}): pip install {SEGMENTERS[name]}", f"tokenizer {name}") from None


def is_punctuation(word: str) -> bool:
    """Return whether a word consists of punctuation, by Unicode's categories."""
    return all(unicodedata.category(character).startswith("P") for character in word)


@dataclass(slots=True)
class Separation:
    """How words are separated in a text: how many of its first SAMPLE sentences have only one word, apart from
    punctuation, and how many are in a script without spaces."""

    sentences: int = 0
    single: int = 0
    spaceless: int = 0

    def see(self, words: Sequence[str]) -> None:
        """Count a sentence."""
        if self.sentences < SAMPLE and words:
            self.sentences += 1
            self.single += sum(not is_punctuation(word) for word in words) == 1
            self.spaceless += any(map(is_spaceless, "".join(words)))

    def warning(self) -> str:
        """Return what is odd about a text, to follow its name, or ""."""
        if 2 * self.single > self.sentences and (self.spaceless or self.sentences >= LIST):
            return f"has only one word in {self.single} of its first {counted(self.sentences, 'sentence')}"
        return ""


def spaces_after(tokens: Sequence[str], text: str) -> list[bool] | None:
    """Return whether a space follows each token in `text`, or None if the text does not consist of these tokens."""
    spaces: list[bool] = []
    position = 0
    for token in tokens:
        if not token or " " in token or not text.startswith(token, position):
            return None
        position += len(token)
        spaces.append(text[position : position + 1] == " ")
        position += spaces[-1]
    return spaces if position == len(text) else None


def spans_of(tokens: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the character span of each token in the text, [first, end).

    The text may have other characters between tokens. Raises ValueError if a character of a token is missing.
    """
    spans = []
    end = 0
    for token in tokens:
        first = -1
        for character in token:
            place = text.find(character, end)
            if place < 0:
                raise ValueError(f"the token {token!r:.40} is not in the text")
            first, end = place if first < 0 else first, place + 1
        spans.append((first, end))
    return spans


def gaps_after(tokens: Sequence[str], text: str) -> list[bool]:
    """Return whether any white space follows each token in the text, which consists of the tokens and white space."""
    spans = spans_of(tokens, text)
    return [end < first for (_, end), (first, _) in pairwise([*spans, (len(text), 0)])]
