import pytest

from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.config import CombinedParser, ParserConfig, open_parser
from synmt.parsers.parser import Parser
from synmt.parsers.udpipe import UDPipeParser


@pytest.fixture(scope="session")
def benepar() -> BeneparParser:
    return BeneparParser()


@pytest.fixture(scope="session")
def udpipe() -> UDPipeParser:
    return UDPipeParser()


@pytest.fixture(scope="session")
def combined() -> CombinedParser:
    opened = open_parser(ParserConfig("benepar+udpipe"))
    assert isinstance(opened, CombinedParser)
    return opened


@pytest.fixture(scope="session", params=["benepar", "udpipe", "combined"])
def parser(request: pytest.FixtureRequest) -> Parser:
    chosen: Parser = request.getfixturevalue(request.param)
    return chosen
