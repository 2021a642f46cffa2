"""Models that write the tree of a translation: synmt train and synmt translate."""

import json
from pathlib import Path

import msgspec
import pytest

from synmt.streams import Line
from synmt.trees.formats import conllu_blocks, read_conllu
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt
from tests.cli.conftest import TINY
from tests.cli.corpora import RECORDS, TARGET_HEADS, TARGET_WORDS, TARGETS, write_pairs, write_target_trees

SHORT = " ".join([*TINY, "--updates", "2", "--target-language", "de"])


@pytest.fixture(scope="session")
def parent_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a `parent` decoder on a `mask` encoder that has learnt its few pairs by heart."""
    folder = tmp_path_factory.mktemp("parent")
    source, _ = write_pairs(folder)
    target = write_target_trees(folder)
    done = synmt(
        "train", "--model", "parent+mask", "--source", source, "--target", target,
        "--dev-source", source, "--dev-target", target, "--target-language", "de", *TINY, "--updates", "60",
        "--out", folder / "model",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "model"


def test_translations_come_with_their_trees(parent_model: Path) -> None:
    text = "".join(f"{record}\n" for record in [*RECORDS, ""])
    done = synmt("translate", parent_model, text=text)
    assert done.stdout.splitlines() == [*TARGETS, ""]
    *found, empty = map(
        json.loads, synmt("translate", parent_model, "--format", "jsonl", text=text).stdout.splitlines()
    )
    assert [each["tokens"] for each in found] == [words.split() for words in TARGET_WORDS]
    assert [each["heads"] for each in found] == TARGET_HEADS
    assert found[1]["transitions"].startswith("Der Hund LEFT-ARC:rel")
    assert found[0]["deprels"][3] == "root"
    assert (empty["heads"], empty["deprels"], empty["transitions"]) == ([], [], "")
    done = synmt("translate", parent_model, "--format", "conllu", "--batch-tokens", "1", text=text)
    lines = (Line(line, "stdin", number) for number, line in enumerate(done.stdout.splitlines(), 1))
    records = [read_conllu(block.text) for block in conllu_blocks(lines)]
    assert [record.text for record in records] == TARGETS
    assert [record.heads for record in records] == TARGET_HEADS


@pytest.mark.parametrize("constraints", ["none", "legal"])
def test_fewer_constraints_work_too(parent_model: Path, constraints: str) -> None:
    options = ["--constraints", constraints, "--n-best", "2"]
    found = json.loads(synmt("translate", parent_model, *options, text=RECORDS[3]).stdout)
    assert found["text"] == TARGETS[3]
    assert len(found["n_best"]) == 2 and "transitions" in found["n_best"][1]


def test_the_model_folder_records_its_decoder(parent_model: Path) -> None:
    model = msgspec.json.decode((parent_model / "config.json").read_bytes())["model"]
    assert model["source"] == {"mask": {"per_layer": False, "tree": "constituency", "relations": "", "hard": False}}
    assert model["target"] == {"components": {"parent": {}}, "arcs": {"split": False, "root_arc": False}}
    entries = (parent_model / "vocab.target.txt").read_text().splitlines()
    arcs = {entry for entry in entries if "-ARC:" in entry}
    assert arcs == {f" {direction}-ARC:rel{n}" for direction in ("LEFT", "RIGHT") for n in range(3)}


def test_training_reads_target_strings_from_a_pipe(tmp_path: Path) -> None:
    """The training run can be resumed, and its decoder has its own options."""
    write_pairs(tmp_path)
    write_target_trees(tmp_path)
    train = (
        "synmt transitions --moses de --split-arcs train.de.jsonl | paste train.jsonl -"
        f" | synmt train --model gcn --gcn-no-labels --gcn-variant reference --split-arcs --prefixes 2 {SHORT}"
        " --tsv - --out model"
    )
    done = shell(train, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    done = shell(f"{train.replace('--updates 2', '--updates 3')} --resume", tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    model = msgspec.json.decode((tmp_path / "model" / "config.json").read_bytes())["model"]
    options = {"layers": 2, "labels": False, "gates": True, "variant": "reference"}
    assert model["target"] == {"components": {"gcn": options}, "arcs": {"split": True, "root_arc": False}}
    done = shell("head -2 train.jsonl | synmt translate model --format conllu | grep -c '\t0\troot'", tmp_path)
    assert done.stdout == "2\n"


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ("--model parent --target train.de --target-language fi", "no embedded dependency model for 'fi'"),
        ("--model transitions --target broken", "broken:1: token 2: LEFT-ARC:x: an arc needs two words"),
    ],
)
def test_bad_input_gives_one_line_of_error(tmp_path: Path, options: str, cause: str) -> None:
    write_pairs(tmp_path)
    (tmp_path / "broken").write_text("a LEFT-ARC:x b\n" * 20)
    done = shell(f"synmt train --source train.jsonl {options} --out model", tmp_path)
    assert is_one_line_of_error(done, "synmt train: ", cause)
    assert not any((tmp_path / "model").glob("*"))


def test_options_of_other_systems_are_wrong_usage(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    options = "--source train.jsonl --target train.de --model parent --gcn-layers 3"
    done = shell(f"synmt train {options} --out model", tmp_path)
    assert is_wrong_usage(done, "synmt train: sequence+parent does not use --gcn-layers; it belongs to gcn")


def test_models_of_words_write_no_trees(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--format", "conllu", text=RECORDS[0])
    assert is_one_line_of_error(done, f"synmt translate: {mask_model}: does not write dependency trees")


STRING = "Sie sieht LEFT-ARC:rel2 den Hund LEFT-ARC:rel0 RIGHT-ARC:rel2 ￭! RIGHT-ARC:rel0"


def test_forced_decoding_scores_trees(parent_model: Path, tmp_path: Path) -> None:
    """Records and strings get the same scores, and so do pairs in one file or two; words and arcs add up to the total,
    and the right tree is likelier."""
    targets = write_target_trees(tmp_path, copies=1).read_text(encoding="utf-8").splitlines()
    pairs = "".join(f"{source}\t{target}\n" for source, target in zip(RECORDS, targets, strict=True))
    lines = [line.split("\t") for line in synmt("logprob", parent_model, text=pairs).stdout.splitlines()]
    (tmp_path / "sources").write_text("".join(f"{each}\n" for each in RECORDS))
    (tmp_path / "targets").write_text("".join(f"{each}\n" for each in targets))
    parallel = synmt("logprob", parent_model, tmp_path / "sources", tmp_path / "targets")
    assert [line.split("\t") for line in parallel.stdout.splitlines()] == lines
    best = synmt("translate", parent_model, "--format", "jsonl", tmp_path / "sources")
    for columns, translation in zip(lines, best.stdout.splitlines(), strict=True):
        total, words, arcs = map(float, columns)
        assert total == pytest.approx(words + arcs, abs=2e-6)
        assert total == pytest.approx(json.loads(translation)["log_probability"], abs=1e-3)
    strings = f"{RECORDS[3]}\t{STRING}\n{RECORDS[3]}\t{STRING.replace('RIGHT-ARC:rel2', 'RIGHT-ARC:rel1')}\n"
    right, wrong = map(
        json.loads, synmt("logprob", parent_model, "--format", "jsonl", text=strings).stdout.splitlines()
    )
    assert right["tokens"][-2:] == ["RIGHT-ARC:rel0", "</s>"] and len(right["tokens"]) == 10
    assert right["log_probability"] == pytest.approx(float(lines[3][0]), abs=1e-5)
    assert right["log_probability"] == pytest.approx(sum(right["log_probabilities"]))
    of_arcs = sum(p for t, p in zip(right["tokens"], right["log_probabilities"], strict=True) if "-ARC:" in t)
    assert right["log_probability_of_arcs"] == pytest.approx(of_arcs)
    assert right["log_probability_of_arcs"] > wrong["log_probability_of_arcs"]


def test_unscorable_targets_are_reported(parent_model: Path) -> None:
    two_roots = '{"tokens": ["a", "b"], "heads": [0, 0], "deprels": ["root", "root"], "sentences": [1, 1]}'
    unknown = '{"tokens": ["Hund", "bellt"], "heads": [2, 0], "deprels": ["subject", "root"]}'
    good = '{"tokens": ["Q", "bellt"], "heads": [2, 0], "deprels": ["rel1", "root"]}'
    text = "".join(f"{RECORDS[0]}\t{target}\n" for target in (good, unknown, two_roots, "")) + "\n"
    done = synmt("logprob", parent_model, text=text)
    assert is_one_line_of_error(done, "synmt logprob: stdin:2: the model does not know the arc LEFT-ARC:subject")
    done = synmt("logprob", parent_model, "--on-error", "blank", text=text)
    assert done.returncode == 0
    first, *rest = done.stdout.split("\n")
    assert len(first.split("\t")) == 3 and rest == ["", "", "", "", ""]
    assert done.stderr.splitlines() == [
        "synmt logprob: 1 bad line left empty",
        "synmt logprob: 1 line where the tree has several roots left empty",
        "synmt logprob: 1 line with an empty side left empty",
        "synmt logprob: 1 subword not in the vocabulary, scored as the unknown token",
    ]
    done = synmt("logprob", parent_model, text="a\n")
    assert is_one_line_of_error(
        done, "synmt logprob: stdin:1: expected `source TAB target` or `source ||| target`, found 1 column"
    )


def test_words_are_scored_over_several_trees(parent_model: Path) -> None:
    """Text, records without a tree and strings get the same probability, which is higher than for any single tree."""
    record = json.dumps({"text": TARGETS[3], "tokens": TARGET_WORDS[3].split()})
    score = ("logprob", parent_model)
    one = float(synmt(*score, text=f"{RECORDS[3]}\t{STRING}\n").stdout.split("\t")[0])
    sums: list[float] = []
    for given in ([TARGETS[3]], [record], [STRING, STRING.replace("RIGHT-ARC:rel2", "RIGHT-ARC:rel1")]):
        text = "".join(f"{RECORDS[3]}\t{target}\n" for target in [*given, ""])
        done = synmt(*score, "--sum-trees", "8", "--on-error", "blank", text=text)
        assert done.returncode == 0 and done.stdout.endswith("\n\n")
        assert "1 line with an empty side left empty" in done.stderr
        sums += map(float, done.stdout.split())
    assert sums == pytest.approx(sums[:1] * 4, abs=1e-5)
    assert one < sums[0] < 0
    found = json.loads(
        synmt(*score, "--sum-trees", "8", "--format", "jsonl", text=f"{RECORDS[3]}\t{TARGETS[3]}\n").stdout
    )
    assert found["log_probability"] == pytest.approx(sums[0], abs=1e-5)
    assert found.keys() == {"log_probability", "tokens"} and found["tokens"][-1] == "</s>"
    for old in (["--score"], ["--sum-trees", "8"]):
        done = synmt("translate", parent_model, *old, text=text)
        assert is_wrong_usage(done, f"unknown option {old[0]}; `synmt logprob` scores given translations")
