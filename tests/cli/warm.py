"""Commands in forks of a process that has imported synmt and opened its UDPipe models, which takes seconds.

`tests.cli.ask` sends a module and arguments. Its `main` is called with the caller's directory, environment and standard
streams. If PYTHONPATH may contain packages that extend synmt, or if a module of another package changes what synmt
imports, synmt is imported after the fork.
"""

import gc
import marshal
import os
import re
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path
from pkgutil import walk_packages
from socket import AF_UNIX, SOCK_SEQPACKET, recv_fds, socket
from typing import TYPE_CHECKING, ClassVar

from tests.cli import ask

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LARGEST = 2**18  # bytes of a request
LIBRARIES = [
    "benepar.parse_chart",
    "conllu",
    "hypothesis",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pytest",
    "sacrebleu",
    "sacremoses",
    "safetensors.torch",
    "spacy",
    "subword_nmt.apply_bpe",
    "torch._dynamo",
    "tqdm",
    "ufal.udpipe",
]
WORK = [  # modules of tests whose functions run in forks
    "tests.cli.warm",
    "tests.fuzz.commands",
    "tests.nn.test_quantization",
    "tests.runs.test_tasks",
    "tests.training.test_distribution",
]


class PoolFork(ForkProcess):
    """A process of a pool that is a fork of the command. It closes the pool's ends of all pipes, so that each process
    notices when the pool closes its own."""

    ends: ClassVar[list["Connection"]] = []

    def run(self) -> None:
        for end in self.ends:
            end.close()
        super().run()


class PoolContext(ForkContext):
    """Starts the processes of a pool."""

    Process = PoolFork

    def Pipe(self, duplex: bool = True) -> tuple["Connection", "Connection"]:
        end, other = super().Pipe(duplex)
        PoolFork.ends.append(end)
        return end, other


def preloaded() -> list[str]:
    """Return the libraries, and all modules of synmt that can be imported without running a program."""
    folder = str(Path(__file__).parents[2] / "synmt")
    names = [module.name for module in walk_packages([folder], "synmt.")]
    own = [name for name in names if not name.endswith("__main__") and not name.startswith("synmt.parsers.training")]
    return [*LIBRARIES, *own, *WORK, "tests.cli.imported"]


def use_huge_pages() -> None:
    """Move the memory of this process to huge pages, if Linux can. A fork then copies a few hundred entries of the page
    table instead of a hundred thousand, and takes a fifth of the time."""
    import ctypes

    size, collapse = 2**21, 25  # MADV_COLLAPSE
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    with suppress(FileNotFoundError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            if private := re.fullmatch(r"(\w+)-(\w+) rw-p \S+ \S+ 0 *(?:\[heap\])?", line):
                begin, end = (int(each, 16) for each in private.groups())
                for huge_page in range(-(-begin // size) * size, end - size + 1, size):
                    advise(huge_page, size, collapse)  # an older kernel refuses, and nothing changes


def serve(path: str, end: "Connection") -> None:
    """Answer requests until the other side of a pipe is closed; kill the commands of clients that have gone."""
    from multiprocessing import get_context
    from multiprocessing.connection import wait
    from multiprocessing.process import BaseProcess

    import spacy

    from synmt.parsers import udpipe

    udpipe.load_model = cache(udpipe.load_model)
    for model in udpipe.FOLDER.glob("*.udpipe"):
        udpipe.load_model(str(model))
    english, blank = [spacy.blank("en")], spacy.blank  # a fork uses it once: it may need two, for different text
    spacy.blank = lambda language: english.pop() if language == "en" and english else blank(language)
    forks = get_context("fork")
    gc.freeze()  # the collector of a fork would otherwise copy every page
    use_huge_pages()
    running: dict[int, tuple[BaseProcess, socket]] = {}
    with socket(AF_UNIX, SOCK_SEQPACKET) as listener:
        listener.bind(f"{path}.new")
        listener.listen(64)
        Path(f"{path}.new").rename(path)
        while end not in (ready := wait([end, listener, *running, *(each for _, each in running.values())])):
            if listener in ready:
                connection, _ = listener.accept()
                request, streams, _, _ = recv_fds(connection, LARGEST, 3)
                process: BaseProcess = forks.Process(target=_run, args=(path, marshal.loads(request), streams))
                process.start()
                running[process.sentinel] = process, connection
                for stream in streams:
                    os.close(stream)
            for process, connection in running.values():
                if connection in ready:
                    process.kill()
            for sentinel in [each for each in running if each in ready]:
                process, connection = running.pop(sentinel)
                process.join()
                with connection, suppress(BrokenPipeError):
                    connection.send(str(process.exitcode).encode())


def _run(path: str, request: tuple[list[str], str, dict[str, str]], streams: list[int]) -> None:
    """Become the command. The commands of `synmt run` are forked from the same process; `path` is its socket."""
    arguments, directory, environment = request
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    module, *sys.argv[1:] = arguments
    if "PYTHONPATH" in environment or not module.startswith("synmt."):
        for name in [name for name in sys.modules if name.partition(".")[0] == "synmt"]:
            del sys.modules[name]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    if sys.argv[1:2] == ["run"]:
        import_module("synmt.runs.steps").PROGRAM[:] = [sys.executable, "-IS", ask.__file__, path, "synmt.cli.step"]
    from synmt.streams import pool

    pool.CONTEXT = PoolContext()  # type: ignore[assignment]
    import_module(module).main()
