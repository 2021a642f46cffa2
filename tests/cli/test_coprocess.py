"""A command that keeps running answers each line before the next one is sent, and reads no more than it can write."""

import os
import subprocess
from pathlib import Path
from select import select

import pytest

from tests.alignment.bitexts import bitext, fit_to
from tests.cli.commands import BUFFERED, RECORD, warm_command
from tests.inspection.models import write_model

SECONDS = 60  # enough for a start on a busy machine
STALLED = 2  # seconds without room for input
MOST = 2**22  # bytes of input, more than windows and pipes hold
PAIR = "He is my father\tEr ist mein Vater"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    for system in ("sequence", "mask"):
        write_model(made / system, system)
    write_model(made / "transitions", "sequence", "transitions")
    fit_to("mask-align", bitext()[0], made / "aligner", epochs=1)
    (made / "codes").write_text("#version: 0.2\nf a\n")
    return made


@pytest.mark.parametrize(
    ("command", "line", "answer"),
    [
        ("parse", "He is my father.", '"tree":"(S'),
        ("parse --jobs 2", "He is my father.", '"tree":"(S'),
        ("parse --parser udpipe", "He is my father.", '"heads":['),
        ("translate sequence", "He is my father", ""),
        ("translate sequence", RECORD, ""),
        ("translate sequence mask --jobs 2", RECORD, ""),
        ("translate mask --format jsonl", "He is my father", '"text":'),  # the command parses the text
        ("logprob sequence", PAIR, "-"),
        ("logprob transitions", "He is\ter ist RIGHT-ARC:rel1", "-"),
        ("link aligner --format jsonl", PAIR, '"links":['),
        ("link aligner --format jsonl --jobs 2", PAIR, '"links":['),
        ("symmetrize links --pairs -", PAIR, "0-0"),
        ("project --target-language de", '{"tokens":["He"],"heads":[0],"deprels":["root"]}\tEr\t0-0', '"heads":[0]'),
        ("linearize", RECORD, "(S (NP"),
        ("bpe apply --codes codes", "fat", "fa@@ t"),
    ],
)
def test_each_line_is_answered(command: str, line: str, answer: str, folder: Path) -> None:
    """Also the first line, which may be empty, so that its format is not known yet."""
    (folder / "links").write_text("\n0-0\n0-0\n0-0\n")
    words = [*warm_command(), *command.split()]
    with subprocess.Popen(
        words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        for sent, expected in (("", ""), (line, answer), (line, answer)):
            process.stdin.write(f"{sent}\n".encode())
            process.stdin.flush()
            assert select([process.stdout], [], [], SECONDS)[0], "no answer"
            assert expected in process.stdout.readline().decode()
        process.stdin.write(f"{line}\n\n".encode())  # two lines at once
        process.stdin.close()
        if "symmetrize" not in command:
            assert len(process.stdout.read().splitlines()) == 2


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("linearize", RECORD),
        ("bpe apply --codes codes", "fat"),
        ("parse --parser udpipe --jobs 2", "Father."),
        ("translate sequence --format jsonl", "Father"),
    ],
)
def test_a_command_whose_output_nobody_reads_stops_reading(command: str, line: str, folder: Path) -> None:
    """So a pipeline is as slow as its slowest stage, and does not fill the memory in front of it."""
    words = [*warm_command(), *command.split()]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdin and process.stdout
        stdin, size, written = process.stdin.fileno(), len(line) + 1, 0
        lines = f"{line}\n".encode() * 1000
        os.set_blocking(stdin, False)
        while written < MOST:
            answered, room, _ = select([process.stdout], [stdin], [], SECONDS)
            if not room and not (answered and select([], [stdin], [], STALLED)[1]):
                break
            written += os.write(stdin, lines[written % size :])
        assert process.poll() is None
        process.kill()
    assert written < MOST
