"""Translations from Python equal those of the command."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import synmt
from synmt import SearchConfig
from synmt.api.given import Pair
from synmt.search.config import TranslateConfig
from synmt.search.scores import ForcedTarget
from tests import tiny
from tests.cli.commands import in_process
from tests.inspection.models import write_model

RECORDS = [*tiny.records(), synmt.ParseRecord()]
LINES = [synmt.write_record(record) for record in RECORDS]


def by_command(*arguments: object, command: str = "translate", lines: list[str] = LINES) -> list[str]:
    text = "".join(f"{line}\n" for line in lines)
    return in_process(command, *map(str, arguments), text=text.encode()).decode().splitlines()


@pytest.fixture(scope="module", params=[("mask", "sequence"), ("sequence", "transitions"), ("pascal", "tags")])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    write_model(path, *request.param)
    return path


def test_translations_of_records_and_lines_equal_those_of_the_command(folder: Path) -> None:
    search = SearchConfig(3, alpha=1.0, length_penalty="plain", max_length_offset=5)
    words = ["--beam", 3, "--alpha", 1.0, "--length-penalty", "plain", "--max-length-offset", 5]
    expected = list(map(json.loads, by_command(folder, *words, "--format", "jsonl")))
    model = synmt.Model.load(folder)
    for given in (RECORDS, LINES):
        assert [each.fields() for each in model.translate(given, search)] == expected


def test_several_searches_of_one_model(folder: Path) -> None:
    model = synmt.Model.load(str(folder), precision="int8")
    for beam in (4, 2):
        expected = by_command(folder, "--n-best", 2, "--beam", beam, "--precision", "int8", "--max-length-offset", 3)
        found = model.n_best(RECORDS, 2, SearchConfig(beam, max_length_offset=3))
        assert [[each.fields() for each in best] for best in found] == [json.loads(line)["n_best"] for line in expected]


def test_log_probabilities_equal_those_of_the_command(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "mask").path
    pairs: list[Pair] = [(RECORDS[0], "er ist"), ("", ""), (RECORDS[2], "mein\tVater")]
    lines = [f"{LINES[0]}\ter ist", "", f"{LINES[2]}\tmein Vater"]
    expected = [json.loads(line) for line in by_command(folder, "--format", "jsonl", command="logprob", lines=lines)]
    found = list(synmt.Model.load(folder).logprob(pairs))
    assert [list(each.log_probabilities) for each in found] == [each["log_probabilities"] for each in expected]
    assert found[1] == ForcedTarget()
    assert list(synmt.logprob(folder, pairs)) == found
    with pytest.raises(ValueError, match=r"^precision cannot be 'int8'$"):
        synmt.Model.load(folder, precision="int8").logprob(pairs)


def test_unknown_subwords_are_counted_as_by_the_command(tmp_path: Path) -> None:
    model = synmt.Model.load(write_model(tmp_path / "model", "sequence").path)
    with pytest.warns(UserWarning, match=r"^\d+ subwords not in the vocabulary, scored as the unknown token$"):
        list(model.logprob([(RECORDS[0], "er \u2603")]))


def test_word_scores_of_treeless_models_are_exact(tmp_path: Path) -> None:
    pairs: list[Pair] = [("He is", tiny.target_records()[0]), ("", ""), ("He is my father", tiny.target_records()[3])]
    model = synmt.Model.load(write_model(tmp_path / "tags", "sequence", "tags").path)
    expected = [each.total(of_arcs=False) for each in model.logprob(pairs)]
    words: list[Pair] = [(source, getattr(target, "text", str(target))) for source, target in pairs]
    found = [each.total() for each in model.logprob(words, sum_trees=3)]
    assert found == pytest.approx(expected, abs=1e-5) and found[0] < 0


def test_word_scores_over_several_trees_equal_those_of_the_command(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "sequence", "compose").path
    pairs: list[Pair] = [(RECORDS[0], "er ist"), ("", ""), (RECORDS[2], "mein Vater")]
    lines = [f"{LINES[0]}\ter ist", "", f"{LINES[2]}\tmein Vater"]
    first, _, last = by_command(folder, "--sum-trees", 3, command="logprob", lines=lines)
    found = list(synmt.Model.load(folder).logprob(pairs, sum_trees=3))
    assert found[1] == ForcedTarget()
    assert [found[0].total(), found[2].total()] == pytest.approx([float(first), float(last)], abs=1e-5)


def test_an_ensemble_translates(tmp_path: Path) -> None:
    paths = tmp_path / "a", tmp_path / "b"
    for path, system in zip(paths, ("mask", "sequence"), strict=True):
        write_model(path, system)
    together = synmt.Model.load(*paths)
    assert [each.text for each in together.translate(RECORDS)] == by_command(*paths)
    with pytest.raises(ValueError, match="one model"):
        together.logprob([])


def test_a_bad_sentence_is_an_error_or_blank(folder: Path) -> None:
    model = synmt.Model.load(folder)
    given = [LINES[0], "{", LINES[1]]
    with pytest.raises(synmt.BadInput, match=r"^sentences:2: not JSON"):
        list(model.translate(given))
    with pytest.warns(UserWarning, match="^1 bad line left empty$"):
        found = [each.text for each in model.translate(given, on_error="blank")]
    assert found == [next(model.translate([LINES[0]])).text, "", next(model.translate([LINES[1]])).text]


def test_sentences_that_no_file_can_contain(folder: Path) -> None:
    model = synmt.Model.load(folder)
    for text, cause in {"a\nb": "an end of line", "a\0b": "NUL", "a\udcffb": "half a surrogate pair"}.items():
        with pytest.raises(synmt.BadInput, match=f"^sentences:1: {cause}"):
            list(model.translate([text]))
        with pytest.warns(UserWarning, match="^1 bad line left empty$"):
            assert [each.text for each in model.translate([text], on_error="blank")] == [""]
        with pytest.warns(UserWarning, match="^1 bad line left empty$"):
            assert [each.tokens for each in model.logprob([(LINES[0], text)], on_error="blank")] == [()]


def test_an_error_of_the_callers_generator_is_raised_unchanged(folder: Path) -> None:
    def sentences() -> Iterator[str]:
        yield str(int("--beam"[2:]))

    with pytest.raises(ValueError, match="invalid literal") as caught:
        list(synmt.Model.load(folder).translate(sentences()))
    assert sentences.__name__ in [each.name for each in caught.traceback]


@pytest.mark.parametrize(
    ("wrong", "kind", "cause"),
    [
        (lambda model: model.translate(["a"], beam=3), TypeError, "'beam'"),
        (lambda model: SearchConfig(beams=3), TypeError, "^SearchConfig has no 'beams'; did you mean 'beam'[?]$"),  # type: ignore[call-arg]
        (lambda model: SearchConfig(beam=0), ValueError, "^beam cannot be 0$"),
        (lambda model: model.translate(["a"], {"beam": 3}), TypeError, "^search cannot be {"),
        (lambda model: model.translate(["a"], inputs=TranslateConfig()), TypeError, "^inputs cannot be Translate"),
        (lambda model: model.n_best(["a"], 5), ValueError, "needs beam 5"),
        (
            lambda model: model.translate([3]),
            TypeError,
            "a sentence is a str, a list of words or a ParseRecord, not int",
        ),
        (lambda model: model.logprob([("a",)]), TypeError, "a pair is"),
        (lambda model: model.translate(["a"], SearchConfig(seed=3)), ValueError, "^seed needs sample$"),
        (
            lambda model: model.translate(["a"], SearchConfig(3, sample=True)),
            ValueError,
            "^beam has no effect with sample$",
        ),
        (lambda model: model.logprob([("a", "b")], sum_trees=-1), ValueError, "^sum_trees cannot be -1$"),
        (lambda model: model.translate(["a"], task="parse"), synmt.BadInput, "was not trained to parse"),
        (lambda model: model.attention("a", side="decoder"), ValueError, "^side cannot be 'decoder'$"),
    ],
)
def test_wrong_arguments(
    wrong: Callable[[synmt.Model], object], kind: type[Exception], cause: str, folder: Path
) -> None:
    with pytest.raises(kind, match=cause):
        list(wrong(synmt.Model.load(folder)))  # type: ignore[call-overload]


def test_another_precision_is_refused_before_a_model_is_loaded(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"^precision cannot be 'fp8'$"):
        synmt.Model.load(folder, precision="fp8")  # type: ignore[arg-type]
