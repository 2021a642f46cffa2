"""Projected trees from Python equal those of the command."""

from dataclasses import replace
from pathlib import Path

import pytest

import synmt
from synmt import ProjectionConfig
from tests.cli.commands import in_process

SOURCE = '{"tokens":["He","is","here"],"heads":[3,3,0],"deprels":["nsubj","cop","root"],"upos":["PRON","AUX","ADV"]}'
SCORED = "0-2:0.90 1-1:1.00 2-0:0.50\t0.800000"
PAIRS = [(SOURCE, "Er ist hier", "0-0 1-1 2-2"), (SOURCE, "Hier ist er", SCORED), ("", "", "")]


def test_projected_trees_equal_those_of_the_command() -> None:
    text = "".join("\t".join(pair) + "\n" for pair in PAIRS).encode()
    german = ProjectionConfig(target_language="de")
    for options, config in (
        ([], german),
        (["--method", "direct"], replace(german, method="direct")),
        (["--fit"], replace(german, fit=True)),
    ):
        expected = in_process("project", "--target-language", "de", *options, text=text).decode().splitlines()
        found = synmt.project(PAIRS, config=config)
        assert list(map(synmt.write_record, found)) == expected


def test_a_bad_pair_is_an_error_or_blank() -> None:
    bad = [*PAIRS, (SOURCE, "Er", "0-7")]
    with pytest.raises(synmt.BadInput, match=r"^pairs:4: "):
        list(synmt.project(bad, config=ProjectionConfig(target_language="de")))
    with pytest.warns(UserWarning, match="^1 bad line left empty$"):
        found = list(synmt.project(bad, config=ProjectionConfig(target_language="de"), on_error="blank"))
    assert found[3] == synmt.ParseRecord()
    with pytest.raises(TypeError, match=r"^ProjectionConfig has no 'methods'; did you mean 'method'"):
        ProjectionConfig(methods="votes")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"a pair is \(source, target, links\)"):
        list(synmt.project([("a", "b")]))


def test_a_device_that_nothing_uses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^device needs aligner$"):
        synmt.project(PAIRS, device="cpu")
    list(synmt.align([("a b", "c d")] * 9, "hmm", out=tmp_path / "hmm"))
    with pytest.raises(ValueError, match=r"^hmm does not use device; it belongs to auto, "):
        synmt.project([pair[:2] for pair in PAIRS], tmp_path / "hmm", device="cpu")
