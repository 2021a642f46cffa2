"""Scores of CoNLL-U are those of the shared task's own evaluator, to the digit."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from udtools import udeval

import synmt
from synmt.metrics.config import MetricConfig
from synmt.metrics.conll18 import Evaluation
from synmt.metrics.parses import CONLL18, las
from synmt.metrics.reading import Files, open_input, open_rows
from synmt.metrics.scoring import RelationCounts, add_relations, score_files, score_systems
from synmt.streams import BadInput, Line, Note
from synmt.trees.formats import write_conllu
from synmt.trees.record import ParseRecord
from tests.cli.commands import is_one_line_of_error
from tests.cli.commands import synmt as command

UD = Path(__file__).parents[3] / "shared" / "data" / "ud"
NAMES = [name.lower() for name in CONLL18]
ZUM = "1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n1\tzu\tzu\tADP\t_\t_\t3\tcase\t_\t_\n2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_\n"
BALL = "3\tBall\tBall\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


def official(gold: str, system: str) -> dict[str, tuple[int, int, int]]:
    """Return the evaluator's counts over whole files."""
    loaded = [udeval.load_conllu(StringIO(text), "", {}) for text in (gold, system)]
    return {name: (each.correct, each.gold_total, each.system_total) for name, each in udeval.evaluate(*loaded).items()}


def files(*texts: str) -> Files:
    """Return the texts of hypotheses and of the reference, the last, as files."""
    names = [f"system {number}" for number in range(1, len(texts))]
    lines = {
        name: iter([Line(line, name, number) for number, line in enumerate(text.splitlines(), 1)])
        for name, text in zip([*names, "gold"], texts, strict=True)
    }
    return Files(names, ["gold"], given=lines)


def counted(*texts: str) -> list[dict[str, tuple[int, int, int]]]:
    """Return the sums over segments for each hypothesis; the reference is last."""
    rows, _ = open_rows("las", "records", files(*texts), MetricConfig())
    totals = [defaultdict[str, tuple[int, int, int]](lambda: (0, 0, 0)) for _ in texts[1:]]
    for row in rows:
        for sums, item in zip(totals, row.hypotheses, strict=True):
            for name, counts in item.counts.items():
                sums[name] = tuple(map(sum, zip(sums[name], counts, strict=True)))  # type: ignore[assignment]
    return [dict(sums) for sums in totals]


def scores(gold: str, system: str) -> list[str]:
    ((_, found),) = score_systems(open_input(NAMES, files(system, gold), MetricConfig()))
    return [each.number for each in found]


def official_scores(gold: str, system: str) -> list[str]:
    """Return the F1 that the evaluator prints, in the order of NAMES."""
    loaded = [udeval.load_conllu(StringIO(text), "", {}) for text in (gold, system)]
    found = udeval.evaluate(*loaded)
    return [f"{100 * found[name].f1:.2f}" for name in CONLL18]


def test_words_inside_a_multiword_token_count(tmp_path: Path) -> None:
    (tmp_path / "gold.conllu").write_text(ZUM + BALL)
    wrong = ZUM.replace("ADP\t_\t_\t3", "X\t_\t_\t2") + BALL
    done = command("score", "-m", "upos,uas,las", "-r", tmp_path / "gold.conllu", text=wrong)
    assert [line.split(" = ")[1].split()[0] for line in done.stdout.splitlines()] == ["66.67"] * 3
    assert all("|rules:CoNLL18|udtools:" in line for line in done.stdout.splitlines())
    relations = command("inspect", "relations", "-r", tmp_path / "gold.conllu", "--format", "tsv", text=wrong)
    heads = {line.split("\t")[1]: line.split("\t")[3] for line in relations.stdout.splitlines()[1:]}
    assert heads == {"case": "0.0000", "det": "100.0000", "root": "100.0000"}


@dataclass
class Writer:
    """Writes random CoNLL-U of a text. The forms are few, so that words align in several ways."""

    random: random.Random
    forms: Sequence[str] = ("a", "b", "ab", "A")

    def file(self, text: str) -> str:
        return "".join(self._sentence(part) for part in self._parts(text, 0.3))

    def _parts(self, text: str, often: float) -> list[str]:
        parts = [text[0]]
        for character in text[1:]:
            if self.random.random() < often:
                parts.append(character)
            else:
                parts[-1] += character
        return parts

    def _sentence(self, text: str) -> str:
        rows: list[tuple[str, str]] = []  # number, form
        words = 0
        for token in self._parts(text, 0.6):
            inside = self.random.randint(1, 3) if self.random.random() < 0.3 else 0
            if inside:
                rows.append((f"{words + 1}-{words + inside}", token))
            for _ in range(inside or 1):
                words += 1
                rows.append((str(words), self.random.choice(self.forms) if inside else token))
            if self.random.random() < 0.1:
                rows.append((f"{words}.1", "empty"))
        order = self.random.sample(range(1, words + 1), words)
        heads = {word: self.random.choice(order[:place]) if place else 0 for place, word in enumerate(order)}
        lines = ["# text = anything"] * self.random.randint(0, 1)
        lines += ["\t".join([number, form, *self._rest(number, heads)]) for number, form in rows]
        return "\n".join([*lines, "", ""])

    def _rest(self, number: str, heads: dict[int, int]) -> list[str]:
        one_of = self.random.choice
        if not number.isdigit():
            return ["_"] * 8
        head = heads[int(number)]
        relation = one_of(["nsubj", "nsubj:pass", "det", "aux", "punct", "case"]) if head else "root"
        feats = one_of(["_", "Case=Nom|Number=Sing", "Number=Sing|Case=Nom", "Case=Acc", "Typo=Yes"])
        deps = one_of(["_", f"{head}:{relation}", f"{head}:{relation}|{one_of(list(heads))}:conj:and"])
        return [
            one_of(["x", "y", "_"]),
            one_of(["X", "NOUN"]),
            one_of(["x", "y"]),
            feats,
            str(head),
            relation,
            deps,
            "_",
        ]


@settings(max_examples=100, deadline=None)
@given(st.text("ab", min_size=1, max_size=40), st.randoms(use_true_random=False), st.integers(1, 2))
def test_segments_add_up_to_the_evaluators_counts(text: str, chance: random.Random, systems: int) -> None:
    gold, *found = (Writer(chance).file(text) for _ in range(1 + systems))
    assert counted(*found, gold) == [official(gold, system) for system in found]


@settings(max_examples=100, deadline=None)
@given(st.text("ab", min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_relations_add_up_to_the_evaluators_counts(text: str, chance: random.Random) -> None:
    gold, system = (Writer(chance).file(text) for _ in range(2))
    rows, _ = open_rows("las", "records", files(system, gold), MetricConfig())
    counts: dict[str, RelationCounts] = defaultdict(RelationCounts)
    for row in rows:
        item = row.hypotheses[0]
        before = item.counts
        add_relations(counts, las(MetricConfig()).relations(item, item.gold))
        assert Evaluation(item.gold, item.system).counts == before  # the words are as they were
    found = official(gold, system)
    assert sum(each.heads for each in counts.values()) == found["UAS"][0]
    sums = [sum(getattr(each, name) for each in counts.values()) for name in ("right", "words", "claimed")]
    assert tuple(sums) == found["LAS"]


def test_a_sentence_break_around_which_the_evaluator_aligns_words_is_no_cut() -> None:
    """`b` of the first sentence is aligned with a word of the second one's multiword token."""
    gold = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tc\t_\t_\t_\t_\t1\tx\t_\t_\n3\tb\t_\t_\t_\t_\t1\tx\t_\t_\n\n"
    rest = "1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n1\tb\t_\t_\t_\t_\t0\troot\t_\t_\n2\te\t_\t_\t_\t_\t1\tx\t_\t_\n\n"
    system = "1\tacb\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    other = rest.replace("\tb\t", "\tf\t")
    assert counted(system + rest, gold + other) == [official(gold + other, system + rest)]
    alone = official(gold, system)["Words"][0] + official(other, rest)["Words"][0]
    assert alone < official(gold + other, system + rest)["Words"][0]


TREEBANKS = sorted(UD.glob("*/*-ud-test.conllu")) + sorted(UD.glob("*/*-ud-dev.conllu"))


def first_sentences(path: Path, count: int) -> str:
    return "\n\n".join(path.read_text(encoding="utf-8").strip("\n").split("\n\n")[:count]) + "\n\n"


@pytest.mark.parametrize("path", TREEBANKS, ids=lambda path: path.name)
def test_perturbed_treebanks(path: Path) -> None:
    gold = first_sentences(path, 150)
    for seed in range(2):
        system = perturbed(gold, random.Random(seed))
        assert scores(gold, system) == official_scores(gold, system)


def perturbed(text: str, chance: random.Random) -> str:
    """Change tags, features, lemmas, relations and heads, and join sentences."""
    blocks = []
    for block in text.strip("\n").split("\n\n"):
        rows = rows_of(block)
        root = next(row[0] for row in rows if row[6] == "0")
        for row in rows:
            if row[0].isdigit() and chance.random() < 0.2:
                row[2], row[3], row[4] = "changed", "X", "changed"
                row[5] = "|".join(reversed(row[5].split("|")))
                is_leaf = all(other[6] != row[0] for other in rows)
                row[6] = root if is_leaf and row[0] != root else row[6]
                row[7] = row[7] if row[6] == "0" else chance.choice(["dep", "obl:agent", "det"])
        blocks.append(rows)
    joined: list[list[list[str]]] = []
    for rows in blocks:
        if joined and chance.random() < 0.1:
            joined[-1] = one_sentence(joined[-1], rows)
        else:
            joined.append(rows)
    return "".join("\n".join("\t".join(row) for row in rows) + "\n\n" for rows in joined)


def rows_of(block: str) -> list[list[str]]:
    return [line.split("\t") for line in block.split("\n") if not line.startswith("#")]


def one_sentence(first: list[list[str]], second: list[list[str]]) -> list[list[str]]:
    """Attach the second sentence to the root of the first."""
    shift = sum(row[0].isdigit() for row in first)
    root = next(row[0] for row in first if row[6] == "0")

    def moved(number: str) -> str:
        return "-".join(str(int(each) + shift) for each in number.split("-"))

    def head(row: list[str]) -> str:
        return row[6] if row[6] == "_" else root if row[6] == "0" else moved(row[6])

    return [
        *first,
        *([moved(row[0]), *row[1:6], head(row), *row[7:8], "_", row[9]] for row in second if "." not in row[0]),
    ]


@pytest.mark.parametrize(("name", "language"), [("de_gsd", "de"), ("de_pud", "de"), ("en_pud", "en")])
def test_parses_by_the_embedded_parsers(name: str, language: str) -> None:
    path = UD / name / f"{name}-ud-test.conllu"
    if not path.exists():
        pytest.skip("the treebank is not here")
    gold = first_sentences(path, 60)
    texts = [line.removeprefix("# text = ") for line in gold.split("\n") if line.startswith("# text = ")]
    lines = [" ".join(texts[n : n + 3]) for n in range(0, len(texts), 3)]
    tokens = [[row[1] for row in surface(block)] for block in gold.strip("\n").split("\n\n")]
    for given_text in (lines, tokens):
        parsed = synmt.parse(given_text, synmt.ParserConfig("udpipe", language=language))
        system = "".join(map(sentences_of, parsed))
        assert scores(gold, system) == official_scores(gold, system)


def surface(block: str) -> list[list[str]]:
    """Return the rows of tokens: multiword tokens in place of their words."""
    rows, inside = [], 0
    for row in rows_of(block):
        if "-" in row[0]:
            inside = int(row[0].split("-")[1])
        elif "." in row[0] or int(row[0]) <= inside:
            continue
        rows.append(row)
    return rows


def sentences_of(record: ParseRecord) -> str:
    """Return a block for each sentence of a record."""
    blocks, start = [], 0
    for length in record.sentences or [len(record.tokens)]:
        here = slice(start, start + length)
        part = ParseRecord(
            tokens=record.tokens[here],
            upos=record.upos[here],
            feats=record.feats[here],
            heads=[head and head - start for head in record.heads[here]],
            deprels=record.deprels[here],
        )
        blocks.append(f"{write_conllu(part)}\n\n")
        start += length
    return "".join(blocks)


ONE, TWO = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n", "2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n"
BROKEN = f"{ONE}\n{ONE.replace('a', 'b')}\n"
WHOLE = f"{ONE}{TWO}\n"


def test_other_sentence_breaks() -> None:
    """They are scored, but sentences have no scores of their own."""
    assert counted(BROKEN, WHOLE)[0]["Sentences"] == (0, 1, 2)
    assert counted(BROKEN, WHOLE)[0]["UAS"] == (1, 2, 2)
    with pytest.raises(BadInput, match=r"^system 1:1: .* no scores by sentence$"):
        list(score_files(["las"], files(BROKEN, WHOLE), MetricConfig(), (), "text", by_sentence=True))
    with pytest.raises(ValueError, match="no sentence break in common"):
        list(score_files(["las"], files(BROKEN, WHOLE), MetricConfig(), (), "text", intervals=True))
    with pytest.warns(Note, match="so 2 segments that end in all files are resampled"):
        list(score_files(["las"], files(BROKEN + WHOLE, WHOLE * 2), MetricConfig(), (), "text", intervals=True))


@pytest.mark.parametrize(
    ("system", "cause"),
    [
        (WHOLE.replace("b", "c"), r"^system 1:2: the text differs from the reference: 'c', not 'b' \(gold:2\)$"),
        (f"{ONE}\n", "^gold:2: the hypothesis ends before this text$"),
        (WHOLE + WHOLE, "^system 1:4: the reference ends before this text$"),
        (WHOLE.replace("1\tdep", "7\tdep"), "^system 1:"),
        (WHOLE.replace("1\tdep", "0\tdep"), "^system 1:1: "),
        (WHOLE.replace("\tdep\t_", "\tdep\tnothing"), "^system 1:1: CoNLL-U that the evaluator cannot read: "),
    ],
)
def test_faults_have_their_place(system: str, cause: str) -> None:
    with pytest.raises(BadInput, match=cause):
        counted(system, WHOLE)


def test_other_comparisons_have_another_name(tmp_path: Path) -> None:
    record = '{"tokens": ["a", "b"], "upos": ["X", "X"], "heads": [0, 1], "deprels": ["root", "dep"]}\n'
    partial = WHOLE.replace("1\tdep", "_\t_")
    for system, gold, told in ((record, WHOLE, ""), (WHOLE, record, ""), (partial, WHOLE, "stdin:2: a word has no")):
        (tmp_path / "gold").write_text(gold)
        done = command("score", "-m", "uas", "-r", tmp_path / "gold", text=system)
        assert "|rules:tokens = " in done.stdout and "CoNLL18" not in done.stdout
        assert told in done.stderr and bool(told) == bool(done.stderr)
        done = command("score", "-m", "uas,clas", "-r", tmp_path / "gold", text=system)
        assert is_one_line_of_error(done, "clas needs whole trees in CoNLL-U on both sides") or told


def test_scores_by_length_and_by_sentence(tmp_path: Path) -> None:
    """The same sentences in other tokens have scores of their own."""
    for name, text in {
        "gold": WHOLE + BROKEN,
        "found": f"{ONE.replace('a', 'ab')}\n{BROKEN}",
        "text": "ab\na\nb\n",
    }.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("found", "gold", "text")]
    by_length = score_files(["uas"], Files(paths[:1], paths[1:2], paths[2]), MetricConfig(), (1,), "jsonl")
    rows = [json.loads(line) for line in by_length]
    assert [(row["length"], row["sentences"]) for row in rows] == [("0-1", 3), ("all", 3)]
    assert (
        f"{rows[-1]['score']:.2f}"
        == official_scores((tmp_path / "gold").read_text(), (tmp_path / "found").read_text())[1]
    )
    alone = score_files(["uas"], Files(paths[:1], paths[1:2]), MetricConfig(), (), "text", by_sentence=True)
    assert list(alone) == ["0.00", "100.00", "100.00"]
    (score,) = synmt.score(tmp_path / "found", tmp_path / "gold", metrics="uas")
    assert score.score == rows[-1]["score"] and "|rules:CoNLL18|" in score.signature
