"""Words of raw text, and back, by the rules of Moses (Koehn et al. 2007), through sacremoses."""

import re

from synmt.text.known import Known

_WORD = "xQx"  # one that is no abbreviation of any language
_DIGITS = frozenset("0123456789")
_RARE = re.compile(r"MULTI|[\x00-\x1f]")  # what Moses' rules spell dots with, and what they take out


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
        self._plain = Known(self._is_plain)
        self._found = Known(self._between)

    def tokenize(self, text: str) -> list[str]:
        if _RARE.search(text):
            return self._by_rules(text)
        chunks = text.split()
        tokens: list[str] = []
        begin = 0
        for place, chunk in enumerate(chunks):
            if self._plain[chunk]:
                if begin < place:
                    tokens += self._of_run(chunks, begin, place)
                tokens.append(chunk)
                begin = place + 1
        return tokens + self._of_run(chunks, begin, len(chunks)) if begin < len(chunks) else tokens

    def _is_plain(self, chunk: str) -> bool:
        """Return whether no rule sees anything in the characters of a chunk."""
        return not self._special.search(chunk)

    def _of_run(self, chunks: list[str], begin: int, end: int) -> list[str]:
        """Return the tokens of chunks that stand together, none of which is plain, between plain ones."""
        before = "x " if begin else ""
        next_one = chunks[end][0] if end < len(chunks) else ""
        after = next_one and (" x" if next_one in self._small else " 0" if next_one in _DIGITS else " X")
        run = " ".join(chunks[begin:end])
        word = self._word(run)
        tokens = self._found[before, word and _WORD, run[len(word) :], after]
        return [word + tokens[0].removeprefix(_WORD), *tokens[1:]] if word else tokens

    def _word(self, run: str) -> str:
        """Return the word at the beginning that is like any other to the rules, "" if there is none."""
        special = self._special.search(run)
        word = run[: special.start()] if special else run
        return word if word and word[-1] in self._letters and word not in self._abbreviations else ""

    def _between(self, parts: tuple[str, str, str, str]) -> list[str]:
        """Return the tokens of the two parts in the middle, between a word before and one after, if there are such."""
        before, _, _, after = parts
        tokens = self._by_rules("".join(parts))
        return tokens[bool(before) : len(tokens) - bool(after)]

    def _by_rules(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def detokenize(self, tokens: list[str], unescape: bool = False) -> str:
        """Return their text; unescape: they are of Moses' own tokenizer, which writes `&amp;` for `&`."""
        text: str = self._detokenizer.detokenize(tokens, unescape=unescape)
        return text
