"""An exported model gives the same translations in CTranslate2."""

import re
import resource
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
import torch

from synmt.api.translation import Model
from synmt.model.config import ModelConfig
from synmt.model.export import POSITIONS, export
from synmt.model.files import save_tensors
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures, source_side
from synmt.nn.config import TransformerConfig
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.scores import ForcedPair, force
from synmt.search.translation import Translator
from synmt.streams import BadInput, WrongUsage
from synmt.text.bpe import Bpe, join_subwords
from synmt.text.tokenization import open_tokenizer
from synmt.text.vocabulary import UNKNOWN, Vocabulary
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, synmt
from tests.hostile import CODES

SCALING = Path(__file__).parents[2] / "docs/scaling.md"
GREEDY = SearchConfig(beam=1, length_penalty="plain", alpha=0.0, max_length_offset=10)


def saved(
    path: Path,
    system: str,
    network: TransformerConfig = tiny.CONFIG,
    target: str = "sequence",
    seed: int = 1,
    marks: bool = False,
) -> Translator:
    """Save a random model. Its subwords are whole words, and some words are unknown."""
    _, vocabulary = tiny.sources_and_vocabulary(system, target)
    if marks:
        vocabulary = Vocabulary([*vocabulary.target, "￭.", "(￭", "va@@"], [*vocabulary.source, "￭,"])
    sides = source_side(tiny.SYSTEMS[system]), tiny.TARGET_SYSTEMS[target]
    config = ModelConfig(*sides, ("en", "de"), "words" if marks else "none", network, marks=marks)
    folder = ModelFolder(path, config, Bpe(CODES), (vocabulary,), {"seed": 1})
    folder.save()
    made = tiny.model(system, vocabulary, network, seed, target)
    with torch.no_grad():
        made.network.output_bias.normal_()
        made.network.output_bias[UNKNOWN] = -10  # CTranslate2 leaves it out before it normalizes, synmt afterwards
        for name, parameter in made.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    save_tensors(folder.parameters, made.state_dict())
    return Translator(made, folder, GREEDY, TranslateConfig(precision="fp32"))


@pytest.mark.parametrize("norm, positions", [("pre", "sinusoidal"), ("post", "sinusoidal"), ("pre", "rotary")])
@pytest.mark.parametrize(
    ("system", "target"),
    [("sequence", "sequence"), ("linearized", "sequence"), ("multitask", "sequence"), ("supervised heads", "sequence")],
)
def test_an_exported_model_gives_the_same_scores_and_translations(
    system: str, target: str, norm: Any, positions: Any, tmp_path: Path
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", system, replace(tiny.CONFIG, norm=norm, positions=positions), target)
    export(tmp_path / "model", tmp_path / "out")
    theirs = ctranslate2.Translator(str(tmp_path / "out/ctranslate2"), intra_threads=1)
    sources = [ours.features(record) for record in tiny.records()]
    targets = [[entry for word in words for entry in ours.bpe.segment(word)] for words in tiny.TARGETS]
    forced = force(ours, [ForcedPair(*each) for each in zip(sources, targets, strict=True)])
    scored = theirs.score_batch([source.tokens for source in sources], targets)
    for one, other in zip(forced, scored, strict=True):
        assert other.log_probs == pytest.approx(one.log_probabilities, abs=1e-4)
    for source, found in zip(sources, ours.translate(sources), strict=True):
        best = theirs.translate_batch(
            [source.tokens],
            beam_size=1,
            disable_unk=True,
            max_decoding_length=GREEDY.longest(source.words),
            return_scores=True,
        )[0]
        assert join_subwords(best.hypotheses[0]) == found[0].tokens


def opened(path: Path, search: SearchConfig = GREEDY, task: Literal["translate", "parse"] = "translate") -> Translator:
    folder = ModelFolder.open(path, ModelConfig)
    return Translator.open(folder, torch.device("cpu"), search, TranslateConfig(n_best=search.beam, task=task))


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize(
    ("system", "task"),
    [("sequence", "translate"), ("linearized", "translate"), ("multitask", "parse"), ("supervised heads", "translate")],
)
@pytest.mark.parametrize("norm, positions", [("pre", "rotary"), ("post", "sinusoidal")])
def test_an_exported_folder_translates_as_its_model(
    norm: Any, positions: Any, system: str, task: Any, beam: int, tmp_path: Path
) -> None:
    """The hypotheses of a sentence are the same, except at the limit of length, where the programs stop differently.

    Log-probabilities differ by what CTranslate2 leaves out before it normalizes, above all the end of sentence as the
    first token.
    """
    pytest.importorskip("ctranslate2")
    if system not in tiny.SYSTEMS:
        pytest.skip("the component is not there")
    saved(tmp_path / "model", system, replace(tiny.CONFIG, norm=norm, positions=positions), seed=3)
    export(tmp_path / "model", tmp_path / "out")
    same = count = 0
    for search in (
        SearchConfig(beam=beam),
        SearchConfig(beam=beam, length_penalty="plain", alpha=-1.0, max_length_offset=3),
        SearchConfig(beam=beam, max_length_ratio=0.8),
    ):
        ours, theirs = opened(tmp_path / "model", search, task), opened(tmp_path / "out", search, task)
        sources = [*map(ours.features, tiny.records()), SourceFeatures([], words=0)] * 3
        for source, one, other in zip(sources, ours.translate(sources), theirs.translate(sources), strict=True):
            longest = search.longest(source.words)
            scores = {each.text: each.log_probability for each in one}
            offsets = [each.log_probability - scores[each.text] for each in other if each.text in scores]
            is_cut = any(len(each.tokens) + 1 >= longest for each in (*one, *other))
            is_same = len(offsets) == len(scores) == len(other) or (is_cut and bool(offsets))
            same, count = same + (is_same and max(offsets) - min(offsets) < 0.01), count + 1
            assert [each.score for each in other] == sorted((each.score for each in other), reverse=True)
            for each in other if source.tokens else []:
                length = len(each.tokens)  # words are whole subwords here
                assert 1 <= length <= longest
                expected = each.log_probability / search.penalty(min(length + 1, longest))
                assert each.score == pytest.approx(expected)
    assert same >= 0.9 * count  # on some processor, rounding may decide some


def test_an_exported_folder_is_limited_as_its_model(tmp_path: Path) -> None:
    """Each sentence has its own limits, even if all are searched together."""
    pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", "sequence")
    export(tmp_path / "model", tmp_path / "out")
    sources = [ours.features(record) for record in tiny.records()] * 2
    for search in (
        SearchConfig(beam=2, max_length_offset=0),
        SearchConfig(beam=1, min_length_ratio=2.0, max_length_ratio=2.0),
        SearchConfig(beam=3, no_repeat=1),
    ):
        for source, found in zip(sources, opened(tmp_path / "out", search).translate(sources), strict=True):
            for each in found:
                assert search.shortest(source.words) <= len(each.tokens) <= search.longest(source.words)
                assert not search.no_repeat or len(set(each.tokens)) == len(each.tokens)


def test_too_many_positions_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", "sequence", replace(tiny.CONFIG, positions="sinusoidal"))
    export(tmp_path / "model", tmp_path / "out")
    source = ours.features(ParseRecord(tokens=["father"] * (POSITIONS + 1)))
    search = SearchConfig(beam=1, max_length_ratio=0.001)
    with pytest.raises(BadInput, match=f"out: CTranslate2: No position encodings .* {POSITIONS}"):
        list(opened(tmp_path / "out", search).translate([source]))


def test_an_exported_folder_that_overflows_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", "sequence")
    with torch.no_grad():
        ours.model.network.embedding.fill_(3e38)
    save_tensors(tmp_path / "model/model.safetensors", ours.model.state_dict())
    export(tmp_path / "model", tmp_path / "out")
    with pytest.raises(BadInput, match="out: this model computes NaN or infinite values"):
        list(opened(tmp_path / "out").translate([ours.features(tiny.records()[0])]))


def test_only_translate_takes_an_exported_folder(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    saved(tmp_path / "model", "sequence")
    out, new = tmp_path / "out", tmp_path / "new"
    export(tmp_path / "model", out)
    (tmp_path / "pairs").write_text("he is\ter ist\n")
    for command in (
        ["logprob", out],
        ["inspect", "attention", out],
        ["inspect", "strengths", out],
        ["challenge", "contrast", out],
        ["average", out, out, "--out", new],
        ["export", out, "--out", new],
        ["train", "--tsv", tmp_path / "pairs", "--init", out, "--out", new],
    ):
        done = synmt(*command, text="he is\ter ist\n")
        assert is_one_line_of_error(done, "out: is exported for CTranslate2; only `synmt translate` takes it"), command
    assert not list(new.iterdir())
    done = synmt("translate", out, tmp_path / "model", text="he is\n")
    assert is_one_line_of_error(done, "out: is exported for CTranslate2, which runs no ensembles")
    for option in (["--sample"], ["--precision", "int8"]):
        done = synmt("translate", out, *option, text="he is\n")
        assert is_wrong_usage(done, f"a model exported for CTranslate2 does not use {option[0]}")
    done = synmt("translate", out, "--n-best", 2, "--beam", 3, "--jobs", 2, text="he is\n\nold\n")
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 3, "")


def test_python_takes_an_exported_folder(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", "sequence")
    export(tmp_path / "model", tmp_path / "out")
    model = Model.load(tmp_path / "out")
    found = [each.text for each in model.translate(["he is", ""], GREEDY)]
    assert found == [each.text for each in Model.load(ours.path).translate(["he is", ""], GREEDY)]
    with pytest.raises(BadInput, match="only `synmt translate` takes it"):
        list(model.logprob([("he is", "er ist")]))
    with pytest.raises(BadInput, match="only `synmt translate` takes it"):
        model.attention("he is")
    with pytest.raises(WrongUsage, match="exported for CTranslate2 does not use sample"):
        list(model.translate(["he is"], SearchConfig(sample=True)))
    with pytest.raises(BadInput, match="out: is exported in a precision of its own, not bf16"):
        Model.load(tmp_path / "out", precision="bf16")


CODE = re.search(
    r"^```python\n(import ctranslate2\n.*?)^```.*?^```python\n(.*?)^```",
    SCALING.read_text(encoding="utf-8"),
    re.M | re.S,
)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("norm, positions", [("pre", "sinusoidal"), ("pre", "rotary"), ("post", "rotary")])
def test_the_documented_code_translates_as_synmt_translate_does(
    norm: Any, positions: Any, marks: bool, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random models write translations of all lengths up to the limit, and often prefer to end at once."""
    pytest.importorskip("ctranslate2")
    ours = saved(
        tmp_path / "MODEL", "sequence", replace(tiny.CONFIG, norm=norm, positions=positions), "sequence", seed, marks
    )
    ours.search = SearchConfig()
    export(tmp_path / "MODEL", tmp_path / "FOLDER")
    monkeypatch.chdir(tmp_path)
    assert CODE
    code: dict[str, Any] = {}
    for each in CODE.groups():
        exec(each, code)
    words = sorted({word for record in tiny.records() for word in record.tokens})
    source = Random(1)
    texts = [
        "".join(word + source.choice(["", " "]) for word in source.choices([*words, ","], k=source.randint(1, 12)))
        for _ in range(60)
    ]
    records = [ParseRecord(text.strip(), open_tokenizer("words", "de").tokenize(text)) for text in texts]
    sources = [ours.features(record) for record in records]
    found = [best for best, *_ in ours.translate(sources)]
    if marks:
        same = sum(code["translate_text"](text.strip()) == own.text for text, own in zip(texts, found, strict=True))
    else:
        pairs = zip(sources, found, strict=True)
        same = sum(join_subwords(code["translate"](each.tokens)) == own.tokens for each, own in pairs)
    assert same >= 59  # on some processor, rounding may decide one


def test_a_full_disk_leaves_no_model(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    saved(tmp_path / "model", "sequence")
    (tmp_path / "empty").mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        for name in ("new", "empty"):
            with pytest.raises(BadInput, match=f"{name}/ctranslate2: File too large"):
                export(tmp_path / "model", tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "new").exists() and list((tmp_path / "empty").iterdir()) == []
    export(tmp_path / "model", tmp_path / "empty")
    inside = {"config.json", "model.bin", "source_vocabulary.json", "target_vocabulary.json"}
    assert {each.name for each in (tmp_path / "empty/ctranslate2").iterdir()} == inside
    assert {each.name for each in (tmp_path / "empty").iterdir()} == tiny.MODEL_FILES - {"model.safetensors"} | {
        "ctranslate2"
    }


def test_int8_is_smaller_and_nearly_the_same(tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    ours = saved(tmp_path / "model", "sequence")
    sources, scores = [ours.features(record).tokens for record in tiny.records()], []
    targets = [["x"] for _ in sources]
    precisions: tuple[Literal["fp32", "int8"], ...] = "fp32", "int8"
    for precision in precisions:
        export(tmp_path / "model", tmp_path / precision, precision)
        scored = ctranslate2.Translator(str(tmp_path / precision / "ctranslate2")).score_batch(sources, targets)
        scores.append([score for each in scored for score in each.log_probs])
    assert scores[0] != scores[1] == pytest.approx(scores[0], abs=0.1)
    sizes = [(tmp_path / each / "ctranslate2/model.bin").stat().st_size for each in precisions]
    assert sizes[1] < sizes[0]
    assert [each.text for each, *_ in opened(tmp_path / "int8").translate([ours.features(tiny.records()[0])])]


@pytest.mark.parametrize(
    ("system", "target", "network", "cause"),
    [
        ("mask", "sequence", tiny.CONFIG, "model: the encoder has mask, which CTranslate2 does not support"),
        ("mask+pascal", "sequence", tiny.CONFIG, "model: the encoder has mask\\+pascal, which"),
        ("sequence", "tags", tiny.CONFIG, "model: the decoder has tags, which"),
        ("sequence", "sequence", replace(tiny.CONFIG, cross_attention="last"), "do not attend to the source, which"),
    ],
)
def test_models_that_are_not_plain_transformers_are_refused(
    system: str, target: str, network: TransformerConfig, cause: str, tmp_path: Path
) -> None:
    saved(tmp_path / "model", system, network, target)
    with pytest.raises(BadInput, match=cause):
        export(tmp_path / "model", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    saved(tmp_path / "model", "sequence")
    (tmp_path / "file").write_text("dear")
    with pytest.raises(BadInput, match="is not empty; name a new folder"):
        export(tmp_path / "model", tmp_path)
    with pytest.raises(BadInput, match="file: Not a directory"):
        export(tmp_path / "model", tmp_path / "file")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "model", "sequence")
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(BadInput, match="pip install ctranslate2"):
        export(tmp_path / "model", tmp_path / "out")
    assert not (tmp_path / "out").exists()
