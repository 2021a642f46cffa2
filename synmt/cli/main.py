"""`synmt`: imports little, so that an interrupt never meets Python's own handler, which shows a traceback."""

import sys
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal


def main() -> None:
    """Run one command. Exit codes: 0 success, 1 bad input or system error, 2 wrong usage, 128+n stopped by signal n."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)  # ends the process at once, as other signals do, until a command runs
    from synmt.cli.program import COMMANDS, reported, run

    arguments = sys.argv[1:]
    name = f"synmt {arguments[0]}" if arguments and arguments[0] in COMMANDS else "synmt"
    sys.exit(reported(name, lambda: run(arguments)))
