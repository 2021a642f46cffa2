"""Speed of commands as users start them: start-up time, lines per second, and memory."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from synmt.cli.program import COMMANDS
from tests.bench.pairs import Measure
from tests.bench.streams import STAGES, write_inputs
from tests.bench.usage import usage_of

START_UPS = 5  # most start-ups of each command
LINES = 20_000  # lines for a text stage; memory is the same for more lines
PAIRS = 1000  # pairs for a training run
SHORT = "--preset small --merges 1000 --tokenizer none --updates 20 --device cpu"
MODELS = {
    "train": f"train --model mask {SHORT} --source records --target other --out model",
    "translate": "translate model records --device cpu --beam 5 --max-length-offset 0",
    "align": f"align {SHORT} --out aligner pairs",
    "link": "link aligner pairs --device cpu",
    "parse --parser benepar": "parse --parser benepar text",
    "parse --parser udpipe": "parse --parser udpipe text",
}


def measure_commands(rounds: int) -> Iterator[Measure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, 1)
        for command in COMMANDS:
            yield start_up(f"{command} --help", f"{command} --help", folder, rounds)
        for stage, arguments in STAGES.items():
            yield start_up(f"{stage}, one line", arguments, folder, rounds)
        write_inputs(folder, LINES)
        for stage, arguments in STAGES.items():
            if not stage.startswith("parse"):
                used = usage_of(arguments.split(), folder)
                yield Measure(f"{stage}: lines", "lines/s", LINES / used.seconds)
                yield Measure(f"{stage}: memory", "MiB", used.memory)
        write_inputs(folder, PAIRS)
        for command, arguments in MODELS.items():
            yield Measure(f"{command}: memory", "MiB", usage_of(arguments.split(), folder).memory)


def start_up(name: str, arguments: str, folder: Path, rounds: int) -> Measure:
    """Return the median processor time of a command that has almost nothing to do."""
    times = [usage_of(arguments.split(), folder).seconds for _ in range(min(rounds, START_UPS))]
    return Measure(f"start: {name}", "s", statistics.median(times))
