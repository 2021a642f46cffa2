"""Converts arguments and messages of the Python functions: sentences to lines, configs to options."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, runtime_checkable

from synmt.data.records import BitextFiles, columns_of_pairs
from synmt.options import MOST_JOBS, Checked, Rules, check_used, config_of, given, options_in, setting, settings_of
from synmt.registry import Registry
from synmt.streams import BadInput, BadLines, Line, Message, OnError, read_lines
from synmt.trees.record import ParseRecord, write_record

T = TypeVar("T")
P = ParamSpec("P")


@runtime_checkable
class HasLine(Protocol):
    """A translation or the links of a pair, which other functions read like its line."""

    @property
    def line(self) -> str:
        """The line that the command writes."""


# A str is text or the JSON of a record, with or without a line end; a list of str is words.
Sentence = str | ParseRecord | Sequence[str] | HasLine
Pair = tuple[Sentence, Sentence]
Pairs = str | Path | tuple[str | Path, str | Path] | Iterable[Pair]  # a table, a source and a target file, or pairs
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class RuntimeConfig(Checked):
    """Settings of every function that computes something."""

    device: str = setting("auto", "auto, cpu, cuda or cuda:N")
    on_error: OnError = setting("fail", "a bad line stops the work, or becomes an empty result and is counted")
    jobs: int = setting(1, "processes", 1, most=MOST_JOBS)


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function of `synmt`: at once, it refuses arguments that their annotations do not allow, and its messages
    name fields and keywords instead of options."""
    shown = signature(function)

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> T:
        with _errors_in_python():
            arguments = shown.bind(*args, **keywords).arguments
            config_of(RuntimeConfig, arguments)
            check_arguments(shown, arguments)
            result = function(*args, **keywords)
        return _each(result) if isinstance(result, Iterator) else result  # type: ignore[return-value]

    return call


def check_arguments(function: Signature, arguments: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for an argument that its annotation does not allow: "" and an empty list stand for
    nothing. None is allowed where it is the default."""
    for name, value in arguments.items():
        parameter = function.parameters[name]
        if parameter.annotation is Parameter.empty:
            continue
        for each in value if parameter.kind is Parameter.VAR_POSITIONAL else (value,):
            if each is not parameter.default and not _fits(each, parameter.annotation):
                raise (ValueError if isinstance(each, str | list) else TypeError)(f"{name} cannot be {each!r:.60}")


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value has a type, as far as that can be told without consuming it."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in options)
    if origin is Literal:
        return isinstance(value, str) and value in options
    if origin is Annotated or hint is str:  # names to which other packages add; an unknown one is refused later
        return isinstance(value, str) and value != ""
    if origin is Sequence:
        return isinstance(value, list | tuple) and bool(value) and all(_fits(each, options[0]) for each in value)
    if origin is Iterable:  # a str is refused later, with advice
        return isinstance(value, Iterable) and not isinstance(value, bytes | Mapping) and value != ""
    if origin is Mapping:  # likewise
        return True
    if hint in (bool, int) or (is_dataclass(hint) and settings_of(hint)):  # a subclass has fields without effect
        return type(value) is hint
    return isinstance(value, origin or hint)


@contextmanager
def _errors_in_python() -> Iterator[None]:
    """Let messages of errors name fields and keywords instead of options."""
    try:
        yield
    except ValueError as error:
        if isinstance(message := str(error), Message):
            raise type(error)(message.in_python) from None
        raise
    except BadInput as error:
        raise error.in_python from None


def _each(results: Iterator[T]) -> Iterator[T]:
    with _errors_in_python():
        yield from results


def chosen_of(chosen: object, known: Sequence[Registry], what: str) -> tuple[list[str], dict[str, Any]]:
    """Return the names of plug-ins, given by name or as objects, and the options of the objects, such as
    `pascal_heads`. Raises TypeError for another object, and ValueError for options without effect."""
    names, found = list[str](), dict[str, Any]()
    for each in chosen if isinstance(chosen, list | tuple) else (chosen,):
        if isinstance(each, str):
            names.append(each)
            continue
        name = next((name for kinds in known for name in kinds if kinds[name] is type(each)), None)
        if name is None:
            raise TypeError(f"{what} cannot be {each!r:.60}")
        check_used(as_given(given(each)), options_in(type(each)), Rules())
        found |= {f"{name}_{option}".replace("-", "_"): value for option, value in given(each).items()}
        names.append(name)
    return names, found


def lines_of(sentences: Iterable[Sentence] | Path, name: str, on_error: OnError = "fail") -> Iterator[Line]:
    """Yield the lines of a file, or sentences as if they were lines of a file with this name. Raises as `read_lines`,
    `numbered` and `text_of`."""
    if isinstance(sentences, Path):
        yield from read_lines([str(sentences)], on_error)
        return
    for line, sentence in numbered(sentences, name):
        yield with_text(line, (sentence,), on_error)


def lines_of_pairs(
    pairs: Iterable[Sequence[Sentence]] | Path, name: str, on_error: OnError = "fail", columns: int = 2
) -> Iterator[Line]:
    """Yield the lines of a file, or pairs as `source TAB target` lines, as `lines_of`. A tab in a text becomes a space.

    columns: number of items of a pair; 3 if links are among them.
    """
    if isinstance(pairs, Path):
        yield from read_lines([str(pairs)], on_error)
        return
    for line, sides in numbered(pairs, name):
        if not isinstance(sides, list | tuple) or len(sides) != columns:
            pair = "(source, target)" if columns == 2 else "(source, target, links)"
            raise TypeError(f"{line.source}:{line.number}: a pair is {pair}")
        yield with_text(line, sides, on_error)


def files_in(pairs: Any) -> list[str]:
    """Return the files of pairs: one with two columns, or a source and a target file; none for pairs from Python."""
    if isinstance(pairs, str | Path):
        return [str(pairs)]
    are_two = isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(each, str | Path) for each in pairs)
    return [*map(str, pairs)] if are_two else []


def columns_of(pairs: Pairs, files: BitextFiles, bad: BadLines) -> Iterator[tuple[Line, ...]]:
    """Yield the source and target of each pair, from files or from Python, as lines. Raises as `lines_of_pairs`.

    files: those that the pairs are in, opened.
    """
    if files.paths:
        return files.columns(bad)
    return columns_of_pairs(lines_of_pairs(pairs, "pairs", bad.on_error), bad)  # type: ignore[arg-type]


def with_text(line: Line, sides: Sequence[Sentence], on_error: OnError) -> Line:
    """Return the line with its text, several sides with tabs between them. A bad text gives a cause if `on_error` is
    blank, and otherwise raises BadInput."""
    try:
        texts = [text_of(side, line) for side in sides]
    except BadInput as error:
        if on_error == "fail":
            raise
        return replace(line, cause=error.cause)
    if len(texts) > 1:  # a tab in links precedes their confidence
        texts[:2] = [text.replace("\t", " ") for text in texts[:2]]
    return replace(line, text="\t".join(texts))


def numbered(items: Iterable[T], name: str) -> Iterator[tuple[Line, T]]:
    """Yield each item with a line that names its place. Raises TypeError for a str, which is one text, not several."""
    if isinstance(items, str):
        raise TypeError(f"{name} must be several, not a single str: put it in a list, or give a Path for a file")
    for number, item in enumerate(items, 1):
        yield Line("", name, number), item


def text_of(sentence: Sentence, line: Line) -> str:
    """Return a sentence as the text of a line. Raises BadInput, which names the line, for a text with a line end or
    NUL, and TypeError for anything else than a sentence."""
    if isinstance(sentence, ParseRecord):
        return write_record(sentence)
    if isinstance(sentence, list | tuple) and all(isinstance(each, str) for each in sentence):
        return write_record(ParseRecord(tokens=checked_words(sentence, line)))
    if not isinstance(sentence, str | HasLine):
        kind = type(sentence).__name__
        raise TypeError(
            f"{line.source}:{line.number}: a sentence is a str, a list of words or a ParseRecord, not {kind}"
        )
    text = sentence.rstrip("\r\n") if isinstance(sentence, str) else sentence.line
    for character, name in (("\n", "an end of line"), ("\0", "NUL")):
        if character in text:
            raise line.error(f"{name} in a sentence")
    if SURROGATE.search(text):
        raise line.error("half a surrogate pair in a sentence, which UTF-8 cannot encode")
    return text


def checked_words(words: Sequence[str], line: Line) -> list[str]:
    """Return the words. Raises BadInput, which names the line, for a word that is empty or has white space."""
    for word in words:
        if word.split() != [word] or SURROGATE.search(word):
            raise line.error(f"{word!r} is not a word: it is empty, or contains white space or half a surrogate pair")
    return list(words)


def as_given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names of their options."""
    return {name.replace("_", "-"): value for name, value in settings.items()}
