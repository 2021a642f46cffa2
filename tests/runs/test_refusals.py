"""Run files that are refused before any work: impossible values for every key, and files that are hardly TOML."""

import re
import tomllib
from collections.abc import Iterator
from cProfile import Profile
from pathlib import Path

import click
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synmt.components import ENCODER_COMPONENTS
from synmt.runs.file import COMMANDS, LARGEST_FILE, OF_ALIGNERS, ROWS, read_run
from synmt.runs.run import Run
from synmt.streams import BadInput
from synmt.trees.record import write_record
from tests import tiny
from tests.runs.options import options_of

# One row per kind of run: its data, tests and systems.
RUNS = {
    "systems": ('train = ["s.jsonl", "t.de"]\ndev = ["s.jsonl", "t.de"]', 't = ["s.jsonl", "t.de"]', "mask"),
    "aligners": ('train = ["s.en", "t.de"]', 't = ["s.jsonl", "t.jsonl", "t.links"]', "hmm"),
    "projections": ('train = ["s.en", "t.de"]', 't = ["s.en", "t.jsonl"]', "votes"),
}
IMPOSSIBLE = (
    '"\\u0001"', '""', "[]", "[[1]]", "{}", "{ a = 1 }", "-1", "1e300", "inf", "nan", '"no/such"', '"xx yy"', "false",
    "2020-01-01", f"0x{'f' * 30}", "[true]", '["a", "b", "c", "d"]', '"German"',
)  # fmt: skip
SOME = 4  # values to try per key


def written(folder: Path) -> Path:
    sources, targets = tiny.records(), tiny.target_records()
    for each in targets:
        each.upos = ["NOUN"] * len(each.tokens)
    for name, records in (("s", sources), ("t", targets)):
        (folder / f"{name}.jsonl").write_text("".join(f"{write_record(each)}\n" for each in records))
    (folder / "s.en").write_text("".join(f"{' '.join(each.tokens)}\n" for each in sources))
    (folder / "t.de").write_text("".join(f"{each.text}\n" for each in targets))
    (folder / "t.links").write_text("0-0\n" * len(sources))
    return folder / "run.toml"


def text_of(kind: str, table: str = "", line: str = "") -> str:
    """Return a run file with a line more in a table; in `own`, the table of its system, and in "" at the top."""
    data, tests, system = RUNS[kind]
    tables = {"data": data, "tests": tests, **dict.fromkeys(COMMANDS[kind], ""), "challenge": ""}
    parts = [
        line if not table else "",
        *(f"[{each}]\n{own}\n{line if each == table else ''}" for each, own in tables.items()),
    ]
    return "\n".join([*parts, f"[{kind}]", f"{system} = {{ {line if table == 'own' else ''} }}\n"])


def keys(kind: str) -> Iterator[tuple[str, str]]:
    """Yield each key that a run file of this kind can have, after its table."""
    yield from (("", "seeds"), ("", "sizes"), ("", "metrics"), ("data", "languages"), ("data", "more"), ("tests", "u"))
    yield from (("challenge", "c"), ("", "segments.s"), ("", "other"))
    for table in COMMANDS[kind]:
        yield from ((table, name) for name in options_of(table))
    yield from (("own", name) for name in options_of(ROWS[kind]))
    yield from (("own", name) for name in OF_ALIGNERS if kind == "aligners" and name not in options_of("align"))


def is_possible(kind: str, table: str, key: str, value: str) -> bool:
    """Return whether a value, in TOML, may be given: the default of a key, or what only a run can refuse."""
    known = options_of(ROWS[kind] if table == "own" else table) if table in (*COMMANDS[kind], "own") else {}
    if key.endswith("-encoder") and value in ('"German"', '"no/such"', "-1", "1e300"):  # could be names on the hub
        return True
    if value == '""' and key.startswith(tuple(ENCODER_COMPONENTS)):  # the default of a list of names
        return True
    if key == "prepared" and not value.startswith(("[", "{")):  # a folder to make
        return True
    if key == "alpha" and value == "-1":  # a penalty of short translations
        return True
    given = tomllib.loads(f"value = {value}")["value"]
    is_text = key in known and known[key].type is click.STRING and known[key].metavar not in ("NAME", "NAME+NAME")
    return key in known and (given == known[key].default or (is_text and isinstance(given, int | float)))


def refused(file: Path, out: Path, runs: bool) -> str:
    """Return why a run file is refused, "" if it is not. runs: whether to start the run, too."""
    try:
        run = Run.open(file, out)
        if runs:
            list(run.table())
    except BadInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", RUNS)
def test_every_key_refuses_impossible_values_before_any_work(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, which names the key and the run file, or the data file that is wrong. `device` is refused when the
    run starts, since --list may run where there is no GPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    file, tried = written(tmp_path), 0
    file.write_text(text_of(kind))
    Run.open(file, tmp_path / "out")
    for number, (table, key) in enumerate(keys(kind)):
        for value in (IMPOSSIBLE[(number + 5 * more) % len(IMPOSSIBLE)] for more in range(SOME)):
            file.write_text(text_of(kind, table, f"{key} = {value}"))
            cause = refused(file, tmp_path / "out", runs=key == "device")
            if not cause and is_possible(kind, table, key, value):
                continue
            assert str(tmp_path) in cause and "\n" not in cause, (table, key, value, cause)
            names = key.partition(".")[0].rpartition("-")[2], "unknown component", "parse"
            assert any(each in cause for each in names), (table, key, value, cause)
            tried += 1
    assert tried > 100 and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("kind", "table"), [(kind, table) for kind in RUNS for table in (*COMMANDS[kind], "own")])
def test_a_missing_gpu_is_found_before_any_work(
    kind: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path)
    file.write_text(text_of(kind, table, 'device = "cuda"'))
    try:
        run = Run.open(file, tmp_path / "out")
    except BadInput as error:
        assert "device" in str(error) or "parse has no effect" in str(error)
    else:
        assert list(run.listed())
        with pytest.raises(BadInput, match=r"run\.toml: [a-z]+ .*: device cuda: "):
            list(run.table())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["aligners", "projections"])
@pytest.mark.parametrize("languages", [["German", "en"], ["de", ""], ["de", "EN"], ["d", "en"], ["de_DE", "en"]])
def test_impossible_languages_are_refused(kind: str, languages: list[str], tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(text_of(kind, "data", f"languages = {languages}"))
    with pytest.raises(BadInput, match=r"run\.toml: languages: '.*' is not a code such as en$"):
        Run.open(file, tmp_path / "out")


@pytest.mark.parametrize(
    ("kind", "table", "line"),
    [
        ("systems", "train", 'source-language = "fr"'),
        ("aligners", "own", "hmm-trees = true"),
        ("projections", "data", 'languages = ["fr", "de"]'),
    ],
)
def test_a_language_without_a_parser_is_refused(kind: str, table: str, line: str, tmp_path: Path) -> None:
    file = written(tmp_path)
    (tmp_path / "run").mkdir()
    text = text_of(kind, table, line).replace("s.jsonl", "s.en")
    if kind == "aligners":
        text = text.replace("[data]", '[data]\nlanguages = ["fr", "de"]').replace('t = ["s.en"', 't = ["s.jsonl"')
    file.write_text(text)
    with pytest.raises(BadInput, match=r"run\.toml: parse: no embedded \w+ model for 'fr', only for "):
        Run.open(file, tmp_path / "out")


PLAIN = text_of("systems")


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_and_line_ends_change_nothing(begin: bytes, end: str, tmp_path: Path) -> None:
    for name, text in (("plain.toml", PLAIN.encode()), ("run.toml", begin + PLAIN.replace("\n", end).encode())):
        (tmp_path / name).write_bytes(text)
    assert read_run(tmp_path / "run.toml") == read_run(tmp_path / "plain.toml")


MANY = 100_000


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (b"seeds = " + b"[" * MANY, "nested too deeply"),
        (b"seeds = " + b"[" * MANY + b"]" * MANY, "nested too deeply"),
        (b"seeds = " + b"{ a = " * MANY, "nested too deeply"),
        (b"seeds" + b".a" * MANY + b" = 1", "nested too deeply"),
        (b"[" + b"a . " * MANY + b"a]", "nested too deeply"),
        (b'["a"' + b".'a'" * MANY + b"]", "nested too deeply"),
        (b"seeds = " + b"[" * 9 + b"]" * 9, "seeds: tables or lists are nested too deeply"),
        (b"seeds = [" + b"9" * 5000 + b"]", "a number is too large"),
        (b"seeds = [0x" + b"f" * 9000 + b"]", "seeds: a number is too large"),
        (b"seeds = [2020-01-01]", "seeds: 2020-01-01 is a date or time"),
        (b"seeds = [1]\nseeds = [2]", "Cannot overwrite a value"),
        (b"# \xff", ":1: not UTF-8"),
        (b"\n\n# \xc3", ":3: not UTF-8"),
        (PLAIN.encode("utf-16"), "not UTF-8"),
        (b"\0", "Invalid statement"),
        (b"#" * (LARGEST_FILE + 1), "has more than"),
        (b"", "names no systems"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_are_hardly_toml_are_refused_in_one_line(text: bytes, cause: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(text)
    with pytest.raises(BadInput, match=f"run\\.toml.*{cause}") as error:
        read_run(tmp_path / "run.toml")
    assert "\n" not in str(error.value)


PIECES = [
    *re.split(r"(\W)", PLAIN),
    *IMPOSSIBLE,
    "\ufeff",
    "\0",
    "\r",
    "[",
    "]" * 50,
    "{" * 50,
    "a." * 50,
    '"""',
    "'",
    "\\u",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(PLAIN)), st.sampled_from(PIECES), st.integers(0, 9)), min_size=1, max_size=4
    )
)
def test_changed_files_are_read_or_refused(changes: list[tuple[int, str, int]], tmp_path: Path) -> None:
    text = PLAIN
    for place, piece, lost in changes:
        text = text[:place] + piece + text[place + lost :]
    (tmp_path / "run.toml").write_bytes(text.encode(errors="replace"))
    try:
        read_run(tmp_path / "run.toml")
    except BadInput as error:
        assert "\n" not in str(error) and "run.toml" in str(error)


def test_a_list_of_steps_takes_time_in_proportion(tmp_path: Path) -> None:
    """With four times as many steps, Python calls about four times as many functions, such as comparisons of paths."""
    file, calls = written(tmp_path), list[int]()
    for seeds in (40, 40, 160):
        file.write_text(text_of("systems", "", f"seeds = {list(range(seeds))}"))
        with Profile() as profile:
            assert len(list(Run.open(file, tmp_path / "out").listed())) == 2 * seeds
        calls.append(sum(each.callcount for each in profile.getstats()))
    assert calls[2] < 5 * calls[1]
