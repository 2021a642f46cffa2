"""The settings of parsers, and how one, or its tokenizer alone, is opened."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from synmt.caller import random_numbers_kept
from synmt.options import Scope, check_settings, setting
from synmt.parsers.embedded import CONSTITUENCY, DEPENDENCY, embedded_model
from synmt.parsers.parser import ModelError, Parser
from synmt.parsers.tokenization import SpacyTokenizer, tokenize
from synmt.streams import WrongUsage
from synmt.text.tokenization import WordsName, open_tokenizer

ParserName = Literal["benepar", "udpipe", "benepar+udpipe"]

EMBEDDED, BENEPAR = "a parser without --model", ("parser benepar", "parser benepar+udpipe")


@dataclass(frozen=True)
class ParserConfig:
    """A parser and its models, at most one a parser; of two parsers, UDPipe's model is the one in `.udpipe`."""

    parser: ParserName = setting("benepar", "constituency trees (benepar), dependency trees (udpipe) or both")
    model: tuple[str, ...] = setting(
        (), "benepar model (benepar_en3, a checkpoint or folder) or .udpipe file, if not the small one of synmt",
        metavar="NAME|PATH",
    )  # fmt: skip
    language: str = setting("en", "language of the small model: en, or de (udpipe)", needs=EMBEDDED)
    device: str = setting("cpu", "device of benepar: auto, cpu, cuda or cuda:N", needs=BENEPAR)
    trust_pickle: bool = setting(False, "allow a pickled benepar model, which can run code", needs=BENEPAR)

    def __post_init__(self) -> None:
        """Raise ValueError for settings out of bounds."""
        check_settings(self)


def scope_of(given: Mapping[str, Any]) -> Scope:
    """Return which circumstances hold; given: the values of options, by name."""
    parsers = given.get("parser", ParserConfig.parser).count("+") + 1
    models = given.get("model", ())
    return Scope(circumstances={EMBEDDED: (1 if isinstance(models, str) else len(models)) < parsers})


def open_parser(config: ParserConfig) -> Parser:
    """Open the parser, or both as one. Raises ModelError, and WrongUsage for more models than parsers."""
    if config.parser == "benepar":
        with random_numbers_kept():  # which spaCy seeds
            from synmt.parsers.benepar_parser import BeneparParser

        return BeneparParser(_only_model(config, CONSTITUENCY, config.model), config.device, config.trust_pickle)
    if config.parser == "udpipe":
        from synmt.parsers.udpipe_process import open_udpipe

        return open_udpipe(_only_model(config, DEPENDENCY, config.model))
    with random_numbers_kept():
        from synmt.parsers.combined_parser import CombinedParser

    of_udpipe = tuple(model for model in config.model if model.endswith(".udpipe"))
    of_benepar = tuple(model for model in config.model if model not in of_udpipe)
    benepar_model = _only_model(config, CONSTITUENCY, of_benepar)
    udpipe_model = _only_model(config, DEPENDENCY, of_udpipe)
    return CombinedParser(benepar_model, udpipe_model, config.device, config.trust_pickle)


def _only_model(config: ParserConfig, kind: str, models: tuple[str, ...]) -> str:
    """Return the model given for a parser, or the embedded one of its kind."""
    if len(models) > 1:
        raise WrongUsage(f"{len(models)} models ({', '.join(models)}) for one parser of --parser {config.parser}")
    return models[0] if models else str(embedded_model(kind, config.language))


def open_words(name: WordsName, language: str) -> Callable[[str], list[str]]:
    """Return what makes the words of a line of text: synmt's own tokenizer, or one as its parser has it.

    Raises ModelError where there is none for the language.
    """
    if name == "udpipe":
        from synmt.parsers.udpipe_parser import UDPipeParser

        return UDPipeParser(str(embedded_model(DEPENDENCY, language))).words
    if name == "spacy":
        try:
            split = SpacyTokenizer(language).split
        except ImportError:
            raise ModelError(f"spaCy has no tokenizer for {language!r}") from None
        return lambda text: tokenize(text, split).record().tokens
    return open_tokenizer(name, language).tokenize
