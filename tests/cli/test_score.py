import json
from pathlib import Path

import pytest
import sacrebleu

from tests.cli.commands import is_one_line_of_error, synmt

REFERENCE = ["The cat is on the mat.", "He is my father.", ""]
HYPOTHESES = {
    "base": ["A cat sat on the mat.", "He is father.", "x"],
    "mask": ["The cat is on the mat.", "He is", ""],
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in {**HYPOTHESES, "reference": REFERENCE}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_one_system_from_stdin(files: Path) -> None:
    text = (files / "base").read_bytes()
    done = synmt("score", "-r", files / "reference", text=text)
    bleu, chrf = done.stdout.splitlines()
    expected = sacrebleu.corpus_bleu(HYPOTHESES["base"], [REFERENCE])
    assert bleu.startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert f" = {expected.score:.2f} " in bleu
    assert chrf.startswith("chrF2|nrefs:1")
    assert chrf.endswith(f" = {sacrebleu.corpus_chrf(HYPOTHESES['base'], [REFERENCE]).score:.2f}")
    assert synmt("score", "-", "-r", files / "reference", text=text).stdout == done.stdout


def test_several_systems_and_references(files: Path) -> None:
    references = ["-r", files / "reference", "-r", files / "mask"]
    options = ["--metric", "bleu,chrf++", "--tokenize", "intl", "--lowercase", "--format", "json"]
    done = synmt("score", files / "base", files / "mask", *references, *options)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(Path(row["system"]).name, row["metric"]) for row in rows] == [
        *(("base", "BLEU"), ("base", "chrF2++"), ("mask", "BLEU"), ("mask", "chrF2++"))
    ]
    for row in rows[::2]:
        lines = HYPOTHESES[Path(row["system"]).name]
        metric = sacrebleu.metrics.BLEU(tokenize="intl", lowercase=True)
        assert row["score"] == metric.corpus_score(lines, [REFERENCE, HYPOTHESES["mask"]]).score
        assert row["signature"] == str(metric.get_signature())


def test_the_table(files: Path) -> None:
    table = synmt("score", files / "base", files / "mask", "-r", files / "reference").stdout.splitlines()
    assert table[0].split() == ["system", "BLEU", "chrF2"]
    assert [row.split()[0] for row in table[1:3]] == [str(files / "base"), str(files / "mask")]
    assert len(table) == 5


def test_line_counts_must_agree(files: Path) -> None:
    done = synmt("score", files / "base", "-r", files / "reference", "-r", "-", text="a\n")
    assert is_one_line_of_error(done, "synmt score: ", "base: 3 lines", "reference: 3 lines", "-: 1 line")


def test_empty_files_are_an_error(files: Path) -> None:
    (files / "empty").touch()
    assert is_one_line_of_error(synmt("score", files / "empty", "-r", files / "empty"), "no lines to score")
    assert is_one_line_of_error(
        synmt("score", files / "base", "-r", files / "empty"), "base: 3 lines", "empty: 0 lines"
    )


def test_wrong_options(files: Path) -> None:
    assert synmt("score", files / "base").returncode == 2
    assert synmt("score", files / "base", "-r", files / "reference", "-m", "bleu,nothing").returncode == 2
    done = synmt("score", "-", "-r", "-", text="a\n")
    assert is_one_line_of_error(done, "standard input can be read only once")
    assert is_one_line_of_error(synmt("score", "-r", files / "missing", text="a\n"), "missing: No such file")


def test_parses_against_gold_trees(tmp_path: Path) -> None:
    (tmp_path / "gold.ptb").write_text("(S (NP (PRP He)) (VP (VBZ sleeps)))\n(NP (NN rain))\n")
    parses = '{"tree": "(S (NP (PRP He)) (VP (NNS sleeps)))"}\n{"tree": "(FRAG (NN rain))"}\n'
    done = synmt("score", "--metric", "evalb", "-r", tmp_path / "gold.ptb", text=parses)
    assert done.stdout.startswith("F1|rules:COLLINS|sentences:2|errors:0|")
    assert done.stdout.endswith(" = 75.00 (R = 75.00 P = 75.00 complete = 50.00 tags = 66.67)\n")
    bad = synmt("score", "--metric", "evalb", "-r", tmp_path / "gold.ptb", text=parses.replace("(FRAG", "FRAG"))
    assert is_one_line_of_error(bad, "synmt score: stdin:2: tree: ")


def test_dependencies_against_gold_ones(tmp_path: Path) -> None:
    gold = '{"tokens": ["Go", "."], "upos": ["VERB", "PUNCT"], "heads": [0, 1], "deprels": ["root", "punct"]}\n'
    (tmp_path / "gold").write_text(gold)
    parse = gold.replace("punct", "dep")
    done = synmt("score", "--metric", "upos,uas,las", "-r", tmp_path / "gold", "--format", "tsv", text=parse)
    assert [line.split("\t")[1:3] for line in done.stdout.splitlines()[1:]] == [
        ["UPOS", "100.0000"],
        ["UAS", "100.0000"],
        ["LAS", "50.0000"],
    ]


def test_metrics_of_different_things(files: Path) -> None:
    done = synmt("score", "--metric", "bleu,las", "-r", files / "reference", text="a")
    assert is_one_line_of_error(done, "synmt score: bleu and las compare different things")
