"""What an argument cannot be is refused with its name, before any work: nothing stands for nothing."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

import synmt
from tests.inspection.models import write_model

RECORD = '{"tokens": ["a"], "heads": [0], "deprels": ["root"]}'
PAIRS = [("a b", "c d")] * 9
NO_PATH: tuple[object, ...] = ("", b"", b"x", {}, 3, 1.5, object(), [None], [""], [3], [[]], [], ())
NO_TEXT: tuple[object, ...] = ("", b"x", {}, 3, object(), [None], [], ())
NO_SWITCH: tuple[object, ...] = ("", "yes", None, 3, [], object())
NO_NUMBER: tuple[object, ...] = ("", "2", None, 1.5, [], object(), True)
# Sentences and pairs that are read after the model is loaded: tried with the methods of Model.
READ_LATER = [(name, value) for name in ("translate", "logprob") for value in ([None], [3])]
NO_ITEMS: tuple[object, ...] = (None, 3, 1.5, object(), b"", b"x", {}, {"a": "b"}, "", [None], [3])


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("aligner") / "out"
    list(synmt.align(PAIRS, synmt.HmmConfig(rounds=1), out=out))
    return out


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"), "sequence").path


def calls(folder: Path, aligner: Path, model: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return functions with arguments that they accept."""
    return {
        "align": (synmt.align, {"pairs": PAIRS, "method": "hmm"}),
        "Aligner.load": (synmt.Aligner.load, {"folder": aligner}),
        "Aligner.link": (synmt.Aligner.load(aligner).link, {"pairs": PAIRS}),
        "link": (synmt.link, {"model": aligner, "pairs": PAIRS}),
        "parse": (synmt.parse, {"sentences": ["a b"], "parser": "udpipe"}),
        "project": (synmt.project, {"pairs": [(RECORD, "b", "0-0")]}),
        "markup": (synmt.markup, {"pairs": [("<b>a</b>", "b", "0-0")]}),
        "query": (synmt.query, {"sentences": [RECORD], "asked": "V []"}),
        "score": (synmt.score, {"hypotheses": ["a"], "references": ["a"], "metrics": "bleu"}),
        "significance": (synmt.significance, {"systems": {"x": ["a"], "y": ["b"]}, "references": ["a"]}),
        "translate": (synmt.translate, {"model": folder / "none", "sentences": ["a"]}),
        "logprob": (synmt.logprob, {"model": folder / "none", "pairs": PAIRS}),
        "Model.logprob": (synmt.Model.load(model).logprob, {"pairs": PAIRS}),
        "Model.translate": (synmt.Model.load(model).translate, {"sentences": ["a"]}),
        "train": (synmt.train, {"pairs": PAIRS, "out": folder / "model"}),
    }


def impossible(parameter: inspect.Parameter) -> Iterator[object]:
    """Yield values that a parameter cannot have, by its annotation."""
    hints = get_args(parameter.annotation) or (parameter.annotation,)
    origins = [get_origin(each) for each in hints]
    if bool in hints:
        values = NO_SWITCH
    elif int in hints:
        values = NO_NUMBER
    elif Iterable in origins:
        values = NO_ITEMS
    elif Path in hints:
        values = NO_PATH if parameter.default is None else (*NO_PATH, None)
        values = (*values[: len(NO_PATH) - 1], *values[len(NO_PATH) :]) if parameter.default == () else values
    elif str in hints or not get_args(parameter.annotation) or isinstance(hints[0], str):
        values = NO_TEXT
    else:
        values = ()
    yield from values if not (Sequence in origins and Path not in hints) else NO_TEXT[:2]


@pytest.mark.parametrize(
    "name",
    [
        "align",
        "Aligner.load",
        "Aligner.link",
        "link",
        "parse",
        "project",
        "markup",
        "query",
        "score",
        "significance",
        "translate",
        "logprob",
        "Model.logprob",
        "Model.translate",
        "train",
    ],
)
def test_impossible_arguments_are_refused_by_name(name: str, tmp_path: Path, aligner: Path, model: Path) -> None:
    function, given = calls(tmp_path, aligner, model)[name]
    # The settings, which are keywords of the signature as well, are tested in test_face.py.
    own = inspect.signature(inspect.unwrap(function)).parameters.values()
    tried = 0
    for parameter in own:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name == "self":
            continue
        for value in impossible(parameter):
            if value is None is parameter.default or (name, value) in READ_LATER:
                continue
            arguments = {**given, parameter.name: value}
            positional = [arguments.pop(each) for each in ("hypotheses", "systems", "references") if each in arguments]
            with pytest.raises((TypeError, ValueError)) as error:
                found = function(*positional, **arguments)
                list(found) if isinstance(found, Iterator) else found
            assert parameter.name in str(error.value), (parameter.name, value, str(error.value))
            tried += 1
    assert tried >= 15 and not (tmp_path / "model").exists()


def test_several_files_of_links_are_not_none() -> None:
    nothings: list[Any] = [[], ""]
    for nothing in nothings:
        with pytest.raises(ValueError, match=r"^links cannot be "):
            synmt.symmetrize(nothing, PAIRS)


def test_a_setting_that_names_something_is_not_empty() -> None:
    with pytest.raises(ValueError, match=r"^source_language cannot be ''"):
        synmt.TextConfig(source_language="")


def test_no_sentences_give_no_results(aligner: Path) -> None:
    nothings: list[Any] = [[], (), iter([])]
    for nothing in nothings:
        assert list(synmt.Aligner.load(aligner).link(nothing)) == []
        assert list(synmt.parse(nothing, "udpipe")) == list(synmt.project(nothing)) == []
