import os
from pathlib import Path

import pytest
import torch

from synmt.parsers.benepar_models import convert, load_model, save_model
from synmt.parsers.benepar_parser import BeneparParser, tree_of_spans
from synmt.parsers.parser import CONSTITUENCY, ModelError, embedded_model
from synmt.trees.constituency import write_brackets


def test_he_is_my_father(benepar: BeneparParser) -> None:
    (record,) = benepar.parse(["He is my father."])
    assert record.tokens == ["He", "is", "my", "father", "."]
    assert record.tree is not None
    assert write_brackets(record.tree).startswith("(S (NP (PRP He)) (VP (VBZ is) (")


def test_several_sentences_share_one_root(benepar: BeneparParser) -> None:
    (record,) = benepar.parse(["He is here. She is not. Who is?"])
    assert record.tree is not None
    assert record.tree.nodes[0] == "TOP"
    assert record.tree.parents.count(0) == 3
    assert record.tree.leaves() == record.tokens


def test_a_sentence_over_the_limit_has_no_tree() -> None:
    benepar = BeneparParser()
    limit = benepar._model.add_timing.timing_table.shape[0] - 2
    records = benepar.parse([["a"] * limit, ["a"] * (limit + 1), ["b"]])
    assert benepar.unparsed == 1
    assert records[1].tree is None and len(records[1].tokens) == limit + 1
    assert records[0].tree is not None and records[2].tree is not None
    assert records[2].tokens == ["b"]


def test_curly_quotes_and_dashes_parse_like_straight_ones(benepar: BeneparParser) -> None:
    curly, straight = benepar.parse(["“He left” — she said.", '"He left" -- she said.'])
    assert curly.tree is not None and straight.tree is not None
    assert curly.tree.parents == straight.tree.parents
    assert curly.tokens[0] == "“" and "—" in curly.tree.nodes


def test_capitals_parse_like_lower_case(benepar: BeneparParser) -> None:
    loud, quiet = benepar.parse(["THE DOG THAT SHE SAW WAS OLD.", "the dog that she saw was old."])
    assert loud.tree is not None and quiet.tree is not None
    assert loud.tree.parents == quiet.tree.parents
    assert loud.tree.leaves() == loud.tokens == [token.upper() for token in quiet.tokens]


def test_the_tree_of_spans() -> None:
    phrases = [(0, 5, "S"), (0, 1, "NP"), (1, 4, "VP"), (1, 2, ""), (2, 4, "S::VP")]
    spans = [*phrases, (2, 3, ""), (3, 4, "NP"), (4, 5, "")]
    tree = tree_of_spans(["He", "can", "go", "home", "."], ["PRP", "MD", "VB", "NN", "."], spans)
    assert write_brackets(tree) == "(S (NP (PRP He)) (VP (MD can) (S (VP (VB go) (NP (NN home))))) (. .))"
    assert write_brackets(tree_of_spans(["Hi"], ["UH"], [(0, 1, "")])) == "(UH Hi)"
    unlabelled_root = tree_of_spans(["a", "b"], ["A", "B"], [(0, 2, ""), (0, 1, ""), (1, 2, "")])
    assert write_brackets(unlabelled_root) == "(TOP (A a) (B b))"


def test_a_saved_model_parses_the_same(benepar: BeneparParser, tmp_path: Path) -> None:
    save_model(load_model(), tmp_path / "copy.safetensors")
    assert (tmp_path / "copy.safetensors").read_bytes() == embedded_model(CONSTITUENCY).read_bytes()
    text = ["The old man, who was tired, went home."]
    assert BeneparParser(str(tmp_path / "copy.safetensors")).parse(text) == benepar.parse(text)


def test_benepar_loads_our_checkpoint(benepar: BeneparParser, tmp_path: Path) -> None:
    model = load_model()
    torch.save({"config": model.config, "state_dict": model.state_dict()}, tmp_path / "checkpoint.pt")
    text = ["The old man, who was tired, went home."]
    assert BeneparParser(str(tmp_path / "checkpoint.pt"), trust_pickle=True).parse(text) == benepar.parse(text)
    convert(str(tmp_path / "checkpoint.pt"), tmp_path / "safe")
    assert BeneparParser(str(tmp_path / "safe.safetensors")).parse(text) == benepar.parse(text)


class Code:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


def test_a_checkpoint_cannot_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"config": {}, "state_dict": Code()}, "evil.pt")
    with pytest.raises(ModelError, match=r"a pickle, which can run code when loaded; .* add --trust-pickle"):
        BeneparParser("evil.pt")
    with pytest.raises(ModelError, match="has more than tensors: loading it could run code"):
        BeneparParser("evil.pt", trust_pickle=True)
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("benepar_none9", "not installed"),
        ("missing.pt", "no such file"),
        ("missing.safetensors", "No such file"),
        ("folder", "a pickle"),
        ("junk.pt", "benepar model junk.pt: "),
        ("junk.safetensors", "benepar model junk.safetensors: "),
    ],
)
def test_invalid_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, cause: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("junk.pt", "junk.safetensors", "junk.json"):
        Path(name).write_bytes(b"{}")
    with pytest.raises(ModelError, match=cause):
        BeneparParser(model)
