"""synmt project"""

import json
from io import StringIO
from pathlib import Path

import pytest
from udtools import Validator

from synmt.streams import BadInput
from tests.cli.commands import in_process, is_one_line_of_error, synmt

GAVE = json.dumps(
    {
        "tokens": ["She", "gave", "it", "up"],
        "upos": ["PRON", "VERB", "PRON", "ADP"],
        "heads": [2, 0, 2, 2],
        "deprels": ["nsubj", "root", "obj", "compound:prt"],
    }
)
LINE = f"{GAVE}\tSie gibt es auf.\t0-0 1-1 2-2 3-3"


def project(text: str, *arguments: str) -> list[dict[str, object]]:
    """Return the records that the command writes. Raises BadInput."""
    return [json.loads(line) for line in in_process("project", *arguments, text=text.encode()).splitlines()]


def test_targets_get_the_trees_of_their_sources() -> None:
    done = synmt("project", "--target-language", "de", text=f"{LINE}\n\n", cold=True)
    assert (done.returncode, done.stderr) == (0, "")
    record, empty = map(json.loads, done.stdout.splitlines())
    assert record == {
        "text": "Sie gibt es auf.",
        "tokens": ["Sie", "gibt", "es", "auf", "."],
        "spaces": [True, True, True, False, False],
        "upos": ["PRON", "VERB", "PRON", "ADP", "PUNCT"],
        "heads": [2, 0, 2, 2, 2],
        "deprels": ["nsubj", "root", "obj", "compound:prt", "punct"],
        "confidences": [1.0] * 5,
        "confidence": 1.0,
    }
    assert empty == {}


def test_links_have_scores() -> None:
    links = {"source": ["She", "gave", "it", "up"], "target": ["Sie", "gibt"], "links": [[0, 0, 0.5], [1, 1, 1.0]]}
    target = json.dumps({"tokens": ["Sie", "gibt"]})
    for scored in (json.dumps(links), "1-1 0-0:0.5", "0-0:0.50 1-1:1.00\t0.500000"):
        (record,) = project(f"{GAVE}\t{target}\t{scored}")
        assert (record["heads"], record["confidences"]) == ([2, 0], [0.5, 1.0])
        (partial,) = project(f"{GAVE}\t{target}\t{scored}", "--min-confidence", "0.6")
        assert (partial["heads"], partial["deprels"]) == ([None, 0], ["_", "root"])


def test_further_sources_follow_with_their_links() -> None:
    french = json.dumps({"tokens": ["Elle", "abandonne"], "heads": [2, 0], "deprels": ["nsubj", "root"]})
    target = json.dumps({"tokens": ["Sie", "gibt", "auf"]})
    for links in ("0-0 1-1", "0-0:1.00 1-1:1.00\t0.950000"):
        (record,) = project(f"{GAVE}\t{target}\t{links}\t{french}\t0-0 1-1 1-2")
        assert record["heads"] == [2, 0, 2]
        assert record["confidences"] == pytest.approx([1.0, 1.0, 0.25])
    (number, unlinked) = project(f"{GAVE}\t0.500000\t\t0.000000\n{GAVE}\t{target}\t\t0.000000\t{french}\t0-0\t1.000000")
    assert (number["tokens"], unlinked["confidences"]) == (["0.500000"], [0.5, 0, 0])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (f"{GAVE}\tSie gibt", "expected `source TAB target TAB links`, found 2 columns"),
        (f"{LINE}\t{GAVE}", "found 4 columns"),
        ("She gave it up\tSie gibt es auf\t0-0", "source is not a parse record"),
        ('{"text": "a b"}\tb\t', "source has neither heads nor a tree"),
        (f"{GAVE}\t{'a ' * 501}\t", "501 target words, but trees have at most 500"),
        ('{"tokens": ["a"]}\tb\t0-0', "source has neither heads nor a tree"),
        ('{"tokens": ["a", "b"], "heads": [0, null]}\tb\t0-0', "word 2 has no head"),
        ('{"tokens": ["a", "b"], "heads": [2, 1]}\tb\t0-0', "its own ancestor"),
        (f"{GAVE}\tSie gibt\t0-0 1-2", "link 1-2 for 4 source and 2 target words"),
        (f"{GAVE}\tSie gibt\t0-0 x", "'x' is not a link"),
        (f'{GAVE}\tSie gibt\t{{"links": [[0, 0, 1.5]]}}', "a score must be between 0 and 1"),
        (f'{GAVE}\tSie gibt\t{{"links": [[0, -1]]}}', "is not a link such as"),
        (f'{GAVE}\tSie gibt\t{{"links": 3}}', 'needs "links"'),
        (f'{GAVE}\tSie gibt\t{{"target": ["Sie"], "links": []}}', "links of another target, with 1 word instead of 2"),
        (f"{GAVE}\tSie gibt\t{{", "not JSON"),
    ],
)
def test_bad_lines_are_reported_or_left_empty(line: str, cause: str) -> None:
    with pytest.raises(BadInput, match=f":2: .*{cause}"):
        project(f"{LINE}\n{line}\n", "--target-language", "de")
    good, bad = project(f"{LINE}\n{line}\n", "--target-language", "de", "--on-error", "blank")
    assert good["heads"] and bad == {}


def test_a_grammar_is_fitted_before_any_output() -> None:
    """Output line n belongs to input line n. The word without links gets the analysis that it has in other lines."""
    silent = f"{GAVE}\tSie gibt es auf.\t1-1 2-2 3-3"
    text = "".join(f"{line}\n" for line in [silent, "", *[LINE] * 30, f"{GAVE}\t{{}}\t"])
    first, empty, *others, without_words = project(text, "--target-language", "de", "--fit")
    assert empty == {} and without_words == {} and len(others) == 30
    assert first["upos"] == ["PRON", "VERB", "PRON", "ADP", "PUNCT"] == others[0]["upos"]
    assert (first["heads"], first["deprels"]) == (others[0]["heads"], others[0]["deprels"])
    assert first["heads"] == [2, 0, 2, 2, 2]
    (alone,) = project(silent, "--target-language", "de")
    assert alone["upos"] == ["X", "VERB", "PRON", "ADP", "PUNCT"]
    assert project("", "--fit") == []
    with pytest.raises(BadInput, match=r":2: .*is not a link"):
        project(f"{LINE}\n{GAVE}\tSie\tx\n", "--target-language", "de", "--fit")


@pytest.mark.parametrize("method", [["--method", "direct"], ["--method", "votes"], ["--fit"]])
def test_sentence_names_document_marks_and_parts_of_speech(method: list[str]) -> None:
    """The target keeps those that it has, and gets the others from the source."""
    marks = "# newdoc id = d1\n# newpar"
    source = json.dumps({**json.loads(GAVE), "sent_id": "s1", "conllu": f"{marks}\n# other = x"})
    tokens = ["Sie", "gab", "es", "auf"]
    bare, own = (
        {"tokens": tokens},
        {"tokens": tokens, "upos": ["X", "X", "_", "X"], "sent_id": "t1", "conllu": "# a = b"},
    )
    text = "".join(f"{source}\t{json.dumps(each)}\t0-0 1-1 2-2 3-3\n" for each in (bare, own))
    first, second = project(text, *method)
    assert (first["sent_id"], first["conllu"]) == ("s1-projected", marks)
    assert (second["sent_id"], second["conllu"]) == ("t1", "# a = b")
    assert first["upos"] == ["PRON", "VERB", "PRON", "ADP"] and second["upos"] == ["X", "X", "PRON", "X"]
    _, overwritten = project(text, *method, "--overwrite-upos")
    assert overwritten["upos"] == first["upos"]
    block = in_process("convert", "--input", "records", "--format", "conllu", text=json.dumps(first).encode()).decode()
    assert block.startswith(f"{marks}\n# sent_id = s1-projected\n# text = ")


@pytest.mark.parametrize("mode", ["", "--method direct", "--fit", "--no-projective", "--overwrite-upos"])
def test_the_validator_of_universal_dependencies_accepts_the_output(mode: str, tmp_path: Path) -> None:
    """It checks level 2, also with words without links, several sentences, and a line without any links."""
    go = {"tokens": ["Go", "!", "Stay", "."], "upos": ["VERB", "PUNCT"] * 2, "sentences": [2, 2]}
    two = json.dumps({**go, "heads": [0, 1, 0, 3], "deprels": ["root", "punct"] * 2, "sent_id": "s2"})
    first = json.dumps({**json.loads(GAVE), "sent_id": "s1", "conllu": "# newdoc id = d1\n# newpar id = p1"})
    own = json.dumps({"tokens": ["Ja", "!"], "upos": ["_", "PUNCT"], "sent_id": "t3"})
    text = f"{first}\tSie gibt es sehr bald (doch) auf!\t0-0 1-1 2-2 3-8\n{two}\tGeh, bleib.\t0-0 2-2\n{two}\t{own}\t\n"
    records = in_process("project", "--target-language", "de", *mode.split(), text=text.encode())
    path = tmp_path / "projected.conllu"
    path.write_bytes(in_process("convert", "--input", "records", "--format", "conllu", text=records))
    said = StringIO()
    state = Validator(lang="ud", level=2, output=said).validate_files([str(path)])
    assert (said.getvalue(), state.passed(), path.read_text().count("# sent_id")) == ("", True, 3)


def test_targets_without_words() -> None:
    words = json.dumps({"text": "Sie gibt"})
    empty, tokenized = project(f"{GAVE}\t{{}}\t\n{GAVE}\t{words}\t0-0 1-1\n", "--target-language", "de")
    assert empty == {} and tokenized["tokens"] == ["Sie", "gibt"] and tokenized["heads"] == [2, 0]


def test_lines_before_a_bad_line_are_written() -> None:
    done = synmt("project", "--target-language", "de", text=f"{LINE}\nx\n")
    assert is_one_line_of_error(done, "synmt project: stdin:2: expected `source TAB target TAB links`, found 1 column")
    assert done.stdout.count("\n") == 1


def test_a_guessed_language_is_reported() -> None:
    done = synmt("project", text=f"{LINE}\n")
    assert done.stderr == "synmt project: target text is tokenized as en\n"


def test_an_aligner_links_the_words(letter_aligner: Path) -> None:
    source = json.dumps({"tokens": ["a", "b", "c"], "heads": [2, 0, 2], "deprels": ["x", "root", "y"]})
    records = project(f"{source}\tA B C\n\n{{}}\tA\n", "--aligner", str(letter_aligner))
    assert (records[0]["heads"], records[0]["deprels"]) == ([2, 0, 2], ["x", "root", "y"])
    assert records[1] == {} and records[2]["confidences"] == [0.0]
    with pytest.raises(BadInput, match="expected `source TAB target`, found 3 columns"):
        project(f"{source}\tA B C\t0-0", "--aligner", str(letter_aligner))
