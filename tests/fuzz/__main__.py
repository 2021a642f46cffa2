"""`python -m tests.fuzz readers [--seconds 60] [--reader NAME]`: mutated files through every reader.
`python -m tests.fuzz commands [--commands 1000] [--kind NAME]`: random command lines, checked against slow twins.
`python -m tests.fuzz runs [--interruptions 100]`: runs that are killed, edited and started again.
"""

import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import click
import torch

from tests.cli.commands import AT_THE_END
from tests.fuzz.commands import TooLong
from tests.fuzz.readers import fuzz, readers
from tests.fuzz.runs import interruptions
from tests.fuzz.sessions import SESSIONS


@click.group()
def cli() -> None:
    """Look for crashes and for wrong answers."""
    torch.set_num_threads(1)


@cli.command("readers")
@click.option("--seconds", default=60.0, show_default=True, help="Of processor time, for each reader.")
@click.option("--reader", "chosen", help="Only this one.")
@click.option("--seed", default=1, show_default=True)
def fuzz_readers(seconds: float, chosen: str | None, seed: int) -> None:
    """Print one line per reader: inputs tried, read, refused, crashes. Save inputs that crash as crash-*."""
    crashes = 0
    for name, reader in readers().items():
        if chosen and chosen != name:
            continue
        counts = {"read": 0, "refused": 0}
        failures: dict[str, bytes] = {}
        end = time.process_time() + seconds
        wall = time.monotonic() + 3 * seconds
        for outcome, data in fuzz(reader, random.Random(seed)):
            if outcome in counts:
                counts[outcome] += 1
            else:
                failures.setdefault(outcome[:60], data)
            if time.process_time() > end or time.monotonic() > wall:
                break
        for number, (cause, data) in enumerate(failures.items()):
            Path(f"crash-{name.replace(' ', '-')}-{number}").write_bytes(data)
            print(f"  {cause}: {data[:200]!r}")
        crashes += len(failures)
        tried = sum(counts.values()) + len(failures)
        print(
            f"{name}\t{tried} tried\t{counts['read']} read\t{counts['refused']} refused\t{len(failures)} crashes",
            flush=True,
        )
    sys.exit(bool(crashes))


@cli.command("commands")
@click.option("--commands", "wanted", default=1000, show_default=True, help="How many to run, of each kind.")
@click.option("--kind", "chosen", type=click.Choice(list(SESSIONS)), help="Only this one.")
@click.option("--seed", default=1, show_default=True)
@click.option("--session", type=int, help="Only the session of this number.")
def fuzz_commands(wanted: int, chosen: str | None, seed: int, session: int | None) -> None:
    """Print one line per kind: commands run, exits with code 0, sessions, sessions that took too long, failures.

    The folders of failures are not deleted.
    """
    failed = 0
    for kind, make in SESSIONS.items():
        if chosen not in (None, kind):
            continue
        ran = good = long = failures = 0
        began = time.monotonic()
        number = -1 if session is None else session - 1
        while ran < wanted:
            number += 1
            folder = Path(mkdtemp(prefix=f"fuzz-{kind}-{number}-"))
            last: list[str] = []
            try:
                for done in make(folder, random.Random(f"{seed} {kind} {number}")):
                    ran, good, last = ran + 1, good + (done.code == 0), done.arguments
            except TooLong:
                long += 1
                rmtree(folder)
            except Exception as error:
                failures += 1
                print(f"{kind} {number} in {folder}: {type(error).__name__}: {error}\n  after {' '.join(last)}")
                if not isinstance(error, AssertionError):
                    traceback.print_exc(file=sys.stdout)
            else:
                rmtree(folder)
            if session is not None:
                break
        rate = 60 * ran / (time.monotonic() - began)
        counts = f"{ran} ran\t{good} good\t{number + 1} sessions\t{long} too long\t{failures} failures"
        print(f"{kind}\t{counts}\t{rate:.0f} a minute", flush=True)
        failed += failures
    sys.exit(bool(failed))


@cli.command("runs")
@click.option("--interruptions", "wanted", default=100, show_default=True, help="How many, over all runs.")
@click.option("--real", is_flag=True, help="Train models, which takes a minute for each.")
@click.option("--seed", default=1, show_default=True)
def fuzz_runs(wanted: int, real: bool, seed: int) -> None:
    """Print one line: interruptions, runs that then gave the table of an uninterrupted run, and runs that refused."""
    found: Counter[str] = Counter()
    with AT_THE_END:
        for counts in interruptions(random.Random(seed), real):
            found += counts
            if found["interruptions"] >= wanted:
                break
    print(f"{found['interruptions']} interruptions\t{found['same']} the same table\t{found['refused']} refused")


if __name__ == "__main__":
    cli()
