"""`python -m synmt.cli.step COMMAND …`: a command of a run, in a process that ends with the run.

Standard input is a pipe from the run; it closes however the run ends.
"""

import os
import sys
from select import POLLIN, poll
from threading import Thread

from synmt.cli.program import reported, run
from synmt.runs.steps import NOTE, SPENT

EVERY = 60.0  # seconds between two reports of the CPU time, of which a kill loses no more


def main() -> None:
    Thread(target=_end_with_run, daemon=True).start()
    sys.exit(reported(f"synmt {sys.argv[1]}", lambda: run(sys.argv[1:]), NOTE))


def _end_with_run() -> None:
    """End this process when the run ends. Until then, report the CPU time, which nobody measures if both are killed."""
    run = poll()
    run.register(0, POLLIN)
    while not run.poll(1000 * EVERY):
        _report_time()
    _report_time()
    os._exit(1)


def _report_time() -> None:
    os.write(2, b"\n%s %.2f\n" % (SPENT, sum(os.times()[:4])))


if __name__ == "__main__":
    main()
