"""synmt translate"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from synmt.text.tokenization import open_tokenizer
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, shell, synmt
from tests.cli.conftest import TINY
from tests.cli.corpora import RECORDS, TARGETS, write_pairs
from tests.inspection.models import write_model


def jsonl(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_learned_pairs_are_translated_line_by_line(mask_model: Path) -> None:
    """Lines may be in any order, between empty lines of any kind."""
    given = list(zip(RECORDS, TARGETS, strict=True)) * 3 + [("", ""), (" ", ""), ("{}", "")] * 2
    random.Random(1).shuffle(given)
    done = synmt("translate", mask_model, text=jsonl([record for record, _ in given]), cold=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n") == [*(text for _, text in given), ""]


def test_batch_size_does_not_matter(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--batch-tokens", "1", "--beam", "1", text=jsonl(RECORDS))
    assert done.stdout.splitlines() == TARGETS


def test_several_processes_write_the_same(mask_model: Path, tmp_path: Path) -> None:
    """Scores are the same to the last digit, also for an ensemble. If the reader closes the pipe or a line is bad, the
    output is that of one process."""
    (tmp_path / "in").write_text(jsonl([*RECORDS * 20, "", *RECORDS]))
    command = f"synmt translate {mask_model} {mask_model} --batch-tokens 100 --format jsonl"
    one, two, cut = (
        shell(line, tmp_path, OMP_NUM_THREADS="1")
        for line in (
            f"{command} in",
            f"{command} --jobs 2 in",
            f"{command} --jobs 2 in | head -n 1; exit ${{PIPESTATUS[0]}}",
        )
    )
    assert (one.returncode, one.stderr, two.returncode, two.stderr) == (0, "", 0, "")
    assert one.stdout == two.stdout
    assert (cut.returncode, cut.stderr, cut.stdout) == (0, "", one.stdout.splitlines(keepends=True)[0])
    bad = synmt("translate", mask_model, "--jobs", "2", text=jsonl([*RECORDS, "{"]))
    assert is_one_line_of_error(bad, f"stdin:{len(RECORDS) + 1}")
    assert bad.stdout.splitlines() == TARGETS


def test_json_lines_contain_scores_and_alternatives(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--n-best", "3", "--beam", "3", text=jsonl([*RECORDS, ""]))
    *found, empty = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["text"] for each in found] == TARGETS
    for each in found:
        assert len(each["n_best"]) == len({one["text"] for one in each["n_best"]}) <= 3
        assert each["n_best"][0] == {key: each[key] for key in ("text", "tokens", "score", "log_probability")}
        scores = [one["score"] for one in each["n_best"]]
        assert scores == sorted(scores, reverse=True)
        for one in each["n_best"]:
            assert one["log_probability"] <= one["score"] <= 0
    assert empty["text"] == "" and empty["tokens"] == []


def test_n_best_lists_longer_than_the_beam_are_refused(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--n-best", "5", text=jsonl(RECORDS))
    assert is_wrong_usage(done, "--n-best 5 needs --beam 5 or more")


def test_tree_searches_need_models_that_write_trees(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--search", "words", text=jsonl(RECORDS))
    assert is_wrong_usage(done, "--search needs a model that writes arcs among its words")


def test_precision_changes_probabilities_only_slightly(mask_model: Path) -> None:
    found = {}
    for precision in ("auto", "fp32", "bf16", "int8"):
        done = synmt("translate", mask_model, "--format", "jsonl", "--precision", precision, text=jsonl(RECORDS))
        found[precision] = [json.loads(line)["log_probability"] for line in done.stdout.splitlines()]
    assert found["auto"] == found["fp32"] != found["bf16"]
    assert found["bf16"] == pytest.approx(found["fp32"], abs=0.3)
    assert found["int8"] == pytest.approx(found["fp32"], abs=0.3)
    assert len({tuple(each) for each in found.values()}) == 3
    done = synmt("logprob", mask_model, "--precision", "int8", text="a\tb")
    assert done.returncode == 2 and "invalid value for '--precision': 'int8' is not one of" in done.stderr


def test_an_ensemble_of_a_model_and_itself_equals_the_model(mask_model: Path, tmp_path: Path) -> None:
    alone, together = (
        synmt("translate", *models, "--format", "jsonl", text=jsonl(RECORDS)).stdout
        for models in ([mask_model], [mask_model, mask_model])
    )
    for one, other in zip(alone.splitlines(), together.splitlines(), strict=True):
        one, other = json.loads(one), json.loads(other)
        assert one["text"] == other["text"]
        assert one["log_probability"] == pytest.approx(other["log_probability"], abs=1e-4)
    write_model(tmp_path / "tree", "mask", "transitions")
    done = synmt("translate", mask_model, tmp_path / "tree", text=jsonl(RECORDS))
    assert is_one_line_of_error(done, "tree: writes trees, but an ensemble needs models that write only words")
    done = synmt("translate", tmp_path / "tree", "--no-repeat", "3", text=jsonl(RECORDS))
    assert is_wrong_usage(done, "a model that writes arcs among its words does not use --no-repeat")
    write_model(tmp_path / "multitask", "multitask")
    done = synmt("translate", mask_model, tmp_path / "multitask", text=jsonl(RECORDS))
    assert is_one_line_of_error(done, f"multitask: has a different target vocabulary than {mask_model}")
    done = synmt("logprob", mask_model, mask_model, text=jsonl(RECORDS))
    assert is_one_line_of_error(done, f"synmt logprob: {mask_model}: expected a file, found a folder")


def test_sampled_translations_depend_only_on_their_seed(mask_model: Path) -> None:
    text = jsonl(RECORDS) * 3
    draw = ["translate", mask_model, "--sample"]
    # the model knows its training pairs by heart, but no others
    others = jsonl([each.replace("father", "He").replace("dog", "sees") for each in RECORDS])
    outputs = [synmt(*line, text=others).stdout for line in (draw, [*draw, "--seed", "2"], draw[:2])]
    assert len(set(outputs)) == 3
    first = synmt(*draw, text=text).stdout
    three = synmt(*draw, "--n-best", "3", "--jobs", "2", "--batch-tokens", "5", text=text).stdout
    lists = [json.loads(line)["n_best"] for line in three.splitlines()]
    assert [each[0]["text"] for each in lists] == first.splitlines()
    assert lists[: len(RECORDS)] == lists[len(RECORDS) : 2 * len(RECORDS)]
    said = "\n".join(f"{record}\t{each['text']}" for record, (_, each, _) in zip(RECORDS, lists, strict=False))
    forced = synmt("logprob", mask_model, text=said).stdout.split("\n")
    for scored, (_, each, _) in zip(forced, lists, strict=False):
        if scored:
            assert float(scored.split("\t")[0]) == pytest.approx(each["log_probability"], abs=1e-3)
    assert synmt(*draw, "--top-k", "1", text=text).stdout == synmt(*draw[:2], "--beam", "1", text=text).stdout
    assert is_wrong_usage(synmt(*draw[:2], "--top-k", "3", text=text), "--top-k needs --sample")
    assert is_wrong_usage(synmt(*draw, "--search", "words", text=text), "--search has no effect with --sample")


@pytest.mark.parametrize(
    ("penalty", "divisor"), [("gnmt", lambda length: ((5 + length) / 6) ** 0.5), ("plain", lambda length: length**0.5)]
)
def test_length_penalties_follow_the_options(mask_model: Path, penalty: str, divisor: Callable[[int], float]) -> None:
    options = ["--length-penalty", penalty, "--alpha", "0.5", "--format", "jsonl"]
    found = json.loads(synmt("translate", mask_model, *options, text=RECORDS[1]).stdout)
    length = len(found["tokens"]) + 1  # each word is one subword, and the end counts
    assert found["score"] == pytest.approx(found["log_probability"] / divisor(length))


def test_raw_text_is_parsed_if_needed(mask_model: Path) -> None:
    done = synmt("translate", mask_model, text="\nThe dog sleeps.\n")
    assert done.returncode == 0
    assert (
        done.stderr.count("\n") == 1 and "tokenizer of the training data is unknown" in done.stderr
    )  # records without text
    first, second = done.stdout.splitlines()
    assert first == "" and second != ""


def test_text_mask_records_and_parse_records_give_the_same_translation(mask_model: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("She sees the dog!\n\nHe sleeps.\n")
    pipes = ["synmt translate {m} text", "synmt parse text | synmt translate {m}",
             "synmt parse text | synmt make-masks | synmt translate {m}"]  # fmt: skip
    results = [shell(pipe.format(m=mask_model), tmp_path) for pipe in pipes]
    assert [done.returncode for done in results] == [0, 0, 0]
    assert len({done.stdout for done in results}) == 1
    assert results[0].stdout.count("\n") == 3


def test_a_bad_record_stops_or_gives_an_empty_line(mask_model: Path) -> None:
    text = jsonl([RECORDS[0], '{"tree": "no tree"}', "nonsense", RECORDS[1]])
    done = synmt("translate", mask_model, text=text)
    assert is_one_line_of_error(done, "synmt translate: stdin:2: tree: word 'no' outside brackets")
    assert done.stdout == f"{TARGETS[0]}\n"
    done = synmt("translate", mask_model, "--on-error", "blank", text=text.encode() + b"\xff\n")
    assert done.returncode == 0
    assert done.stdout == f"{TARGETS[0]}\n\n\n{TARGETS[1]}\n\n"
    assert done.stderr == "synmt translate: 3 bad lines left empty\n"


def test_an_unparsed_sentence_is_translated_and_counted(mask_model: Path) -> None:
    text = jsonl([RECORDS[0], '{"tokens": ["The", "dog", "sleeps", "."]}', "{}", RECORDS[1]])
    done = synmt("translate", mask_model, text=text)
    assert done.returncode == 0
    first, unparsed, empty, last = done.stdout.split("\n")[:-1]
    assert (first, empty, last) == (TARGETS[0], "", TARGETS[1]) and unparsed
    said = "synmt translate: 1 of 3 source sentences are read although they have no constituency tree\n"
    assert done.stderr == said


def test_broken_models(tmp_path: Path) -> None:
    done = synmt("translate", tmp_path / "nowhere", text="a\n")
    assert is_one_line_of_error(done, f"synmt translate: {tmp_path}/nowhere/config.json: No such file or directory")
    (tmp_path / "config.json").write_text('{"format": 1')
    assert is_one_line_of_error(synmt("translate", tmp_path, text="a\n"), f"{tmp_path}/config.json: ")


def test_full_disks_and_closed_pipes(mask_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(jsonl(RECORDS * 50))
    full = shell(f"synmt translate {mask_model} in > /dev/full", tmp_path)
    assert is_one_line_of_error(full, "synmt translate: output: No space left on device")
    closed = shell(f"synmt translate {mask_model} in | head -n 1; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert (closed.stdout, closed.stderr) == (f"{TARGETS[0]}\n0\n", "")


def test_empty_input_gives_empty_output(mask_model: Path) -> None:
    done = synmt("translate", mask_model, text="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture(scope="module")
def multitask_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multitask")
    source, target = write_pairs(folder)
    files = ["--source", source, "--target", target]
    done = synmt(
        "train",
        "--model",
        "multitask",
        *files,
        "--target-language",
        "de",
        *TINY,
        "--seed",
        "2",
        "--out",
        folder / "model",
    )
    assert done.returncode == 0, done.stderr
    return folder / "model"


def test_one_model_translates_and_parses(multitask_model: Path) -> None:
    """It was trained on trees, whose words have spaces between them; its input here has no trees."""
    text, translate = "He is my father .\n\nThe dog sleeps .\n", ("translate", multitask_model, "--tokenizer", "none")
    translated = synmt(*translate, text=text)
    assert translated.stdout.splitlines() == [TARGETS[0], "", TARGETS[1]]
    parsed = synmt(*translate, "--task", "parse", text=text)
    assert parsed.stdout.splitlines() == ["(S (NP ) (VP (NP ) ) )", "", "(S (NP ) (VP ) )"]


def test_a_task_that_was_not_trained(mask_model: Path) -> None:
    done = synmt("translate", mask_model, "--task", "parse", text=RECORDS[0])
    assert is_one_line_of_error(done, f"synmt translate: {mask_model}: was not trained to parse")


SENTENCES = [
    "The girl doesn't know it's here.",
    "I can't see the dogs' owner.",
    "They aren't Mr. Smith's (3.5%).",
    "It isn't.",
]


@pytest.mark.parametrize(
    ("system", "parser", "raw"),
    [
        ("sequence", "benepar", False), ("sequence", "udpipe", False), ("sequence", "benepar", True),
        ("lisa", "udpipe", False), ("lisa", "udpipe", True), ("multitask", "benepar", False),
        ("multitask", "benepar", True),
    ],
)  # fmt: skip
def test_raw_text_and_its_records_give_the_same_translation(
    system: str, parser: str, raw: bool, tmp_path: Path
) -> None:
    """No parser is needed. The words are split as in training, whether on records or on raw text."""
    (tmp_path / "train.en").write_text(jsonl(SENTENCES * 5))
    (tmp_path / "train.de").write_text(jsonl(TARGETS * 5))
    parsed = synmt("parse", "--parser", parser, tmp_path / "train.en").stdout
    (tmp_path / "train.jsonl").write_text(parsed)
    files = ["--source", tmp_path / ("train.en" if raw else "train.jsonl"), "--target", tmp_path / "train.de"]
    model = tmp_path / "model"
    options = ["--target-language", "de", *TINY, "--epochs", "10", "--out", model]
    assert synmt("train", "--model", system, *files, *options).returncode == 0
    made_by = "words" if raw and system == "sequence" else {"benepar": "spacy"}.get(parser, parser)
    config = json.loads((model / "config.json").read_text())
    assert config["model"]["words"] == {"tokenizer": made_by, "share": 1.0}

    given = jsonl([*SENTENCES, "", "She can't sleep, can she?"])
    if made_by == "words":
        words = open_tokenizer("words", "en")
        records = jsonl([json.dumps({"text": line, "tokens": words.tokenize(line)}) for line in given.splitlines()])
    else:
        records = synmt("parse", "--parser", parser, text=given).stdout
    of_text, of_records = (synmt("translate", model, "--format", "jsonl", text=text) for text in (given, records))
    assert (of_text.stdout, of_text.stderr) == (of_records.stdout, "")


def test_tokenized_text_is_reported(mask_model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("He is n't my father .\n")
    files = ["--source", tmp_path / "in", "--target", tmp_path / "in", "--out"]
    done = synmt("train", *TINY, "--epochs", "1", *files, tmp_path / "moses")
    assert done.returncode == 0
    for side in ("source", "target"):
        assert f"synmt train: {side} text looks tokenized in 1 of its first 1 lines" in done.stderr
    assert synmt("translate", tmp_path / "moses", tmp_path / "in").stderr.count("looks tokenized in") == 1
    done = synmt("translate", tmp_path / "moses", "--tokenizer", "none", tmp_path / "in")
    assert (done.returncode, done.stderr) == (0, "")
    done = synmt("train", *TINY, "--epochs", "1", "--tokenizer", "none", *files, tmp_path / "none")
    assert "already" not in done.stderr


def test_one_tokenizer_applies_to_both_sides(mask_model: Path) -> None:
    for option, words in (([], "Er ist n ￭'￭ t @ ￭- ￭@ da ￭!"), (["--tokenizer", "none"], "Er ist n't @-@ da!")):
        text = f"{RECORDS[0]}\tEr ist n't @-@ da!\n"
        done = synmt("logprob", mask_model, *option, "--format", "jsonl", text=text)
        *tokens, _ = json.loads(done.stdout)["tokens"]
        assert " ".join(tokens).replace("@@ ", "").replace("&apos;", "'") == words


def test_other_formats_are_not_mistaken_for_text(mask_model: Path) -> None:
    for number, text in enumerate(("# text = He is.\n1\tHe\t", f"\n1\tHe{8 * chr(9)}_\n"), 1):
        done = synmt("translate", mask_model, text=text)
        assert is_one_line_of_error(done, f"stdin:{number}: CoNLL-U is not text", "synmt convert --input conllu")


def test_forced_decoding_gives_the_scores_of_the_search(mask_model: Path) -> None:
    found = synmt("translate", mask_model, "--format", "jsonl", text=jsonl(RECORDS)).stdout.splitlines()
    expected = [json.loads(line)["log_probability"] for line in found]
    pairs = [f"{record}\t{text}" for record, text in zip(RECORDS, TARGETS, strict=True)]
    done = synmt("logprob", mask_model, "--batch-tokens", "1", text=jsonl([*pairs, ""]))
    assert (done.returncode, done.stderr) == (0, "")
    *scores, empty = done.stdout.splitlines()
    assert [float(score) for score in scores] == pytest.approx(expected, abs=1e-3)
    assert empty == ""
    empty = synmt("logprob", mask_model, "--format", "jsonl", text="\n").stdout
    assert json.loads(empty) == {"log_probability": None, "tokens": [], "log_probabilities": []}


def test_typographic_apostrophes_come_back(tmp_path: Path) -> None:
    nouns = ["amitié", "eau", "ombre", "homme", "île"]
    texts = [f"L’{first} n’est pas « l’{second} » (6 %)." for first in nouns for second in nouns]
    (tmp_path / "text.fr").write_text(jsonl(texts * 80))  # 2,000 lines
    files = ["--source", tmp_path / "text.fr", "--target", tmp_path / "text.fr"]
    options = [*TINY, "--batch-tokens", "600", "--updates", "300"]
    assert synmt("train", *options, *files, "--out", tmp_path / "model").returncode == 0
    found = synmt("translate", tmp_path / "model", text=jsonl(texts)).stdout.splitlines()
    assert sum(map(str.__eq__, found, texts)) > 20
    assert all(each.count("’") == 3 and "’ " not in each and " ’" not in each for each in found)
