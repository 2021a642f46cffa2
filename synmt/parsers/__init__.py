"""The two parsers, benepar and UDPipe, and embedded models for English and German.

benepar, spaCy and torch are imported when a parser is opened, not before.
"""

from synmt.parsers.config import ParserConfig, ParserName, open_parser, open_words
from synmt.parsers.parser import ModelError, Parser
from synmt.parsers.stream import parse_texts

__all__ = ["ModelError", "Parser", "ParserConfig", "ParserName", "open_parser", "open_words", "parse_texts"]
