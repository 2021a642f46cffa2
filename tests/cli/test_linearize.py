from pathlib import Path

from tests.cli.commands import BRACKETS, CODES, RECORD, synmt


def test_the_three_formats() -> None:
    assert synmt("linearize", text=f"{RECORD}\n").stdout == f"{BRACKETS}\n"
    preorder = synmt("linearize", "--format", "preorder", text=f"{RECORD}\n\n")
    assert preorder.stdout == "S NP PRP He VP VBZ is NP PRP$ my NN father . .\n\n"
    labels = synmt("linearize", "--format", "labels", text=f"{RECORD}\n")
    assert labels.stdout == "(S (NP (PRP ) ) (VP (VBZ ) (NP (PRP$ ) (NN ) ) ) (. ) )\n"


def test_words_are_split_before_escaping(tmp_path: Path) -> None:
    codes = tmp_path / "codes"
    codes.write_text(CODES)
    done = synmt("linearize", "--bpe", codes, text='{"tree": "(NP (NN father) (-LRB- -LRB-) (X a-RRB-))"}\n')
    assert done.stdout == "(NP (NN fa@@ ther ) (-LRB- -LRB- ) (X a@@ -RRB- ) )\n"


def test_the_empty_record_gives_an_empty_line() -> None:
    assert synmt("linearize", text="{}\n\n").stdout == "\n\n"
