"""`python -IS tests/cli/ask.py SOCKET MODULE ARGUMENTS`: a command in a fork of the process in `tests.cli.warm`.

Tests start it thousands of times, so it imports only modules that are built into Python or loaded when Python starts.
"""

import marshal
import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket


def ask(path: str, arguments: list[str]) -> int:
    """Run a command with the standard streams of this process; return its exit code, 128 + n after signal n."""
    where = os.getcwd()  # noqa: PTH109 (pathlib takes as long to import as all the rest)
    request = marshal.dumps((arguments, where, dict(os.environ)))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    connection = socket(AF_UNIX, SOCK_SEQPACKET)
    connection.connect(path)
    connection.sendmsg([request], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    code = int(connection.recv(16) or b"1")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
