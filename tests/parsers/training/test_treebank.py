from pathlib import Path

import pytest
from click.testing import CliRunner

from synmt.parsers.training import constituency, udpipe
from synmt.parsers.training.treebank import (
    TreebankSentence,
    example,
    read_dependency_examples,
    read_examples,
    read_trees,
)
from synmt.streams import BadInput
from synmt.trees.constituency import read_brackets, write_brackets


def trees_of(tmp_path: Path, *brackets: str) -> list[str]:
    path = tmp_path / "trees.ptb"
    path.write_text("".join(f"{line}\n" for line in brackets))
    return [write_brackets(tree) for tree in read_trees(path)]


def test_trees_get_one_set_of_labels(tmp_path: Path) -> None:
    assert trees_of(
        tmp_path,
        "(ROOT (S (NP-SBJ=1 (PRP He)) (VP (VBZ is) (NP (-NONE- *)))))",
        "",
        "( (TITLE (NP (NML (NN blood) (NN pressure)) (NN test))) )",
        "( (CAPTION (LST (LS A)) (NP (NN test))) )",
        "(ROOT (NP (-NONE- *)))",
    ) == [
        "(S (NP (PRP He)) (VP (VBZ is)))",
        "(NP (NN blood) (NN pressure) (NN test))",
        "(FRAG (LST (LS A)) (NP (NN test)))",
    ]


def test_broken_trees_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"trees.ptb:2: "):
        trees_of(tmp_path, "(S (A a))", "(S (A a)")


def test_spans_are_phrases_with_unary_chains_joined() -> None:
    tree = read_brackets("(S (NP (PRP He)) (VP (MD can) (S (VP (VB go)))) (. .))")
    spans = [(0, 4, "S"), (0, 1, "NP"), (1, 3, "VP"), (2, 3, "S::VP")]
    assert example(tree) == TreebankSentence(["He", "can", "go", "."], ["PRP", "MD", "VB", "."], spans)


def test_sentences_without_a_root_phrase_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trees.ptb"
    path.write_text("(ROOT (UH Yes))\n(ROOT (INTJ (UH Yes)))\n(ROOT (S (A a) (B b) (C c)))\n")
    assert [each.words for each in read_examples(path, longest=2)] == [["Yes"]]


def test_subtrees_of_dependencies_are_spans(tmp_path: Path) -> None:
    """A multiword token counts as its words. The dependents of `hearing` have a gap, so they form no span."""
    rows = [
        "1 A DT 2 det",
        "2 hearing NN 4 nsubj:pass",
        "3-4 isn't _ _ _",
        "3 is VBZ 4 aux:pass",
        "4 n't RB 0 root",
        "5 on IN 6 case",
        "6 it PRP 2 nmod",
    ]
    path = tmp_path / "trees.conllu"
    columns = "{0}\t{1}\t_\t_\t{2}\t_\t{3}\t{4}\t_\t_\n"
    path.write_text("".join(columns.format(*row.split()) for row in rows) + "\n")
    (found,) = read_dependency_examples(path, longest=6)
    assert found.words == ["A", "hearing", "is", "n't", "on", "it"]
    assert found.tags == ["DT", "NN", "VBZ", "RB", "IN", "PRP"]
    assert found.spans == [(0, 1, "det"), (2, 3, "aux"), (0, 6, "root"), (4, 5, "case"), (4, 6, "nmod")]
    assert read_dependency_examples(path, longest=5) == []


ROW = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\t_\n"


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        (ROW.format(1, "b", 5, "x"), "head 5 of word 1 is outside its sentence"),
        ("1 b\n", "expected 10 columns, found 1: separate columns by tabs, not spaces"),
        (ROW.format(1, "b", "_", "_"), "the sentence has no dependency tree"),
    ],
)
def test_scripts_refuse_bad_treebanks_in_one_line(second: str, cause: str, tmp_path: Path) -> None:
    trees, bad, out = tmp_path / "trees.ptb", tmp_path / "bad.conllu", tmp_path / "out"
    trees.write_text("(S (A a) (B b))\n")
    bad.write_text(f"{ROW.format(1, 'a', 0, 'root')}\n{second}")
    given = "--general", trees, "--special", trees, "--dependencies", bad, "--dev", trees, "--output", out
    for command, options in ((constituency.main, ("train", *given)), (udpipe.main, ("--train", bad, "--output", out))):
        done = CliRunner().invoke(command, list(map(str, options)))
        assert done.exit_code == 1 and done.stderr.endswith(f"bad.conllu:3: {cause}\n")
        assert done.stderr.count("\n") == 1


def test_impossible_outputs_and_times_are_refused_before_training(tmp_path: Path) -> None:
    trees, words, file = tmp_path / "trees.ptb", tmp_path / "words.conllu", tmp_path / "file"
    trees.write_text("(S (A a) (B b))\n")
    words.write_text(ROW.format(1, "a", 0, "root"))
    file.touch()
    given = ["train", "--general", trees, "--special", trees, "--dependencies", words, "--dev", trees]
    train = list(map(str, given))
    parse = ["--train", str(words)]
    for command, options in ((constituency.main, train), (udpipe.main, parse)):
        done = CliRunner().invoke(command, [*options, "--output", f"{file}/model.safetensors"])
        assert done.exit_code == 1 and done.stderr.count("\n") == 1 and str(file) in done.stderr
    done = CliRunner().invoke(constituency.main, [*train, "--output", f"{tmp_path}/x.safetensors", "--minutes", "0"])
    assert done.exit_code == 2 and "'--minutes'" in done.stderr


def test_treebanks_without_sentences_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text("\n")
    with pytest.raises(BadInput, match="empty: no trees of 1 to 100 words"):
        read_examples(path, longest=100)
    with pytest.raises(BadInput, match="empty: no sentences"):
        udpipe.read_treebank(path)
