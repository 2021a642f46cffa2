"""Run files, and the plans made from them."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.components.contract import SOME_HEADS
from synmt.runs import systems
from synmt.runs.aligners import Aligners, rows_of
from synmt.runs.commands import Command, Options, parsed
from synmt.runs.file import OF_ALIGNERS, RunFile, read_run, with_options
from synmt.runs.projections import Projections
from synmt.runs.projections import options_of as options_of_projections
from synmt.runs.run import Run
from synmt.runs.steps import RunFolder
from synmt.runs.systems import Plan, plan
from synmt.runs.table import components_of, described
from synmt.streams import BadInput
from tests.fuzz import runs
from tests.inspection.models import write_model
from tests.runs.options import options_of, some_value
from tests.test_recipes import blocks_of

RUN = """
seeds = [1, 2]
sizes = [10, 20]
[data]
train = ["train.en", "train.de"]
dev = ["dev.en", "/dev.de"]
[tests]
flickr = ["test.en", "test.de"]
[train]
preset = "small"
learning-rate = 0.01
[systems]
sequence = {}
"mask+pascal" = { pascal-heads = 1 }
"parent+gcn" = {}
split = { model = "transitions", split-arcs = true }
"""


OUT = Path("out")


def read(text: str, folder: Path) -> RunFile:
    path = folder / "run.toml"
    path.write_text(text)
    return read_run(path)


def planned_of(text: str, folder: Path) -> Plan:
    return plan(with_options(read(text, folder)), OUT)


def test_a_plan_has_every_system_seed_and_size(tmp_path: Path) -> None:
    run = read(RUN, tmp_path)
    assert run.train and run.dev
    assert run.train.source == tmp_path / "train.en"
    assert run.dev.target == Path("/dev.de")
    planned = plan(run, OUT)
    assert [each.name for each in planned.trainings[:5]] == [
        "10/sequence.1", "10/mask+pascal.1", "10/parent+gcn.1", "10/split.1", "10/sequence.2",
    ]  # fmt: skip
    assert len({each.name for each in planned.trainings}) == 2 * 2 * 4
    assert planned.needs == ({"tree", SOME_HEADS}, {"heads", "deprels"})
    shared = ["train", "--batch-by=subwords", "--preset=small", "--learning-rate=0.01"]
    assert planned.reads == {"tree", SOME_HEADS}
    assert [Command("train", {}, each.options).words for each in planned.trainings[:4]] == [
        [*shared, "--model=sequence"],
        [*shared, "--model=mask+pascal", "--pascal-heads=1"],
        [*shared, "--model=parent+gcn"],
        [*shared, "--model=transitions", "--split-arcs"],
    ]


def test_the_examples_of_the_page_can_start(tmp_path: Path) -> None:
    systems, sizes, aligners, projections, *others = blocks_of("docs/runs.md", "toml")
    planned_of("".join([systems, *others]), tmp_path)
    planned_of(re.sub(r"(?m)^sizes = .*\n", "", systems) + sizes, tmp_path)
    assert rows_of(with_options(read(aligners, tmp_path))).keys() == {"auto", "short", "vote", "mask-align+vote"}
    assert with_options(read(projections, tmp_path)).kind == "projections"


def test_options_of_a_system_override_shared_ones(tmp_path: Path) -> None:
    text = RUN.replace("sequence = {}", "sequence = { learning-rate = 0.5 }")
    assert planned_of(text, tmp_path).trainings[0].options["learning-rate"] == "0.5"


def test_options_of_a_size_override_shared_ones_and_those_of_a_system_override_both(tmp_path: Path) -> None:
    text = RUN.replace("sizes = [10, 20]\n", "").replace("sequence = {}", "sequence = { learning-rate = 0.5 }")
    text += "[sizes]\n20 = { learning-rate = 0.1, dropout = 0.4 }\n10 = {}\n"
    found = {each.name: each.options for each in planned_of(text, tmp_path).trainings}
    assert list(found)[::8] == ["20/sequence.1", "10/sequence.1"]
    rates = {name: own["learning-rate"] for name, own in found.items() if name.endswith(".1")}
    assert [rates[f"{size}/{name}.1"] for size in (20, 10) for name in ("sequence", "split")] == [
        "0.5",
        "0.1",
        "0.5",
        "0.01",
    ]
    assert {own.get("dropout") for own in found.values()} == {None, "0.4"}


def test_a_shared_option_reaches_the_systems_that_may_name_it(tmp_path: Path) -> None:
    """If there is none, or the value does not suit one of them, the run is refused for the same reason. For options
    that choose the model, see below."""
    run = with_options(read(RUN, tmp_path))
    found = Counter[int]()
    (tmp_path / "file").touch()
    known = {name: each for name, each in options_of("train").items() if name != "model"}
    for name in Random(3).sample(sorted(known), 25):
        own, reached, causes = {name: some_value(known[name], str(tmp_path / "file"))}, set(), set()
        for system, options in run.systems.items():
            try:
                plan(replace(run, systems={system: {**options, **own}}), OUT)
                reached.add(system)
            except ValueError as error:
                causes.add(str(error))
        try:
            planned = plan(replace(run, options={"train": {**run.options["train"], **own}}), OUT)
        except ValueError as error:
            assert str(error) in causes
            found[0] += 1
        else:
            assert {each.system for each in planned.trainings if name in each.options} == reached
            found[len(reached)] += 1
    assert min(found[number] for number in (0, 1, len(run.systems))) > 0


def test_a_shared_option_may_suit_some_systems_only(tmp_path: Path) -> None:
    """Only the config of a whole system shows that its heads learn nothing about trees."""
    run = RUN.replace("[systems]", "tree-dropout = 0.1\n[systems]\nsupervised-heads = {}")
    reached = {each.system for each in planned_of(run, tmp_path).trainings if "tree-dropout" in each.options}
    assert reached == {"mask+pascal"}


def test_text_is_refused_for_systems_that_read_what_no_parser_makes(tmp_path: Path) -> None:
    runs.of_text().write(tmp_path)
    file = tmp_path / "run.toml"
    plain = file.read_text().partition("[train]")[0]
    heads = 'heads = { model = "supervised-heads", supervised-heads-teach = "mask:near" }'
    for rows, cause in ("pretrained-states = {}", "states of an encoder"), (heads, "masks"):
        file.write_text(f"{plain}[systems]\nsequence = {{}}\n{rows}\n")
        with pytest.raises(BadInput, match=rf"run.toml: systems read {cause}, but .*/train.en is text: give records$"):
            Run.open(file, tmp_path / "out")


def components(run: RunFile, name: str, own: Options, place: str) -> tuple[str, ...] | None:
    """Return the components of a system with this name, None if they do not combine. place: of the options in the
    file."""
    of = {each: own if each == place else {} for each in ("systems", "sizes", "train")}
    options = {"train": {**run.options["train"], **of["train"]}}
    given = replace(run, systems={name: of["systems"]}, sizes={10: of["sizes"]}, options=options)
    try:
        (model,) = plan(given, OUT).models.values()
    except ValueError:
        return None
    return tuple(components_of(model.source.components, model.target.components).values())


def test_the_name_of_a_system_chooses_its_components_only_where_no_option_does(tmp_path: Path) -> None:
    """With the option, of its own or shared, the system has what the option gives to any other name."""
    run, found = read(RUN, tmp_path), Counter[str]()
    for name in {*ENCODER_COMPONENTS, *DECODER_COMPONENTS, "mask+pascal", "parent+gcn", "mask+tags"}:
        plain = components(run, name, {}, "systems")
        assert plain is None or set("+".join(plain).split("+")) - {"sequence"} == set(name.split("+")) - {"sequence"}
        for value in ("sequence", "mask", "tags", "pascal+tags"):
            bare = components(run, "any name", {"model": value}, "systems")
            for place in "systems", "sizes", "train":
                assert components(run, name, {"model": value}, place) == bare, (name, value, place)
                found[f"{place} {bare is not None}"] += 1
    assert found["sizes True"] == found["train True"] == found["systems True"] > 80


def test_a_run_says_what_a_system_is_whose_name_does_not_say_it(tmp_path: Path) -> None:
    write_model(tmp_path / "start", "mask")
    systems = {
        "mask = {}": "",
        '"mask+pascal" = { pascal-heads = 1 }': "",
        'same = { model = "sequence" }': "same: encoder sequence, decoder sequence",
        'parent = { model = "supervised-heads" }': "parent: encoder supervised-heads, decoder sequence",
        'mask = { model = "tags" }': "mask: encoder sequence, decoder tags",
        f"tags = {{ init = '{tmp_path / 'start'}' }}": "tags: encoder mask, decoder sequence",
        f"mask = {{ init = '{tmp_path / 'start'}' }}": "",
    }
    for system, line in systems.items():
        ((name, model),) = planned_of(
            re.sub(r"(?ms)^\[systems\].*", f"[systems]\n{system}\n", RUN), tmp_path
        ).models.items()
        assert described(name, components_of(model.source.components, model.target.components)) == line


def test_files_in_options_are_taken(tmp_path: Path) -> None:
    (tmp_path / "codes").touch()
    text = RUN.replace('preset = "small"', f'codes = "{tmp_path / "codes"}"')
    assert planned_of(text, tmp_path).trainings[0].options["codes"] == tmp_path / "codes"


def test_options_of_a_size_are_checked(tmp_path: Path) -> None:
    text = RUN.replace("sizes = [10, 20]\n", "")
    for table, cause in [
        ("10 = { rate = 3 }", "system sequence, 10 pairs: unknown option --rate"),
        ("10 = { seed = 3 }", "sizes 10: seed is set by the run itself"),
        ("10 = { lisa-weight = 3 }", "system sequence, 10 pairs: sequence does not use --lisa-weight"),
        ("10 = 3", "3 is not a table of options"),
        ("ten = {}", "sizes must be numbers from 1 to"),
        ("10 = {}\n010 = {}", "sizes has a duplicate number"),
        ("", "sizes is empty"),
    ]:
        with pytest.raises((BadInput, ValueError), match=cause):
            planned_of(f"{text}[sizes]\n{table}\n", tmp_path)
    with pytest.raises(BadInput, match="sizes: options have no effect on aligners"):
        aligners = '[data]\ntrain = ["a", "b"]\n[tests]\na = ["a", "b", "c"]\n[aligners]\nhmm = {}\n'
        read(f"{aligners}[sizes]\n10 = {{ seed = 3 }}\n", tmp_path)


@pytest.mark.parametrize("table", ["train", "translate", "parse", "align", "project"])
def test_every_option_of_a_table_is_in_a_command_of_the_list_or_refused(table: str, tmp_path: Path) -> None:
    """In the words of the command itself. Values are possible ones, and the files exist."""
    runs.of_text().write(tmp_path)
    given, file, found = tmp_path / "some.udpipe", tmp_path / "run.toml", 0
    given.touch()
    plain = file.read_text().partition("[train]")[0] + "[systems]\nsequence = {}\npascal = {}\n"
    if table == "align":
        (tmp_path / "links").write_text("0-0\n" * 4)
        plain = "[tests]\nt = ['dev.en', 'dev.de', 'links']\n[aligners]\nhmm = {}\n"
    if table == "project":
        (tmp_path / "gold").write_text("1\tja\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 4)
        plain = "[tests]\nt = ['dev.en', 'gold']\n[projections]\nvotes = {}\n"
    file.write_text(plain)
    run = Run.open(file, tmp_path / "out")
    assert table in {step.command().words[0] for step in run.work.steps if step.command}
    rows = run._repr_html_().split("<tr>")[1:]
    assert len(rows) == 1 + len(run.work.steps) and f"step of {file}</th><th>state" in rows[0]
    options = options_of(table)
    for name in Random(3).sample(sorted(options), min(40, len(options))):
        value = some_value(options[name], str(given))
        file.write_text(f"{plain}[{table}]\n{name} = {value!r}\n".replace("True", "true"))
        try:
            run = Run.open(file, tmp_path / "out")
        except BadInput as error:
            assert "run.toml: " in str(error) and "\n" not in str(error)
            continue
        commands = [step.command() for step in run.work.steps if step.command]
        assert any(name in each.options for each in commands if each.name == table), name
        found += 1
    assert found > 2


def test_a_system_is_checked_once_for_all_sizes_without_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = list[str]()

    def counted(command: Command) -> dict[str, Any]:
        checked.append(f"{command.options['model']} {command.options.get('width', '')}")
        return parsed(command)

    monkeypatch.setattr(systems, "parsed", counted)
    run = replace(with_options(read(RUN, tmp_path)), systems={"sequence": {}, "mask": {}})
    run = replace(run, sizes={None: {}, 10: {}, 20: {"width": "64"}, 30: {}})
    trainings = plan(run, OUT).trainings
    assert checked == ["sequence ", "mask ", "sequence 64", "mask 64"]
    assert {each.size for each in trainings if each.options.get("width")} == {20}
    assert len({each.name for each in trainings}) == len(trainings) == 16


def test_the_run_files_of_the_checkout_are_accepted() -> None:
    """Each system, aligner and projection is a command line that its command accepts."""
    folder, found = Path(__file__).parents[2] / "bin", Counter[str]()
    for path in folder.glob("*.toml"):
        run = with_options(read_run(path))
        if run.kind == "systems":
            for training in plan(run, OUT).trainings:
                parsed(Command("train", {}, {**training.options, "dev-tsv": "dev", "out": OUT}))
        elif run.kind == "aligners":
            for row in rows_of(run).values():
                assert row.method or row.links_from
        else:
            assert options_of_projections(run).keys() == run.systems.keys()
        found[run.kind] += len(run.systems)
    assert found["systems"] > 70 and found["aligners"] > 20 and found["projections"] > 2


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("seeds", "seed", "run.toml: 'seed' is not one of seeds, sizes,"),
        ("[1, 2]", "[1, 1]", "seeds has a duplicate number"),
        ("[1, 2]", "[]", "seeds is empty"),
        ("[1, 2]", "[-1]", "seeds must be numbers from 0 to"),
        ("[10, 20]", "[0]", "sizes must be numbers from 1 to"),
        ("[1, 2]", "1", "seeds must be a list"),
        ("[10, 20]", "10", "sizes must be a list or table"),
        ("[1, 2]", "[1", "run.toml: "),
        ('dev = ["dev.en", "/dev.de"]', "", "data needs train and dev"),
        ('["dev.en", "/dev.de"]', '["dev.en"]', "dev must be [source file, target file]"),
        ('flickr = ["test.en", "test.de"]', "", "names no tests"),
        ("flickr", '"../flickr"', "'../flickr' cannot be the name of a file"),
        ("sequence = {}", "sequence = 1", "1 is not a table of options"),
        ("sequence = {}", "sequence = { split-arcs = false }", "split-arcs cannot be false: leave it out"),
        ("sequence = {}", "sequence = { heads = [1] }", "heads must be a string, a number or true"),
        ("sequence = {}", "sequenze = {}", "system sequenze: no system has this name"),
        ("sequence = {}", "sequence = { seed = 3 }", "system sequence: seed is set by the run itself"),
        ("sequence = {}", "sequence = { rate = 3 }", "system sequence: unknown option --rate"),
        ("sequence = {}", "sequence = { gcn-layers = 3 }", "system sequence: sequence does not use --gcn-layers"),
        ("[systems]", "[translate]\nalpha = [1]\n[systems]", "translate: alpha must be one value"),
        (
            "[systems]",
            "[translate]\nalpha = [1, 1]\n[systems]",
            "translate: alpha must be one value, or several different ones",
        ),
        ("[systems]", "[translate]\nalpha = [1, []]\n[systems]", "alpha must be a string, a number or true"),
        ("[systems]", "[translate]\nalpha = [1, 2]\nbeam = [1, 2]\n[systems]", "several values, not alpha and beam"),
        ("[data]", 'metrics = ["loss"]\n[data]', "metrics: needs one that scores translations, such as bleu"),
        (
            "[data]\n",
            'metrics = ["nats", "bleu"]\n[translate]\nalpha = [1, 2]\n[data]\n',
            "metrics: the first one chooses alpha on dev, which nats cannot",
        ),
        ("[systems]", "[challenge]\nall = {}\n[systems]", "challenge all: a query needs a condition"),
        ("0.01", "-1", "system sequence: Invalid value for '--learning-rate': -1.0 is not in the range 0<=x<=100"),
    ],
)
def test_errors_are_reported(old: str, new: str, cause: str, tmp_path: Path) -> None:
    assert old in RUN
    with pytest.raises((BadInput, ValueError)) as error:
        planned_of(RUN.replace(old, new, 1), tmp_path)
    assert cause in str(error.value)


@pytest.mark.parametrize(
    ("own", "cause"),
    [
        ({"links-from": ["hmm"], "method": "hmm"}, "method has no effect with links-from"),
        ({"links-from": ["hmm"], "letters": 4}, "letters has no effect with links-from"),
        ({"links-from": ["hmm"], "models": "hmm"}, "models has no effect with links-from"),
        ({"links-from": ["hmm"], "guide": "hmm"}, "guide has no effect with links-from"),
        ({"links-from": ["hmm"], "threshold": 0.5}, "--threshold needs a vote: add --heuristic mean"),
        ({"links-from": [], "method": "hmm"}, "links-from must be a list of aligners of the run"),
        ({"links-from": "hmm"}, "links-from must be a list of aligners of the run"),
        ({"links-from": ["other"]}, "links-from: other is not an aligner of the run"),
        ({"method": "hmm", "models": "hmm"}, "hmm does not use --models"),
        ({"method": "hmm", "guide": "hmm"}, "hmm does not use --guide"),
        ({"method": "shift-att", "models": "hmm", "epochs": 3}, "--epochs has no effect with --models"),
        ({"method": "hmm", "hmm-trees": True, "letters": 4}, "letters has no effect on words with trees"),
        ({"method": "hmm", "letters": 0}, "letters cannot be 0"),
        ({"method": "other"}, "no method has this name"),
        ({}, "no method has this name"),
    ],
)
def test_options_without_effect_on_an_aligner_are_refused(own: dict[str, Any], cause: str) -> None:
    with pytest.raises((BadInput, ValueError)) as error:
        rows_of(RunFile(None, None, {}, {"hmm": {}, "new": own}, kind="aligners"))
    assert "aligner new: " in str(error.value) and cause in str(error.value)


def test_aligners_are_fitted_after_those_that_they_learn_from() -> None:
    own: dict[str, Options] = {
        "votes": {"links-from": ["guided", "hmm"]},
        "guided": {"method": "mask-align", "guide": "hmm"},
        "hmm": {},
    }
    run = RunFile(None, None, {}, own, kind="aligners")
    steps = Aligners(RunFolder(Path("unused")), run, 1).steps
    names = [f"{name}, seed 1" for name in ("hmm", "guided", "votes")]
    assert [step.what for step in steps if step.verb == "aligning"] == names
    own["hmm"] = {"method": "mask-align", "guide": "guided"}
    with pytest.raises(
        (BadInput, ValueError), match=r"^aligner \w+ learns from itself, through (guided and hmm|hmm and guided)$"
    ):
        rows_of(run)
    own["hmm"] = {"method": "mask-align", "guide": "hmm"}
    with pytest.raises((BadInput, ValueError), match=r"^aligner hmm learns from itself, through hmm$"):
        rows_of(run)


@pytest.mark.parametrize("name", OF_ALIGNERS)
def test_some_options_cannot_be_shared_by_aligners(name: str) -> None:
    with pytest.raises((BadInput, ValueError), match=f"^align: {name} is for one aligner, and cannot be shared$"):
        rows_of(RunFile(None, None, {}, {"hmm": {}}, kind="aligners", options={"align": {name: "hmm"}}))


@pytest.mark.parametrize(
    ("seed", "align", "cause"),
    [
        (3, {}, "seeds have no effect on projections"),
        *((1, {name: "x"}, f"align: {name} has no effect on projections") for name in OF_ALIGNERS if name != "method"),
        *((1, {name: 1}, f"align: {name} has no effect on projections") for name in ("threshold", "tree-links")),
        (1, {"method": "hmm", "hmm-trees": True}, "align: the aligner reads trees of both sides, but .*"),
    ],
)
def test_options_without_effect_on_projections_are_refused(seed: int, align: Options, cause: str) -> None:
    run = RunFile(None, None, {}, {"votes": {}}, seeds=(seed,), kind="projections", options={"align": align})
    with pytest.raises((BadInput, ValueError), match=f"^{cause}$"):
        Projections(RunFolder(Path("unused")), run, 1)


@pytest.mark.parametrize("kind", ["aligners", "projections"])
def test_sizes_need_training_data(kind: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="sizes have no effect without training data"):
        read(f'sizes = [10]\n[tests]\nseen = ["a", "b"]\n[{kind}]\nname = {{}}\n', tmp_path)


def test_invalid_files(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing\.toml: No such file"):
        read_run(tmp_path / "missing.toml")
    (tmp_path / "run.toml").write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"run\.toml:1: not UTF-8$"):
        read_run(tmp_path / "run.toml")


def test_options_as_words() -> None:
    command = Command("challenge query", {"files": [Path("a b"), Path("c")]}, {"a-b": 1.5, "c": True, "d": "x y"})
    assert command.words == ["challenge", "query", "--a-b=1.5", "--c", "--d=x y", "a b", "c"]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"width": 3, "rate": 3}, "unknown option --rate"),
        ({"learning-rte": 3}, "unknown option --learning-rte; did you mean '--learning-rate'?"),
        ({"split-arcs": 5}, "Option '--split-arcs' does not take a value."),
        ({"width": True}, "Option '--width' requires an argument."),
        ({"width": "wide"}, "Invalid value for '--width': 'wide' is not a valid integer range."),
        ({"help": True}, "unknown option --help"),
        ({"gcn-layers": 3}, "sequence does not use --gcn-layers; it belongs to "),
    ],
)
def test_a_command_refuses_its_options_in_its_own_words(options: Options, cause: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(cause)}"):
        parsed(Command("train", {}, {"out": "model", **options}))
