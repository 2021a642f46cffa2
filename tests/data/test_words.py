"""Raw text is split into words as in training, and text that looks different is reported."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.data.records import source_records
from synmt.data.words import SAMPLE, SideWords, sides_of, words_of
from synmt.model.config import ModelConfig
from synmt.parsers import Parser, ParserConfig, open_parser, open_words
from synmt.streams import Line
from synmt.text.tokenization import TokenizerName, Words, WordsName, open_tokenizer
from synmt.trees.record import ParseRecord

SENTENCES = [
    "The girl doesn't know it's here, does she?",
    'He said: "I cannot go (U.S.-made, 3.5%)."',
    "I'm gonna see the dogs' owner. They aren't Mr. Smith's.",
    "It rains.",
]
GERMAN = ["Er geht zum Arzt, d.h. ins Haus.", "Das war's im Jahr 2020 (z.B.)!"]
PIECES = [
    "don't",
    "it's",
    " ",
    " ",
    "\u00a0",
    ",",
    ".",
    "...",
    "zum",
    "im",
    "Haus",
    "'",
    '"',
    "U.S.",
    "a-b",
    "&amp;",
    "ß",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@cache
def parser(name: WordsName, language: str) -> Parser:
    return open_parser(ParserConfig("udpipe" if name == "udpipe" else "benepar", language=language))


def records(name: WordsName, texts: list[str], language: str = "en") -> list[ParseRecord]:
    """Return records made by a parser or by a tokenizer."""
    if name in ("spacy", "udpipe"):
        return parser(name, language).parse(texts)
    split = open_words(name, language)
    return [ParseRecord(text, split(text)) for text in texts]


@pytest.mark.parametrize(("name", "language"), [("spacy", "en"), ("udpipe", "en"), ("udpipe", "de")])
@settings(deadline=None, max_examples=40)
@given(texts=st.lists(TEXTS, max_size=3))
def test_parser_words_are_found_without_parsing(name: WordsName, language: str, texts: list[str]) -> None:
    split = opened(name, language)
    assert [split(text) for text in texts] == [record.tokens for record in records(name, texts, language)]


opened = cache(open_words)


@pytest.mark.parametrize("name", ["words", "none", "spacy", "udpipe"])
@pytest.mark.parametrize("tokenizer", ["words", "none"])
def test_records_show_which_tokenizer_made_their_words(name: WordsName, tokenizer: TokenizerName) -> None:
    assert words_of(records(name, SENTENCES), "en", tokenizer) == Words(name)


def test_german_records_use_the_german_parser() -> None:
    assert words_of(records("udpipe", GERMAN, "de"), "de", "moses") == Words("udpipe")


def test_if_several_tokenizers_fit_the_usual_one_is_chosen() -> None:
    """If the records have gone through none of them, the tokenizer of raw text is used."""
    for name in ("spacy", "udpipe"):
        assert words_of(records(name, ["It rains."]), "en", "moses") == Words(name)
    for tokenizer in ("moses", "none"):
        bare = [ParseRecord(text, text.split()) for text in ("it rains", "He sleeps")]
        assert words_of(bare, "en", tokenizer) == Words(tokenizer)


def test_words_that_no_tokenizer_would_make() -> None:
    whole = records("spacy", SENTENCES[1:])
    cut = [ParseRecord("It rains.", list("Itrains."))]
    assert words_of([*cut, *whole], "en", "moses") == Words("spacy", 0.75)
    assert words_of(cut, "en", "none").share == 0
    assert words_of([ParseRecord(tokens=["no", "text"])], "en", "moses") == Words("moses", 0.0)
    assert words_of([], "fi", "moses").share == 0  # no parser for this language


def warnings(words: SideWords, *texts: str) -> str:
    for text in texts:
        words.of_text(text)
    return "\n".join(words.warnings())


def test_text_with_other_words_than_in_training_is_reported() -> None:
    assert warnings(SideWords("source", "en", Words("moses")), *SENTENCES) == ""
    assert warnings(SideWords("source", "en", Words("spacy", 0.25)), *SENTENCES).startswith(
        "source text is tokenized by spacy, but only 25.0% of the training sentences"
    )
    assert warnings(SideWords("source", "en", Words("spacy", 0.25), known=False), *SENTENCES) == ""
    assert "tokenizer of the training data is unknown" in warnings(
        SideWords("source", "en", Words("spacy", 0)), *SENTENCES
    )
    assert warnings(SideWords("source", "en", Words("spacy", 0.25))) == ""  # trained on records only


def test_a_parser_with_other_words_is_reported_or_replaced() -> None:
    tree, heads = frozenset({"tree"}), frozenset({"heads"})
    spacy, udpipe = (SideWords("source", "en", Words(name)) for name in ("spacy", "udpipe"))
    assert (spacy.parser(tree), udpipe.parser(tree), spacy.parser(tree | heads)) == (
        "benepar", "benepar+udpipe", "benepar+udpipe"
    )  # fmt: skip
    for words, needs, said in (
        (spacy, tree, False),
        (udpipe, tree, False),
        (udpipe, heads, False),
        (spacy, heads, True),
    ):
        words.parsed(needs, "It rains.")
        assert ("tokenized by udpipe, but the training data by spacy" in " ".join(words.warnings())) == said


def test_records_with_other_words_than_raw_text_are_reported() -> None:
    words = SideWords("source", "en", Words("moses"))
    for record in [*records("moses", SENTENCES), *records("udpipe", SENTENCES[:2])]:
        assert words.check(record) is record
    assert "2 of the first 6 source records have words that" in " ".join(words.warnings())
    pairs: list[tuple[WordsName, WordsName]] = [("spacy", "udpipe"), ("udpipe", "spacy")]
    for trained, other in pairs:
        for name, said in ((other, True), (trained, False)):
            words = SideWords("source", "en", Words(trained))
            for record in records(name, [*SENTENCES, "He cannot (go)-away."]):
                words.check(record)
            assert (
                f"words that {trained}, the tokenizer of training, would not make" in " ".join(words.warnings())
            ) == said


@pytest.mark.parametrize("language", ["en", "de", "fr"])
@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.lists(st.sampled_from(["le", "chien", "don't", "3.5"]), min_size=2, max_size=6), min_size=1, max_size=5)
)
def test_only_tokenized_text_is_reported(language: str, lists: list[list[str]]) -> None:
    raw = [
        f"{words[0]}, {' '.join(words[1:])} chien{end}"
        for words, end in zip(lists, [".", " !", " ?", ".", "."], strict=False)
    ]
    tokenized = [" ".join(open_tokenizer("moses", language).tokenize(text)) for text in raw]
    assert "looks tokenized" not in warnings(SideWords("source", language, Words("moses"), False), *raw)
    found = warnings(SideWords("source", language, Words("moses"), False), *tokenized)
    assert f"looks tokenized in {len(raw)} of its first {len(raw)} lines" in found
    assert warnings(SideWords("source", language, Words("none"), False), *tokenized) == ""


@pytest.mark.parametrize("text", ["it is n't so", "a &apos;b&apos; c", "state @-@ of", "a , b", "he goes .", "a . b"])
def test_signs_of_tokenized_text(text: str) -> None:
    assert "looks tokenized in 1 of its first 2 lines" in warnings(
        SideWords("source", "en", Words("moses"), False), text, "no sign", ""
    )


def test_columns_instead_of_text_are_reported() -> None:
    assert "has tabs in 2 of its first 3 lines" in warnings(
        SideWords("source", "en", Words("moses")), "a\tb", "", "c\td", "e"
    )
    assert warnings(SideWords("source", "en", Words("moses")), "a\tb", "c", "\te\t") == ""


def test_only_a_sample_is_examined() -> None:
    words = SideWords("source", "en", Words("moses"), False)
    warnings(words, *["a , b"] * (SAMPLE + 10))
    assert words.looks.tokenized == words.looks.lines == SAMPLE


def test_words_from_strangers() -> None:
    with pytest.raises(ValueError, match="unknown tokenizer"):
        Words("rm -rf")  # type: ignore[arg-type]
    for share in (1.5, -1, float("nan"), "1", None):
        with pytest.raises(ValueError, match="the share cannot be"):
            Words("moses", share)  # type: ignore[arg-type]


def test_an_old_folder_works_as_before() -> None:
    """It does not record how words were made, so raw text goes through its tokenizer, without any warning."""
    source, _ = sides_of(("en", "de"), "moses")
    assert (source.words, source.known) == (Words("moses"), False)
    assert ModelConfig.__dataclass_fields__["words"].default is None


@pytest.mark.parametrize("language", ["zh", "ja", "th", "lo", "km", "my"])
def test_scripts_without_spaces_are_announced_once(language: str) -> None:
    text = {"zh": "我爱你。", "ja": "東京です。", "th": "สวัสดี", "lo": "ສະບາຍດີ", "km": "សួស្តី", "my": "မင်္ဂလာပါ"}[language]
    lines = [Line(text, "in", number) for number in range(1, 4)]
    side = SideWords("source", language, Words("words"), False)
    (record, *_) = (record for _, record in source_records(lines, frozenset(), side))
    assert len(record.tokens) > 1
    (warning,) = side.warnings()
    assert warning.startswith("source text is in a script without spaces in 3 of its first 3 sentences")


@pytest.mark.parametrize("tokenizer", ["none", "moses", "udpipe"])
@pytest.mark.parametrize(("text", "lines"), [("我爱你北京天安门。", 1), ("unbroken", 20)])
def test_sentences_of_one_word_are_announced(tokenizer: WordsName, text: str, lines: int) -> None:
    def doubts_of(*sentences: str) -> str:
        side = SideWords("target", "zh" if tokenizer == "moses" else "en", Words(tokenizer), False)
        numbered = [Line(sentence, "in", number) for number, sentence in enumerate(sentences, 1)]
        assert len(list(source_records(numbered, frozenset(), side))) == len(sentences)
        return "\n".join(side.warnings())

    expected = f"target text has only one word in {lines} of its first {lines} sentence"
    assert expected in doubts_of(*[text] * lines)
    assert "only one word" not in doubts_of(*[text] * lines, *["two words here"] * (lines + 1))
    assert "only one word" not in doubts_of("yes", "no")
