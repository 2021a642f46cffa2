"""What `import synmt` provides: names that are loaded on first use."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, get_args

import pytest

import synmt
from synmt import AlignConfig, MetricConfig, ParserConfig, TextConfig, TrainingConfig, TransformerConfig
from synmt.alignment import ALIGNERS, MethodName, choice
from synmt.api.alignment import OF_LINES
from synmt.metrics import METRICS, MetricName
from synmt.metrics.config import choose as choose_metrics
from synmt.metrics.config import owners
from synmt.metrics.significance import Comparison
from synmt.options import Checked, Choice, Rules, Setting, check_used, options_in
from synmt.parsers.config import RULES
from synmt.registry import Registry
from synmt.runs.file import RunFile
from synmt.search.scores import ForcedTarget
from synmt.streams import Note, WrongUsage, in_python
from synmt.training import start

HEAVY = "benepar", "click", "msgspec", "numpy", "sacrebleu", "spacy", "torch", "transformers"


def loaded(program: str) -> list[str]:
    """Return the heavy packages that a program has loaded when it ends."""
    program += f"\nimport sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_types_are_those_of_the_names() -> None:
    """Type checkers read the imports; at run time, the same names come from the same modules."""
    tree = ast.parse(Path(synmt.__file__).read_text(encoding="utf-8"))
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and "synmt." in (each.module or "")]
    assert {name.name: each.module for each in imports for name in each.names} == synmt._PLACES
    assert all(name.name == name.asname for each in imports for name in each.names)


@pytest.mark.parametrize(
    ("names", "known"), [(MethodName, ALIGNERS), (MetricName, METRICS)], ids=["methods", "metrics"]
)
def test_the_types_of_names_list_what_the_registries_have(names: Any, known: Registry) -> None:
    assert set(known._own) <= set(get_args(get_args(names)[0]))


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each function of the package, and each method of its classes, by name."""
    for name in dir(synmt):
        made = getattr(synmt, name)
        if inspect.isfunction(made):
            yield name, made
        elif inspect.isclass(made) and not issubclass(made, Exception | Checked):
            own = [each for each, method in vars(made).items() if isinstance(method, FunctionType | classmethod)]
            yield from ((f"{name}.{each}", getattr(made, each)) for each in own if not each.startswith("_"))


HARMLESS = {  # which raise nothing of their own
    "ParseRecord.without_trees", "Run.files", "Score.noted", "Translation.fields", "Translation.record", "write_record"
}  # fmt: skip


def test_a_function_has_types_and_says_what_it_raises() -> None:
    for name, function in public():
        shown = inspect.signature(function)
        arguments = [each for each in shown.parameters.values() if each.name != "self"]
        assert not [each for each in arguments if each.annotation is each.empty or each.kind is each.VAR_KEYWORD], name
        assert shown.return_annotation is not shown.empty, name
        assert ("Raise" in (inspect.getdoc(function) or "")) != (name in HARMLESS), name


def test_a_wrong_setting_of_a_function_is_named_at_once() -> None:
    """Before the other arguments are looked at, which are not usable here."""
    found = 0
    for _, function in public():
        arguments = inspect.signature(function).parameters
        needed = {
            each.name: None
            for each in arguments.values()
            if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
        }
        for keyword, value in (("jobs", 0), ("jobs", "two"), ("on_error", "skip")):
            if keyword in arguments:
                with pytest.raises(ValueError, match=f"^{keyword} cannot be {value!r}$"):
                    function(**needed, **{keyword: value})
                found += 1
    assert found > 10


def some_value(setting: Setting) -> Any:
    """Return a possible value of a setting, another one than its default."""
    values: tuple[Any, ...]
    if setting.choices:
        values = setting.choices
    elif setting.kind is int:
        values = (int(setting.least), int(setting.least) + 1)
    elif setting.kind is float:
        values = (0.5, 0.25)
    else:
        values = (True, False) if setting.kind is bool else ("x", "y")
    possible = [(value,) if setting.several else value for value in values]
    return next(value for value in possible if value != setting.default)


SIZES = {"width": 64, "heads": 2}  # of a network that can be made
CONFIGS: dict[str, dict[str, type]] = {
    "align": {"links": AlignConfig, "text": TextConfig, "training": TrainingConfig, "network": TransformerConfig},
    "parse": {"parser": ParserConfig},
    "score": {"config": MetricConfig},
    "significance": {"config": MetricConfig},
    "train": {"text": TextConfig, "training": TrainingConfig, "network": TransformerConfig},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_settings_without_effect_are_refused(name: str, tmp_path: Path) -> None:
    """As on the command line, with a message that names the field."""
    metrics = options_in(MetricConfig), Rules(lambda given: choose_metrics(["bleu", "chrf"]), owners)
    calls: dict[str, tuple[Callable[..., object], Mapping[str, Setting], Rules, dict[str, Any]]] = {
        "align": (partial(synmt.align, [], "hmm"), choice.known(), choice.RULES, {"format": "jsonl", "method": "hmm"}),
        "parse": (partial(synmt.parse, []), options_in(ParserConfig), RULES, {"parser": "udpipe"}),
        "score": (partial(synmt.score, ["a"], ["a"]), *metrics, {}),
        "significance": (partial(synmt.significance, {"a": ["a"], "b": ["b"]}, ["a"]), *metrics, {}),
        "train": (partial(synmt.train, [], out=tmp_path), start.known(), start.RULES, {"out": tmp_path}),
    }
    function, known, rules, given = calls[name]
    defaults = {**{option: each.default for option, each in known.items()}, **rules.choose(given).defaults, **given}
    refused = 0
    for parameter, config in CONFIGS[name].items():
        for option, each in options_in(config).items():
            if option not in defaults or option == "format":
                continue
            value = SIZES.get(option) or some_value(replace(each, default=defaults[option]))
            try:
                check_used({**given, option: value}, known, rules)
            except WrongUsage as error:
                if each.name not in OF_LINES:
                    settings = {"parser": "udpipe"} if name == "parse" else {}
                    with pytest.raises(ValueError, match=f"^{re.escape(str(in_python(error)))}$"):
                        function(**{parameter: config(**{**settings, each.name: value})})
                    refused += 1
    assert refused >= {"align": 30, "train": 6, "score": 4, "significance": 4, "parse": 2}[name], refused


def test_messages_name_keywords(tmp_path: Path) -> None:
    """Errors and warnings name keywords, also during iteration. A suggested command keeps its options."""
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(synmt.BadInput, match=r"or add resume to continue its training run$"):
        synmt.train([("a", "b")] * 9, out=tmp_path)
    (tmp_path / "conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(synmt.BadInput, match=r"convert it with synmt convert --input conllu$"):
        synmt.train((tmp_path / "conllu", tmp_path / "conllu"), out=tmp_path / "new")
    with pytest.warns(Note, match="was tokenized again; tokenizer none keeps its words"):
        list(synmt.align([("Ein Haus .", "A house .")] * 9, "hmm", out=tmp_path / "aligner"))
    with pytest.raises(ValueError, match=r"^preset cannot be zzz; it is one of small, few-pairs,"):
        synmt.train([("a", "b")] * 9, out=tmp_path / "new", preset="zzz")
    with pytest.raises(ValueError, match=r"^threshold needs a vote: add heuristic mean$"):
        next(synmt.symmetrize("x", [("a", "a")], synmt.SymmetrizeConfig(threshold=0.5)))


def test_warnings_point_at_the_line_of_the_caller() -> None:
    with pytest.warns(Note) as warned:
        list(synmt.parse([["New York"]], "udpipe", on_error="blank"))
        list(synmt.align([("He is here.", "Er ist hier.")] * 9, "hmm"))
        list(synmt.project([("{", "b", "0-0")], on_error="blank"))
    assert {Path(each.filename) for each in warned} == {Path(__file__)}


def test_a_bad_pair_stops_training_or_is_left_out(tmp_path: Path) -> None:
    """A message says whether it is a pair for training or for validation."""
    short = TrainingConfig(merges=9, updates=1)
    pairs, bad = [("a b", "c d")] * 9, ("a\nb", "c")
    for place, each in {"pairs": {"pairs": [*pairs, bad]}, "dev": {"pairs": pairs, "dev": [*pairs, bad]}}.items():
        train = partial(synmt.train, **each, out=tmp_path / place, training=short)  # type: ignore[arg-type]
        with pytest.raises(synmt.BadInput, match=f"^{place}:10: an end of line in a sentence$"):
            train()
        with pytest.warns(Note, match="^1 bad line left empty$"):
            train(on_error="blank")


def test_output_is_not_written_over_input(tmp_path: Path) -> None:
    for name in ("a.en", "a.de", "pairs.tsv", "links"):
        (tmp_path / name).write_text("x\n")
    both = (tmp_path / "a.en", tmp_path / "a.de")
    wrong: list[Callable[[], object]] = [
        lambda: synmt.train(both, out=tmp_path),
        lambda: synmt.train([("a", "b")], both, out=tmp_path),
        lambda: synmt.train([("a", "b")], tmp_path / "pairs.tsv", out=tmp_path / "pairs.tsv"),
        lambda: synmt.align(tmp_path / "pairs.tsv", out=tmp_path),
        lambda: synmt.train([("a", "b")], init=str(tmp_path), out=tmp_path / "new"),
        lambda: synmt.train([("a", "b")], codes=str(tmp_path / "links"), out=tmp_path),
        lambda: synmt.align([("a", "b")], "bao-guided", guide=str(tmp_path / "links"), out=tmp_path),
        lambda: synmt.align([("a", "b")], "bao-guided", models=str(tmp_path), out=tmp_path / "new"),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match=r"^out .* would write over the input"):
            call()
    assert len([*tmp_path.iterdir()]) == 4


def test_a_result_fits_a_line() -> None:
    long = "a\n" * 300
    words, score = ["word"] * 300, synmt.Score("BLEU", 27.314, long, long, (26.0, 28.0))
    work = SimpleNamespace(steps=[1])
    made: Any = synmt
    folder, run = SimpleNamespace(path=long), RunFile(None, None, {}, {})
    results = {
        "Aligner": made.Aligner(None, Choice("hmm")),
        "Model": made.Model([folder] * 9, [], "cpu", "fp32"),
        "ParseRecord": synmt.ParseRecord(long, words, upos=words, heads=[0] * 300, deprels=words),
        "Run": made.Run(Path(long), run, work, 1),
        "Score": score,
        "Translation": synmt.Translation(long, words, -3.5),
        "Match": synmt.Match(3, synmt.ParseRecord(long, words), [{"word": 1, "head": 0}] * 300),
        "WordLinks": synmt.WordLinks(words, words, {(n, n): 0.5 for n in range(300)}, 0.5),
        "Comparison": Comparison(long, score, long, 0.5, True, 0.012),
        "ForcedTarget": ForcedTarget(words, [-0.5] * 300),
    }
    classes = {name: getattr(synmt, name) for name in dir(synmt) if inspect.isclass(getattr(synmt, name))}
    assert {name for name, each in classes.items() if not issubclass(each, Checked)} - {"BadInput"} <= results.keys()
    for name, result in results.items():
        assert len(repr(result)) <= 120 and "\n" not in repr(result), name
        assert repr(result).startswith(f"<{name} ")
    assert repr(score) == "<Score BLEU 27.31 [26.00, 28.00]>"


def test_unknown_names_raise_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transcribe'"):
        synmt.transcribe  # type: ignore[attr-defined]  # noqa: B018


def test_unused_packages_are_not_loaded() -> None:
    assert loaded("import synmt") == []
    assert loaded("import synmt; list(synmt.parse(['He is.'], 'udpipe'))") == ["msgspec"]
    assert "torch" not in loaded("import synmt; synmt.score(['He is.'], ['He is.'])")
