"""Both parsers over one tokenization, UDPipe's: records with a constituency tree and dependencies."""

from collections.abc import Sequence

from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.embedded import DEPENDENCY, embedded_model
from synmt.parsers.tokenization import ParserInput, Tokenized
from synmt.parsers.udpipe_process import open_udpipe
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
        self._udpipe = open_udpipe(udpipe_model or str(embedded_model(DEPENDENCY)))
        self._benepar = BeneparParser(benepar_model, device, trust_pickle)

    @property
    def unparsed(self) -> int:
        return self._udpipe.unparsed + self._benepar.unparsed

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        records = self._udpipe.parse(lines)
        trees = self._benepar.trees([Tokenized.of(record) for record in records])
        for record, tree in zip(records, trees, strict=True):
            record.tree = tree
        return records
