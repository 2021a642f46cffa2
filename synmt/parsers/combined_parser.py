"""Both parsers over one tokenization, UDPipe's: records with a constituency tree and dependencies."""

from collections.abc import Sequence

from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.tokenization import ParserInput
from synmt.parsers.udpipe_parser import UDPipeParser
from synmt.trees.record import ParseRecord


class CombinedParser:
    """UDPipe on raw text or tokens, and benepar on UDPipe's sentences."""

    def __init__(
        self,
        benepar_model: str | None = None,
        udpipe_model: str | None = None,
        device: str = "cpu",
        trust_pickle: bool = False,
    ) -> None:
        """Open the models. Raises ModelError."""
        self._udpipe = UDPipeParser(udpipe_model)
        self._benepar = BeneparParser(benepar_model, device, trust_pickle)

    @property
    def flattened(self) -> int:
        return self._udpipe.flattened + self._benepar.flattened

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        analysed = [self._udpipe.analyse(line) for line in lines]
        trees = self._benepar.trees([tokenized for tokenized, _ in analysed])
        for (_, record), tree in zip(analysed, trees, strict=True):
            record.tree = tree
        return [record for _, record in analysed]
