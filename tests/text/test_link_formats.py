"""Every command that reads links reads every format: the same links, the same scores, and for the same words only."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.config import Symmetrization
from synmt.runs.aligners import check_test, gold_of
from synmt.runs.file import ParallelFiles
from synmt.streams import BadInput, Line
from synmt.text.links import Link, open_links, read_links, read_scores
from tests.cli.commands import output_of, shell

Words = tuple[list[str], list[str]]
Scored = Mapping[Link, float]
Pairs = Sequence[tuple[Words, Scored]]
Write = Callable[[Pairs], str]


def pharaoh(pairs: Pairs, base: int = 0, scored: bool = False, confidence: bool = False) -> str:
    end = "\t0.500000\n" if confidence else "\n"
    return "".join(
        " ".join(f"{i + base}-{j + base}{f':{score:.4f}' if scored else ''}" for (i, j), score in links.items()) + end
        for _, links in pairs
    )


def jsonl(pairs: Pairs, with_words: bool = False) -> str:
    return "".join(
        json.dumps(
            {"links": [[*link, score] for link, score in links.items()]}
            | (dict(zip(("source", "target"), words, strict=True)) if with_words else {})
        )
        + "\n"
        for words, links in pairs
    )


def a3(pairs: Pairs) -> str:
    """Write the source words on the third line."""
    lines = []
    for number, ((source, target), links) in enumerate(pairs, 1):
        cells = [" ".join(str(j + 1) for i, j in links if i == place) for place in range(len(source))]
        aligned = " ".join(f"{word} ({{ {cell}{' ' * bool(cell)}}})" for word, cell in zip(source, cells, strict=True))
        lines += [f"# Sentence pair ({number}) score : 0.1", " ".join(target), f"NULL ({{ }}) {aligned}".rstrip()]
    return "".join(f"{line}\n" for line in lines)


def numbered(pairs: Pairs, sure: bool = False, scored: bool = False) -> str:
    return "".join(
        f"{number:04d} {i + 1} {j + 1}{' S' * sure}{f' {score:.4f}' * scored}\n"
        for number, (_, links) in enumerate(pairs, 1)
        for (i, j), score in links.items()
    )


# Each format with whether it has scores and whether it has words.
FORMATS: dict[str, tuple[Write, bool, bool]] = {
    "pharaoh": (pharaoh, False, False),
    "pharaoh with scores": (lambda pairs: pharaoh(pairs, scored=True), True, False),
    "pharaoh with confidences": (lambda pairs: pharaoh(pairs, scored=True, confidence=True), True, False),
    "talp": (lambda pairs: pharaoh(pairs, 1), False, False),
    "talp with scores": (lambda pairs: pharaoh(pairs, 1, scored=True), True, False),
    "jsonl": (jsonl, True, False),
    "jsonl with words": (lambda pairs: jsonl(pairs, with_words=True), True, True),
    "a3": (a3, False, True),
    "numbered": (numbered, False, False),
    "numbered, sure": (lambda pairs: numbered(pairs, sure=True), False, False),
    "numbered, with scores": (lambda pairs: numbered(pairs, scored=True), True, False),
    "numbered, sure, with scores": (lambda pairs: numbered(pairs, sure=True, scored=True), True, False),
}
PAIRS: Pairs = [
    ((["das", "Haus", "brennt"], ["the", "house", "burns", "down"]), {(0, 0): 0.9, (1, 1): 0.25, (2, 3): 0.5}),
    ((["ja", "!"], ["yes", "!"]), {}),
    ((["er", "geht", "oft"], ["he", "often", "goes"]), {(0, 0): 1.0, (1, 2): 0.75, (2, 1): 0.3}),
    ((["nein"], ["no", "way"]), {}),
]
OTHER: Pairs = [PAIRS[0], PAIRS[1], ((["er", "rennt", "oft"], PAIRS[2][0][1]), PAIRS[2][1]), PAIRS[3]]


def expected(pairs: Pairs, has_scores: bool) -> list[dict[Link, float]]:
    return [{link: score if has_scores else 1.0 for link, score in links.items()} for _, links in pairs]


def lines_of(text: str) -> list[Line]:
    return [Line(line, "links", number) for number, line in enumerate(text.split("\n")[:-1], 1)]


@st.composite
def bitexts(draw: st.DrawFn) -> Pairs:
    """Draw pairs with links, at least one of them to a word 0."""
    word = st.sampled_from(["a", "({", "})", "NULL", "|||", "0-0", "1", "S", "{", "é"])
    pairs = []
    for number in range(draw(st.integers(1, 4))):
        source, target = (draw(st.lists(word, min_size=1, max_size=5)) for _ in range(2))
        every = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
        links = draw(st.sets(every, max_size=6)) | ({(0, 0)} if not number else set())
        pairs.append(((source, target), {link: draw(st.integers(0, 10000)) / 10000 for link in sorted(links)}))
    return pairs


@pytest.mark.parametrize("name", FORMATS)
@given(bitexts())
def test_every_format_is_read(name: str, pairs: Pairs) -> None:
    write, has_scores, has_words = FORMATS[name]
    opened = open_links(lines_of(write(pairs)))
    read = [read_scores(next(opened, opened.rest or Line("", "", 0)).text, opened.base) for _ in pairs]
    assert [links for _, links in read] == expected(pairs, has_scores)
    if has_words:
        assert [(fields["source"], fields["target"]) for fields, _ in read] == [words for words, _ in pairs]
    assert next(opened, None) is None


# Commands


def files(folder: Path, pairs: Pairs = PAIRS) -> None:
    for side, name in enumerate(("source", "target")):
        (folder / name).write_text("".join(" ".join(words[side]) + "\n" for words, _ in pairs))
        records = ({"tokens": words[side], "heads": [0] + [1] * (len(words[side]) - 1)} for words, _ in pairs)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def aligned(folder: Path) -> None:
    given: list[str | Path] = [
        folder / "links",
        "--tokenizer",
        "none",
        "--pairs",
        folder / "source",
        "--pairs",
        folder / "target",
    ]
    rows = [json.loads(line) for line in output_of("symmetrize", "--format", "jsonl", *given).splitlines()]
    has_scores = FORMATS[(folder / "format").read_text()][1]
    found = [{(i, j): score for i, j, score in row["links"]} for row in rows]
    assert found == [pytest.approx(each) for each in expected(PAIRS, has_scores)]


def scored(folder: Path) -> None:
    (folder / "gold").write_text(pharaoh(PAIRS))
    sides: list[str | Path] = ["--source", folder / "source", "--target", folder / "target", "--by-length", "2"]
    for found, gold in (("links", "gold"), ("gold", "links"), ("links", "links")):
        given: list[str | Path] = [folder / found, "--references", folder / gold, "--metric", "aer", "--format", "tsv"]
        assert b"\tAER\t0.0000" in output_of("score", *given)
        assert b"\tAER\t" in output_of("score", *given, *sides)


def calibrated(folder: Path) -> None:
    (folder / "found").write_text(jsonl(PAIRS))
    given: list[str | Path] = [folder / "found", "--references", folder / "links", "--format", "tsv"]
    assert b"\t6\t61.6667\t100.0000" in output_of("inspect", "reliability", *given)


def queried(folder: Path) -> None:
    given: list[str | Path] = [folder / name for name in ("source.jsonl", "target.jsonl", "links")]
    found = output_of("challenge", "linked", "V []", *given, "--linked-word", "goes", "--format", "explained")
    assert found == b"3\tV=2:geht\n"


def reordered(folder: Path) -> None:
    given: list[str | Path] = [folder / "source", folder / "target", folder / "links"]
    assert output_of("challenge", "reordering", *given, "--min-distance", "0") == b"1\n3\n"


def inspected(folder: Path) -> None:
    (folder / "words").write_text(jsonl(PAIRS, with_words=True))
    given: list[str | Path] = [folder / "words", folder / "links", "--sentence", "3", "--format", "jsonl"]
    _, shown = map(json.loads, output_of("inspect", "alignment", *given).splitlines())
    found = {(i, j) for j, row in enumerate(shown["values"]) for i, value in enumerate(row) if value}
    assert found == set(PAIRS[2][1])


def gold(folder: Path) -> None:
    test = ParallelFiles(folder / "source", folder / "target", folder / "links")
    assert check_test(test) == len(PAIRS)
    assert [set(links.sure) for _, links in gold_of(test)] == [set(links) for _, links in PAIRS]


COMMANDS = [aligned, scored, calibrated, queried, reordered, inspected, gold]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_every_format(command: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "format").write_text(name)
    (tmp_path / "links").write_text(FORMATS[name][0](PAIRS))
    command(tmp_path)


@pytest.mark.parametrize("name", [name for name, (_, _, has_words) in FORMATS.items() if has_words])
@pytest.mark.parametrize("command", [each for each in COMMANDS if each is not calibrated])  # which has no words
def test_links_of_other_words_are_refused(command: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "format").write_text(name)
    (tmp_path / "links").write_text(FORMATS[name][0](OTHER))
    line = 7 if name == "a3" else 3
    with pytest.raises(BadInput, match=f"links:{line}: links of another source, with 'rennt' instead of 'geht'"):
        command(tmp_path)


def test_upper_and_lower_case_do_not_matter(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "format").write_text("a3")
    (tmp_path / "links").write_text(a3(PAIRS).lower().replace("null", "NULL").replace("# sentence", "# Sentence"))
    aligned(tmp_path)


def test_lengths_that_differ_are_refused_as_words(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "links").write_text(jsonl([PAIRS[0], ((["ja"], ["yes", "!"]), {}), *PAIRS[2:]], with_words=True))
    with pytest.raises(
        BadInput, match=r"links:2: links of another source, with 1 word instead of 2 in .*/source:2; do"
    ):
        aligned(tmp_path)


# Numbered links


def test_numbered_links_are_those_of_the_workshops() -> None:
    text = "0002 1 1 S\n0002 2 1 P 0.5\n\n0001 0 2\n0004 1 3 .25\n0004 2 0 P\n"
    opened = open_links(lines_of(text))
    assert opened.base == 1
    read = [(line.text, line.number) for line in opened]
    assert read == [("", 4), ("1-1 2p1:0.500000000", 1), ("", 0), ("1-3:0.250000000", 5)]
    assert read_links(read[1][0], 1).possible == {(0, 0), (1, 0)} > read_links(read[1][0], 1).sure
    assert opened.rest and opened.rest.text == ""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("1 1 1 S\n1 1\n", "links:2: expected the numbers of a sentence and two words"),
        ("1 1 1 S\n1 1 1 Q\n", "links:2: expected"),
        ("1 1 1 S\n0 1 1 S\n", "links:2: expected"),
        ("1 1 1 S\n1-1\n", "links:2: expected"),
        ("1 1 1 S\n1 1 1 S 1.5\n", "links:2: a score must be between 0 and 1"),
        ("1 1 1\n2 1 1\n999999 1 1\n", "links:3: links without a sentence pair: only 2 were given"),
        ("1 1 1\n9999999 1 1\n", "links:2: expected"),
    ],
)
def test_other_lines_among_numbered_links_are_refused(text: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "links").write_text(text)
    (tmp_path / "pairs").write_text("a b\tc d\n" * 2)
    with pytest.raises(BadInput, match=cause):
        output_of("symmetrize", tmp_path / "links", "--pairs", tmp_path / "pairs")


def test_a_base_that_is_given_holds_for_numbered_links() -> None:
    opened = open_links(lines_of("1 0 1\n1 1 0 P\n"), base=0)
    assert read_links(next(opened).text, opened.base).possible == {(0, 1), (1, 0)}


# Scores


def test_scores_survive_end_punctuation(tmp_path: Path) -> None:
    """Otherwise a filter by score would keep every link."""
    (tmp_path / "pairs").write_text("a b .\tc d .\n")
    (tmp_path / "links").write_text("0-0:0.9000 1-1:0.2000 2-1:0.4000 2-2:0.7000\n")
    given: list[str | Path] = ["symmetrize", tmp_path / "links", "--end-punctuation", "--pairs", tmp_path / "pairs"]
    row = json.loads(output_of(*given, "--format", "jsonl"))
    assert row["links"] == [[0, 0, 0.9], [1, 1, 0.2], [2, 2, 0.7]]
    assert output_of(*given, "--scores").split(b"\t")[0] == b"0-0:0.90 1-1:0.20 2-2:0.70"


@pytest.mark.parametrize("heuristic", get_args(Symmetrization))
def test_two_directions_have_the_mean_of_their_scores(heuristic: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a b\tc d\n")
    (tmp_path / "one").write_text("0-0:0.8 1-1:0.6\n")
    (tmp_path / "other").write_text("0-0:0.4 1-0:0.2\n")
    given: list[str | Path] = ["--heuristic", heuristic, "--format", "jsonl", "--pairs", tmp_path / "pairs"]
    output = output_of("symmetrize", tmp_path / "one", tmp_path / "other", *given)
    means = {(0, 0): 0.6, (1, 1): 0.3, (1, 0): 0.1}
    assert [[i, j, means[i, j]] for i, j, _ in json.loads(output)["links"]] == json.loads(output)["links"]


# Columns of pairs


@pytest.mark.parametrize(
    ("line", "sides"),
    [
        ("a ||| x", ("a ", " x")),
        ("||| x", ("", " x")),
        ("x |||", ("x ", "")),
        (" ||| ", (" ", " ")),
        ("|||", ("", "")),
        ("a  |||  x", ("a  ", "  x")),
        ("a\u3000||| x", ("a\u3000", " x")),
        ("a |||| b ||| x", ("a |||| b ", " x")),
        ("a|||b ||| x", ("a|||b ", " x")),
        ("a ||| b\tx", ("a ||| b", "x")),
        ("a\tx", ("a", "x")),
        ("\tx", ("", "x")),
    ],
)
def test_bars_and_tabs_separate_sides(line: str, sides: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text(f"{line}\n")
    (tmp_path / "links").write_text("\n")
    row = json.loads(output_of("symmetrize", tmp_path / "links", "--tokenizer", "none", "--format", "jsonl",
                               "--pairs", tmp_path / "pairs"))  # fmt: skip
    words = [side.split() for side in sides]
    assert row == {} if not all(words) else [row["source"], row["target"]] == words


@pytest.mark.parametrize(
    "line", ["a||| b", "a |||b", "a|||b", "a ||| b ||| c", "a ||| ||| c", "||| |||", "a b", "a\tb\tc", "a\tb ||| c"]
)
def test_other_lines_are_named(line: str, tmp_path: Path) -> None:
    """The last one could be split in two ways, and in the lines before it, bars separate."""
    (tmp_path / "pairs").write_text(f"a ||| b\n{line}\n")
    (tmp_path / "links").write_text("\n\n")
    done = shell("synmt symmetrize links --tokenizer none --pairs pairs", tmp_path)
    assert done.returncode == 1 and re.fullmatch(r"synmt symmetrize: pairs:2: (expected|found) .*\n", done.stderr)
    done = shell("synmt symmetrize links --tokenizer none --on-error blank --pairs pairs", tmp_path)
    assert (done.returncode, done.stdout) == (0, "\n\n") and "1 bad line left empty" in done.stderr


def test_a_file_that_begins_with_an_empty_side_holds_pairs(tmp_path: Path) -> None:
    for name, text in (("one", "||| x\na ||| y\n"), ("other", "b |||\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "links").write_text("\n0-0\n\n")
    pairs = "--pairs", tmp_path / "one", "--pairs", tmp_path / "other"
    assert output_of("symmetrize", tmp_path / "links", *pairs) == b"\n0-0\n\n"


# Streams whose lines hold links count from 0


def test_a_projection_reports_links_that_seem_to_count_from_1(tmp_path: Path) -> None:
    record = json.dumps({"tokens": ["a", "b", "c"], "heads": [0, 1, 1]})
    (tmp_path / "lines").write_text(f"{record}\td e f\t1-1 2-2\n" * 20)
    (tmp_path / "marked").write_text("a <b>b</b> c\td e f\t1-1 2-2\n" * 20)
    said = "no link names a word 0: do the words count from 1? Here they count from 0"
    assert said in shell("synmt project --target-language de lines", tmp_path).stderr
    assert said in shell("synmt markup --target-language de marked", tmp_path).stderr
    (tmp_path / "lines").write_text(f"{record}\td e f\t1-1 2-0\n" * 20)
    assert said not in shell("synmt project --target-language de lines", tmp_path).stderr
