"""Formats called json write one JSON document, and formats called jsonl one object per line, in every command."""

import json
from pathlib import Path

import click
import pytest

from synmt.cli.manual import root, with_those_below
from tests.cli.commands import synmt

LINK = '{"source": ["a"], "target": ["\\"", "c"], "links": [[0, 0, 0.5]]}\n'
LOG = "update\tloss\n1\t2.5\n2\tnan\n"
RECORD = '{"tokens": ["\\""], "upos": ["X"], "heads": [0], "deprels": ["root"]}\n'
FILES = {"ref": 'a "b\nc\n', "x": 'a "b\nd\n', "links": LINK, "log.tsv": LOG, "gold": "0-0\n", "record": RECORD,
    "scores.tsv": "system\tmetric\tscore\na\tBLEU\t1\nb\tBLEU\t2\n", "comet.tsv": "a\tb\n1\t2\n",
}  # fmt: skip
# Every command with a format json, without those that need a model or a run.
COMMANDS = [
    "score x -r ref", "score x ref -r ref --by-length 1", "score x -r ref --by-sentence", "score x -r ref --confidence",
    "inspect relations record -r record", "inspect reliability links -r gold", "significance x ref -r ref",
    "significance x ref -r ref -m ter", "sign-test scores.tsv", "segment-test comet.tsv",
    "inspect alignment links links", "inspect curves log.tsv log.tsv",
]  # fmt: skip


def choices() -> dict[str, list[str]]:
    """Return the choices of --format of each command that has some."""
    return {
        context.command_path: list(each.type.choices)
        for context in with_those_below(root())
        for each in context.command.get_params(context)
        if each.name in ("form", "format") and isinstance(each.type, click.Choice)
    }


def test_what_offers_json_offers_jsonl() -> None:
    with_json = {name for name, each in choices().items() if "json" in each}
    assert all("jsonl" in each for name, each in choices().items() if name in with_json)
    assert with_json == {
        "synmt score", "synmt significance", "synmt sign-test", "synmt segment-test",
        "synmt run", "synmt inspect alignment", "synmt inspect attention",
        "synmt inspect curves", "synmt inspect strengths", "synmt inspect relations", "synmt inspect reliability",
        "synmt inspect words", "synmt challenge contrast",
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_json(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    whole, lines = (synmt(*command.split(), "--format", form).stdout for form in ("json", "jsonl"))
    assert json.loads(whole) == [json.loads(line) for line in lines.splitlines()] != []


@pytest.mark.parametrize(
    ("text", "form"), [("# sent_id = 1\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "conllu"), ("(S (NN a))", "ptb")]
)
def test_trees_of_another_format_than_records_are_named(text: str, form: str) -> None:
    done = synmt("convert", text=text)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"synmt convert: stdin:1: no parse record; read it with --input {form}\n"
