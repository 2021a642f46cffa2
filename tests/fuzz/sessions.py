"""Sessions of random commands on a tiny corpus. The output of each command is checked against a slow twin."""

import json
import math
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

from synmt.alignment.aligner import TwoReadings, load_aligner
from synmt.alignment.choice import used_by
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.pairs import read_pairs
from synmt.data.batches import Sources
from synmt.data.records import BitextFiles, source_records
from synmt.data.words import sides_of, sides_of_model
from synmt.model.config import ModelConfig
from synmt.model.files import ASIDE
from synmt.model.folder import ModelFolder
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translator
from synmt.streams import BadLines, read_lines
from synmt.training.fit import FIXED
from tests.fuzz import settings
from tests.fuzz.commands import Done, Wrong, ended, run, start
from tests.fuzz.corpora import Corpus, columns_of, words_of, write_corpus, write_links
from tests.fuzz.twins import END, PlainModel, best_links, links_of, mean_scores, penalty, punctuation
from tests.search.slow_search import slow_arcs, slow_beam_search

CPU = torch.device("cpu")
CLOSE = 1e-4
NEEDS_TREES = [name for name in settings.SOURCES if name != "sequence"]
UNTIMED = (0, 1, 3, 4, 6, 7, 8, 9, 10, 11)  # columns of log.tsv without times and speeds
Session = Iterator[Done]


def expect(holds: object, *what: object) -> None:
    if not holds:
        raise Wrong(" ".join(str(each) for each in what)[:3000])


def checked(arguments: list[str], folder: Path) -> Done:
    done = run(arguments, folder)
    done.check()
    return done


# Training


def train_session(folder: Path, source: Random) -> Session:
    """Train; repeat, interrupt, change or extend the training run; then translate."""
    asked = settings.of_training(source)
    components = asked["model"].split("+")
    rare = source.random() < 0.03
    trees = (
        not rare and (any(name in NEEDS_TREES for name in components) or source.random() < 0.15),
        not rare and (any(name in settings.WRITE_ARCS for name in components) or source.random() < 0.15),
    )
    corpus = write_corpus(folder, "train", source, trees)
    dev = write_corpus(folder, "dev", source, trees) if source.random() < 0.6 else None
    asked = asked if dev else settings.without_validation(asked)
    command = ["train", *files(corpus, source), *(files(dev, source, "dev-") if dev else [])]
    command += settings.arguments(asked, source, odd=0.1)
    done = checked([*command, "--out", "model"], folder)
    yield done
    model = folder / "model"
    if done.code:
        expect(not (model / "model.safetensors").exists() or " at update " in done.said, "a model of", done.said)
        return
    check_model(model)
    check_training(model, done, corpus, dev)
    if "minutes" not in asked:
        kind = source.randrange(4)
        if kind == 0:
            again = checked([*command, "--out", "again"], folder)
            yield again
            said = again.said.replace("again ", "model ")  # the name of the folder
            expect(not again.code and said == done.said, "the same command says", again.said, "not", done.said)
            check_same(folder / "again", model)
        elif kind == 1:
            yield from killed_and_resumed(command, folder, source)
        elif kind == 2:
            yield from resumed_with_changes(command, folder, source)
        else:
            yield from begun_with_a_model(folder, source, trees)
    for _ in range(3):
        yield from translations(folder, source, trees[0])


def files(corpus: Corpus, source: Random, prefix: str = "") -> list[str]:
    if source.random() < 0.2:
        return [f"--{prefix}tsv", corpus.table.name]
    return [f"--{prefix}source", corpus.source.name, f"--{prefix}target", corpus.target.name]


def check_model(model: Path) -> None:
    """Check that all numbers of a model are finite, and that no file is half written."""
    for path in model.rglob("*"):
        expect(not path.name.startswith((ASIDE, ".tmp")), path, "is left")
        if path.suffix == ".safetensors":
            expect(all(np.isfinite(tensor).all() for tensor in load_file(path).values()), path, "is not finite")
    for path in model.rglob("log.tsv"):
        header, *rows = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
        for row in rows:
            expect(len(row) == len(header), path, row)
            expect(all(math.isfinite(float(cell)) for cell in row if cell), path, "is not finite", row)
        updates = [int(row[0]) for row in rows]
        expect(updates == sorted(updates), path, "is out of order", updates)


def check_training(model: Path, done: Done, corpus: Corpus, dev: Corpus | None) -> None:
    """Check that config.json records the options, and that log.tsv has the model's validation loss."""
    config = json.loads((model / "config.json").read_text())
    training, network = config["training"], config["model"]["network"]
    expect(training["command"] == done.arguments, "another command:", training["command"])
    asked = dict(zip(done.arguments[1:], done.arguments[2:], strict=False))
    for name, value in {**training, **network}.items():
        given = asked.get(f"--{name.replace('_', '-')}")
        if given is not None:
            same = given == value if isinstance(value, str) else float(given) == value
            expect(same, name, "was", given, "and is recorded as", value)
    if asked["--tokenizer"] == "none":
        pairs = len(sentences(corpus))
        expect(training["pairs"] == pairs, training["pairs"], "pairs, not", pairs)
    if training["updates"]:
        expect(last_update(model) <= training["updates"], "too many updates")
    fp32 = asked.get("--precision") != "bf16"
    if dev and asked["--tokenizer"] == "none" and PlainModel.knows(model) and fp32:
        check_validation(model, training, dev)


def last_update(model: Path) -> int:
    return max(int(path.stem.removeprefix("update-")) for path in (model / "checkpoint").iterdir())


def sentences(corpus: Corpus) -> list[tuple[list[str], list[str]]]:
    """Return the words of the pairs without an empty side."""
    sides = (
        words_of(path.read_bytes().decode("utf-8-sig").split("\n")[:-1]) for path in (corpus.source, corpus.target)
    )
    return [pair for pair in zip(*sides, strict=True) if all(pair)]


def check_validation(model: Path, training: dict[str, Any], dev: Corpus) -> None:
    """Check that the row of log.tsv with the best validation score has the model's loss."""
    twin = PlainModel(model)
    header, *rows = [line.split("\t") for line in (model / "log.tsv").read_text().split("\n")[:-1]]
    table = [dict(zip(header, row, strict=True)) for row in rows]
    validated = [row for row in table if row["valid_loss"]]
    if training["select"] == "loss":
        best = min(validated, key=lambda row: float(row["valid_loss"]))
    else:
        best = max(validated, key=lambda row: float(row[f"valid_{training['select']}"]))
    ties = [
        row
        for row in validated
        if training["select"] != "loss" and row[f"valid_{training['select']}"] == best[f"valid_{training['select']}"]
    ]
    losses, tokens = 0.0, 0
    for words, translation in sentences(dev):
        target = twin.say(translation)
        losses -= twin.log_probabilities(twin.read(words), target).sum()
        tokens += len(target)
    loss = losses / tokens
    possible = {float(row["valid_loss"]) for row in [best, *ties]}
    expect(
        min(abs(loss - each) for each in possible) < CLOSE * max(1, loss),
        "validation loss",
        possible,
        "and twin's",
        loss,
    )


def check_same(one: Path, other: Path) -> None:
    """Check that two models have the same parameters, newest checkpoint and log, except times."""
    expect({path.name for path in one.iterdir()} == {path.name for path in other.iterdir()}, "other files")
    for name in ("model.safetensors", f"checkpoint/update-{last_update(other)}.safetensors"):
        mine, its = load_file(one / name), load_file(other / name)
        same = mine.keys() == its.keys() and all(np.array_equal(mine[each], its[each]) for each in mine)
        expect(same, name, "is another")
    logs = [
        [[line.split("\t")[column] for column in UNTIMED] for line in (model / "log.tsv").read_text().splitlines()]
        if (model / "log.tsv").exists()
        else []
        for model in (one, other)
    ]
    expect(logs[0] == logs[1], "other logs", logs)


def killed_and_resumed(command: list[str], folder: Path, source: Random) -> Session:
    """Kill a training run at a random moment, and check that after resuming it equals an uninterrupted one."""
    arguments = [*command, "--out", "killed"]
    for _ in range(source.choice([1, 2])):
        begun = (folder / "killed" / "config.json").exists()
        process = start([*arguments, *["--resume"] * begun], folder)
        while not (folder / "killed" / "config.json").exists() and process.is_alive():
            time.sleep(0.001)
        time.sleep(source.uniform(0, 0.3))
        with suppress(ProcessLookupError):  # it may have ended already
            os.kill(process.pid or 0, source.choice([signal.SIGKILL, signal.SIGTERM]))
        done = ended(process, arguments, folder)
        if done.code not in (-signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM):
            done.check()
        yield done
    begun = (folder / "killed" / "config.json").exists()
    done = checked([*arguments, *["--resume"] * begun], folder)
    yield done
    expect(not done.code, "a resumed run ends with", done.said)
    check_same(folder / "killed", folder / "model")


def resumed_with_changes(command: list[str], folder: Path, source: Random) -> Session:
    """Resume with a changed option. Either this is refused and changes nothing, or config.json records the change and
    its update."""
    shutil.copytree(folder / "model", folder / "other")
    before = json.loads((folder / "other" / "config.json").read_text())
    saved = (folder / "other" / "config.json").read_bytes()
    update = last_update(folder / "other")
    name = source.choice([*settings.TINY, "select", "schedule", "precision", "norm", "tokenizer", "source-language"])
    option = f"--{name.replace('_', '-')}"
    value = source.choice(
        [*settings.TINY.get(name, []), "loss", "constant", "fp32", "post", "moses", "de", *settings.ODD]
    )
    done = checked([*command, option, str(value), "--out", "other", "--resume"], folder)
    yield done
    if done.code:
        expect(saved == (folder / "other" / "config.json").read_bytes(), "config.json has changed:", done.said)
        return
    check_model(folder / "other")
    after = json.loads((folder / "other" / "config.json").read_text())
    expect(before["model"] == after["model"], "another model after", option, value)
    field = name.replace("-", "_")
    old, new = before["training"].get(field), after["training"].get(field)
    expect(old == new or field not in FIXED, option, value, "was not refused")
    if old != new:
        expect(
            after["training"]["changes"][-1] == {"update": update, "before": {field: old}}, "no note of", option, after
        )


def begun_with_a_model(folder: Path, source: Random, trees: tuple[bool, bool]) -> Session:
    """Train with --init, and check that vocabulary and network stay the same and config.json records the start."""
    corpus = write_corpus(folder, "more", source, trees)
    asked = {**settings.of_tuning(source, folder / "model"), "init": "model"}
    command = ["train", *files(corpus, source), *settings.arguments(asked, source, odd=0.05), "--out", "begun"]
    done = checked(command, folder)
    yield done
    if done.code:
        return
    check_model(folder / "begun")
    mine, its = (json.loads((folder / name / "config.json").read_text()) for name in ("begun", "model"))
    expect(mine["training"].get("init"), "begun with nothing:", done.arguments)
    expect(mine["model"]["network"] == its["model"]["network"], "another network:", mine["model"]["network"])
    for path in (folder / "model").glob("vocab.*"):
        expect(path.read_bytes() == (folder / "begun" / path.name).read_bytes(), "another", path.name)


# Translation


def translations(folder: Path, source: Random, trees: bool) -> Session:
    """Translate a corpus in several ways, and check that all give the same translations."""
    corpus = write_corpus(folder, "test", source, (trees if source.random() < 0.9 else not trees, False), odd=0.15)
    options = settings.of_translation(source)
    command = ["translate", "model", corpus.source.name, *settings.arguments(options, source, odd=0.08)]
    command += ["--on-error", source.choice(["fail", "blank", "blank"])]
    done = checked(command, folder)
    yield done
    lines = corpus.source.read_bytes().split(b"\n")[:-1]
    asked = dict(zip(command, [*command[1:], ""], strict=True))
    form, tables = asked.get("--format", "text"), "--n-best" in asked or asked.get("--format") == "jsonl"
    if done.code:
        if (place := re.search(rf"{corpus.source.name}:(\d+): ", done.said)) and form != "conllu":
            expect(len(done.lines) == int(place[1]) - 1, len(done.lines), "lines before", done.said)
        return
    if form != "conllu":
        expect(len(done.lines) == len(lines), len(done.lines), "lines of", len(lines))
    beam = int(asked.get("--beam", "4"))
    plain = [each for each in zip(command[3::2], command[4::2], strict=True) if each[0] not in ("--format", "--n-best")]
    whole = [*command[:3], *(part for pair in plain for part in pair), "--n-best", str(beam)]
    full = checked(whole, folder)
    yield full
    expect(not full.code and len(full.lines) == len(lines), full.said)
    rows = [json.loads(line) for line in full.lines]
    for line, row in zip(lines, rows, strict=True):
        check_n_best(line, row, beam)
    if form == "text" and not tables:
        expect(done.lines == [row["text"] for row in rows], "text is not the best of the n-best list")
    if form == "jsonl" and "--n-best" not in asked:
        for found, row in zip(done.lines, rows, strict=True):
            expect(is_close(json.loads(found), without(row, "n_best")), "jsonl is another:", found, "and", row)
    if asked.get("--precision") in ("bf16", "int8"):  # results depend on neighbouring lines
        return
    if source.random() < 0.5:
        yield from in_another_order(whole, lines, rows, folder, source)
    if source.random() < 0.15:
        yield from with_itself(whole, rows, folder)
    if source.random() < 0.05:
        several = checked([*whole, "--jobs", "2"], folder)
        yield several
        expect(several.output == full.output, "two processes say", several.said, several.lines, "not", full.lines)
    check_scores(folder / "model", corpus.source, rows, asked, source)


def is_close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two rows are equal up to rounding, since sums may have been computed in another order."""
    numbers = [name for name, value in one.items() if isinstance(value, float)]
    near = all(math.isclose(one[name], other.get(name, math.inf), rel_tol=1e-5) for name in numbers)
    return near and without(one, *numbers) == without(other, *numbers)


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}


def check_n_best(line: bytes, row: dict[str, Any], beam: int) -> None:
    best = row["n_best"]
    expect(1 <= len(best) <= beam + 3, len(best), "translations with a beam of", beam)
    expect(best[0] == without(row, "n_best"), "the first of the n-best list is not the best", row)
    scores = [each["score"] for each in best]
    expect(scores == sorted(scores, reverse=True), "not sorted:", scores)
    keys = [(each["text"], each.get("transitions")) for each in best]
    expect(len(set(keys)) == len(keys), "a translation twice:", keys)
    if not line.strip():
        expect(row["text"] == "" and row["tokens"] == [], "of an empty line", row)
    for each in best:
        expect(each["log_probability"] <= CLOSE and math.isfinite(each["score"]), "no log-probability", each)
        if "heads" in each:
            expect(len(each["heads"]) == len(each["deprels"]) == len(each["tokens"]), "columns of other lengths", each)


def in_another_order(
    command: list[str], lines: list[bytes], rows: list[dict[str, Any]], folder: Path, source: Random
) -> Session:
    """Check that other batches do not change translations. The first line stays first, since it shows the format."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    order = [number for number in range(len(lines)) if number > first]
    source.shuffle(order)
    order = [*range(first + 1), *order]
    (folder / "order").write_bytes(b"".join(lines[number] + b"\n" for number in order))
    again = [*command, "--batch-tokens", source.choice(["1", "20", "5000"])]
    again[2] = "order"
    done = checked(again, folder)
    yield done
    expect(not done.code and len(done.lines) == len(lines), "in another order:", done.said)
    for number, line in zip(order, done.lines, strict=True):
        check_as_good(json.loads(line), rows[number], "in another order")


def with_itself(command: list[str], rows: list[dict[str, Any]], folder: Path) -> Session:
    """Check that an ensemble of a model and itself translates like the model, or is refused if it writes arcs."""
    done = checked([command[0], "model", *command[1:]], folder)
    yield done
    if ModelFolder.open(folder / "model", ModelConfig).config.target.linearization.trees and "parse" not in command:
        expect("only models of words translate together" in done.said, "two models of arcs:", done.said)
        return
    expect(not done.code and len(done.lines) == len(rows), "beside itself:", done.said)
    for line, alone in zip(done.lines, rows, strict=True):
        check_as_good(json.loads(line), alone, "beside itself")


def check_as_good(mine: dict[str, Any], its: dict[str, Any], how: str) -> None:
    """Check that a translation is the same as another one or has the same score."""
    expect(abs(mine["score"] - its["score"]) < CLOSE * max(1, abs(its["score"])), how, mine, "not", its)
    if mine["text"] != its["text"]:
        close = [each for each in its["n_best"] if each["text"] == mine["text"]]
        expect(close and abs(close[0]["score"] - its["score"]) < CLOSE, how, mine, "not", its)


def check_scores(model: Path, path: Path, rows: list[dict[str, Any]], asked: dict[str, str], source: Random) -> None:
    """Check one sentence: forced decoding of some segmentation of its translation must give the same log-probability,
    and a slow search must find a translation with the same score."""
    some = [number for number, row in enumerate(rows) if row["tokens"]]
    if not some:
        return
    number = source.choice(some)
    kind: Any = asked.get("--length-penalty", "gnmt")
    task: Any = asked.get("--task", "translate")
    constraints: Any = asked.get("--constraints", "strict")
    beam, alpha, offset = (
        int(asked.get("--beam", "4")),
        float(asked.get("--alpha", "0.6")),
        int(asked.get("--max-length-offset", "50")),
    )
    folder = ModelFolder.open(model, ModelConfig)
    search = SearchConfig(
        beam,
        kind,
        alpha,
        offset,
        float(asked["--max-length-ratio"]) if "--max-length-ratio" in asked else None,
        float(asked.get("--min-length-ratio", "0")),
        int(asked.get("--no-repeat", "0")),
        constraints=constraints,
    )
    translator = Translator.open(folder, CPU, search, TranslateConfig(task=task))
    config, bad = folder.config, BadLines("blank")
    records = source_records(
        read_lines([str(path)], "blank"), translator.side.needs(training=False), sides_of_model(config)[0], bad
    )
    record = next(islice((each for _, each in records), number, None))
    sources = Sources.encode([translator.features(record)], folder.vocabulary).batch(
        [0], folder.vocabulary.padding, CPU
    )
    if PlainModel.knows(model) and task == "translate" and config.tokenizer == "none":
        twin = PlainModel(model)
        ids = twin.read(record.tokens)
        expect(ids == sources.ids[0].tolist(), "source ids", ids)
        for each in rows[number]["n_best"][:2]:
            check_forced(twin, ids, each, search.longest(len(twin.subwords(record.tokens))), kind, alpha)
    twinned = (
        translator.output is None or config.network.cross_attention == "all"
    )  # the slow decoder of prefixes covers these
    if twinned and search.beam <= 3 and search.max_length_offset <= 4 and sources.ids.shape[1] < 30:
        found = slow_beam_search(translator.model, sources, search, slow_arcs(config.target, folder.vocabulary))
        best = [translator.translation(each) for each in found]
        expect(
            best and abs(best[0].score - rows[number]["score"]) < 1e-3 * max(1, abs(best[0].score)),
            "slow search:",
            best,
            rows[number],
        )


def check_forced(twin: PlainModel, ids: list[int], row: dict[str, Any], limit: int, kind: str, alpha: float) -> None:
    ways = [[list(islice(twin.segmentations(word), 50)) for word in row["tokens"]]]
    if row["tokens"]:  # at the length limit, the last word may be incomplete
        ways.append([*ways[0][:-1], list(islice(twin.segmentations(row["tokens"][-1], cut=True), 50))])
    tried = []
    for whole, split in product((True, False), ways):
        for way in islice(product(*split), 400):
            target = [twin.ids[subword] for part in way for subword in part] + [END] * whole
            if (whole and len(target) <= limit) or len(target) == limit:
                tried.append(float(twin.log_probabilities(ids, target).sum()))
                same = abs(tried[-1] - row["log_probability"]) < CLOSE * max(1, abs(tried[-1]))
                score = row["log_probability"] / penalty(len(target), kind, alpha)
                if same and abs(score - row["score"]) < CLOSE * max(1, abs(score)):
                    return
    expect(len(tried) >= 400, "forced", row, "has", tried[:20])


# Alignment


def links_session(folder: Path, source: Random) -> Session:
    """Symmetrize and write links of other programs, and compare them with the twin's."""
    odd = 0.1 if source.random() < 0.3 else 0
    corpus = write_corpus(folder, "pairs", source, (source.random() < 0.3, source.random() < 0.3), odd)
    for name in ("forward", "backward"):
        write_links(folder / name, corpus, source)
    both = source.random() < 0.7
    given = ["forward", *(["backward"] if both else [])]
    for _ in range(4):
        options = {"tokenizer": "none", **settings.of_merged_links(source)}
        command = ["symmetrize", *given, "--pairs", corpus.table.name, *settings.arguments(options, source, odd=0.05)]
        command += ["--on-error", source.choice(["fail", "blank"])]
        done = checked(command, folder)
        yield done
        check_lines(done, corpus.table)
        asked = dict(zip(command[1:], [*command[2:], ""], strict=True))
        if done.code or "--tree-links" in asked or b"\0" in corpus.table.read_bytes():
            continue
        if not corpus.table.read_bytes().isascii():
            continue
        directions = [
            (folder / name).read_text().split("\n")[:-1] for name in ("forward", "backward" if both else "forward")
        ]
        numbers = [set(re.findall(r"(\d+)[-p](\d+)", " ".join(each))) for each in directions]
        bases = [int(bool(each) and not any("0" in link for link in each)) for each in numbers]
        for number, sides in enumerate(zip(*map(words_of, columns_of(corpus.table)), strict=True)):
            limit = int(float(asked.get("--max-words", "1000")))
            if not all(sides) or max(map(len, sides)) > limit:
                expect(done.lines[number] in ("", "{}"), "links of a line without words:", done.lines[number])
                continue
            links: list[Any] = [
                {(int(x) - base, int(y) - base) for x, y in re.findall(r"(\d+)[-p](\d+)", each[number])}
                for each, base in zip(directions, bases, strict=True)
            ]
            heuristic = asked.get("--heuristic", "grow-diag-final-and")
            if heuristic == "mean":  # each file has a vote
                threshold, heuristic = float(asked.get("--threshold", 0.45)), "union"
                words = product(*(range(len(side)) for side in sides))
                links = [{link for link in words if sum(link in each for each in links) / 2 >= threshold}] * 2
            found = links_of(links[0], links[1], sides, heuristic, "--end-punctuation" in asked)
            check_links(done.lines[number], found, sides, asked)


def check_lines(done: Done, path: Path) -> None:
    lines = path.read_bytes().count(b"\n")
    if not done.code:
        expect(len(done.lines) == lines, len(done.lines), "lines of", lines)
    elif place := re.search(rf"{path.name}:(\d+): ", done.said):
        expect(len(done.lines) in (0, int(place[1]) - 1), len(done.lines), "lines before", done.said)


def check_links(line: str, links: set[tuple[int, int]], sides: Sequence[Sequence[str]], asked: dict[str, str]) -> None:
    """Check that a line of output has these links, in the requested format."""
    if asked.get("--format") == "jsonl":
        fields = json.loads(line)
        expect([fields["source"], fields["target"]] == list(map(list, sides)), "other words", line)
        found = {(i, j) for i, j, _ in fields["links"]}
        expect(len(found) == len(fields["links"]), "a link twice", line)
        expect(all(0 <= score <= 1 for *_, score in fields["links"]), "no score", line)
    else:
        text, _, confidence = line.partition("\t")
        expect(bool(confidence) == ("--scores" in asked), "confidence", line)
        base = int(asked.get("--format") == "talp")
        found = {(int(i) - base, int(j) - base) for i, j in (link.split("-") for link in text.split())}
    expect(found == links, "links", sorted(found), "not", sorted(links), "of", sides)
    expect(all(0 <= i < len(sides[0]) and 0 <= j < len(sides[1]) for i, j in found), "links outside", line)


def fit_session(folder: Path, source: Random) -> Session:
    """Fit an aligner to pairs, then use the saved aligner with several options."""
    method, options = settings.of_fitting(source)
    trees = tuple(
        options.get(f"{side}-syntax") in NEEDS_TREES or source.random() < 0.1 for side in ("source", "target")
    )
    corpus = write_corpus(folder, "pairs", source, (trees[0], trees[1]), source.choice([0, 0.05]))
    command = ["align", "--method", method, corpus.table.name, *settings.arguments(options, source, odd=0.1)]
    if "guide" in used_by(method, {}) and source.random() < 0.3:
        write_links(folder / "guide", corpus, source)
        command += ["--guide", "guide"]
    command += ["--on-error", source.choice(["fail", "blank"])]
    done = checked([*command, "--out", "model"], folder)
    yield done
    check_lines(done, corpus.table)
    if done.code:
        return
    check_model(folder / "model")
    random_method = method == "eflomal"
    again = checked(["link", "model", corpus.table.name, "--on-error", "blank"], folder)
    yield again
    expect(not again.code, again.said)
    if not random_method:
        expect(again.lines == done.lines, "kept, it gives other links")
    for _ in range(3):
        yield from links_of_model(folder, corpus, source, random_method)


def links_of_model(folder: Path, corpus: Corpus, source: Random, random_method: bool) -> Session:
    options = settings.of_links(source, paths=[str(folder / "model")])
    command = [
        "link",
        "model",
        corpus.table.name,
        *settings.arguments(options, source, odd=0.05),
        "--on-error",
        "blank",
    ]
    done = checked(command, folder)
    yield done
    check_lines(done, corpus.table)
    if done.code or "--tree-links" in command or random_method:
        return
    asked = dict(zip(command[1:], [*command[2:], ""], strict=True))
    aligner = load_aligner(folder / "model", None, "cpu")
    if isinstance(aligner, TwoReadings) and "--links-by" in asked:
        by = "posterior" if asked["--links-by"] == "posterior" else "attention"
        aligner = replace(aligner, links_by=by)  # type: ignore[type-var]
    text = sides_of(aligner.text.languages, aligner.text.tokenizer, aligner.text.words)
    limit, bad = int(float(asked.get("--max-words", "1000"))), BadLines("blank")
    columns = BitextFiles([str(corpus.table)]).columns(bad)
    pairs = list(read_pairs(columns, aligner.needs(), text, limit, bad))
    whole = [number for number, pair in enumerate(pairs) if pair.source.tokens and pair.target.tokens]
    heuristic = asked.get("--symmetrize", aligner.heuristic)
    for number, soft in zip(whole, aligner.links([pairs[number] for number in whole]), strict=True):
        sides = pairs[number].source.tokens, pairs[number].target.tokens
        marks = "--end-punctuation" in asked
        if not isinstance(soft, SoftLinks):
            found = links_of(set(soft.forward), set(soft.backward), sides, heuristic, marks)
        else:
            weights = soft.forward.astype(float), soft.backward.astype(float)
            if marks and punctuation(sides[0][-1]):  # links to the final mark do not compete
                kept = np.array(soft.source_words)[:, None] < len(sides[0]) - 1
                weights = weights[0] * kept, weights[1] * kept
            if heuristic in ("harmonic", "mean"):
                usual = soft.threshold if heuristic == "harmonic" else 0.45
                threshold = float(asked.get("--threshold", usual))
                scores = mean_scores(*weights, soft.source_words, soft.target_words, heuristic == "harmonic")
                if abs(scores - threshold).min() < 1e-6:
                    continue
                found = {(i, j) for i, j in product(*map(range, scores.shape)) if scores[i, j] >= threshold}
                found = links_of(found, found, sides, "union", marks)
            else:
                threshold = float(asked.get("--threshold", 0))
                forward = best_links(weights[0], soft.source_words, soft.target_words, threshold)
                backward = {
                    (i, j) for j, i in best_links(weights[1].T, soft.target_words, soft.source_words, threshold)
                }
                found = links_of(forward, backward, sides, heuristic, marks)
        check_links(done.lines[number], found, sides, asked)


# Configs


def config_session(folder: Path, source: Random) -> Session:
    """Change values in a model's config.json, and check that the model is refused with one line or works as before."""
    kind = source.choice(["train", "train", "mask-align", "naive-att", "eflomal"])
    trees = source.random() < 0.5
    corpus = write_corpus(folder, "train", source, (trees, trees), odd=0)
    plain = [part for name, each in settings.PREDICTABLE.items() for part in (f"--{name}", str(each))]
    if kind == "train":
        components = source.choice(settings.SOURCES[1:]) if trees else "sequence"
        decoder = source.choice(settings.TARGETS) if trees else "sequence"
        command = [
            "train",
            *files(corpus, Random(9)),
            *plain,
            "--model",
            "+".join(dict.fromkeys([components, decoder])),
            "--out",
            "model",
        ]
        command += ["--named-masks-names", "near+left"] * (components == "named-masks") + [
            "--label-features-size",
            "2",
        ] * (components == "label-features")
        use = ["translate", "model", corpus.source.name, "--beam", "2", "--max-length-offset", "1"]
    else:
        command = ["align", "--method", kind, corpus.table.name, "--out", "model"]
        command += plain if kind != "eflomal" else ["--tokenizer", "none"]
        use = ["link", "model", corpus.table.name]
    done = checked(command, folder)
    yield done
    expect(not done.code, done.said)
    right = checked(use, folder)
    yield right
    expect(not right.code, right.said)
    path = source.choice(sorted((folder / "model").rglob("config.json")))
    whole = path.read_bytes()
    ways = list(settings.fields_of(json.loads(whole)))
    for _ in range(15):
        config = json.loads(whole)
        way, _ = source.choice(ways)
        place = config
        for name in way[:-1]:
            place = place[name]
        new = source.choice(settings.OTHERS)
        if source.random() < 0.1:
            del place[way[-1]]
        else:
            place[way[-1]] = new
        path.write_text(json.dumps(config))
        if "training" in way and kind == "train" and source.random() < 0.5:
            done = checked([*command, "--resume"], folder)
        else:
            done = checked(use, folder)
            expect(done.code or len(done.lines) == len(right.lines), way, new, "other lines", done.said)
            if not done.code and ("training" in way or "dropout" in str(way[-1])) and kind != "eflomal":
                expect(done.lines == right.lines, way, new, "other output")
        yield done
    path.write_bytes(whole)


SESSIONS: dict[str, Callable[[Path, Random], Session]] = {
    "train": train_session,
    "links": links_session,
    "fit": fit_session,
    "config": config_session,
}
