"""Parses, as `synmt parse` makes them."""

from collections.abc import Iterable, Iterator, Sequence

from synmt.api.given import Doubts, config_of_all, numbered, text_of
from synmt.parsers import ModelError, ParserConfig, ParserName, open_parser, parse_texts
from synmt.parsers.parser import Parser
from synmt.parsers.tokenization import ParserInput
from synmt.streams import BadInput
from synmt.trees.record import ParseRecord


def parse(
    sentences: Iterable[str | Sequence[str]],
    parser: ParserName = "benepar",
    *,
    model: str | Sequence[str] = (),
    language: str = "en",
    device: str = "cpu",
    trust_pickle: bool = False,
) -> Iterator[ParseRecord]:
    """Yield the parse of each sentence: of raw text, or of a list of tokens. The parser is opened at once, and reads
    some hundred sentences ahead.

    parser: constituency trees (benepar), dependency trees (udpipe) or both; model: names or paths instead of the small
    models that are part of synmt. A sentence that is too long for the parser has no tree; they are counted in a
    warning. Raises BadInput, also for a model that cannot be loaded.
    """
    models = (model,) if isinstance(model, str) else tuple(model)
    settings = dict(parser=parser, model=models, language=language, device=device, trust_pickle=trust_pickle)
    try:
        opened = open_parser(config_of_all(ParserConfig, settings))
    except ModelError as error:
        raise BadInput(str(error)) from None
    return _parses(opened, sentences)


def _parses(parser: Parser, sentences: Iterable[str | Sequence[str]]) -> Iterator[ParseRecord]:
    yield from parse_texts(_inputs(sentences), parser)
    if parser.unparsed:
        doubts = Doubts("parse")
        doubts.add(f"{parser.unparsed} sentences too long to parse, without a tree")
        doubts.say()


def _inputs(sentences: Iterable[str | Sequence[str]]) -> Iterator[ParserInput]:
    for line, sentence in numbered(sentences, "sentences"):
        if isinstance(sentence, str):
            yield text_of(sentence, line)
            continue
        for token in sentence:
            if token.split() != [token]:
                raise line.error(f"{token!r} is no token: it is empty or has white space")
        yield list(sentence)
