"""The columns of every system are those of the schema. A change of them asks for another SCHEMA.

`python -m tests.data.test_schema` writes the checksums of the current schema.
"""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from safetensors.numpy import load_file

from synmt.data.bitext import Bitext
from synmt.data.preparation import prepare
from synmt.data.prepared import SCHEMA
from synmt.model.config import ModelConfig
from synmt.model.fingerprint import digest
from synmt.model.source import source_side
from synmt.streams import Notes
from tests import tiny
from tests.data.test_prepared import masked
from tests.training.runs import SHORT

FILE = Path(__file__).with_name("schema.json")
SYSTEMS = [*((name, "sequence") for name in tiny.SYSTEMS), *(("sequence", name) for name in tiny.TARGET_SYSTEMS)]


def checksum(source: str, target: str, folder: Path) -> str:
    """Return a checksum of the vocabulary and the shards of the tiny corpus, with the sources without trees."""
    sides = source_side(tiny.SYSTEMS[source]), tiny.TARGET_SYSTEMS[target]
    config = ModelConfig(*sides, ("en", "de"), "none", tiny.CONFIG)
    pairs = Bitext(masked(9))
    vocabulary, _ = prepare(folder, pairs, config, pairs.joint_bpe(30), replace(SHORT, tree_dropout=0.5), Notes())
    shards = {file.name: load_file(file) for file in sorted(folder.glob("*.safetensors"))}
    arrays = {
        f"{file} {name} {array.dtype}": array.tolist()
        for file, found in shards.items()
        for name, array in found.items()
    }
    return digest({"vocabulary": vocabulary.files(), **arrays})


@pytest.mark.parametrize(("source", "target"), SYSTEMS)
def test_columns_are_those_of_the_schema(source: str, target: str, tmp_path: Path) -> None:
    known = json.loads(FILE.read_text())
    assert known["schema"] == SCHEMA
    assert checksum(source, target, tmp_path) == known["columns"][f"{source} → {target}"], "raise SCHEMA"


if __name__ == "__main__":
    columns = {}
    for source, target in SYSTEMS:
        with TemporaryDirectory() as folder:
            columns[f"{source} → {target}"] = checksum(source, target, Path(folder))
    found = {"schema": SCHEMA, "columns": columns}
    FILE.write_text(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
