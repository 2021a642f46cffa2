import json
from pathlib import Path

import pytest
import sacrebleu

from tests.cli.commands import COLD, is_one_line_of_error, is_wrong_usage, shell, synmt

REFERENCE = ["The cat is on the mat.", "He is my father.", ""]
HYPOTHESES = {"base": ["A cat sat on the mat.", "He is father.", "x"], "mask": ["The cat is on the mat.", "He is", ""]}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in {**HYPOTHESES, "reference": REFERENCE}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_one_system_from_stdin(files: Path) -> None:
    text = (files / "base").read_bytes()
    done = synmt("score", "-r", files / "reference", text=text, cold=True)
    bleu, chrf = done.stdout.splitlines()
    expected = sacrebleu.corpus_bleu(HYPOTHESES["base"], [REFERENCE])
    assert bleu.startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert f" = {expected.score:.2f} " in bleu
    assert chrf.startswith("chrF2|nrefs:1")
    assert chrf.endswith(f" = {sacrebleu.corpus_chrf(HYPOTHESES['base'], [REFERENCE]).score:.2f}")
    assert synmt("score", "-", "-r", files / "reference", text=text).stdout == done.stdout


def test_several_systems_and_references(files: Path) -> None:
    references = ["-r", files / "reference", "-r", files / "mask"]
    options = ["--metric", "bleu,chrf++", "--tokenize", "intl", "--case", "lower", "--format", "jsonl"]
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
    for form in [], ["--by-sentence"]:
        done = synmt("score", files / "empty", "-r", files / "empty", *form)
        assert is_one_line_of_error(done, "no lines to score")
    assert is_one_line_of_error(
        synmt("score", files / "base", "-r", files / "empty"), "base: 3 lines", "empty: 0 lines"
    )


def test_wrong_options(files: Path) -> None:
    assert synmt("score", files / "base").returncode == 2
    assert synmt("score", files / "base", "-r", files / "reference", "-m", "bleu,nothing").returncode == 2
    done = synmt("score", "-", "-r", "-", text="a\n")
    assert is_wrong_usage(done, "standard input can be read only once")
    assert is_one_line_of_error(synmt("score", "-r", files / "missing", text="a\n"), "missing: No such file")


def test_parses_and_gold_trees(tmp_path: Path) -> None:
    (tmp_path / "gold.ptb").write_text("(S (NP (PRP He)) (VP (VBZ sleeps)))\n(NP (NN rain))\n")
    parses = '{"tree": "(S (NP (PRP He)) (VP (NNS sleeps)))"}\n{"tree": "(FRAG (NN rain))"}\n'
    done = synmt("score", "--metric", "evalb", "-r", tmp_path / "gold.ptb", text=parses)
    assert done.stdout.startswith("F1|rules:COLLINS|sentences:2|errors:0|")
    assert done.stdout.endswith(" = 75.00 (R = 75.00 P = 75.00 complete = 50.00 tags = 66.67)\n")
    bad = synmt("score", "--metric", "evalb", "-r", tmp_path / "gold.ptb", text=parses.replace("(FRAG", "FRAG"))
    assert is_one_line_of_error(bad, "synmt score: stdin:2: tree: ")


RECORD = '{"tokens": ["Go", "."], "upos": ["VERB", "PUNCT"], "heads": [0, 1], "deprels": ["root", "punct"]}\n'
CONLLU = "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n2\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"


@pytest.mark.parametrize("gold", [RECORD, CONLLU])
@pytest.mark.parametrize("parse", [RECORD, CONLLU])
def test_dependencies_and_gold_dependencies(gold: str, parse: str, tmp_path: Path) -> None:
    (tmp_path / "gold").write_text(gold * 2)
    parses = parse + parse.replace("punct", "dep")
    done = synmt("score", "--metric", "upos,uas,las", "-r", tmp_path / "gold", "--format", "tsv", text=parses)
    assert [line.split("\t")[1:3] for line in done.stdout.splitlines()[1:]] == [
        ["UPOS", "100.0000"],
        ["UAS", "100.0000"],
        ["LAS", "75.0000"],
    ]
    few = synmt("score", "--metric", "uas", "-r", tmp_path / "gold", text=parse)
    if gold == parse == CONLLU:
        assert is_one_line_of_error(few, "gold:4: the hypothesis ends before this text")
    else:
        assert is_one_line_of_error(few, "-: 1 sentence, ", "gold: 2 sentences")


def test_metrics_that_compare_different_things(files: Path) -> None:
    done = synmt("score", "--metric", "bleu,las", "-r", files / "reference", text="a")
    assert is_wrong_usage(done, "synmt score: bleu and las cannot be combined, because they compare different things")


def test_all_translation_metrics_with_their_options(files: Path) -> None:
    options = ["--metric", "chrf+,ter,ribes", "--chrf-beta", "3", "--chrf-average", "script", "--ribes-alpha", "0.5"]
    done = synmt("score", files / "base", "-r", files / "reference", *options, "--tokenize", "none", "--case", "mixed")
    assert done.stderr == ""
    chrf, ter, ribes = done.stdout.splitlines()
    assert chrf.startswith("chrF3+|nrefs:1|case:mixed|eff:no|nc:6|nw:1|space:no|version:")
    assert ter.startswith("TER|nrefs:1|case:mixed|tok:tercom|norm:no|punct:yes|asian:no|version:")
    assert ribes.startswith("RIBES|nrefs:1|case:mixed|tok:none|alpha:0.5|beta:0.1|synmt:")


def test_scores_by_length(files: Path) -> None:
    (files / "source").write_text("a b c d e f\na b\n\n")
    arguments = ["score", files / "base", files / "mask", "-r", files / "reference", "--by-length", "2,5", "-m", "bleu"]
    done = synmt(*arguments, "--source", files / "source", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    counts = [(row["length"], row["sentences"]) for row in rows]
    assert counts == [("0-2", 2), ("0-2", 2), ("6-", 1), ("6-", 1), ("all", 3), ("all", 3)]
    whole = [json.loads(line)["score"] for line in synmt(*arguments[:-4], "--format", "jsonl").stdout.splitlines()]
    assert [row["score"] for row in rows[-2:]] == whole[::2]
    assert synmt(*arguments).stdout.splitlines()[1].split() == ["sentences", "1", "1", "1", "3"]
    (files / "source").write_text("a\n")
    bad = synmt(*arguments, "--source", files / "source")
    assert is_one_line_of_error(bad, "synmt score: ", "base: 3 lines", "source: 1 line")


@pytest.mark.parametrize("value", ["10,5", "0", "ten", "5,5", "3,"])
def test_invalid_lengths(files: Path, value: str) -> None:
    assert synmt("score", files / "base", "-r", files / "reference", "--by-length", value).returncode == 2


GOLD_LINKS = "1-1 2-2 3p3\n1-1 2p1 2p2\n"


def test_links_and_gold_links(tmp_path: Path) -> None:
    """|A| = 5, |S| = 3, |A∩S| = 2, |A∩P| = 4. Words count from 0 in hypotheses and from 1 in the reference."""
    (tmp_path / "gold").write_text(GOLD_LINKS)
    arguments = ["score", "--metric", "aer,precision,recall,f1", "-r", tmp_path / "gold"]
    done = synmt(*arguments, text="0-0 1-2 2-2\n0-0 1-1\n")
    assert done.stdout.splitlines()[0].startswith("AER|sure:3|synmt:")
    assert done.stdout.splitlines()[0].endswith("|base:0|refbase:1 = 25.00 (P = 80.00 R = 66.67 links = 5)")
    values = [line.split(" = ")[1].split()[0] for line in done.stdout.splitlines()]
    assert values == ["25.00", "80.00", "66.67", "72.73"]
    said = synmt(*arguments, "--link-base", "1", text="0-0 1-2\n\n")
    assert is_one_line_of_error(said, "synmt score: stdin:1: link 0-0 is invalid: words count from 1")
    bad = synmt(*arguments, text="0-0 1~2\n\n")
    assert is_one_line_of_error(bad, "synmt score: stdin:1: '1~2' is not a link")


def test_links_outside_their_sentences(tmp_path: Path) -> None:
    for name, text in {"gold": GOLD_LINKS, "source": "a b c\na b\n", "target": "a b c\na b\n"}.items():
        (tmp_path / name).write_text(text)
    sides = ["--source", tmp_path / "source", "--target", tmp_path / "target"]
    arguments = ["score", "--metric", "aer", "-r", tmp_path / "gold", *sides]
    assert synmt(*arguments, text="0-0\n1-1\n").returncode == 0
    bad = synmt(*arguments, text="0-0\n2-1\n")
    assert is_one_line_of_error(bad, "synmt score: stdin:2: link 2-1 for 2 source and 2 target words")


def test_errors_of_prediction_and_alignment(tmp_path: Path) -> None:
    categories = "cPcA,wPcA,cPwA,wPwA"
    (tmp_path / "gold").write_text("1-1 2p2\n")
    line = '{"links": [[0, 0, 0.9], [0, 1, 0.2]], "predicted": [false, true, true]}\n'
    done = synmt("score", "-m", categories, "-r", tmp_path / "gold", "--format", "tsv", text=line)
    assert [row.split("\t")[1:3] for row in done.stdout.splitlines()[1:]] == [
        ["cPcA", "0.0000"], ["wPcA", "33.3333"], ["cPwA", "66.6667"], ["wPwA", "0.0000"],
    ]  # fmt: skip
    bad = synmt("score", "-m", categories, "-r", tmp_path / "gold", text='{"links": []}\n')
    assert is_one_line_of_error(bad, 'synmt score: stdin:1: needs "predicted"')
    old = synmt("score", "--errors", "-r", tmp_path / "gold")
    assert is_wrong_usage(old, f"unknown option --errors; name the metrics: --metric {categories}")


@pytest.mark.parametrize("report", ["relations", "reliability"])
def test_reports_without_metrics_are_commands_of_inspect(report: str, tmp_path: Path) -> None:
    old = {"relations": "--by-relation"}.get(report, "--reliability")
    done = synmt("score", old, "-r", tmp_path / "gold")
    assert is_wrong_usage(done, f"synmt score: unknown option {old}; `synmt inspect {report}` compares")


def test_sentence_scores_equal_those_of_sacrebleu(files: Path) -> None:
    done = synmt("score", files / "base", "-r", files / "reference", "--by-sentence", "--metric", "bleu,chrf")
    expected = [
        f"{sacrebleu.sentence_bleu(hypothesis, [reference]).score:.2f}"
        f"\t{sacrebleu.sentence_chrf(hypothesis, [reference]).score:.2f}"
        for hypothesis, reference in zip(HYPOTHESES["base"], REFERENCE, strict=True)
    ]
    assert done.stdout.splitlines() == expected


def test_only_one_kind_of_report_at_a_time(files: Path) -> None:
    for options in (["--by-sentence", "--confidence"], ["--by-sentence", "--format", "latex"]):
        done = synmt("score", files / "base", "-r", files / "reference", *options)
        assert is_wrong_usage(done)


def test_references_of_sacrebleu(tmp_path: Path) -> None:
    """They are given by name; here sacreBLEU finds them in its folder of downloads."""
    kept = tmp_path / "kept" / "wmt17"
    kept.mkdir(parents=True)
    for field in ("src", "ref", "docid", "genre", "origlang"):
        (kept / f"wmt17.en-de.{field}").write_text("Ein Satz.\nNoch einer, und ein langer.\n")
    (tmp_path / "found").write_text("Ein Satz.\nNoch einer und ein langer.\n")
    command = f"{COLD} score found --metric chrf --format tsv"
    by_name = "-r sacrebleu:wmt17/en-de --source sacrebleu:wmt17/en-de --by-length 2"
    by_file = by_name.replace("sacrebleu:wmt17/en-de", "kept/wmt17/wmt17.en-de.ref")
    one, other = (shell(f"{command} {by}", tmp_path, SACREBLEU=str(tmp_path / "kept")) for by in (by_name, by_file))
    assert one.returncode == 0 and one.stdout == other.stdout, one.stderr
    for name, cause in (("wmt17/en-xx", "the language pairs of wmt17 are "), ("wmt1/en-de", "no test set 'wmt1'")):
        assert is_wrong_usage(shell(f"{command} -r sacrebleu:{name}", tmp_path), cause)


def test_links_and_trees_are_not_scored_as_translations(tmp_path: Path) -> None:
    tree, record = "(S (NP (DT The)))", '{"tokens": ["a"], "heads": [0]}'
    for text, found, metric in (
        ("\n0-0 1p1", "links", "aer"),
        ("0-0:0.90 1-1:0.50\t0.700000", "links", "aer"),
        ('{"source": ["a"], "target": ["b"], "links": [[0, 0, 0.9]]}', "links", "aer"),
        (tree, "brackets", "evalb"),
        (record, "parse records", "las or evalb"),
        ("# sent_id = 1", "CoNLL-U", "las"),
    ):
        (tmp_path / "gold").write_text(f"{text}\n")
        (tmp_path / "other").write_text(f"{text}\n")
        for command in (["score", tmp_path / "other"], ["significance", tmp_path / "gold", tmp_path / "other"]):
            done = synmt(*command, "-r", tmp_path / "gold")
            assert is_one_line_of_error(done, f"bleu compares translations, not {found}: add --metric {metric}")
