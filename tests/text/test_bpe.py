import io
import random
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from subword_nmt.learn_bpe import learn_bpe as peer

from synmt.streams import BadInput
from synmt.text.bpe import Bpe, CodesError, join_subwords, learn_bpe, learn_bpe_of_words

LINES = ["low low low lower newest newest wider", "lower (newer) wider the new lowest", "a b"]
CODES = learn_bpe(LINES, 12)
# Any word that a line can hold, with white space other than the ASCII space inside.
WORDS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters=" \n\0@") | st.sampled_from("lowernst\u00a0\u2028"),
    min_size=1,
    max_size=12,
)


def test_learning_finds_the_frequent_pairs() -> None:
    lines = CODES.splitlines()
    assert lines[0] == "#version: 0.2"
    assert len(lines) == 13
    assert "lo w" in CODES or "l o" in CODES


def test_codes_and_subwords_equal_those_of_subword_nmt(tmp_path: Path) -> None:
    text, codes = tmp_path / "text", tmp_path / "codes"
    text.write_text("".join(f"{line}\n" for line in LINES))
    command = [sys.executable, "-c", "from subword_nmt.subword_nmt import main; main()"]
    subprocess.run([*command, "learn-bpe", "-s", "12", "-i", text, "-o", codes], check=True, capture_output=True)
    assert codes.read_text() == CODES
    applied = subprocess.run([*command, "apply-bpe", "-c", codes, "-i", text], check=True, capture_output=True)
    bpe = Bpe(CODES)
    assert applied.stdout.decode() == "".join(" ".join(bpe.apply(line.split(" "))) + "\n" for line in LINES)


@pytest.mark.parametrize("seed", range(5))
def test_many_merges_equal_those_of_subword_nmt(seed: int) -> None:
    """The text has pairs that are set aside as rare and taken back later, and equally frequent pairs."""
    draws = random.Random(seed)
    letters = "abcde\u00e4\\."[: 2 + seed]
    counts = {
        "".join(draws.choices(letters, k=draws.randint(1, 12))): int(draws.paretovariate(0.7)) for _ in range(400)
    }
    expected = io.StringIO()
    with redirect_stderr(io.StringIO()):
        peer((f"{word} {count}" for word, count in counts.items()), expected, 900, is_dict=True)
    assert learn_bpe_of_words(counts, 900) == expected.getvalue()


def test_learning_is_silent_and_stops_when_no_pairs_are_left(capfd: pytest.CaptureFixture[str]) -> None:
    codes = learn_bpe(["ab ab"], 1000)
    assert codes == "#version: 0.2\na b</w>\n"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("lines", [[], [""], ["a b  c"]])
def test_nothing_to_merge_is_an_error(lines: list[str]) -> None:
    with pytest.raises(CodesError, match="no word to learn merges from"):
        learn_bpe(lines, 10)


@given(st.lists(st.lists(WORDS, max_size=5).map(" ".join), min_size=1, max_size=8), st.integers(1, 20))
def test_learned_codes_can_be_loaded_and_undone(lines: list[str], merges: int) -> None:
    try:
        bpe = Bpe(learn_bpe(lines, merges))
    except CodesError as error:
        assert str(error) == "no word to learn merges from"
        return
    for line in lines:
        words = [word for word in line.split(" ") if word]
        assert join_subwords(bpe.apply(words)) == words


@given(WORDS)
def test_subwords_spell_the_word(word: str) -> None:
    subwords = Bpe(CODES).segment(word)
    assert all(subword.endswith("@@") for subword in subwords[:-1])
    assert not subwords[-1].endswith("@@")
    assert join_subwords(subwords) == [word]


def test_codes_without_merges_split_into_characters() -> None:
    assert Bpe("#version: 0.2\n").segment("abc") == ("a@@", "b@@", "c")


def test_codes_of_the_first_version() -> None:
    assert Bpe("a b\nab </w>\n").segment("ab") == ("ab",)


@pytest.mark.parametrize(
    ("codes", "cause"),
    [
        ("", "line 1: not a pair"),
        ("#version: 0.2\na b\na b c\n", "line 3: not a pair"),
        ("#version: 0.2\n\na b\n", "line 2: not a pair"),
        ("#version: 9\na b\n", "unknown version '9'"),
    ],
)
def test_broken_codes_are_errors(codes: str, cause: str, tmp_path: Path) -> None:
    with pytest.raises(CodesError, match=cause):
        Bpe(codes)
    path = tmp_path / "codes"
    path.write_text(codes or "\n")
    with pytest.raises(BadInput, match=f"{path}: {cause}"):
        Bpe.load(str(path))


@pytest.mark.parametrize(
    ("subwords", "words"),
    [
        ([], []),
        (["fa@@", "ther", "is"], ["father", "is"]),
        (["cut@@"], ["cut"]),
        (["a@@b", "@", "c"], ["a@@b", "@", "c"]),
        (["a@@", "@@", "b"], ["ab"]),
    ],
)
def test_joining(subwords: list[str], words: list[str]) -> None:
    assert join_subwords(subwords) == words


@given(WORDS, st.floats(0, 1, exclude_max=True), st.text(max_size=5))
def test_dropout_preserves_the_word_and_the_global_generator(word: str, rate: float, seed: str) -> None:
    """The same draw gives the same subwords; without dropout, they are those of `segment`."""
    bpe, state = Bpe(CODES), random.getstate()
    found = []
    for _ in range(2):
        with bpe.dropping(rate, seed) as segment:
            found.append(segment(word))
            assert segment(word) == found[-1]
    assert random.getstate() == state
    assert found[0] == found[1]
    assert "".join(part.removesuffix("@@") for part in found[0]) == word
    with bpe.dropping(0.0, seed) as segment:
        assert segment(word) == bpe.segment(word)


def test_each_merge_is_dropped_with_the_given_probability() -> None:
    """The test counts how often `ab`, with a single merge, stays in two subwords."""
    bpe, apart = Bpe("#version: 0.2\na b</w>\n"), 0
    for draw in range(4000):
        with bpe.dropping(0.3, str(draw)) as segment:
            apart += segment("ab") == ("a@@", "b")
    assert 0.27 < apart / 4000 < 0.33
