"""Words of raw text, and back: by the rules of Moses (Koehn et al. 2007), through sacremoses, or at spaces."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, Protocol, TypeVar, get_args

from synmt.inputs import without_compression
from synmt.options import check_settings, setting
from synmt.streams import Notes

K = TypeVar("K")
V = TypeVar("V")
TokenizerName = Literal["moses", "none"]
WordsName = Literal["moses", "none", "spacy", "udpipe"]  # those of synmt, and those of its parsers
ISO_639_1 = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(ISO_639_1.split())
REMEMBERED = 200_000  # words; bounds the memory of a long stream
_WORD = "xQx"  # one that is no abbreviation of any language
_DIGITS = frozenset("0123456789")
_RARE = re.compile(r"MULTI|[\x00-\x1f]")  # what Moses' rules spell dots with, and what they take out


@dataclass(frozen=True)
class TextConfig:
    """The languages of raw text on both sides, and how it is tokenized."""

    source_language: str | None = setting(
        None, "of the source, for the Moses tokenizer, if not the suffix of its file, or else en", common=True
    )
    target_language: str | None = setting(None, "of the target, the same", common=True)
    tokenizer: TokenizerName | None = setting(
        None, "of raw text, if not moses; none: words already stand between spaces", common=True
    )

    def __post_init__(self) -> None:
        """Raise ValueError for a tokenizer that is not known."""
        check_settings(self)

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language or "en", self.target_language or "en"


@dataclass(frozen=True)
class Words:
    """What makes words of raw text as a model knows them: a tokenizer, and the share of the sentences that the model
    was trained on whose words it gives."""

    tokenizer: WordsName
    share: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for a tokenizer that is not known, and for what is no share."""
        if self.tokenizer not in get_args(WordsName):
            raise ValueError(f"unknown tokenizer {self.tokenizer!r:.40}")
        if not isinstance(self.share, int | float) or not 0 <= self.share <= 1:
            raise ValueError(f"a share of {self.share!r:.40}")


def with_languages(settings: Mapping[str, Any], source: str | None, target: str | None) -> dict[str, Any]:
    """Return the settings with the languages that they leave open, by the suffixes of the files of text."""
    known = dict(settings)
    for name, path in (("source_language", source), ("target_language", target)):
        suffix = PurePath(without_compression(path or "").removesuffix(".jsonl")).suffix.removeprefix(".")
        if suffix in LANGUAGES:
            known.setdefault(name, suffix)
    return known


def note_tokenizers(notes: Notes, tokenizer: TokenizerName, languages: Mapping[str, str]) -> None:
    """Note as what text is tokenized, where words do not stand between spaces already. languages: of the sides."""
    if tokenizer != "none" and languages:
        first, *others = (f"{side} text as {language}" for side, language in languages.items())
        notes.add(", ".join([first.replace(" as ", " is tokenized as ", 1), *others]))


class Tokenizer(Protocol):
    def tokenize(self, text: str) -> list[str]: ...

    def detokenize(self, tokens: list[str]) -> str: ...


class SpaceTokenizer:
    """For text that is tokenized already: words stand between spaces."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, tokens: list[str]) -> str:
        return " ".join(tokens)


class MosesTokenizer:
    """Tokens of raw text, and back. Nothing is escaped as HTML: `&` stays `&`.

    The rules look no further than to the next white space, but that a full stop may belong to a word before a small
    letter, a digit or the end; and to them a word is like any other, if it is no abbreviation. So they are asked once
    about a word with punctuation, and what they say is remembered.
    """

    def __init__(self, language: str) -> None:
        """Take a language (ISO 639-1), such as `en`: it chooses the abbreviations that keep their full stop."""
        import sacremoses

        self._tokenizer = rules = sacremoses.MosesTokenizer(lang=language)
        self._detokenizer = sacremoses.MosesDetokenizer(lang=language)
        self._small, self._letters = frozenset(rules.IsLower), frozenset(rules.IsAlpha) - frozenset(rules.IsN)
        self._abbreviations = frozenset([*rules.NONBREAKING_PREFIXES, *rules.NUMERIC_ONLY_PREFIXES])
        self._special = re.compile(f"{rules.PAD_NOT_ISALNUM[0].pattern}|[.,']")
        self._plain: dict[str, bool] = {}
        self._found: dict[tuple[str, ...], list[str]] = {}

    def tokenize(self, text: str) -> list[str]:
        if _RARE.search(text):
            return self._by_rules(text)
        chunks = text.split()
        tokens: list[str] = []
        begin = 0
        for place, chunk in enumerate(chunks):
            if self._is_plain(chunk):
                if begin < place:
                    tokens += self._of_run(chunks, begin, place)
                tokens.append(chunk)
                begin = place + 1
        return tokens + self._of_run(chunks, begin, len(chunks)) if begin < len(chunks) else tokens

    def _is_plain(self, chunk: str) -> bool:
        """Return whether no rule sees anything in the characters of a chunk."""
        plain = self._plain.get(chunk)
        if plain is None:
            plain = _remember(self._plain, chunk, not self._special.search(chunk))
        return plain

    def _of_run(self, chunks: list[str], begin: int, end: int) -> list[str]:
        """Return the tokens of chunks that stand together, none of which is plain, between plain ones."""
        before = "x " if begin else ""
        next_one = chunks[end][0] if end < len(chunks) else ""
        after = next_one and (" x" if next_one in self._small else " 0" if next_one in _DIGITS else " X")
        run = " ".join(chunks[begin:end])
        word = self._word(run)
        key = before, word and _WORD, run[len(word) :], after
        tokens = self._found.get(key)
        if tokens is None:
            found = self._by_rules("".join(key))
            tokens = _remember(self._found, key, found[bool(before) : len(found) - bool(after)])
        return [word + tokens[0].removeprefix(_WORD), *tokens[1:]] if word else tokens

    def _word(self, run: str) -> str:
        """Return the word at the beginning that is like any other to the rules, "" if there is none."""
        special = self._special.search(run)
        word = run[: special.start()] if special else run
        return word if word and word[-1] in self._letters and word not in self._abbreviations else ""

    def _by_rules(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def detokenize(self, tokens: list[str], unescape: bool = False) -> str:
        """Return their text; unescape: they are of Moses' own tokenizer, which writes `&amp;` for `&`."""
        text: str = self._detokenizer.detokenize(tokens, unescape=unescape)
        return text


def _remember(known: dict[K, V], key: K, value: V) -> V:
    if len(known) >= REMEMBERED:
        known.clear()
    known[key] = value
    return value


def open_tokenizer(name: TokenizerName, language: str) -> Tokenizer:
    return MosesTokenizer(language) if name == "moses" else SpaceTokenizer()


def is_punctuation(word: str) -> bool:
    """Return whether all characters of a word are punctuation, by Unicode's categories."""
    return all(unicodedata.category(character).startswith("P") for character in word)


def spaces_after(tokens: Sequence[str], text: str) -> list[bool] | None:
    """Return whether a space follows each token in `text`; None if the tokens are not what the text consists of."""
    spaces: list[bool] = []
    position = 0
    for token in tokens:
        if not token or " " in token or not text.startswith(token, position):
            return None
        position += len(token)
        spaces.append(text[position : position + 1] == " ")
        position += spaces[-1]
    return spaces if position == len(text) else None
