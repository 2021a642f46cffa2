import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from synmt.inspection.curves import Curves, as_jsonl, by_seed, draw_curves, mean_of, read_curves
from synmt.inspection.matrix import picture
from synmt.streams import BadInput
from synmt.training.log import Log

ROWS = [
    {"update": 100, "epoch": 0, "loss": 5.5},
    {"update": 136, "epoch": 1, "valid_loss": 4.5, "valid_bleu": 1.25},
    {"update": 200, "epoch": 1, "loss": 4.25},
]


def write_log(folder: Path) -> Path:
    folder.mkdir()
    log = Log(folder / "log.tsv")
    for row in ROWS:
        log.write(row)
    return folder


def test_a_log_gives_the_points_of_each_column(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "run")
    points = {"loss": ([100, 200], [5.5, 4.25]), "valid_loss": ([136], [4.5]), "valid_bleu": ([136], [1.25])}
    assert read_curves(folder).points == read_curves(folder / "log.tsv").points == points


def test_curves_over_epochs(tmp_path: Path) -> None:
    run = read_curves(write_log(tmp_path / "run"))
    assert run.epoch == 136 and run.over("loss", "epoch") == ([100 / 136, 200 / 136], [5.5, 4.25])
    shown = picture(lambda figure: draw_curves(figure, [run], "epoch"), "svg").decode()
    assert ">epoch<" in shown and ">update<" not in shown
    with pytest.raises(BadInput, match="early: no epoch is complete"):
        Curves("early", run.points).over("loss", "epoch")


def test_json_lines_have_one_object_per_update(tmp_path: Path) -> None:
    runs = [read_curves(write_log(tmp_path / "run"))]
    name = str(tmp_path / "run")
    assert [json.loads(line) for line in as_jsonl(runs)] == [
        {"run": name, "update": 100, "loss": 5.5},
        {"run": name, "update": 136, "valid_loss": 4.5, "valid_bleu": 1.25},
        {"run": name, "update": 200, "loss": 4.25},
    ]


def test_a_picture_has_a_panel_for_each_column_and_names_the_runs(tmp_path: Path) -> None:
    runs = [read_curves(write_log(tmp_path / name)) for name in ("_one", "<two>", "three.1", "three.2")]
    runs.append(replace(runs[0], name="."))
    svg = picture(lambda figure: draw_curves(figure, runs), "svg")
    shown = [node.text for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    titles = ["training loss", "validation loss", "validation BLEU"]
    assert [text for text in shown if text in titles] == titles
    assert (shown.count("update"), shown.count("nats per token"), shown.count("BLEU")) == (3, 2, 1)
    assert shown.count("_one") == shown.count(".") == shown.count("<two>") == shown.count("three, mean of 2 seeds") == 1


def test_the_mean_is_shown_where_all_seeds_have_values() -> None:
    of = {"a.1": ([1, 2, 3], [1.0, 2.0, 3.0]), "b": ([1], [9.0]), "a.2": ([2, 3, 4], [4.0, 4.0, 4.0])}
    groups = by_seed([Curves(name, {"loss": points}) for name, points in of.items()])
    assert [[run.name for run in group] for group in groups] == [["a.1", "a.2"], ["b"]]
    assert mean_of(groups[0]) == Curves("a", {"loss": ([2, 3], [3.0, 3.5])})


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("", "log.tsv: the log has no numbers"),
        ("update\tloss\n", "log.tsv: the log has no numbers"),
        ("a\tb\n1\t2\n", "log.tsv:2: not a row of the log of a training run"),
        ("update\tloss\n1\t2\nx\t2\n", "log.tsv:3: not a row of the log of a training run"),
        ("update\tloss\n1\t1\t5\n", "log.tsv:2: not a row of the log of a training run"),
        ("update\tloss\n1\ty\n", "log.tsv:2: not a row of the log of a training run"),
        ("update\tloss\n\t\n", "log.tsv:2: not a row of the log of a training run"),
        ("update\tloss\n1\t1e300\n", "log.tsv:2: not a row of the log of a training run"),
        (f"update\tloss\n{10**400}\t1\n", "log.tsv:2: not a row of the log of a training run"),
        (f"update\tloss\n1\t{'1' * 200_000}\n", "log.tsv: field larger than field limit"),
        ("update" + "\tvalid_x" * 60 + "\n", "log.tsv:1: too many columns: at most 50"),
    ],
)
def test_invalid_logs_are_refused(tmp_path: Path, content: str, cause: str) -> None:
    (tmp_path / "log.tsv").write_text(content)
    with pytest.raises(BadInput, match=cause):
        read_curves(tmp_path)


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"log\.tsv: No such file"):
        read_curves(tmp_path)
    (tmp_path / "log.tsv").write_bytes(b"update\tloss\n\xff\n")
    with pytest.raises(BadInput, match=r"log\.tsv: not UTF-8"):
        read_curves(tmp_path)
