"""The two parsers, benepar and UDPipe, and the embedded English models.

benepar, spaCy and torch load when a parser is opened, not before.
"""

from synmt.parsers.opening import open_parser
from synmt.parsers.parser import ModelError, Parser, ParserChoice, ParserName
from synmt.parsers.stream import parse_texts

__all__ = ["ModelError", "Parser", "ParserChoice", "ParserName", "open_parser", "parse_texts"]
