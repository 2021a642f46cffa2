"""The config of parsers, and functions that open a parser or only its tokenizer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from synmt.options import Checked, Choice, Rules, setting
from synmt.parsers.parser import (
    CONSTITUENCY,
    DEPENDENCY,
    ModelError,
    Parser,
    ParserInput,
    SpacyTokenizer,
    Tokenized,
    embedded_model,
    tokenize,
)
from synmt.streams import Message, WrongUsage
from synmt.streams.process import random_numbers_kept
from synmt.text.tokenization import WordsName, language_of, open_tokenizer
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.parsers.benepar_parser import BeneparParser

ParserName = Literal["benepar", "udpipe", "benepar+udpipe"]

CITES = {"benepar": ("kitaev2018constituency",), "udpipe": ("straka2017tokenizing",)}  # papers, as in synmt.citations

BENEPAR = "parser benepar", "parser benepar+udpipe"


@dataclass(frozen=True)
class ParserConfig(Checked):
    """A parser and its models, at most one per parser. With two parsers, a `.udpipe` model is for UDPipe."""

    parser: ParserName = setting("benepar", "constituency trees (benepar), dependency trees (udpipe) or both")
    model: tuple[str, ...] = setting(
        (), "benepar model (benepar_en3, a checkpoint or folder) or .udpipe file, instead of synmt's small one",
        metavar="NAME|PATH",
    )  # fmt: skip
    language: str = setting(
        "en", "language of the small model: en, or de (udpipe); by default, that of a file's suffix"
    )
    device: str = setting("cpu", "device of benepar: auto, cpu, cuda or cuda:N", needs=BENEPAR)
    trust_pickle: bool = setting(False, "allow a pickled benepar model, which can run code", needs=BENEPAR)


def choose(given: Mapping[str, Any]) -> Choice:
    """Return what parsers need for their options. given: option values by name."""
    return Choice(needs={} if uses_embedded(given) else {"language": "a parser without --model"})


RULES = Rules(choose)


def uses_embedded(given: Mapping[str, Any]) -> bool:
    """Return whether a parser uses an embedded model. given: option values by name."""
    parsers = given.get("parser", ParserConfig.parser).count("+") + 1
    models = given.get("model", ())
    return (1 if isinstance(models, str | Path) else len(models)) < parsers


def language_from(files: Sequence[str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the language in the suffix of the files, if an embedded model needs it. given: option values by name.

    Raises WrongUsage for files in several languages.
    """
    found = sorted({language_of(file) for file in files} - {""})
    if not found or "language" in given or not uses_embedded(given):
        return {}
    if len(found) > 1:
        cause = "the files are in {}; parse them separately, or give one --language"
        raise WrongUsage(Message(cause, " and ".join(found)))
    return {"language": found[0]}


def open_parser(config: ParserConfig) -> Parser:
    """Open the parser, or both as one. Raises ModelError, and WrongUsage for more models than parsers."""
    of_udpipe = tuple(model for model in config.model if model.endswith(".udpipe"))
    of_benepar = tuple(model for model in config.model if model not in of_udpipe)
    if config.parser == "benepar":
        return _open_benepar(config, config.model)
    if config.parser == "udpipe":
        return _open_udpipe(config, config.model)
    return CombinedParser(_open_udpipe(config, of_udpipe), _open_benepar(config, of_benepar))


def _open_benepar(config: ParserConfig, models: tuple[str, ...]) -> "BeneparParser":
    model = _only_model(config, CONSTITUENCY, models)
    with random_numbers_kept():  # spaCy seeds them
        from synmt.parsers.benepar_parser import BeneparParser

    return BeneparParser(model, config.device, config.trust_pickle)


def _open_udpipe(config: ParserConfig, models: tuple[str, ...]) -> Parser:
    model = _only_model(config, DEPENDENCY, models)
    from synmt.parsers.udpipe import open_udpipe

    return open_udpipe(model)


def _only_model(config: ParserConfig, kind: str, models: tuple[str, ...]) -> str:
    """Return the model given for a parser, or the embedded model of a kind."""
    if len(models) > 1:
        cause = "--parser {} takes one model per parser, not {}"
        raise WrongUsage(Message(cause, config.parser, ", ".join(models)))
    return models[0] if models else str(embedded_model(kind, config.language))


def open_words(name: WordsName, language: str) -> Callable[[str], list[str]]:
    """Return a function that splits a line of text into words: synmt's own tokenizer or a parser's tokenizer.

    Raises ModelError if there is none for the language.
    """
    if name == "udpipe":
        from synmt.parsers.udpipe import UDPipeParser

        return UDPipeParser(str(embedded_model(DEPENDENCY, language))).words
    if name == "spacy":
        try:
            split = SpacyTokenizer(language).split
        except ImportError:
            raise ModelError(f"spaCy has no tokenizer for {language!r}") from None
        return lambda text: tokenize(text, split).record().tokens
    return open_tokenizer(name, language).tokenize


class CombinedParser:
    """Both parsers over one tokenization: UDPipe on raw text or tokens, and benepar on UDPipe's sentences."""

    def __init__(self, udpipe: Parser, benepar: "BeneparParser") -> None:
        self._udpipe, self._benepar = udpipe, benepar

    @property
    def unparsed(self) -> int:
        return self._udpipe.unparsed + self._benepar.unparsed

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        records = self._udpipe.parse(lines)
        trees = self._benepar.trees([Tokenized.of(record) for record in records])
        for record, tree in zip(records, trees, strict=True):
            record.tree = tree
        return records
