"""Moses tokenization and its inverse, through sacremoses (Koehn et al., "Moses", ACL 2007)."""


class MosesTokenizer:
    """Tokens of raw text, and back. Nothing is escaped as HTML: `&` stays `&`."""

    def __init__(self, language: str) -> None:
        """language: ISO 639-1, such as `en`; it chooses the abbreviations that keep their full stop."""
        import sacremoses

        self._tokenizer = sacremoses.MosesTokenizer(lang=language)
        self._detokenizer = sacremoses.MosesDetokenizer(lang=language)

    def tokenize(self, text: str) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(text, escape=False)
        return tokens

    def detokenize(self, tokens: list[str], unescape: bool = False) -> str:
        """unescape: the tokens are those of Moses' own tokenizer, which writes `&amp;` for `&`."""
        text: str = self._detokenizer.detokenize(tokens, unescape=unescape)
        return text
