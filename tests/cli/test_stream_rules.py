"""The rules that every stream command follows."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.trees.constituency import Tree, read_brackets, write_brackets
from synmt.trees.record import ParseRecord, write_record
from tests.cli.commands import BRACKETS, CODES, RECORD, in_process, is_one_line_of_error, shell, synmt
from tests.trees.strategies import dependency_records, trees

# Each command with its output for an empty line.
STREAM_COMMANDS = {"linearize": b"", "make-masks": b"{}", "bpe apply --codes codes.bpe": b"", "transitions": b""}
VARIANTS = {
    **STREAM_COMMANDS,
    "linearize --format preorder": b"",
    "linearize --format labels --bpe codes.bpe": b"",
    "make-masks --bpe codes.bpe": b"{}",
    "transitions --moses en --bpe codes.bpe --split-arcs --root-arc": b"",
    "read-transitions": b"",
    "read-transitions --moses en --format records": b"{}",
}


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("codes") / "codes.bpe"
    path.write_text(CODES)
    return path


@pytest.fixture(params=STREAM_COMMANDS)
def stream_command(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a shell command, and write the codes that it needs into the test's directory."""
    (tmp_path / "codes.bpe").write_text(CODES)
    return str(request.param)


def record_line(tree: Tree) -> bytes:
    return write_record(ParseRecord(tokens=tree.leaves(), tree=tree)).encode()


DIRTY_LINES = st.one_of(
    dependency_records().map(lambda record: write_record(record).encode()),
    st.lists(st.sampled_from(["a", "b@@", "\\ARC:x", "LEFT-ARC:x", "RIGHT-ARC:y"])).map(lambda s: " ".join(s).encode()),
    trees(max_nodes=10).map(record_line),
    trees(max_nodes=10).map(lambda tree: record_line(tree)[:-5]),
    trees(max_nodes=10).map(lambda tree: write_brackets(tree).encode()),
    st.sampled_from(
        [b"", b" ", b"{}", b"null", b"[]", b'{"text": "He"}', b'{"tree": "(S (A b\\u0000))"}', b'{"tree": 1}']
    ),
    st.sampled_from(["\u2028 \u0085", "\u00a0", "a\rb", "\x0b\x0c\x1c"]).map(str.encode),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
    st.text(max_size=20).map(lambda line: line.encode(errors="replace").replace(b"\n", b"")),
).filter(lambda line: not line.startswith(b"\xef\xbb\xbf"))


@pytest.mark.parametrize(("command", "blank"), VARIANTS.items())
@settings(max_examples=30)
@given(lines=st.lists(DIRTY_LINES, max_size=8))
def test_line_n_of_the_output_belongs_to_line_n_of_the_input(
    codes: Path, command: str, blank: bytes, lines: list[bytes]
) -> None:
    arguments = [*command.replace("codes.bpe", str(codes)).split(), "--on-error", "blank"]
    whole = in_process(*arguments, text=b"".join(line + b"\n" for line in lines)).split(b"\n")
    assert len(whole) == len(lines) + 1
    assert whole.pop() == b""
    assert not any(b"\0" in output for output in whole)
    for line, output in zip(lines, whole, strict=True):
        assert in_process(*arguments, text=line + b"\n") == output + b"\n"
        if not line.strip():
            assert output == blank


WORDS = [f"w{number % 97}" for number in range(100_000)]
MONSTERS = {
    "100,000 words": f"(S {' '.join(f'(X {word})' for word in WORDS)})",
    "10,000 levels": f"{' '.join(f'(A {word}' for word in WORDS[:10_000])}{')' * 10_000}",
}


def monster_record(name: str) -> str:
    tree = read_brackets(MONSTERS[name])
    words = tree.leaves()
    heads = [0] + [1] * (len(words) - 1) if "words" in name else [*range(len(words))]
    return write_record(ParseRecord(tokens=words, tree=tree, heads=heads, deprels=["root"] * len(words)))


@pytest.mark.parametrize("monster", MONSTERS)
@pytest.mark.parametrize("command", STREAM_COMMANDS)
def test_endless_and_deep_lines_do_not_affect_their_neighbours(command: str, monster: str, codes: Path) -> None:
    arguments = command.replace("codes.bpe", str(codes)).split()
    alone = in_process(*arguments, text=f"{RECORD}\n".encode())
    lines = [RECORD, monster_record(monster), RECORD]
    first, between, last = in_process(*arguments, text="".join(f"{line}\n" for line in lines).encode()).splitlines()
    assert first + b"\n" == last + b"\n" == alone
    assert between == b"{}" if command == "make-masks" else len(between) > 50_000


def test_blanked_lines_are_counted_on_stderr() -> None:
    text = f"{RECORD}\nnonsense\n\n{RECORD}\n".encode() + b"\xff\n"
    done = synmt("linearize", "--on-error", "blank", text=text)
    assert done.returncode == 0
    assert done.stdout == f"{BRACKETS}\n\n\n{BRACKETS}\n\n"
    assert done.stderr == "synmt linearize: 2 bad lines left empty\n"


def test_lines_before_a_bad_line_are_written(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{RECORD}\n{{"text": "He"}}\n{RECORD}\n')
    done = synmt("linearize", path)
    assert is_one_line_of_error(done, f"synmt linearize: {path}:2: record has no constituency tree")
    assert done.stdout == f"{BRACKETS}\n"


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a", b"\xff\n", ":1: not UTF-8"),
        ("a", b"\n\0\n", ":2: NUL byte"),
        ("a", b"{\n", ":1: not JSON"),
        ("a", b"[]\n", ":1: not a JSON object"),
        ("a", b'{"links": [], "confidence": 0.9}\n', ":1: no field of a parse record, only links, confidence"),
        ("a", b'{"tree": "(S (NP a)"}\n', ":1: tree: a bracket is not closed"),
        ("a", b'{"tree": "(S (NP a)) b"}\n', ":1: tree: "),
        ("a", b'{"tokens": ["b"], "tree": "(NP a)"}\n', ":1: the leaves of the tree are not the tokens"),
        ("a.gz", b"plain\n", ": Not a gzipped file"),
        ("a.gz", gzip.compress(b"\n" * 10, mtime=0)[:-9], ":11: Compressed file ended"),
        ("a.gz", gzip.compress(b"\n", mtime=0)[:10] + b"\xff" * 20, ": Error"),
    ],
)
def test_bad_input_gives_one_line_of_error(tmp_path: Path, name: str, content: bytes, cause: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert is_one_line_of_error(synmt("linearize", path), f"synmt linearize: {path}{cause}")


def test_unreadable_and_unwritable_files(stream_command: str, tmp_path: Path) -> None:
    def fails(line: str, *parts: str) -> bool:
        return is_one_line_of_error(shell(line, tmp_path), f"synmt {stream_command.split()[0]}: ", *parts)

    (tmp_path / "in").write_text(f"{RECORD}\n" * 3000)
    assert fails(f"synmt {stream_command} missing", "missing: No such file or directory")
    assert fails(f"synmt {stream_command} .", ".: expected a file, found a folder")
    for lines in (1, 3000):  # less and more than a buffer holds
        assert fails(f"head -n {lines} in | synmt {stream_command} > /dev/full", "output: No space left on device")
    cold = f"python -m synmt {stream_command}"  # a warm command needs all streams
    assert fails(f"{cold} in >&-", "closed")
    assert fails(f"{cold} <&-", "stdin: closed")


def test_a_bad_line_and_a_full_disk_give_one_line(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{RECORD}\nbad\n")
    assert is_one_line_of_error(shell("synmt linearize in > /dev/full", tmp_path), "output: No space left on device")


def test_unreadable_codes(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("one two three\n")
    bad = shell("synmt linearize --bpe bad", tmp_path)
    assert is_one_line_of_error(bad, "synmt linearize: bad: line 1: not a pair of BPE symbols")
    missing = shell("synmt make-masks --bpe missing", tmp_path)
    assert is_one_line_of_error(missing, "synmt make-masks: missing: No such file or directory")


def test_a_closed_pipe_ends_quietly(stream_command: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{RECORD}\n" * 5000)
    done = shell(f"synmt {stream_command} in | head -n 1; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 2
    assert done.stdout.endswith("\n0\n")


def test_messages_never_join_the_output(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{RECORD}\nbad\n")
    done = shell("python -m synmt linearize --on-error blank in 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{BRACKETS}\n\n")


def test_unbuffered_output_keeps_the_rules(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{RECORD}\n" * 5000)
    pipe = shell("synmt make-masks in | head -n 1; echo ${PIPESTATUS[0]}", tmp_path, PYTHONUNBUFFERED="1")
    assert (pipe.stderr, pipe.stdout[-3:]) == ("", "\n0\n")
    full = shell("synmt make-masks in > /dev/full", tmp_path, PYTHONUNBUFFERED="1")
    assert is_one_line_of_error(full, "synmt make-masks: output: No space left on device")


def test_help_to_a_full_disk_gives_one_line_of_error(tmp_path: Path) -> None:
    assert is_one_line_of_error(shell("synmt linearize --help > /dev/full", tmp_path), "No space left on device")


def test_files_and_stdin_are_read_in_the_order_given(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"tree": "(A a)"}')
    (tmp_path / "b.gz").write_bytes(gzip.compress(b'{"tree": "(B b)"}\n'))
    done = synmt("linearize", tmp_path / "a", "-", tmp_path / "b.gz", text='\ufeff{"tree": "(C c)"}\r\n')
    assert done.stdout == "(A a )\n(C c )\n(B b )\n"


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    for command in ("bpe apply --codes -", f"train --tsv - --dev-tsv - --out {tmp_path}/model", "linearize - -"):
        done = synmt(*command.split(), text="")
        assert done.returncode == 2 and "standard input can be read only once" in done.stderr


def test_output_is_not_appended_to_the_input(tmp_path: Path) -> None:
    text = '{"tree": "(A a)"}\n' * 3
    for command in ("synmt linearize in >> in", "synmt linearize < in >> in", "synmt linearize - < in >> in"):
        (tmp_path / "in").write_text(text)
        done = shell(command, tmp_path)
        assert done.returncode == 2 and "standard output would be written to the input" in done.stderr
        assert (tmp_path / "in").read_text() == text


def test_parts_processed_in_parallel_equal_the_whole(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("".join(f'{{"tree": "(N {n})"}}\n' for n in range(10)))
    parts = "(head -n 4 in | synmt linearize; tail -n 6 in | synmt linearize)"
    done = shell(f"{parts} | cmp - <(synmt linearize in) && synmt linearize in | paste in - | wc -l", tmp_path)
    assert done.stdout.strip() == "10"
