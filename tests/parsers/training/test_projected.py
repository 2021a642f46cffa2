"""Writing projected trees as a treebank."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from synmt.parsers.training.projected import Dictionary, main, surest
from synmt.trees.formats import read_conllu
from synmt.trees.record import ParseRecord, write_record


def record(words: str, confidence: float, upos: str = "", deprels: str = "") -> ParseRecord:
    tokens = words.split()
    n = len(tokens)
    return ParseRecord(
        tokens=tokens,
        upos=upos.split() or ["X"] * n,
        heads=[0] + [1] * (n - 1),
        deprels=deprels.split() or ["root"] + ["x"] * (n - 1),
        confidences=[confidence] * n,
    )


def test_the_surest_trees_are_chosen_in_their_original_order() -> None:
    records = [record("a b c d", each) for each in (0.5, 0.9, 0.3, 0.8, 0.9)]
    assert surest(records, 3, 0.0) == [records[1], records[3], records[4]]
    assert surest(records, 1, 0.0) == [records[1]]
    assert surest(records, 9, 0.5) == [records[0], records[1], records[3], records[4]]
    too_short, too_long = record("a b c", 1.0), record("a " * 41, 1.0)
    assert surest([too_short, too_long], 9, 0.0) == []


def test_missing_labels_come_from_other_words_of_the_same_form() -> None:
    dictionary = Dictionary()
    seen = [record("Das Haus", 1.0, "DET NOUN", "det root")] * 5
    odd = record("das Haus dort das", 1.0, "VERB _ _ _", "nsubj root dep dep")
    assert list(dictionary.counting([*seen, odd])) == [*seen, odd]
    found = dictionary.complete(odd)
    assert found.upos == ["DET", "NOUN", "X", "DET"]  # VERB is rare for `das`; `dort` has no other labels
    assert found.deprels == ["nsubj", "root", "dep", "det"]
    assert odd.upos == ["VERB", "_", "_", "_"]


def test_a_treebank_is_written(tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.conllu"
    path.write_text("".join(f"{write_record(record('a b c d', each))}\n" for each in (0.9, 0.2)) + "{}\n")
    done = CliRunner().invoke(main, ["--output", str(out), str(path)])
    assert done.exit_code == 0 and "trees: 1, words: 4, confidence 0.90 or more" in done.output
    assert read_conllu(out.read_text().strip()).heads == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ('{"tokens": ["a", "b"], "heads": [0, null], "deprels": ["root", "_"]}', "in.jsonl:1: word 2 has no head"),
        ("{}", "in.jsonl: no tree of 4 to 40 words has the confidence 0.5"),
    ],
)
def test_unusable_treebanks_are_refused(line: str, cause: str, tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.conllu"
    path.write_text(f"{line}\n")
    done = CliRunner().invoke(main, ["--output", str(out), str(path)])
    assert done.exit_code == 1 and cause in done.stderr and not out.exists()
