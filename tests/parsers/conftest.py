import pytest

from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.udpipe_parser import UDPipeParser


@pytest.fixture(scope="session")
def benepar() -> BeneparParser:
    return BeneparParser()


@pytest.fixture(scope="session")
def udpipe() -> UDPipeParser:
    return UDPipeParser()


@pytest.fixture(scope="session", params=["benepar", "udpipe"])
def parser(request: pytest.FixtureRequest) -> BeneparParser | UDPipeParser:
    chosen: BeneparParser | UDPipeParser = request.getfixturevalue(request.param)
    return chosen
