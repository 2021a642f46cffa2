"""Loads the module of a command, and turns errors into one line on stderr and an exit code."""

import errno
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from signal import SIGINT
from textwrap import fill
from typing import Any, TextIO, cast

import click
from click.shell_completion import shell_complete

from synmt import __version__
from synmt.cli.sections import SectionGroup, no_command
from synmt.streams import IS_FOLDER, BadInput, Note, WrongUsage, complain, discard_output
from synmt.streams.process import Interrupted, Unwinding, search_rarely

GROUPS = {
    "Commands": {
        "parse": "Parse sentences and write parse records.",
        "convert": "Convert trees: records, brackets and CoNLL-U.",
        "align": "Train a word aligner on sentence pairs, and link them.",
        "link": "Link sentence pairs with a saved aligner.",
        "symmetrize": "Merge the links of both directions, or of several aligners.",
        "lexicon": "Write a table of linked words or terms.",
        "filter": "Keep the sentence pairs whose links have enough confidence.",
        "project": "Project trees to translations over word links.",
        "markup": "Carry inline markup to translations over word links.",
        "train": "Train a translation model.",
        "translate": "Translate text or parse records.",
        "logprob": "Write the log-probabilities of given translations.",
        "score": "Score translations, parses or word links.",
        "significance": "Test whether systems differ significantly.",
        "sign-test": "Test whether systems win more test sets than a baseline.",
        "segment-test": "Test sentence scores of another program, such as COMET's.",
        "run": "Train, test and compare the systems of a run file.",
        "challenge": "Find sentences for syntactic challenge sets.",
        "inspect": "Show what models have learned, and where they err.",
        "cite": "Print BibTeX for what you use.",
    },
    "Building blocks": {
        "linearize": "Write parse records as bracketed token lines.",
        "make-masks": "Write the attention masks of parse records.",
        "make-states": "Add the states of a pretrained encoder to parse records.",
        "transitions": "Write dependency trees as target strings.",
        "read-transitions": "Read target strings, and write their words or trees.",
        "bpe": "Learn, apply and undo byte pair encoding.",
        "strip-markup": "Remove inline markup from text, for translation.",
        "average": "Average the parameters of several models.",
        "export": "Convert a model for CTranslate2.",
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}

LIBRARIES = (
    "torch", "numpy", "benepar", "spacy", "ufal.udpipe", "sacremoses", "subword-nmt", "sacrebleu", "udtools", "eflomal"
)  # fmt: skip
COMPLETE = "_SYNMT_COMPLETE"  # the environment variable by which a shell asks for completions

SHORTEST_TERMINAL = 20  # columns
OF_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)  # limits of the process, not faults of a file


class LazyCommands(SectionGroup):
    """Imports the module of a command only when that command runs, so that all commands start fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            no_command(name, COMMANDS, context)
            return None
        module = importlib.import_module(f"synmt.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))


def _show_versions(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        import platform  # imported here, since both modules take longer to load than click
        from importlib.metadata import PackageNotFoundError, version

        click.echo(f"synmt {__version__}")
        click.echo(f"Python {platform.python_version()}")
        for name in LIBRARIES:
            try:
                click.echo(f"{name} {version(name)}")
            except PackageNotFoundError:
                click.echo(f"{name} is not installed")
        context.exit()


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


EPILOG = """
\b
Examples:
  synmt align bitext.tsv > links
  synmt train --source train.en --target train.de --out model
  synmt help align
"""


cli = LazyCommands(
    help="Syntax-aware neural machine translation, word alignment and projection.",
    epilog=EPILOG,
    context_settings=CONTEXT,
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_versions,
            help="Show the versions of synmt, Python and libraries and exit.",
        ),
    ],
)  # fmt: skip


def reported(name: str, work: Callable[[], int | None], mark: str = "") -> int:
    """Do the work of a process and return its exit code. An error or note becomes one line on stderr.

    name: begins each line; mark: precedes the text of notes.
    """
    sys.stderr = cast(TextIO, Messages(sys.stderr or Path(os.devnull).open("w")))  # noqa: SIM115 (open to the end)
    show = warnings.showwarning

    def show_note(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        if isinstance(message, Note):
            print(f"{name}: {mark}{message.text}", file=sys.stderr, flush=True)
        else:
            show(message, category, *place, **others)

    warnings.showwarning = show_note
    warnings.simplefilter("always", Note)
    search_rarely()
    try:
        with Unwinding():
            code = work() or 0
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has read enough
        discard_output()
        code = 0
    except BadInput as error:
        code = complain(name, str(error))
    except WrongUsage as error:
        code = complain(name, f"{error} ({name} -h)", 2)
    except OSError as error:
        discard_output()
        code = complain(name, of_system(error))
    except RuntimeError as error:  # how PyTorch and threads report that memory has run out
        if "memory" not in str(error) and "start new thread" not in str(error):
            raise
        discard_output()
        code = complain(name, f"out of memory: {str(error).splitlines()[0]}")
    except MemoryError as error:
        code = complain(name, f"out of memory: {error}" if str(error) else "out of memory")
    except ImportError as error:
        code = complain(name, f"cannot load a library: {first_cause(error)}")
    except Interrupted as stop:
        code = complain(name, str(stop), 128 + stop.signal)
    except (KeyboardInterrupt, click.Abort) as stop:
        code = complain(name, "interrupted", 128 + getattr(stop, "signal", SIGINT))
    return code


class Messages:
    """Standard error. A failed write stops no work: it may be closed, or a pipe that nobody reads. On a terminal, long
    messages are wrapped between words."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError):
            # A progress bar and the lines of a traceback have characters that are not printable, such as line ends.
            if len(text) > SHORTEST_TERMINAL and text.isprintable() and self._stream.isatty():
                text = fill(text, get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False)
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def of_system(error: OSError) -> str:
    """Return the message of an operating system error; an error without a file concerns the output or the process."""
    if error.errno in OF_PROCESS:
        return str(error.strerror)
    if isinstance(error, IsADirectoryError):
        return f"{error.filename}: {IS_FOLDER}"
    return f"{error.filename or 'output'}: {error.strerror or error}"


def first_cause(error: BaseException) -> BaseException:
    """Return the error that started a chain of errors."""
    before = error.__cause__ or error.__context__
    return first_cause(before) if before else error


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code. Raises its errors, those of click as WrongUsage."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if asked := os.environ.get(COMPLETE):
        return shell_complete(cli, {}, "synmt", COMPLETE, asked)
    try:  # not `cli.main`, which turns a closed pipe into exit code 1
        with cli.make_context("synmt", arguments) as context:
            cli.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:  # a group of commands without the name of one
        error.show()
        return error.exit_code
    except click.UsageError as error:
        cause = error.format_message().rstrip(".")
        raise WrongUsage(cause[:1].lower() + cause[1:]) from None
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0
