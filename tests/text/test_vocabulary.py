"""The vocabulary: what the target side can generate comes first."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import BadInput
from synmt.text.vocabulary import END, END_TOKEN, UNKNOWN, UNKNOWN_TOKEN, VOCABULARY_FILES, Vocabulary, structural

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
COUNTS = st.dictionaries(WORDS, st.integers(1, 9)).map(Counter)


def small() -> Vocabulary:
    return Vocabulary.build(
        source=Counter({"haus": 1, "house": 2, structural("NP"): 3}), target=Counter({"haus": 2, "NP": 3})
    )


def test_ids_of_a_small_vocabulary() -> None:
    vocabulary = small()
    assert vocabulary.target == [END_TOKEN, UNKNOWN_TOKEN, "NP", "haus"]
    assert vocabulary.source == [" NP", "house"]
    assert (vocabulary.padding, vocabulary.begin, len(vocabulary)) == (6, 7, 8)
    assert vocabulary.encode(["haus", "house", "NP", structural("NP"), "new"]) == [3, 5, 2, 4, UNKNOWN]


def test_source_only_tokens_are_unknown_to_the_target_side() -> None:
    assert small().encode_target(["NP", "house", structural("NP"), "haus"]) == [2, UNKNOWN, UNKNOWN, 3, END]


def test_without_labels_in_training_all_labels_are_unknown(tmp_path: Path) -> None:
    for name, text in Vocabulary([END_TOKEN, UNKNOWN_TOKEN], [], {"deprels": []}).files().items():
        (tmp_path / name).write_text(text)
    assert Vocabulary.load(tmp_path, 9).encode_labels("deprels", ["nsubj"]) == [0]


def test_end_and_unknown_tokens_are_not_words() -> None:
    assert small().decode([UNKNOWN, 3, 2, END]) == ["haus", "NP"]


@given(COUNTS, COUNTS)
def test_target_words_survive_encoding_and_decoding(source: Counter[str], target: Counter[str]) -> None:
    vocabulary = Vocabulary.build(source, target)
    assert vocabulary.decode(vocabulary.encode_target(target)) == list(target)
    assert UNKNOWN not in vocabulary.encode(source)


@given(COUNTS, COUNTS)
def test_a_vocabulary_survives_saving_and_loading(source: Counter[str], target: Counter[str]) -> None:
    vocabulary = Vocabulary.build(source, target)
    with TemporaryDirectory() as folder:
        for name, text in vocabulary.files().items():
            (Path(folder) / name).write_bytes(text.encode())
        assert Vocabulary.load(Path(folder), len(vocabulary)) == vocabulary


@given(ANY.filter(lambda word: word != "b" and not word.startswith(" ")), st.integers(0, 2))  # as structure does
def test_tokens_that_break_lines_or_terminals_are_refused(word: str, number: int) -> None:
    """These are white space and control characters, by their Unicode categories."""
    breaks = any(category(each) in ("Cc", "Zs", "Zl", "Zp") for each in word)
    vocabulary = Vocabulary.build(Counter({word: 1, "b": 1}), Counter({word: 2}), {"upos": Counter({word: 1})})
    assert len(vocabulary.target) + len(vocabulary.source) + len(vocabulary.labels["upos"]) == (3 if breaks else 5)
    if "\n" in word:
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in vocabulary.files().items():
            (folder / file).write_text(text, newline="")
        file = VOCABULARY_FILES[number]
        with (folder / file).open("a", newline="") as stream:
            stream.write(f"upos {word}!\n" if number == 2 else f"{word}!\n")
        if breaks:
            line = len((folder / file).read_bytes().split(b"\n")) - 1
            with pytest.raises(BadInput, match=rf"{file}:{line}: (white space|a control character) in the token"):
                Vocabulary.load(folder, 100)
        else:
            Vocabulary.load(folder, 100)


@pytest.mark.parametrize(
    ("file", "lines", "cause"),
    [
        ("vocab.target.txt", " </s>\n <unk>\na\n\n", ":4: an empty token"),
        ("vocab.target.txt", " </s>\n <unk>\n  \n", ":3: an empty token"),
        ("vocab.target.txt", " </s>\n <unk>\na\na\n", ":4: the token 'a' for the second time"),
        ("vocab.source.txt", "a\nhaus\n", ":2: the token 'haus' for the second time"),
        ("vocab.source.txt", "a\nb\nc\n", ":3: more tokens than the 5 "),
        ("vocab.labels.txt", "upos A\ndeprels A\nupos A\n", ":3: the token 'upos A' for the second time"),
        ("vocab.labels.txt", "upos\n", ":1: an empty token"),
    ],
)
def test_errors_name_the_line_of_a_bad_entry(tmp_path: Path, file: str, lines: str, cause: str) -> None:
    for name, text in Vocabulary([END_TOKEN, UNKNOWN_TOKEN, "haus"], ["b"]).files().items():
        (tmp_path / name).write_text(text)
    (tmp_path / file).write_text(lines)
    with pytest.raises(BadInput, match=file + cause):
        Vocabulary.load(tmp_path, 5)


@pytest.mark.parametrize("target", [[], ["a", "b"], [END_TOKEN, UNKNOWN_TOKEN, "a", "a"]])
def test_invalid_vocabularies(target: list[str]) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        Vocabulary(target, [])
