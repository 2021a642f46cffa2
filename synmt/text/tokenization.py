"""Words of raw text, and back: by the rules of Moses, or at spaces."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, Protocol, get_args

from synmt.inputs import without_compression
from synmt.options import check_settings, setting
from synmt.streams import Notes
from synmt.text.moses import MosesTokenizer

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


@dataclass(frozen=True)
class TextConfig:
    """The languages of raw text on both sides, and how it is tokenized."""

    source_language: str | None = setting(None, "language of the source (its file suffix, or en)", metavar="CODE")
    target_language: str | None = setting(None, "language of the target (the same)", metavar="CODE")
    tokenizer: TokenizerName | None = setting(
        None, "moses tokenizes raw text (default); none: tokens are between spaces", unless="--init"
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


def spans_of(tokens: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the characters of each token in the text, [first, end). Raises ValueError if the tokens do not consist of
    characters of the text, in their order; it may have others between them."""
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
