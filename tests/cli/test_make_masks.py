import json
from pathlib import Path

from tests.cli.commands import CODES, RECORD, synmt


def test_the_worked_example() -> None:
    done = synmt("make-masks", text=f"{RECORD}\n")
    record = json.loads(done.stdout)
    assert record["tokens"] == ["S", "NP", "PRP", "He", "VP", "VBZ", "is", "NP", "PRP$", "my", "NN", "father", ".", "."]
    assert record["parents"] == [-1, 0, 1, 2, 0, 4, 5, 4, 7, 8, 7, 10, 0, 12]
    assert record["relations"][0] == "=CDDCDDDDDDDCD"
    assert record["relations"][7] == "A<<<Pl<=CDCD>>"
    assert done.stdout.count("\n") == 1


def test_subwords_are_siblings(tmp_path: Path) -> None:
    codes = tmp_path / "codes"
    codes.write_text(CODES)
    record = json.loads(synmt("make-masks", "--bpe", codes, text=f"{RECORD}\n").stdout)
    assert record["tokens"][10:13] == ["NN", "fa@@", "ther"]
    assert [row[10:13] for row in record["relations"][10:13]] == ["=CC", "P=r", "Pl="]


def test_tokens_are_raw() -> None:
    done = synmt("make-masks", text='{"tree": "(-LRB- -LRB-)"}\n')
    assert json.loads(done.stdout)["tokens"] == ["-LRB-", "("]


def test_the_empty_record_stays_empty() -> None:
    assert synmt("make-masks", text="{}\n\n").stdout == "{}\n{}\n"
