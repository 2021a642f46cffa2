"""The `hmm` aligner: fitted, saved and opened."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from synmt.alignment.aligner import FittedAligner, FittedText, load_aligner, method_config
from synmt.alignment.extraction import Extraction, SoftLinks, extract
from synmt.alignment.hmm import bitext as bitexts
from synmt.alignment.hmm import model
from synmt.alignment.hmm.aligner import Hmm
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.streams import BadInput, Line, WrongUsage
from synmt.trees.record import ParseRecord
from tests.alignment.bitexts import assert_batches_change_nothing, assert_links_found, bitext, fitted
from tests.alignment.words import pair
from tests.conftest import Noted

PAIRS, LINKS = bitext(300)
STRANGE = [
    pair(["Alpha", "B|||eta", "ga\u00a0mma"], ["ahpla", "|||"]),
    pair(["a\u2028b", "\u00e9"], ["\u3000x", "y", "z"]),
    pair(["never", "seen"], ["before"]),
    pair(["alpha"] * 400, ["ahpla"] * 3),
    pair(["alpha"], ["ahpla"]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hmm") / "model"
    fitted("hmm", [*PAIRS, *STRANGE], path, {})
    return path


def test_reversed_sentences_are_aligned(folder: Path) -> None:
    """There are eight words, each with its own translation, in an order that does not follow the diagonal."""
    aligner = load_aligner(folder, None, "cpu")
    assert aligner.text == FittedText(("de", "en"), "none")
    assert_links_found(aligner, PAIRS, LINKS)


def test_links_stay_inside_and_batches_change_nothing(folder: Path) -> None:
    aligner = load_aligner(folder, None, "cpu")
    for found, each in zip(assert_batches_change_nothing(aligner, STRANGE), STRANGE, strict=True):
        assert found.forward.shape == found.backward.shape == (len(each.source.tokens), len(each.target.tokens))


def test_the_same_pairs_give_the_same_files(folder: Path, tmp_path: Path) -> None:
    fitted("hmm", [*PAIRS, *STRANGE], tmp_path / "again", {})
    for file in folder.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_unused_options_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="already has a model; name a new folder"):
        fitted("hmm", PAIRS, folder, {})
    with pytest.raises(WrongUsage, match="null cannot be 1"):
        method_config("hmm", {"hmm_null": 1.0})
    assert isinstance(fitted("hmm", PAIRS, tmp_path / "few", {"hmm_rounds": 0}), Hmm)


def test_a_sample_of_many_pairs_is_enough(tmp_path: Path, noted: Noted) -> None:
    first, second, third = Bitext(PAIRS[:7]).spread(3)
    assert first in PAIRS[:2] and second in PAIRS[2:4] and third in PAIRS[4:7]
    repeated = Bitext(PAIRS[:10] * 100)
    assert {pair.source.text for pair in repeated.spread(100)} == {pair.source.text for pair in PAIRS[:10]}
    assert list(Bitext(PAIRS[:7]).spread(0)) == list(Bitext(PAIRS[:7]).spread(9)) == PAIRS[:7]
    fitted("hmm", PAIRS, tmp_path / "some", {"hmm_pairs": 50})
    assert noted().splitlines()[0] == "hmm learns from some of the pairs (50 of 300)"


def test_training_in_parts_equals_training_on_all_pairs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many pairs are indexed in parts. Unless counts are dropped, this only changes rounding."""
    monkeypatch.setattr(model, "LEAST_COUNT", 0)
    monkeypatch.setattr(bitexts, "MOST_CELLS", 1000)
    monkeypatch.setattr(bitexts, "CHUNK_CELLS", 1000)
    parts = fitted("hmm", [*PAIRS, *STRANGE], tmp_path / "parts", {})
    sides = bitexts.IndexedSentences(), bitexts.IndexedSentences()
    for each in PAIRS:
        sides[0].add(each.source.tokens)
        sides[1].add(each.target.tokens)
    rows = bitexts.chunks(sides)
    assert len(rows) > 3 and [row for part in rows for row in part] == list(range(len(PAIRS)))
    whole = load_aligner(folder, None, "cpu")
    for one, other in zip(parts.links(PAIRS), whole.links(PAIRS), strict=True):
        assert isinstance(one, SoftLinks) and isinstance(other, SoftLinks)
        np.testing.assert_allclose(one.forward, other.forward, atol=2e-3)


def test_trees_distinguish_equal_words(tmp_path: Path) -> None:
    """The words of one side are in random order, so only heads distinguish the two articles."""
    draws = random.Random(3)
    line = Line("", "pairs", 1)
    pairs, right = [], []  # right: the positions of the two articles, in order
    for _ in range(200):
        first, second = draws.sample([f"n{number}" for number in range(30)], 2)
        source = ParseRecord(tokens=["a", first, "a", second], heads=[2, 0, 4, 2])
        order = draws.sample(range(4), 4)
        heads = [order.index(source.heads[word] - 1) + 1 if source.heads[word] else 0 for word in order]
        target = ParseRecord(tokens=[["b", first.upper(), "b", second.upper()][word] for word in order], heads=heads)
        pairs.append(SentencePair(source, target, (line, line)))
        right.append((order.index(0), order.index(2)))

    def correct(aligner: FittedAligner) -> float:
        found = [
            extract(given, each.source.tokens, each.target.tokens, Extraction(aligner.heuristic)).scores[0]
            for each, given in zip(pairs, aligner.links(pairs), strict=True)
        ]
        return sum(scores[own] > scores[other] for scores, (own, other) in zip(found, right, strict=True)) / len(pairs)

    with_trees = fitted("hmm", pairs, tmp_path / "trees", {"hmm_trees": True})
    again = load_aligner(tmp_path / "trees", None, "cpu")
    assert again.needs() == with_trees.needs() == ({"heads"}, {"heads"})
    assert correct(again) == correct(with_trees) > 0.9
    assert correct(fitted("hmm", pairs, tmp_path / "rows", {})) < 0.7


def test_compounds_are_linked_by_their_parts(tmp_path: Path) -> None:
    """Each compound occurs once, among other words; both of its parts often occur alone."""
    draws = random.Random(5)
    nouns = ["".join(draws.choices("aeioubdgklmnrst", k=5)) for _ in range(30)]
    pairs, right = [], []
    for _ in range(200):
        one, other, *rest = draws.sample(nouns, 6)
        source = draws.sample([one + other, *rest], 5)
        target = [word[::-1] for word in draws.sample([one, other, *rest], 6)]
        pairs.append(pair(source, target))
        right.append((source.index(one + other), {target.index(one[::-1]), target.index(other[::-1])}))

    def correct(aligner: FittedAligner) -> float:
        found = [
            extract(given, each.source.tokens, each.target.tokens, Extraction(aligner.heuristic)).links
            for each, given in zip(pairs, aligner.links(pairs), strict=True)
        ]
        linked = [
            {target for source, target in links if source == word}
            for links, (word, _) in zip(found, right, strict=True)
        ]
        return sum(each == both for each, (_, both) in zip(linked, right, strict=True)) / len(pairs)

    assert correct(fitted("hmm", pairs, tmp_path / "parts", {})) > 0.9
    again = load_aligner(tmp_path / "parts", None, "cpu")
    assert correct(again) > 0.9
    (unseen,) = again.links([pair([nouns[0] + nouns[1]], [nouns[1][::-1], nouns[0][::-1]])])
    assert isinstance(unseen, SoftLinks) and list(unseen.source_words) == [0, 0]
    assert correct(fitted("hmm", pairs, tmp_path / "whole", {"hmm_compounds": 0})) < 0.6


def cut(name: str) -> Callable[[dict[str, np.ndarray]], object]:
    return lambda tensors: tensors.update({name: tensors[name][1:].copy()})


def filled(name: str, value: float) -> Callable[[dict[str, np.ndarray]], object]:
    return lambda tensors: tensors[name].fill(value)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda tensors: tensors.pop("links"), "the field 'links' is missing"),
        (cut("links"), "tensor links is float32"),
        (cut("forward.jumps"), r"tensor forward.jumps is float32 \[\d+, 21\], not float32 \[\d+, 21\]"),
        (filled("types", -1), "a word that does not exist"),
        (filled("types", 2**30), "a word that does not exist"),
        (filled("forward.unlinked", np.nan), "tensor forward.unlinked must hold counts"),
        (filled("source.counts", -1), "tensor source.counts must hold counts"),
        (filled("links", 3e38), "tensor links must hold counts"),
        (filled("backward.jumps", 0), "tensor backward.jumps must hold counts"),
        (lambda tensors: tensors.update(types=tensors["types"].ravel()), "must have pairs of words"),
    ],
)
def test_a_damaged_model_is_named(
    change: Callable[[dict[str, np.ndarray]], object], cause: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    path = tmp_path / "copy" / "model.safetensors"
    tensors = {name: each.copy() for name, each in load_file(path).items()}
    change(tensors)
    save_file(tensors, path)
    with pytest.raises(BadInput, match=cause):
        load_aligner(tmp_path / "copy", None, "cpu")


def test_damaged_words_and_options_are_named(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    config = msgspec.json.decode((copy / "config.json").read_bytes())
    for options, cause in (({"jump": 0}, "jump cannot be 0"), ({"other": 1}, "other"), (None, "config.json")):
        (copy / "config.json").write_bytes(
            msgspec.json.encode(config | {"model": config["model"] | {"options": options}})
        )
        with pytest.raises(BadInput, match=cause):
            load_aligner(copy, None, "cpu")
    (copy / "config.json").write_bytes(msgspec.json.encode(config))
    lines = (copy / "source.txt").read_text().count("\n")
    parts = "".join("a " * line + "a\n" for line in range(lines))  # all words consist of the same part
    for text, cause in (
        ("", "is empty"),
        ("a\na\n", "has a duplicate word"),
        ("a a\naa\n", "has a duplicate word"),
        ("a\n", "tensor source.counts is float32"),
        (parts, "word that does not exist"),
    ):
        (copy / "source.txt").write_text(text)
        with pytest.raises(BadInput, match=cause):
            load_aligner(copy, None, "cpu")
