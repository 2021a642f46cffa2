"""Dependency trees by UDPipe 1.

Straka & Straková (2017), "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe".
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ufal.udpipe import Model, MultiwordToken, OutputFormat, ProcessingError, Sentence

from synmt.parsers.embedded import DEPENDENCY, embedded_model
from synmt.parsers.parser import ModelError
from synmt.parsers.tokenization import ParserInput, normalized, tokenize
from synmt.parsers.udpipe_file import unpacked_size
from synmt.text.known import Known
from synmt.trees.dependency import UNKNOWN, joined, read_conllu
from synmt.trees.record import ParseRecord

_WORD = re.compile(r"\S+\Z")
LONGEST_SENTENCE = 1000  # words; parsing time grows with the square
REMEMBERED = 100_000  # tokens


def load_model(model: str | None = None) -> Model:
    """Return the embedded model or the one of a `.udpipe` file. Raises ModelError.

    What the file says of its sizes is read first: UDPipe ends the whole process on some files that are no models.
    """
    path = Path(model) if model is not None else embedded_model(DEPENDENCY)
    unpacked_size(path)
    loaded = Model.load(str(path))
    if loaded is None:
        raise ModelError(f"UDPipe model {path}: not a UDPipe 1 model, or damaged")
    return loaded


class UDPipeParser:
    """UDPipe with the embedded model or another, on raw text (UDPipe's tokens) or on tokens."""

    def __init__(self, model: str | None = None) -> None:
        """Open the models. Raises ModelError."""
        self.unparsed = 0
        self._model = load_model(model)
        self._tokenizer = self._model.newTokenizer(Model.DEFAULT)
        self._writer = OutputFormat.newOutputFormat("conllu")
        self._words = Known(self._words_of, most=REMEMBERED)
        try:
            self.parse(["a" if self._tokenizer else ["a"]])
        except ValueError as error:
            raise ModelError(f"UDPipe model {model}: {error}") from None

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        return [self._parsed(line) for line in lines]

    def words(self, text: str) -> list[str]:
        """Return the words that a line of text would have as a record."""
        return tokenize(text, lambda _: [self._record(each).tokens for each in self._sentences(text)]).record().tokens

    def _parsed(self, line: ParserInput) -> ParseRecord:
        found = self._sentences(line) if isinstance(line, str) else ()
        records = [self._analysed(sentence) for sentence in found]
        tokenized = tokenize(line, lambda _: [record.tokens for record in records])
        if [record.tokens for record in records] != tokenized.sentences:
            records = [self._analysed(self._sentence_of(tokens)) for tokens in tokenized.sentences]
        record = joined(records)
        record.text, record.spaces = tokenized.text, tokenized.spaces
        return record

    def _sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences that UDPipe finds in a line of text."""
        if self._tokenizer is None:
            raise ValueError("it has no tokenizer: give it tokens")
        self._tokenizer.setText(normalized(text))
        error = ProcessingError()
        sentence = Sentence()
        while self._tokenizer.nextSentence(sentence, error):
            yield sentence
            sentence = Sentence()
        _raise(error)

    def _sentence_of(self, tokens: Sequence[str]) -> Sentence:
        """Return UDPipe's own form of a sentence of tokens, such as German `zum`: one token of the words zu and dem."""
        sentence = Sentence()
        for token in tokens:
            first = sentence.words.size()  # the root counts
            words = self._words[token]
            for word in words:
                sentence.addWord(word)
            if len(words) > 1:
                sentence.multiwordTokens.append(MultiwordToken(first, first + len(words) - 1, token, ""))
        return sentence

    def _words_of(self, token: str) -> list[str]:
        """Return the words of a token that they do not spell, by the tokenizer; else the token, as it is to stay."""
        whole = list(self._sentences(token)) if self._tokenizer else []
        spans = [(each.idFirst, each.idLast) for sentence in whole for each in sentence.multiwordTokens]
        found = [word.form for sentence in whole for word in list(sentence.words)[1:]]
        return found if spans == [(1, len(found))] and "".join(found) != token else [token]

    def _analysed(self, sentence: Sentence) -> ParseRecord:
        error = ProcessingError()
        self._model.tag(sentence, Model.DEFAULT, error)
        parsed = sentence.words.size() - 1 <= LONGEST_SENTENCE
        if parsed:
            self._model.parse(sentence, Model.DEFAULT, error)
        _raise(error)
        record = self._record(sentence)
        if not parsed:
            self.unparsed += 1
            record.heads, record.deprels = [], []
        return record

    def _record(self, sentence: Sentence) -> ParseRecord:
        """Return the columns of a sentence: where a word is not just a token, its CoNLL-U is read."""
        words = list(sentence.words)[1:]  # the first is the root
        if len(sentence.multiwordTokens) or not all(w.upostag and w.deprel and _WORD.match(w.form) for w in words):
            return read_conllu(self._writer.writeSentence(sentence).strip("\n"))
        return ParseRecord(
            tokens=[word.form for word in words],
            upos=[word.upostag for word in words],
            feats=[word.feats or UNKNOWN for word in words],
            heads=[word.head for word in words],
            deprels=[word.deprel for word in words],
        )


def _raise(error: ProcessingError) -> None:
    if error.occurred():
        raise ValueError(error.message)
