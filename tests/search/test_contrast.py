"""Contrastive pairs: the same scores as `synmt logprob`, intervals by their definition, and published formats."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from synmt.challenge.contrast import Item, shares
from synmt.metrics.significance import Z, wilson
from tests.cli.commands import is_one_line_of_error, synmt
from tests.inspection.models import write_model
from tests.test_recipes import blocks_of

WORDS = ["He", "is", "my", "father", ".", "the"]


def test_intervals_are_where_the_score_test_rejects() -> None:
    """At either end, the observed share is Z standard errors away; the ends of 0 and of n wins are 0 and 100."""
    for items in (1, 2, 7, 100, 10_000):
        for wins in {0, 1, items // 3, items - 1, items}:
            for end in wilson(wins, items):
                p = end / 100
                assert abs(wins / items - p) == pytest.approx(Z * math.sqrt(p * (1 - p) / items), abs=1e-7)
            assert 0 <= wilson(wins, items)[0] <= 100 * (wins / items) <= wilson(wins, items)[1] <= 100
    assert wilson(8, 10) == pytest.approx((49.0162, 94.3318), abs=1e-4)  # as in Newcombe (1998)'s method 3


def test_wins_are_counted_by_category_and_distance() -> None:
    """A tie but for rounding is no win. Distances above 15 share a row, after the others."""
    items = [Item("a", 2, [-1.0, -2.0, -3.0]), Item("a", 10, [-1.0, -2.0, -1.0001]), Item("", None, [-1.0, -2.0])]
    items += [Item("b", 16, [-2.0, -1.0]), Item("b", 99, [-1.0, -2.0])]
    assert [(each.group, each.name, each.items, each.wins) for each in shares(items)] == [
        ("category", "a", 2, 1),
        ("category", "b", 2, 1),
        ("distance", "2", 1, 1),
        ("distance", "10", 1, 0),
        ("distance", ">15", 2, 1),
        ("all", "", 5, 3),
    ]
    assert shares([]) == []


def test_scores_are_those_of_logprob(tmp_path: Path) -> None:
    write_model(tmp_path / "model", "sequence")
    source = "He is my father ."
    targets = [" ".join(WORDS[number:] + WORDS[:number]) for number in range(5)]
    pairs = "".join(f"{source}\t{target}\n" for target in targets)
    scores = [float(line) for line in synmt("logprob", tmp_path / "model", text=pairs).stdout.splitlines()]
    lines = [f"{source}\t{targets[i]}\t{targets[j]}\torder\t{abs(i - j)}" for i in range(5) for j in range(5)]
    done = synmt("challenge", "contrast", tmp_path / "model", "--format", "jsonl", text="\n".join(lines))
    rows = {(row["group"], row["name"]): row for row in map(json.loads, done.stdout.splitlines())}
    for distance in range(5):
        won = [scores[i] > scores[j] for i in range(5) for j in range(5) if abs(i - j) == distance]
        row = rows["distance", str(distance)]
        assert (row["items"], row["wins"]) == (len(won), sum(won))
        assert (row["low"], row["high"]) == wilson(sum(won), len(won))
    assert rows["all", ""]["items"] == rows["category", "order"]["items"] == 25

    item = [f"{source}\t{targets[0]}\t{targets[1]}", *(f"\t\t{target}" for target in targets[2:])]
    done = synmt("challenge", "contrast", tmp_path / "model", text="\n".join(item))
    assert done.stdout.splitlines()[1].split()[:3] == ["all", "1", str(int(scores[0] > max(scores[1:])))]

    long = f"{source}\t{'is ' * 100}\tis\n{source}\tis\tis .\n"
    done = synmt("challenge", "contrast", tmp_path / "model", "--max-tokens", "20", text=long)
    assert done.stdout.splitlines()[1].split()[:2] == ["all", "1"]
    assert "1 item left out, since a translation cannot be scored" in done.stderr


@pytest.mark.parametrize(
    "line, cause",
    [
        ("a\tb", "expected `source TAB right TAB wrong TAB category TAB distance`, found 2 columns"),
        ("\t\tc", "the first line has no source"),
        ("a\tb\t", "the wrong translation is empty"),
        ("a\t\tc", "the right translation is empty"),
        ("\tb\tc", "the source is empty"),
        ("a\tb\tc\td\tfar", "the distance 'far' is not a whole number"),
    ],
)
def test_bad_lines(line: str, cause: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model", "sequence")
    done = synmt("challenge", "contrast", tmp_path / "model", text=f"\n{line}\n")
    assert is_one_line_of_error(done, f"stdin:2: {cause}")
    done = synmt("challenge", "contrast", tmp_path / "model", "--on-error", "blank", text=f"{line}\nHe\tis\tmy\n")
    assert done.stdout.splitlines()[1].split()[:2] == ["all", "1"]


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_published_sets_convert(tmp_path: Path) -> None:
    """By the lines on the page, from files of the published form."""
    (tmp_path / "lingeval97.json").write_text(
        '[{"source": "a\\tb", "reference": "c", "errors": [{"type": "x", "contrastive": "d", "distance": 3},'
        ' {"type": "y", "contrastive": "e"}]}]'
    )
    (tmp_path / "contrapro.json").write_text(
        '[{"src segment": "it", "ref segment": "er", "src pronoun": "It", "ref pronoun": "er", "ante distance": 1,'
        ' "errors": [{"contrastive": "sie"}, {"contrastive": "es"}]}]'
    )
    commands = [block for block in blocks_of("docs/challenge-sets.md", "sh") if "jq" in block]
    assert len(commands) == 1
    subprocess.run(["sh", "-e", "-c", commands[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "lingeval97.tsv").read_text() == "a b\tc\td\tx\t3\na b\tc\te\ty\t\n"
    assert (tmp_path / "contrapro.tsv").read_text() == "it\ter\tsie\tit:er\t1\n\t\tes\tit:er\t1\n"
