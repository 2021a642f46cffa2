"""Links from Python equal those of the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import synmt
from synmt import (
    AlignConfig,
    EmbeddingsConfig,
    HmmConfig,
    NeuralHmmConfig,
    SymmetrizeConfig,
    TextConfig,
    TrainingConfig,
    TransformerConfig,
)
from synmt.alignment import stream
from synmt.alignment.published.mask_align.config import MaskAlignConfig
from synmt.components.encoder.pascal import Pascal
from synmt.streams import Note
from tests.alignment.words import bitext
from tests.cli.commands import in_process, output_of

WORDS = TextConfig(tokenizer="none")
PAIRS = [(" ".join(source), " ".join(target)) for source, target, _ in bitext(50)]
TEXT = "".join(f"{source}\t{target}\n" for source, target in [*PAIRS, ("", "")]).encode()


def test_alignments_equal_those_of_the_command(tmp_path: Path) -> None:
    fitted = in_process("align", "--tokenizer", "none", text=TEXT).decode().splitlines()
    found = list(synmt.align([*PAIRS, ("", "")], text=WORDS, out=tmp_path / "kept"))
    assert list(map(str, found)) == fitted
    assert [(" ".join(each.source), " ".join(each.target)) for each in found] == [*PAIRS, ("", "")]
    aligner = synmt.Aligner.load(tmp_path / "kept")
    assert repr(aligner) == "<Aligner auto>"
    again = aligner.link([(source.split(), target.split()) for source, target in PAIRS], AlignConfig(threshold=1.0))
    expected = in_process("link", str(tmp_path / "kept"), "--threshold", "1", text=TEXT).decode().splitlines()
    assert [str(each) for each in again] == expected[:-1] != fitted[:-1]


def test_a_bad_line_of_a_file_may_stay_empty(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs"
    pairs.write_bytes(TEXT + b"\xff\ta\n")
    with pytest.warns(UserWarning, match="1 bad line left empty"):
        found = list(synmt.align(pairs, "hmm", text=WORDS, out=tmp_path / "kept", on_error="blank"))
    with pytest.warns(UserWarning, match="1 bad line left empty"):
        again = list(synmt.Aligner.load(tmp_path / "kept").link(pairs, on_error="blank"))
    assert list(map(str, found)) == list(map(str, again)) and str(found[-1]) == ""


def notes_of(work: Callable[[], object]) -> list[str]:
    with pytest.warns(Note) as warned:
        work()
    return [str(each.message) for each in warned if each.category is Note]


def test_notes_are_those_of_the_command(tmp_path: Path) -> None:
    pairs = [("He is here.", "Er ist hier.")] * 25
    links = tmp_path / "links"
    links.write_text("1-1\n" * 25)
    base = f"{links} has no link to a word 0, so its words count from 1"
    assert notes_of(lambda: list(synmt.symmetrize([links], pairs))) == [base]
    links.write_text("0-0\n" + "\n" * 24)
    found = notes_of(lambda: list(synmt.symmetrize([links], pairs, SymmetrizeConfig(heuristic="mean", threshold=0.5))))
    assert found == ["most pairs have no link (24 of 25): lower threshold"]
    found = notes_of(lambda: list(synmt.align(pairs, "hmm", text=TextConfig(target_language="de"))))
    assert found == ["source text is tokenized as en, target text as de"]


def test_defaults_without_effect_are_left_out() -> None:
    """A value that is the default is accepted wherever the setting may be left out."""
    given: dict[str, Any] = {"training": TrainingConfig(tree_dropout=0.0), "network": TransformerConfig(norm="pre")}
    methods: list[Any] = ["hmm", "auto"]
    for method in methods:
        plain, same = (list(synmt.align(PAIRS, method, **more)) for more in ({}, given))
        assert same == plain


@pytest.mark.parametrize("kind", [str, Path])
def test_a_single_file_of_links_needs_no_list(kind: type, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.write_text("0-1\n1-0\n")
    found = synmt.symmetrize(kind(links), [("a b", "b a"), ("c d", "d c")])
    assert [str(each) for each in found] == ["0-1", "1-0"]


def test_scores_equal_those_in_json() -> None:
    written = in_process("align", "--format", "jsonl", text=TEXT).decode().splitlines()
    for each, line in zip(synmt.align(PAIRS), written, strict=False):
        expected = json.loads(line)
        assert [[*link, round(score, 6)] for link, score in each.links.items()] == expected["links"]
        assert round(each.confidence, 6) == expected["confidence"]


def test_two_files_are_linked_as_by_the_command(tmp_path: Path) -> None:
    """Their suffixes name the languages."""
    files = tmp_path / "a.de", tmp_path / "a.fr"
    for file, lines in zip(files, zip(*PAIRS, strict=True), strict=True):
        file.write_text("".join(f"{line}.\n" for line in lines))
    (tmp_path / "links").write_text("0-0\n" * len(PAIRS))
    fitted = output_of("align", "--method", "hmm", *files).decode().splitlines()
    assert list(map(str, synmt.align(files, "hmm", out=tmp_path / "hmm"))) == fitted
    assert list(map(str, synmt.link(tmp_path / "hmm", files))) == fitted
    assert len(list(synmt.symmetrize(tmp_path / "links", files))) == len(PAIRS)
    with pytest.raises(synmt.BadInput, match="the text is in nl, but the aligner was fitted to de and fr"):
        synmt.link(tmp_path / "hmm", files, text=TextConfig(source_language="nl"))


def test_without_a_folder_an_aligner_is_fitted_first() -> None:
    pairs = iter(PAIRS)
    found = synmt.align(pairs)
    assert next(pairs, None) is None
    assert next(found).links


def test_a_fit_is_resumed_by_its_own_method(tmp_path: Path) -> None:
    network, training = TransformerConfig(width=8, feedforward=8, heads=2), TrainingConfig(epochs=1)
    tiny: dict[str, Any] = {"network": network, "training": training, "text": WORDS}
    fitted = synmt.align(PAIRS, "naive-att", out=tmp_path / "kept", **tiny)
    resumed = synmt.align(PAIRS, out=tmp_path / "kept", resume=True, **tiny)
    assert list(map(str, resumed)) == list(map(str, fitted))


@pytest.mark.parametrize(
    ("wrong", "kind", "cause"),
    [
        (lambda: synmt.align(PAIRS, "hm"), ValueError, "unknown method 'hm'"),  # type: ignore[arg-type]
        (lambda: synmt.align(PAIRS, []), ValueError, r"^method cannot be \[\]$"),
        (lambda: synmt.align(PAIRS, Pascal()), TypeError, "^method cannot be Pascal"),  # type: ignore[arg-type]
        (
            lambda: synmt.align(PAIRS, MaskAlignConfig(links_by="posterior")),  # type: ignore[call-arg]
            TypeError,
            "^MaskAlignConfig has no 'links_by', only loss_form, ",
        ),
        (lambda: synmt.align(PAIRS, ["hmm", HmmConfig()]), ValueError, r"hmm\+hmm has hmm more than once"),
        (lambda: synmt.align(PAIRS, epochs=3), TypeError, "'epochs'"),  # type: ignore[call-arg]
        (lambda: TrainingConfig(epoch=3), TypeError, "^TrainingConfig has no 'epoch'; did you mean 'epochs'[?]$"),  # type: ignore[call-arg]
        (
            lambda: synmt.align(PAIRS, HmmConfig(agreement=3, trees=True)),
            ValueError,
            "^agreement has no effect with trees$",
        ),
        (lambda: synmt.align(PAIRS, MaskAlignConfig(guidance=3)), ValueError, "^mask_align_guidance needs guide$"),
        (
            lambda: synmt.align(PAIRS, "hmm", network=TransformerConfig(width=32)),
            ValueError,
            "hmm does not use width; it belongs to auto",
        ),
        (lambda: synmt.align(PAIRS, links=AlignConfig(format="talp")), ValueError, "^format has no effect: it belongs"),
        (lambda: synmt.symmetrize("x", PAIRS, SymmetrizeConfig(scores=True)), ValueError, "^scores has no effect: it"),
        (
            lambda: synmt.symmetrize("x", PAIRS, SymmetrizeConfig(heuristic="union")),
            ValueError,
            "^union merges two files of links",
        ),
        (lambda: synmt.align(PAIRS, "hmm", device="cpu"), ValueError, "^hmm does not use device; it belongs to auto, "),
        (lambda: synmt.align(PAIRS, resume=True), ValueError, "^resume needs out$"),
        (lambda: synmt.align(PAIRS, "hmm", out="x", resume=True), ValueError, "^hmm does not use resume; it belongs"),
        (
            lambda: synmt.align([], "embeddings", AlignConfig(symmetrize="mean")),
            ValueError,
            "^symmetrize mean: only links with w",
        ),
        (
            lambda: synmt.align(PAIRS, "mask-align", preset="large"),
            ValueError,
            "has no preset large, only small, paper$",
        ),
        (lambda: synmt.align(PAIRS, HmmConfig(rounds=-1)), ValueError, "^rounds cannot be -1$"),
        (lambda: synmt.align(PAIRS, NeuralHmmConfig(null=0)), ValueError, "^null cannot be 0$"),
        (lambda: synmt.align(PAIRS, guide="links"), ValueError, "auto does not use guide; it belongs to mask-align"),
        (lambda: synmt.align(PAIRS, links=AlignConfig(links_by="posterior")), ValueError, "auto does not use links_by"),
        (lambda: synmt.align(PAIRS, EmbeddingsConfig(alpha=0.5)), ValueError, "^alpha needs rule itermax$"),
        (lambda: synmt.align(PAIRS, links=AlignConfig(threshold=3)), ValueError, "threshold cannot be 3"),
        (lambda: synmt.align([]), synmt.BadInput, "no sentence pairs"),
        (lambda: AlignConfig(max_words=0), ValueError, "max_words cannot be 0"),
        (
            lambda: synmt.align([("a b c", "b")], links=AlignConfig(max_words=2)),
            synmt.BadInput,
            "^no sentence pairs to learn from$",
        ),
        (lambda: synmt.Aligner.load("nothing"), synmt.BadInput, "^nothing/config.json: "),
    ],
)
def test_wrong_arguments(wrong: Callable[[], object], kind: type[Exception], cause: str) -> None:
    with pytest.raises(kind, match=cause):
        wrong()


def test_a_folder_of_another_kind_is_refused_in_keywords(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"format": 2}')
    with pytest.raises(synmt.BadInput, match="is not an aligner; name a method that reads"):
        synmt.Aligner.load(tmp_path)


def test_files_of_settings_may_be_paths(tmp_path: Path) -> None:
    guide = tmp_path / "links"
    with pytest.raises(synmt.BadInput, match="links: No such file or directory"):
        synmt.align(PAIRS, "mask-align", guide=guide)


def test_links_of_other_words_are_refused_before_pairs_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, guide = tmp_path / "pairs", tmp_path / "links"
    file.write_text("a b\tc\n" * 3)
    guide.write_text("0-0\n0-0\n5-0\n")
    monkeypatch.setattr(stream, "read_pairs", lambda *_: pytest.fail("pairs are read to be parsed"))
    with pytest.raises(synmt.BadInput, match=r"links:3: .*do they belong to other words"):
        synmt.align(file, "mask-align", text=TextConfig(source_language="en"), source_syntax="pascal", guide=guide)


@pytest.mark.parametrize("language", ["de", "fr-CA"])
def test_a_file_with_several_languages_is_read_in_the_chosen_ones(language: str, tmp_path: Path) -> None:
    """By every function that reads such files; a region may be left out."""
    names = "en-US", "de", "fr-CA"
    words = [("a b", "c d", "e f"), ("a", "c", "f e")] * 3
    unit = "".join(f'<tuv xml:lang="{name}"><seg>{{}}</seg></tuv>' for name in names)
    units = "".join(f"<tu>{unit}</tu>".format(*each) for each in words)
    file, links = tmp_path / "pairs.tmx", tmp_path / "links"
    file.write_text(f'<tmx version="1.4"><header srclang="en-US"/><body>{units}</body></tmx>')
    links.write_text("0-0\n" * len(words))
    text = TextConfig(target_language=language.partition("-")[0])
    calls: list[Callable[..., Any]] = [
        lambda **more: synmt.align(file, HmmConfig(encoder="none"), out=tmp_path / f"kept{len(more)}", **more),
        lambda **more: synmt.link(tmp_path / "kept1", file, **more),
        lambda **more: synmt.symmetrize(links, file, **more),
    ]
    for call in calls:
        found = [(" ".join(each.source), " ".join(each.target)) for each in call(text=text)]
        assert found == [(each[0], each[names.index(language)]) for each in words]
        with pytest.raises(synmt.BadInput, match="choose one with target_language"):
            list(call())
