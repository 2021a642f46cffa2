"""Two thousand lines that no parser was trained for, through both parsers in two processes."""

import json
import random
from pathlib import Path

from synmt.streams import read_lines
from synmt.trees.record import read_record
from tests.cli.commands import shell

LINES = 2000
WORDS = ["the", "dog", "barks", "(", ")", "-LRB-", "[", "}", "\\", "_", "#", "@@", "1-2", "&amp;", "<b>", "</p>", "|||"]
ODD = ["", " ", "\t", "\u00a0", "\u2028", "\u200b", "\ufeff", "\x01", "\x1c", "\x7f", "\u0301", "\ufffd", "\U0010ffff"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧", "🏳️‍🌈", "❤️"]
SCRIPTS = [
    "שלום עולם",
    "مرحبا بالعالم",
    "我爱北京天安门。",
    "नमस्ते दुनिया",
    "Привет, мир!",
    "สวัสดีชาวโลก",
    "\u202eabc\u202c",
]
PUNCTUATION = "!?.,;:…—–'\"“”«»()[]{}<>/\\|@#$%^&*+=~`"


def nasty_line(number: int, random: random.Random) -> str:
    if number == 0:
        return "word " * 5000
    if number == 1:
        return "x" * 20_000
    kinds = [WORDS, ODD, EMOJI, SCRIPTS, list(PUNCTUATION)]
    chosen = random.choice([*kinds, [text for kind in kinds for text in kind]])
    return random.choice(["", " "]).join(random.choices(chosen, k=random.randint(0, 5)))


def test_each_line_gives_one_record(tmp_path: Path) -> None:
    source = random.Random(7)
    lines = [nasty_line(number, source) for number in range(LINES)]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    done = shell("synmt parse --parser benepar+udpipe --jobs 2 in > out", tmp_path)
    assert done.returncode == 0
    assert done.stderr in ("", done.stderr.partition(" too long")[0] + " too long to parse, written without a tree\n")
    records = [read_record(line.text) for line in read_lines([str(tmp_path / "out")])]
    assert len(records) == LINES
    lines[0] = lines[0].removeprefix("\ufeff")  # a byte order mark
    for line, record in zip(lines, records, strict=True):
        assert "".join(record.tokens) == "".join(line.split()), json.dumps(line)
        if len(record.tokens) < 5000:  # of one sentence
            assert bool(record.tokens) == bool(record.heads) == (record.tree is not None)
