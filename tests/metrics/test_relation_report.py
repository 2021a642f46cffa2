"""The report by relation, worked out by hand."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from synmt.metrics.config import MetricConfig
from synmt.metrics.parses import las
from synmt.metrics.reading import Files
from synmt.metrics.scoring import RelationCounts, add_relations, report_relations
from synmt.streams import BadInput
from synmt.trees.record import UNATTACHED, ParseRecord, write_record

GOLD = ParseRecord(tokens=["a", "b", "c", "d"], heads=[2, 4, 4, 0], deprels=["det", "nsubj:pass", "aux", "root"])


def test_words_of_a_relation_counted_by_hand() -> None:
    counts: dict[str, RelationCounts] = defaultdict(RelationCounts)
    found = ParseRecord(tokens=GOLD.tokens, heads=[3, 4, 4, 0], deprels=["det", "obj", "aux", "x"])
    add_relations(counts, las(MetricConfig()).relations(found, GOLD))
    assert counts == {
        "det": RelationCounts(words=1, heads=0, claimed=1, right=0),
        "nsubj": RelationCounts(words=1, heads=1, claimed=0, right=0),
        "obj": RelationCounts(claimed=1),
        "aux": RelationCounts(words=1, heads=1, claimed=1, right=1),
        "root": RelationCounts(words=1, heads=1),
        "x": RelationCounts(claimed=1),
    }


def test_words_without_a_head_count_only_as_missed() -> None:
    counts: dict[str, RelationCounts] = defaultdict(RelationCounts)
    deprels = ["_", "nsubj", "aux", "root"]
    found = ParseRecord(tokens=GOLD.tokens, heads=[UNATTACHED, 4, 4, 0], deprels=deprels)
    add_relations(counts, las(MetricConfig()).relations(found, GOLD))
    assert counts["det"] == RelationCounts(words=1)
    assert counts["nsubj"].percentages() == {"heads": 100, "precision": 100, "recall": 100, "f1": 100}


def test_one_table_per_system_and_one_row_per_relation(tmp_path: Path) -> None:
    files = Files([str(tmp_path / "a"), str(tmp_path / "b")], [str(tmp_path / "gold")])
    worse = ParseRecord(tokens=GOLD.tokens, heads=[4, 4, 4, 0], deprels=GOLD.deprels)
    for path, record in zip((*files.hypotheses, *files.references), (GOLD, worse, GOLD), strict=True):
        Path(path).write_text(2 * f"{write_record(record)}\n")
    lines = list(report_relations(files, "text"))
    assert lines[0] == str(tmp_path / "a")
    assert lines[1].split() == ["relation", "words", "heads", "precision", "recall", "F1"]
    rows = [json.loads(line) for line in report_relations(files, "jsonl")]
    assert [row["f1"] for row in rows if row["relation"] == "det"] == [100, 0]
    assert {row["words"] for row in rows} == {2}
    other = ParseRecord(tokens=["z"], heads=[0], deprels=["root"])
    Path(files.hypotheses[1]).write_text(f"{write_record(GOLD)}\n{write_record(other)}\n")
    with pytest.raises(BadInput, match="b:2: the text differs from the reference"):
        report_relations(files, "jsonl")
