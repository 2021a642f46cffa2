"""Opening a parser by name."""

from synmt.parsers.parser import Parser, ParserName


def open_parser(name: ParserName = "benepar", model: str | None = None) -> Parser:
    """The parser with the embedded English model, or with another one by name or path. Raises ModelError."""
    if name == "benepar":
        from synmt.parsers.benepar_parser import BeneparParser

        return BeneparParser(model)
    from synmt.parsers.udpipe_parser import UDPipeParser

    return UDPipeParser(model)
