"""`python -m synmt.cli.child COMMAND...`: a command of synmt that ends with the run that started it.

Its standard input is a pipe of which the run holds the other end, so that it closes however the run ends.
"""

import os
from threading import Thread

from synmt.cli.main import main as run


def main() -> None:
    Thread(target=_end_with_run, daemon=True).start()
    run()


def _end_with_run() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
