"""`python -m synmt.cli.child NAME OPTIONS`: one command of a run, in a process that ends with the run.

OPTIONS is JSON. Standard input is a pipe from the run; it closes however the run ends.
"""

import json
import os
import sys
from functools import partial
from io import TextIOWrapper
from threading import Thread
from typing import cast

from synmt.cli.program import reported
from synmt.options import arguments
from synmt.runs.calls import call
from synmt.runs.tasks import NOTE


def main() -> None:
    Thread(target=_end_with_run, daemon=True).start()
    cast(TextIOWrapper, sys.stdout).reconfigure(encoding="utf-8")  # whatever the locale
    name, options = sys.argv[1], json.loads(sys.argv[2])
    sys.argv[1:] = [name, *arguments(options)]  # the equivalent command line, for the config of a model
    sys.exit(reported(f"synmt {name}", partial(call, name, options), NOTE))


def _end_with_run() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
