import warnings
from pathlib import Path

import pytest
import torch

from synmt.parsers.benepar_models import load_model, save_model
from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.training.constituency import TAG_LOSS_SCALE, Treebanks, loss, new_model, span_f1, train
from synmt.parsers.training.treebank import UNARY, TreebankSentence, example
from synmt.trees.constituency import read_brackets

BRACKETS = [
    "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",
    "(S (NP (PRP She)) (VP (MD can) (VP (VB go))) (. .))",
    "(FRAG (NP (NN father)))",
    "(S (NP (NP (DT the) (NN man)) (PP (IN of) (NP (DT the) (NN house)))) (VP (VBZ is) (ADVP (RB here))) (. .))",
]
EXAMPLES: list[TreebankSentence] = [example(read_brackets(brackets)) for brackets in BRACKETS]


def test_the_loss_equals_that_of_benepar() -> None:
    nltk = pytest.importorskip("nltk")
    from benepar.nkutil import HParams
    from benepar.parse_base import BaseInputExample
    from benepar.parse_chart import ChartParser

    class Sentence(BaseInputExample):
        def __init__(self, brackets: str) -> None:
            self.tree = nltk.Tree.fromstring(f"(TOP {brackets})")
            self.words = self.tree.leaves()
            self.space_after = [True] * len(self.words)

        def leaves(self) -> list[str]:
            return list(self.words)

        def pos(self) -> list[tuple[str, str]]:
            return list(self.tree.pos())

    torch.manual_seed(1)
    ours = new_model(EXAMPLES * 5).eval()
    theirs = ChartParser(**{**ours.config, "hparams": HParams(**ours.config["hparams"])}).eval()
    theirs.load_state_dict(ours.state_dict())
    ((_, batch),) = theirs.encode_and_collate_subbatches([Sentence(brackets) for brackets in BRACKETS], 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spans, tags = theirs(batch)
        tree_loss = theirs.criterion(spans, batch["span_labels"])
    words = sum(len(each.words) for each in EXAMPLES)
    tag_loss = torch.nn.functional.cross_entropy(tags.flatten(0, 1), batch["tag_labels"].flatten())
    expected = tree_loss / words + TAG_LOSS_SCALE * tag_loss
    torch.testing.assert_close(loss(ours, EXAMPLES), expected)


def test_training_learns_and_the_model_parses(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    dependencies = [TreebankSentence(["He", "sleeps"], ["PRP", "VBZ"], [(0, 2, "root"), (0, 1, "nsubj")])]
    train(
        Treebanks(EXAMPLES * 20, EXAMPLES[:1], dependencies, EXAMPLES),
        seconds=5,
        seed=1,
        save=lambda model: save_model(model, path),
    )
    assert span_f1(load_model(str(path)), EXAMPLES) > 80
    (record,) = BeneparParser(str(path)).parse([EXAMPLES[0].words])
    assert record.tree is not None
    assert record.tree.nodes[0] == "S"


def test_unary_chains_have_one_label() -> None:
    assert f"FRAG{UNARY}NP" in new_model(EXAMPLES * 5).label_vocab
