"""Words of any text: they spell it, never end inside a character as readers see it, and with marks restore it."""

from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synmt.components.linearization import Linearization
from synmt.streams import BadInput
from synmt.text.bpe import Bpe, join_subwords, learn_bpe
from synmt.text.graphemes import clusters
from synmt.text.marks import marked, unmarked
from synmt.text.tokenization import LANGUAGES, Tokenizer, TokenizerName, open_tokenizer
from synmt.trees.dependency import detokenized, with_marks
from synmt.trees.record import ParseRecord
from tests import tiny

UD = Path(__file__).parents[3] / "shared" / "data" / "ud"
INSTANCES = [
    "L’amitié de l'autre, « mot » ou «mot» : 6 % d’accord ?",
    "Darius' hoch",
    "500 € vom",
    "minute's",
    "A5-0105/1999",
    "Obama'nın",
    "Obama’nın",
    "“See!” she said.",
    "8' x 10'",
    "6 %",
    "don't can't o'clock ’tis rock 'n' roll",
    "¿Qué? ¡Sí!",
    "(a) [b] {c} <d>",
    "a...b … c. D e.g. z.B. No. 5 U.S. x.",
    '"Zitat" „Zitat“ ‚so‘ "',
    "a - b -- c – d—e",
    "http://a.b/c?d=e&f=g#h a@b.cd 1,000.5 10:30 3/4 50% $5 #x @y *z* _u_",
    "ẹ̀kọ́ re\u0301sume\u0301 моло́ко",
    "می‌خواهم کتاب‌ها",
    "ក្រុម​ហ៊ុន",
    "👍🏽 👩‍👩‍👧 🇩🇪🇫🇷 1️⃣ ❤️ok",
    "EGKS\u00adVertrag und Forschungs\u00ad, Entwicklungs\u00ad",
    "क्‍ष न्याय",
    "한국어를 배우다.",
    "我爱你，ABC 123。 你好 world“引”",
    "東京タワーは３３３ｍ。ラーメン 食べる",
    "สวัสดีครับ ABC ๑๒",
    "ສະບາຍດີ",
    "မြန်မာ",
    "བོད་ཡིག",
    "￭ ▁ ￮ ￭a a￭ ▁a a▁ ￮j ￮s ￮e ￮a ￭￭",
    "@@ x@@ @@x @ @@@ a@@b",
    "MULTI DOTMULTI DOTDOTMULTI. xQx",
    "a\x07b \x00 c\u0085d\u2028e",
    "\u0301a \u200d \u00ad \ufeffx \u200ba\u200bb",
    "a\u0600 \u06001",
    "'",
    "''",
    ".'",
    ". '",
    "a.'",
    "...",
    ",,",
    "`x'",
    "&amp; &lt;",
]
ODD = st.text(
    st.one_of(
        st.sampled_from("aAbéß ,.'’-\"“”«»()[]/%&@#:;!?¿…–5१"),
        st.sampled_from(
            "\u0301\u0300\u200d\u200c\u00ad\u200b\ufe0f\ufeff\u2060\u200e🏽👍👩🇩🇪❤￭▁￮jsea\u0600\x07\u3099\u094d\u0e33"
        ),
        st.sampled_from("汉字かカー々，。「」ไทยกำลาวမြကខ한글ᄀאבجدहिкиελ"),
        st.characters(),
    ),
    max_size=30,
)
CHUNKS = st.sampled_from([chunk for text in INSTANCES for chunk in text.split()])
TEXTS = st.one_of(ODD, st.lists(st.one_of(CHUNKS, ODD), max_size=6).map(" ".join))
CODES = ["a b", "￭ '", "l ’", "@ @", "@ @</w>", "￮ a</w>", "的 人</w>"]
BPE = Bpe(learn_bpe([f"{pair} {pair.replace(' ', '').removesuffix('</w>')}" for pair in CODES for _ in range(3)], 30))


@cache
def opened(language: str) -> Tokenizer:
    return open_tokenizer("words", language)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def record_of(text: str, language: str) -> ParseRecord:
    return ParseRecord(text, opened(language).tokenize(text))


def check(text: str, language: str) -> None:
    """Check all that holds for the words of any text in any language."""
    record = record_of(text, language)
    assert "".join(record.tokens) == "".join(text.split())
    assert detokenized(with_marks(record), opened(language)).tokens == record.tokens
    assert detokenized(with_marks(record), opened(language)).text == squeezed(text)
    borders = set(accumulate(map(len, record.tokens)))
    for chunk, begin in chunks_of(text):
        inside = {begin + place for place in range(1, len(chunk))}
        assert borders & inside <= {begin + end for end in ends(chunk)}


def chunks_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield each chunk between white space with its offset in the text without white space."""
    begin = 0
    for chunk in text.split():
        yield chunk, begin
        begin += len(chunk)


def ends(chunk: str) -> set[int]:
    """Return where a word may end: at the end of a grapheme cluster, but not next to a joiner between letters."""
    tied = regex.finditer(r"(?<=[\p{L}\p{N}])[\u200c\u200d\u00ad]+(?=[\p{L}\p{N}])", chunk)
    return {found.end() for found in regex.finditer(r"\X", chunk)} - {
        place for found in tied for place in range(found.start(), found.end() + 1)
    }


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_named_texts_come_back_in_every_language(language: str) -> None:
    for text in INSTANCES:
        check(text, language)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, language=st.sampled_from(sorted(LANGUAGES)))
def test_every_text_comes_back(text: str, language: str) -> None:
    check(text, language)


@pytest.mark.parametrize("language", ["de", "en", "fr", "ru", "tr"])
def test_parallel_treebanks_come_back(language: str) -> None:
    """All 1,000 texts of a treebank, with our words and with those of the treebank."""
    from synmt.trees.formats import read_conllu

    path = UD / f"{language}_pud" / f"{language}_pud-ud-test.conllu"
    if not path.exists():
        pytest.skip("no treebanks here")
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        record = read_conllu(block)
        check(record.text, language)
        assert detokenized(with_marks(record), opened(language)).text == squeezed(record.text)


@settings(max_examples=300)
@given(
    words=st.lists(st.one_of(CHUNKS, ODD).map(lambda text: "".join(text.split())).filter(bool), max_size=8),
    data=st.data(),
)
def test_marks_are_undone_for_any_words_and_spaces(words: list[str], data: st.DataObject) -> None:
    spaces = [*data.draw(st.lists(st.booleans(), min_size=max(0, len(words) - 1), max_size=max(0, len(words) - 1)))]
    spaces = [*spaces, False][: len(words)]
    found = marked(words, spaces)
    assert unmarked(found) == (words, spaces, [*range(len(words))])
    assert not any(" " in word or word.endswith("@@") for word in found)
    for segment in (BPE.segment, tiny.segment, lambda word: [*(f"{each}@@" for each in word[:-1]), word[-1]]):
        assert join_subwords([subword for word in found for subword in segment(word)]) == found


@settings(max_examples=200)
@given(words=st.lists(st.text("￭▁￮@jsea.我 ", max_size=4), max_size=6))
@example(["￭", "a", "￭￭", "b￭", "￭￭c", "▁￭", "￮", "@@"])
def test_any_marks_become_a_text(words: list[str]) -> None:
    """Whatever a model writes: dangling and doubled marks, escapes cut off, subwords left over."""
    bare, spaces, places = unmarked(words)
    assert len(bare) == len(spaces) == len(places) and all(bare)
    heads = [*range(2, len(words) + 1), 0][: len(words)]
    tree = ParseRecord(tokens=words, heads=heads, deprels=["dep"] * len(words))
    found = detokenized(tree, opened("en"))
    if " " not in "".join(words):
        found.check()
        assert found.text == opened("en").detokenize(words)


def test_marks_are_on_the_punctuation() -> None:
    record = record_of("Il dit : « l’amitié » (ou “l'ami”). 我爱你，ABC 你", "fr")
    found = "Il dit : « l’￭ amitié » (￭ ou “￭ l'￭ ami ￭” ￭) ￭. 我 爱 你 ， ￭ABC 你"
    assert " ".join(with_marks(record).tokens) == found.replace("， ￭ABC", "，￭ ABC")


def test_a_record_that_does_not_tell_has_a_space_after_each_word() -> None:
    assert with_marks(ParseRecord(tokens=["a", ","])).tokens == ["a", ","]
    assert with_marks(ParseRecord(tokens=["我", "，"])).tokens == ["我", "▁，"]
    assert with_marks(ParseRecord("a,", ["a", ","], [False, False])).tokens == ["a", "￭,"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l’amitié", "l’ amitié"),
        ("ẹ̀kọ́ re\u0301sume\u0301", "ẹ̀kọ́ re\u0301sume\u0301"),
        ("我爱ABC123。", "我 爱 ABC123 。"),
        ("ラーメンを", "ラ ー メ ン を"),
        ("กำลัง", "กำ ลั ง"),
        ("한국어를 배우다.", "한국어를 배우다 ."),
        ("می‌خواهم", "می‌خواهم"),
        ("👍🏽🇩🇪", "👍🏽 🇩🇪"),
        ("EGKS\u00adVertrag", "EGKS\u00adVertrag"),
    ],
)
def test_words_of_scripts(text: str, words: str) -> None:
    assert opened("fr").tokenize(text) == words.split(" ")


@given(text=ODD)
def test_clusters_contain_grapheme_clusters(text: str) -> None:
    chunk = "".join(text.split())
    found = clusters(chunk)
    assert "".join(found) == chunk
    assert {*accumulate(map(len, found))} <= {each.end() for each in regex.finditer(r"\X", chunk)}


@pytest.mark.parametrize("system", tiny.TARGET_SYSTEMS)
@settings(max_examples=30, deadline=None)
@given(text=TEXTS, language=st.sampled_from(["fr", "en", "zh", "tr"]))
@example(INSTANCES[0], "fr")
def test_every_decoder_gives_the_text_back(system: str, text: str, language: str) -> None:
    """From a record to entries with subwords, and from them to words, a tree and the text."""
    side = tiny.TARGET_SYSTEMS[system]
    record = record_of(text, language)
    n = len(record.tokens)
    record.heads, record.deprels = tiny.chain(n)[:n] if n else [], ["dep"] * (n - 1) + ["root"] * bool(n)
    entries = side.tokens(with_marks(record), BPE.segment) if n else []
    assert type(side.linearization) is not Linearization or all(not entry.startswith(" ") for entry in entries)
    output = side.output(tiny.sources_and_vocabulary("sequence", system)[1])
    labels = [side.lessons(record, entries)[name][1:] for name in side.labels]
    found = detokenized(output.read(entries, *labels)[0], opened(language))
    assert (found.text, found.tokens) == (squeezed(text), record.tokens)
    if side.linearization.trees:
        assert found.heads == record.heads


@pytest.mark.parametrize(
    ("name", "package", "text", "word"),
    [
        ("mecab", "fugashi", "東京タワーは333mです。", "タワー"),
        ("jieba", "jieba", "我爱北京天安门，l’amitié。", "天安门"),
    ],
)
def test_segmenters(name: TokenizerName, package: str, text: str, word: str) -> None:
    try:
        tokenizer = open_tokenizer(name, "ja")
    except BadInput as error:
        assert f"pip install {package}" in str(error)
        pytest.skip(f"{package} is not installed")
    assert word in tokenizer.tokenize(text)
    for each in (*INSTANCES, text):
        words = tokenizer.tokenize(each)
        assert "".join(words) == "".join(each.split())
        assert tokenizer.detokenize(with_marks(ParseRecord(each, words)).tokens) == squeezed(each)
