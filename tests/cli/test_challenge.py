import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt


def sentence(*rows: str, sent_id: str = "") -> str:
    """Return a CoNLL-U block, given rows `form upos feats head deprel`."""
    lines = [f"# sent_id = {sent_id}\n"] if sent_id else []
    for number, row in enumerate(rows, 1):
        form, upos, feats, head, deprel = row.split()
        lines.append(f"{number}\t{form}\t_\t{upos}\t_\t{feats}\t{head}\t{deprel}\t_\t_\n")
    return "".join([*lines, "\n"])


PUT_OUT = sentence("put VERB _ 0 root", "it PRON _ 1 obj", "out ADP _ 1 compound:prt", sent_id="a-1")
GIVE_UP = sentence("give VERB _ 0 root", "up ADP _ 1 compound:prt", sent_id="a-2")
HELP = sentence("help VERB _ 0 root", "you PRON _ 3 nsubj", "yourself PRON Reflex=Yes 1 obj")
CORPUS = PUT_OUT + GIVE_UP + HELP + PUT_OUT


def test_numbers_ids_and_starred_sentences() -> None:
    assert synmt("challenge", "particle", text=CORPUS).stdout == "1\n4\n"
    assert synmt("challenge", "particle", "--min-distance", "0", text=CORPUS).stdout == "1\n2\n4\n"
    assert synmt("challenge", "particle", "--min-distance", "2", text=CORPUS).stdout == ""
    assert synmt("challenge", "reflexive", text=CORPUS).stdout == "3\n"
    assert synmt("challenge", "particle", "--format", "ids", text=CORPUS).stdout == "a-1\na-1\n"
    assert synmt("challenge", "particle", "--format", "marked", text=PUT_OUT).stdout == "*put* it *out*\n"


def test_records_and_conllu_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "in.conllu").write_text(CORPUS)
    assert shell("synmt convert --input conllu in.conllu > in.jsonl", tmp_path).returncode == 0
    for arguments in ("particle", "reflexive", "preposition-stranding", "particle --format ids"):
        find = f"synmt challenge {arguments}"
        done = shell(f"{find} in.jsonl | diff - <({find} in.conllu)", tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_lines_of_parallel_files(tmp_path: Path) -> None:
    (tmp_path / "in.conllu").write_text(CORPUS)
    for name in ("en", "de"):
        (tmp_path / name).write_text("".join(f"{name}{number}\n" for number in range(1, 5)))
    command = ["challenge", "particle", tmp_path / "in.conllu", "--text", tmp_path / "en"]
    assert synmt(*command).stdout == "en1\nen4\n"
    assert synmt(*command, "--text", tmp_path / "de").stdout == "en1\tde1\nen4\tde4\n"
    assert synmt(*command, "--format", "numbers").stdout == "1\ten1\n4\ten4\n"
    (tmp_path / "en").write_text("en1\nen2\n")
    done = synmt(*command)
    assert done.stdout == "en1\n"
    assert is_one_line_of_error(done, "synmt challenge: ", "in.conllu: 4 sentences, ", "en: 2 sentences")


def test_empty_records_count_as_lines() -> None:
    record = '{"tokens": ["put", "it", "out"], "heads": [0, 1, 1], "deprels": ["root", "obj", "compound:prt"]}'
    assert synmt("challenge", "particle", text=f"\n{{}}\n{record}\n").stdout == "3\n"
    assert synmt("challenge", "particle").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "text", "parts"),
    [
        ("particle", '{"tokens": ["a"]}\n', ["stdin:1: record has no heads"]),
        ("particle", '{"tokens": ["a"], "heads": [0]}\n', ["stdin:1: record has no deprels"]),
        ("particle", PUT_OUT + "1\ta\n", ["stdin:6: expected 10 columns, found 2"]),
        ("particle --format ids", PUT_OUT.split("\n", 1)[1], ["stdin:1: sentence has no sent_id"]),
        ("reflexive", PUT_OUT, ["no sentence has morphological features"]),
        ("particle missing", "", ["missing: No such file"]),
    ],
)
def test_bad_input_gives_one_line(arguments: str, text: str, parts: list[str]) -> None:
    assert is_one_line_of_error(synmt("challenge", *arguments.split(), text=text), "synmt challenge: ", *parts)


@pytest.mark.parametrize("arguments", ["particle --text -", "reordering - - -"])
def test_standard_input_is_read_once(arguments: str) -> None:
    done = synmt("challenge", *arguments.split(), text=PUT_OUT)
    assert is_wrong_usage(done, "synmt challenge: standard input can be read only once")


def test_bad_sentences_can_be_skipped() -> None:
    bad = sentence("a X _ 2 x")
    text = (PUT_OUT + bad + PUT_OUT).encode() + b"\xff\n"
    done = synmt("challenge", "particle", "--on-error", "blank", text=text)
    assert (done.returncode, done.stdout) == (0, "1\n3\n")
    assert done.stderr == "synmt challenge: 2 bad lines left empty\n"


def test_a_bad_sentence_with_links_can_be_skipped(tmp_path: Path) -> None:
    good = '{"tokens":["a","b"],"heads":[2,0],"deprels":["x","root"],"upos":["NOUN","VERB"]}\n'
    (tmp_path / "source").write_text(good + good.replace("2,0", "2,1") + good)
    (tmp_path / "target").write_text(good * 3)
    (tmp_path / "links").write_text("0-0 1-1\n" * 3)
    files = [tmp_path / name for name in ("source", "target", "links")]
    done = synmt("challenge", "linked", "N [upos=NOUN]", *files, "--linked-upos", "NOUN", "--on-error", "blank")
    assert (done.returncode, done.stdout) == (0, "1\n3\n")


def test_sentences_as_they_are_have_no_parallel_lines(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("x\n")
    done = synmt("challenge", "particle", "--format", "whole", "--text", tmp_path / "lines", text=PUT_OUT)
    assert is_wrong_usage(done, "--format whole has no effect with --text")


def test_brackets_in_a_query_mean_themselves() -> None:
    text = "1\ta\t_\tNOUN\t_\t{}=Sing\t0\troot\t_\t_\n\n"
    both = text.format("Number[psor]") + text.format("Numberp")
    for given in ("query", "--feature", "Number[psor]=Sing"), ("pattern", 'N [feature="Number[psor]=Sing"]'):
        assert synmt("challenge", *given, text=both).stdout == "1\n"


def test_reordering(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("I have it seen\na b .\n\n")
    records = [{"tokens": ["seen", "have", "I", "it"], "tree": "(S seen have I it)"}, {"tokens": [".", "a"]}, {}]
    (tmp_path / "xx").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (tmp_path / "links").write_text("0-2 3-0\n2-0 0-1\n\n")
    run = ["challenge", "reordering", *(tmp_path / name for name in ("en", "xx", "links"))]
    assert synmt(*run).stdout == ""
    assert synmt(*run, "--min-distance", "2").stdout == "1\n"
    assert synmt(*run, "--min-distance", "0", "--text", tmp_path / "en").stdout == "I have it seen\na b .\n"
    (tmp_path / "links").write_text("0-2\n9-0\n\n")
    assert is_one_line_of_error(synmt(*run), "links:2: link 9-0 for 3 source and 2 target words")
    (tmp_path / "links").write_text("0-2\n")
    assert is_one_line_of_error(synmt(*run), "en: 3 lines", "links: 1 line")


def test_object_verb_subject() -> None:
    def written(*options: str) -> list[str]:
        return synmt("challenge", "object-verb-subject", *options).stdout.splitlines()

    text, table = written(), [row.split("\t") for row in written("--format", "tsv")]
    assert len(set(text)) == 99 and [row[0] for row in table] == text
    assert Counter(marked for _, marked, *_ in table) == {"object": 36, "subject": 27, "both": 36}
    assert table[0] == ["Den Ball bringt das Kind", "object", "das Kind", "den Ball", "The child brings the ball"]
    for clause, marked, subject, object_, translation in table:
        assert clause.lower().startswith(object_.lower()) and clause.endswith(subject)
        assert object_.startswith("den ") == (marked != "subject") and subject.startswith("der ") == (
            marked != "object"
        )
        assert len(translation.split()) == 5
    usual = dict(zip(text, written("--subject-first"), strict=True))
    assert usual["Den Ball bringt der Hund"] == "Der Hund bringt den Ball"
    assert usual["Das Pferd drängt der Hund"] == "Der Hund drängt das Pferd"
    assert usual["Den Hamster drückt die Mutter"] == "Die Mutter drückt den Hamster"
    assert written("--subject-first", "--format", "tsv")[0].startswith("Das Kind bringt den Ball\tobject\t")
