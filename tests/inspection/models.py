"""Folders of untrained models, and a sentence for them."""

from pathlib import Path

from synmt.model.config import ModelConfig
from synmt.model.files import save_tensors
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.streams import Line
from synmt.text.bpe import Bpe
from synmt.trees.record import write_record
from tests import tiny
from tests.cli.commands import CODES

SENTENCE = Line(write_record(tiny.records()[0]), "in", 1)  # He is my fa@@ ther .


def write_model(path: Path, system: str, target: str = "sequence") -> ModelFolder[ModelConfig]:
    """Write a model with random parameters: one of tiny.SYSTEMS with one of tiny.TARGET_SYSTEMS."""
    _, vocabulary = tiny.sources_and_vocabulary(system, target)
    sides = source_side(tiny.SYSTEMS[system]), tiny.TARGET_SYSTEMS[target]
    folder = ModelFolder(path, ModelConfig(*sides, ("en", "de"), "none", tiny.CONFIG), Bpe(CODES), (vocabulary,), {})
    folder.save()
    save_tensors(folder.parameters, tiny.model(system, vocabulary, target=target).state_dict())
    return folder
