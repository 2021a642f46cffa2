"""Words of raw text, and back: by the rules of Moses (Koehn et al. 2007), through sacremoses, or at spaces."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from synmt.options import check_settings, setting

TokenizerName = Literal["moses", "none"]


@dataclass(frozen=True)
class TextConfig:
    """The languages of raw text on both sides, and how it is tokenized."""

    source_language: str = setting("en", "of the source, for the Moses tokenizer", common=True)
    target_language: str = setting("en", "of the target, the same", common=True)
    tokenizer: TokenizerName = setting("moses", "of raw text; none: words already stand between spaces", common=True)

    def __post_init__(self) -> None:
        """Raise ValueError for a tokenizer that is not known."""
        check_settings(self)

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language


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
    """Tokens of raw text, and back. Nothing is escaped as HTML: `&` stays `&`."""

    def __init__(self, language: str) -> None:
        """Take a language (ISO 639-1), such as `en`: it chooses the abbreviations that keep their full stop."""
        import sacremoses

        self._tokenizer = sacremoses.MosesTokenizer(lang=language)
        self._detokenizer = sacremoses.MosesDetokenizer(lang=language)

    def tokenize(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def detokenize(self, tokens: list[str], unescape: bool = False) -> str:
        """Return their text; unescape: they are of Moses' own tokenizer, which writes `&amp;` for `&`."""
        text: str = self._detokenizer.detokenize(tokens, unescape=unescape)
        return text


def open_tokenizer(name: TokenizerName, language: str) -> Tokenizer:
    return MosesTokenizer(language) if name == "moses" else SpaceTokenizer()


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
