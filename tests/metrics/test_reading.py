from pathlib import Path
from typing import Any

import pytest

from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, Input, LengthBuckets, open_input
from synmt.metrics.scoring import score_systems
from synmt.streams import BadInput


def given(folder: Path, metric: str, hypothesis: str, reference: str, **options: Any) -> Input:
    """Return the input from files with these texts. options: more texts, named like the fields of Files, and
    settings."""
    sides = {name: folder / name for name in ("source", "target") if name in options}
    texts = {folder / "hypothesis": hypothesis, folder / "reference": reference}
    for path, text in {**texts, **{path: options.pop(name) for name, path in sides.items()}}.items():
        path.write_text(text, encoding="utf-8")
    buckets = options.pop("buckets", None)
    source, target = (str(sides[name]) if name in sides else None for name in ("source", "target"))
    files = Files([str(folder / "hypothesis")], [str(folder / "reference")], source, target)
    return open_input([metric], files, MetricConfig(**options), buckets)


def score(*arguments: Any, **options: Any) -> tuple[float, str]:
    ((_, (result,)),) = score_systems(given(*arguments, **options))
    return result.score, result.signature


def test_the_base_of_links_is_detected_or_given(tmp_path: Path) -> None:
    from_zero, from_one = "0-0 1-1\n\n", "1-1 2p2\n\n"
    found, signature = score(tmp_path, "aer", from_zero, from_one)
    assert found == 0
    assert signature.endswith("|base:0|refbase:1")
    assert score(tmp_path, "aer", "1-1 2-2\n", "1-1 2-2\n")[1].endswith("|base:1|refbase:1")
    assert score(tmp_path, "aer", "1-1\n", "0-0 1-1\n", link_base=0)[0] == pytest.approx(100 / 3)
    assert score(tmp_path, "aer", "\n", "1-1\n")[1].endswith("|base:0|refbase:1")
    with pytest.raises(BadInput, match="hypothesis:1: link 0-0 is invalid: words count from 1"):
        score(tmp_path, "aer", "0-0 1-1\n", "1-1\n", link_base=1)


def test_links_in_json_count_from_0(tmp_path: Path) -> None:
    found = '{"source": ["a", "b"], "target": ["c", "d"], "links": [[0, 0, 0.9], [1, 1, 0.8]]}\n{}\n'
    for metric, expected in (("aer", 0), ("recall", 100)):
        score_of_json, signature = score(tmp_path, metric, found, "1-1 2p2\n\n")
        assert score_of_json == expected
        assert signature.endswith("|base:0|refbase:1")
    assert score(tmp_path, "aer", "0-0 1-1\n\n", found)[0] == 0
    with pytest.raises(BadInput, match="hypothesis:1: links in JSON count words from 0, not from 1"):
        score(tmp_path, "aer", found, "1-1 2p2\n\n", link_base=1)


def test_links_must_not_leave_their_sentences(tmp_path: Path) -> None:
    sides = {"source": "a b\nc\n", "target": "x y z\nz\n"}
    assert score(tmp_path, "aer", "0-2\n0-0\n", "0-2\n0-0\n", **sides)[0] == 0
    with pytest.raises(BadInput, match="hypothesis:2: link 0-1 for 1 source and 1 target words"):
        score(tmp_path, "aer", "0-2\n0-1\n", "0-2\n0-0\n", **sides)
    with pytest.raises(BadInput, match="reference:1: link 0-3 for 2 source and 3 target words"):
        score(tmp_path, "aer", "0-2\n0-0\n", "0-3\n0-0\n", **sides)
    with pytest.raises(ValueError, match="a target needs links and a source"):
        given(tmp_path, "bleu", "", "", **sides)


def test_predictions_count_from_0_whatever_the_references(tmp_path: Path) -> None:
    line = '{"links": [[1, 0]], "predicted": [true]}\n'
    found, signature = score(tmp_path, "cPcA", line, "2-1\n")
    assert found == 100
    assert signature.endswith("|base:0|refbase:1")
    with pytest.raises(BadInput, match="hypothesis:2: a reference link to a word beyond the 1 target words"):
        score(tmp_path, "cPcA", line * 2, "2-1\n2-2\n")


def test_tokens_can_be_joined_before_scoring(tmp_path: Path) -> None:
    found, signature = score(
        tmp_path, "bleu", "She said : &quot; Go &amp; see . &quot;\n", 'She said: "Go & see."\n', detokenize="en"
    )
    assert found == pytest.approx(100)
    assert signature.endswith("|detok:moses-en")


def test_case_follows_the_metric_unless_given(tmp_path: Path) -> None:
    pair = "A b c d e f\n", "a b c d E F\n"
    signatures = {
        (metric, case): score(tmp_path, metric, *pair, case=case)[1].split("case:")[1].split("|")[0]
        for metric in ("bleu", "chrf", "ter", "ribes")
        for case in (None, "mixed", "lower")
    }
    assert [signatures[metric, None] for metric in ("bleu", "chrf", "ter", "ribes")] == ["mixed"] * 2 + ["lc"] * 2
    assert {found for (_, case), found in signatures.items() if case == "mixed"} == {"mixed"}
    assert {found for (_, case), found in signatures.items() if case == "lower"} == {"lc"}


def test_lengths_come_from_the_source_or_the_reference(tmp_path: Path) -> None:
    texts = "x\n\n", "a b\n\n"
    buckets = LengthBuckets((1, 2))
    rows = [row.bucket for row in given(tmp_path, "bleu", *texts, buckets=buckets).rows]
    assert rows == [1, 0]
    source = '{"tokens": ["a"]}\na b c\n'
    assert [row.bucket for row in given(tmp_path, "bleu", *texts, buckets=buckets, source=source).rows] == [0, 2]
    with pytest.raises(ValueError, match="lengths for aer need a source"):
        given(tmp_path, "aer", *texts, buckets=buckets)


def test_incomparable_sentences_are_reported(tmp_path: Path) -> None:
    gold = '{"tokens": ["Go"], "upos": ["VERB"]}\n'
    with pytest.raises(BadInput, match=r"hypothesis:3: the text differs from the reference"):
        score(tmp_path, "upos", gold * 2 + gold.replace("Go", "Stay"), gold * 3)


def test_only_translations_can_have_several_references() -> None:
    with pytest.raises(ValueError, match="aer takes one reference"):
        open_input(["aer"], Files(["a"], ["b", "c"]), MetricConfig())
    with pytest.raises(ValueError, match="bleu and aer cannot be combined, because they compare different things"):
        open_input(["bleu", "aer"], Files(["a"], ["b"]), MetricConfig())
