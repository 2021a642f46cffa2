"""Several parser processes."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.tokenization import ParserInput
from synmt.pool import Pool
from synmt.streams import never
from synmt.trees.record import ParseRecord

Parsed = tuple[list[ParseRecord], int]  # the records of a window, and how many sentences have no tree


class ParserPool:
    """`jobs` processes that parse windows of lines; a context manager."""

    def __init__(self, config: ParserConfig, jobs: int) -> None:
        self.unparsed = 0
        self._pool: Pool[Sequence[ParserInput], Parsed] = Pool(jobs, _parsing, config)

    def __enter__(self) -> "ParserPool":
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)

    def parse_windows(
        self, windows: Iterable[Sequence[ParserInput]], pauses: Callable[[], bool] = never
    ) -> Iterator[list[ParseRecord]]:
        """Yield the records of each window in order, and of all when the input pauses. Raises ModelError, and as
        `Pool.map`."""

        def until_pauses() -> Iterator[Sequence[ParserInput] | None]:
            for window in windows:
                yield window
                if pauses():
                    yield None

        for records, unparsed in self._pool.map(until_pauses()):
            self.unparsed += unparsed
            yield records


def _parsing(config: ParserConfig) -> Callable[[Sequence[ParserInput]], Parsed]:
    parser = open_parser(config)

    def parse(lines: Sequence[ParserInput]) -> Parsed:
        before = parser.unparsed
        return parser.parse(lines), parser.unparsed - before

    return parse
