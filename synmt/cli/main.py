"""`synmt`: finds the command's file, and turns errors into one line on stderr and an exit code."""

import errno
import importlib
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import click
from click.shell_completion import shell_complete

from synmt import __version__
from synmt.cli.scarcity import watch_limit
from synmt.cli.sections import SectionGroup
from synmt.process import Interrupted, search_rarely
from synmt.streams import BadInput, WrongUsage, complain, discard_output

COMMANDS = {
    "parse": "Parse sentences, and write parse records.",
    "linearize": "Write parse records as token lines: brackets, preorder or labels.",
    "make-masks": "Make mask records of parse records: preorder tokens and their relations.",
    "transitions": "Write dependency trees as target strings with arcs, and read them back.",
    "bpe": "Learn, apply and undo byte pair encoding.",
    "train": "Train a translation model on source and target files.",
    "average": "Make one model of several that began alike: the mean of their parameters.",
    "translate": "Translate text or records.",
    "export": "Write a model for CTranslate2.",
    "align": "Link the words of sentence pairs.",
    "project": "Carry trees over links, to a language without a parser.",
    "score": "Score translations, parses or word links against references.",
    "significance": "Test whether systems differ by more than chance.",
    "run": "Train, translate with and score several systems from one file.",
    "challenge": "Find syntactic challenge sets by parses and links.",
    "inspect": "Look at what models have learnt: masks, attention, alignments, curves.",
}


# What native libraries read when they start, where the user has set nothing.
ENVIRONMENT = {
    # How long the threads of a product wait for each other before they sleep. With OpenMP's own 300,000, a small
    # training on a busy machine does little but wait; with this one, an idle machine is as fast as before.
    "GOMP_SPINCOUNT": "2000",
    # How many kernels oneDNN keeps, each made for one shape. Its own 1,024 are half a GiB in a training in bf16,
    # where next to no shape comes twice.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
}

LIBRARIES = ("torch", "numpy", "benepar", "spacy", "ufal.udpipe", "sacremoses", "subword-nmt", "sacrebleu", "eflomal")
COMPLETE = "_SYNMT_COMPLETE"  # in the environment: what a shell asks that completes a command line

OF_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)  # what it lacks, whatever it was about to do


class LazyCommands(SectionGroup):
    """Imports a command's file only when that command is asked for, so that each starts fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"synmt.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_versions(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"synmt {__version__}")
        click.echo(f"Python {platform.python_version()}")
        for name in LIBRARIES:
            try:
                click.echo(f"{name} {version(name)}")
            except PackageNotFoundError:
                click.echo(f"{name} is not installed")
        context.exit()


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.command(cls=LazyCommands, context_settings=CONTEXT)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_versions,
    help="Show the version, and those of Python and the libraries that decide what comes out.",
)  # fmt: skip
def cli() -> None:
    """Syntax in neural machine translation, as a kit of Unix tools."""


def main() -> None:
    """Run one command. Exit codes: 0 done, 1 bad input or system, 2 wrong usage, 128+n ended by signal n."""
    arguments = sys.argv[1:]
    name = f"synmt {arguments[0]}" if arguments and arguments[0] in COMMANDS else "synmt"
    sys.exit(reported(name, lambda: run(arguments)))


def reported(name: str, work: Callable[[], int | None]) -> int:
    """Return the exit code of work in a process of its own; an error becomes one line on stderr under this name."""
    for variable, value in ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    watch_limit()
    search_rarely()
    try:
        code = work() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has what it wants
        discard_output()
        code = 0
    except BadInput as error:
        code = complain(name, str(error))
    except WrongUsage as error:
        code = complain(name, f"{error} ({name} -h)", 2)
    except OSError as error:
        discard_output()
        code = complain(name, of_system(error))
    except RuntimeError as error:  # PyTorch's way to say so, and that of threads
        if "memory" not in str(error) and "start new thread" not in str(error):
            raise
        discard_output()
        code = complain(name, f"out of memory: {str(error).splitlines()[0]}")
    except MemoryError as error:
        code = complain(name, f"out of memory: {error}" if str(error) else "out of memory")
    except ImportError as error:
        code = complain(name, f"a library does not load: {first_cause(error)}")
    except Interrupted as stop:
        code = complain(name, str(stop), 128 + stop.signal)
    except (KeyboardInterrupt, click.Abort):
        code = complain(name, "interrupted", 130)
    return code


def of_system(error: OSError) -> str:
    """Return what an error of the operating system says; one without a file is of the output, or of the process."""
    if error.errno in OF_PROCESS:
        return str(error.strerror)
    return f"{error.filename or 'output'}: {error.strerror or error}"


def first_cause(error: BaseException) -> BaseException:
    """Return the error that those after it were raised for."""
    before = error.__cause__ or error.__context__
    return first_cause(before) if before else error


def run(arguments: list[str]) -> int:
    """Return the exit code of one command line; its errors are raised, but for those of usage."""
    if asked := os.environ.get(COMPLETE):
        return shell_complete(cli, {}, "synmt", COMPLETE, asked)
    try:  # not `cli.main`, which makes exit code 1 of a closed pipe
        with cli.make_context("synmt", arguments) as context:
            cli.invoke(context)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0
