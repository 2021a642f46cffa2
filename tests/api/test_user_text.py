"""Messages name options on the command line and keywords in Python, and never change what a user has written."""

import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import synmt
from synmt.streams import BadInput, Line, Message, Note, WrongUsage, in_python, note
from tests.cli.commands import output_of

TEXTS = "--beam", "--out=x", "a--max-words", "{}", "{0} --n-best", "synmt align --method", "--méthode"
RECORD = '{"tokens": ["a"], "heads": [0], "deprels": ["root"]}'


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80) | st.sampled_from(TEXTS))
def test_values_of_a_message_stay_as_they_are(text: str) -> None:
    message = Message("--n-best {} needs --beam; see synmt align --help", text)
    assert message == f"--n-best {text} needs --beam; see synmt align --help"
    assert in_python(message) == f"n_best {text} needs beam; see synmt align --help"
    nested = Message("{}: {}", text, WrongUsage(message))
    assert (nested, in_python(nested)) == (f"{text}: {message}", f"{text}: {message.in_python}")
    for kept in (str(ValueError(message)), str(WrongUsage(message)), pickle.loads(pickle.dumps(message))):
        assert (kept, in_python(kept)) == (message, message.in_python)
    error = Line("", "file", 3).error(WrongUsage(message))
    assert (str(error), str(error.in_python)) == (f"file:3: {message}", f"file:3: {message.in_python}")
    with pytest.warns(Note) as warned:
        note(message)
    assert (warned[0].message.text, str(warned[0].message)) == (message, message.in_python)  # type: ignore[union-attr]


def test_other_messages_name_no_options() -> None:
    error = BadInput("--beam", "--out", 1)
    assert error.in_python is error and str(error) == "--out:1: --beam"
    assert str(Note("--beam")) == Note("--beam").text == "--beam"


def missing(folder: Path, text: str) -> str:
    return str(folder / "nowhere" / text)


# Calls of the API with a text of a user, and the command that does the same, if there is one.
Call = tuple[Callable[[Path, str], object], Callable[[Path, str], list[str | Path]] | None]
CALLS: dict[str, Call] = {
    "a file of links": (
        lambda folder, text: list(synmt.symmetrize(missing(folder, text), [("a", "b")])),
        lambda folder, text: ["symmetrize", missing(folder, text), "--pairs", folder / "pairs"],
    ),
    "a file of links to learn from": (
        lambda folder, text: synmt.align([("a", "b")] * 9, "mask-align", guide=missing(folder, text)),
        lambda folder, text: ["align", "--method", "mask-align", "--guide", missing(folder, text), folder / "pairs"],
    ),
    "an aligner": (lambda folder, text: synmt.Aligner.load(missing(folder, text)), None),
    "a model": (
        lambda folder, text: synmt.translate(missing(folder, text), ["a"]),
        lambda folder, text: ["translate", missing(folder, text), folder / "pairs"],
    ),
    "a link": (
        lambda folder, text: list(synmt.project([(RECORD, "b", f"x{text}".replace(" ", ""))])),
        lambda folder, text: ["project", written(folder, f"{RECORD}\tb\tx{text.replace(' ', '')}\n")],
    ),
    "a word": (lambda folder, text: list(synmt.parse([[f"{text} x"]])), None),
    "a language": (lambda folder, text: synmt.TextConfig(source_language=text), None),
    "a method": (
        lambda folder, text: synmt.align([("a", "b")], text),  # type: ignore[arg-type]
        None,
    ),
    "a metric": (
        lambda folder, text: synmt.score(["a"], ["a"], metrics=[text]),  # type: ignore[list-item]
        None,
    ),
    "training text": (
        lambda folder, text: synmt.train(missing(folder, text), out=folder / "model"),
        lambda folder, text: ["train", "--tsv", missing(folder, text), "--out", folder / "model"],
    ),
    "codes": (
        lambda folder, text: synmt.train([("a", "b")] * 9, out=folder / "model", codes=missing(folder, text)),
        None,
    ),
    "an output": (
        lambda folder, text: synmt.train(named(folder, text), out=named(folder, text)),
        lambda folder, text: ["train", "--tsv", named(folder, text), "--out", named(folder, text)],
    ),
    "a device": (lambda folder, text: synmt.align([("a", "b")] * 9, "mask-align", device=text), None),
    "a file of text": (lambda folder, text: list(synmt.parse(Path(missing(folder, text)))), None),
    "a run file": (
        lambda folder, text: synmt.Run.open(missing(folder, text), folder / "out"),
        lambda folder, text: ["run", missing(folder, text)],
    ),
}


def written(folder: Path, text: str) -> Path:
    (folder / "written").write_text(text)
    return folder / "written"


def named(folder: Path, text: str) -> Path:
    path = folder / text
    path.write_text("a\tb\n")
    return path


def said_of(work: Callable[[], object]) -> str:
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        with pytest.raises((BadInput, ValueError, TypeError, OSError)) as error:
            made: Any = work()
            list(made)  # an iterator raises later
    return " ".join([str(error.value), *(str(each.message) for each in noted)])


@pytest.mark.parametrize("text", TEXTS[:5])
@pytest.mark.parametrize("name", CALLS)
def test_what_a_user_has_written_is_never_changed(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a\tb\n" * 9)
    call, command = CALLS[name]
    expected = text.replace(" ", "") if name == "a link" else text
    assert expected in said_of(lambda: call(tmp_path, text))
    if command:
        assert expected in said_of(lambda: output_of(*command(tmp_path, text)))


def test_notes_keep_the_names_of_files(tmp_path: Path) -> None:
    links = tmp_path / "--beam"
    links.write_text("1-1\n")
    with pytest.warns(Note, match=re.escape(f"{links} has no link to a word 0")):
        list(synmt.symmetrize(links, [("a b", "a b")]))


@pytest.mark.parametrize(
    ("call", "command", "in_call", "in_command"),
    [
        (
            lambda pairs: synmt.symmetrize("x", pairs, synmt.SymmetrizeConfig(threshold=0.5)),
            "symmetrize x --threshold 0.5 --pairs pairs",
            "threshold needs a vote: add heuristic mean",
            "--threshold needs a vote: add --heuristic mean",
        ),
        (
            lambda pairs: synmt.align(pairs, "hmm", resume=True, out="x"),
            "align --method hmm --resume --out x pairs",
            "hmm does not use resume; it belongs to",
            "hmm does not use --resume; it belongs to",
        ),
        (
            lambda pairs: synmt.train(pairs, out=pairs.parent),
            "train --tsv pairs --out .",
            "out {} would write over the input",
            "--out . would write over the input",
        ),
    ],
)
def test_options_have_their_own_names_on_both_sides(
    call: Callable[[Path], object], command: str, in_call: str, in_command: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    pairs = tmp_path / "pairs"
    pairs.write_text("a b\tb c\n" * 9)
    assert in_call.format(tmp_path) in said_of(lambda: call(pairs))
    assert in_command in said_of(lambda: output_of(*command.split()))
