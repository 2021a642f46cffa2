import pytest

from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.combined_parser import CombinedParser
from synmt.parsers.parser import Parser
from synmt.parsers.udpipe_parser import UDPipeParser


@pytest.fixture(scope="session")
def benepar() -> BeneparParser:
    return BeneparParser()


@pytest.fixture(scope="session")
def udpipe() -> UDPipeParser:
    return UDPipeParser()


@pytest.fixture(scope="session")
def combined() -> CombinedParser:
    return CombinedParser()


@pytest.fixture(scope="session", params=["benepar", "udpipe", "combined"])
def parser(request: pytest.FixtureRequest) -> Parser:
    chosen: Parser = request.getfixturevalue(request.param)
    return chosen
