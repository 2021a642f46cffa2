import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synmt.inspection import page
from synmt.inspection.alignment import alignment_matrices, read_alignments, read_bitext
from synmt.inspection.page import alignment_page, attention_page, filled, links_page, trees_page
from synmt.inspection.sentence import ReadSentence, read_sentence
from synmt.streams import BadInput, Line
from synmt.trees.constituency import Tree
from synmt.trees.record import ParseRecord
from tests.inspection.models import SENTENCE, write_model

HOSTILE = "</script><script>document.title='broken'</script>"
PAIR = Line('{"source": ["a", "<b>"], "target": ["c"], "links": [[1, 0]]}', "a", 1)


class Tags(HTMLParser):
    """All tags with their attributes, and the data of the script that holds JSON."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: Any = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][1].get("id") == "data":
            self.data = json.loads(data)
            self.tags.append(("", {}))


@pytest.fixture
def masked(tmp_path: Path) -> ReadSentence:
    return read_sentence(write_model(tmp_path / "mask", "all but multitask"), SENTENCE)


def test_a_page_has_one_style() -> None:
    for template in "heads.html", "sentences.html", "report.html":
        names = [name for name, _ in Tags(filled(template, "title", {})).tags]
        assert names.count("style") == 1


def test_the_page_has_every_head_and_strength(masked: ReadSentence) -> None:
    weights, strengths = Tags(attention_page(masked, "He")).data["views"]
    assert [group["name"] for group in weights["groups"]] == ["layer 1", "layer 2"]
    assert [head["title"] for head in weights["groups"][0]["matrices"]] == ["head 1 (lisa)", "head 2 (pascal)"]
    for layer, group in enumerate(weights["groups"]):
        for head, matrix in enumerate(group["matrices"]):
            np.testing.assert_allclose(matrix["values"], masked.weights[layer, head], atol=1e-4)
            assert matrix["rows"] == [token.strip() for token in masked.layout.tokens]
    assert [group["name"] for group in strengths["groups"]] == ["all layers"]
    assert masked.strengths is not None
    np.testing.assert_allclose(strengths["groups"][0]["matrices"][1]["values"], masked.strengths[0, 1], atol=1e-4)


def test_nodes_know_their_tokens(masked: ReadSentence, tmp_path: Path) -> None:
    data = Tags(attention_page(masked, "He")).data
    nodes = [token.strip() for token in masked.layout.tokens]
    assert data["tree"] == {
        "nodes": nodes,
        "parents": masked.layout.parents,
        "tokens": [[i] for i in range(len(nodes))],
    }
    father = data["dependencies"]["words"].index("father")
    assert [nodes[token] for token in data["dependencies"]["tokens"][father]] == ["fa@@", "ther"]
    plain = read_sentence(write_model(tmp_path / "plain", "sequence"), SENTENCE)
    tree = Tags(attention_page(plain, "He")).data["tree"]
    assert tree["nodes"][-4:] == ["NN", "father", ".", "."]
    assert tree["tokens"][-4:] == [[], [3, 4], [], [5]]


def test_the_page_is_self_contained_and_runs_no_data(tmp_path: Path) -> None:
    line = Line(json.dumps({"tokens": [HOSTILE, "&lt;"], "text": f"{HOSTILE} &lt;"}), "in", 1)
    read = read_sentence(write_model(tmp_path / "model", "sequence"), line)
    text = attention_page(read, HOSTILE)
    assert "http:" not in text and "https:" not in text
    found = Tags(text)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert not any({"src", "href"} & attributes.keys() for _, attributes in found.tags)
    rows = found.data["views"][0]["groups"][0]["matrices"][0]["rows"]
    assert "".join(token.removesuffix("@@") for token in rows) == f"{HOSTILE}&lt;"


def test_links_of_one_or_several_aligners(masked: ReadSentence) -> None:
    (alignment,) = read_alignments([PAIR])
    links = Tags(attention_page(masked, "He", alignment)).data["links"]
    assert links == {"source": ["a", "<b>"], "target": ["c"], "links": [[1, 0]]}
    matrices, legend = alignment_matrices([alignment, alignment], ["one", "two"])
    (view,) = Tags(alignment_page(matrices, legend, "a b")).data["views"]
    assert [matrix["title"] for matrix in view["groups"][0]["matrices"]] == ["one", "two"]
    assert view["groups"][0]["matrices"][0]["marks"] == [[0, 1]]


def test_pages_too_large_for_a_browser_are_refused(masked: ReadSentence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_NUMBERS", 100)
    with pytest.raises(BadInput, match="numbers, but a page can hold 100 at most"):
        attention_page(masked, "He")


BITEXT = [
    Line(json.dumps({"source": source, "target": target, "links": links}), "in", number)
    for number, (source, target, links) in enumerate(
        [
            (["the", HOSTILE, "house"], ["בית", "ה", "&lt;"], [[0, 1, 0.4], [2, 0, 0.9], [2, 1, 0.123456]]),
            *([(["a"] * 3, ["b"], [[0, 0], [1, 0, 0.5]])] * 120),
        ],
        5,
    )
]


def test_a_page_of_links_has_all_pairs_and_runs_no_data() -> None:
    text = links_page(read_bitext([*BITEXT, Line("{}", "in", 999), Line("", "in", 1000)]), HOSTILE)
    assert "http:" not in text and "https:" not in text
    found = Tags(text)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert not any({"src", "href"} & attributes.keys() for _, attributes in found.tags)
    assert len(found.data["items"]) == 121
    first, second, *_ = found.data["items"]
    assert first["sides"] == [["the", HOSTILE, "house"], ["בית", "ה", "&lt;"]]
    assert (first["number"], first["links"]) == (1, [[0, 1, 0.4], [2, 0, 0.9], [2, 1, 0.1235]])
    assert first["keys"] == [first["confidence"]] == [round((0.4 + 0.9 + 0.9 + 0.4) / 6, 4)]
    assert (second["sides"], second["links"]) == ([["a"] * 3, ["b"]], [[0, 0, 1], [1, 0, 0.5]])
    assert second["confidence"] == round((1 + 0.5 + 1) / 4, 4)


def test_bitexts_that_are_empty_or_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="no sentence pairs"):
        links_page(read_bitext([Line("{}", "in", 1)]), "none")
    monkeypatch.setattr(page, "MOST_NUMBERS", 100)
    with pytest.raises(BadInput, match="but a page can hold 100 at most"):
        links_page(read_bitext(BITEXT), "all")


def drawn(text: str, act: str, folder: Path, address: str = "", *options: str) -> str:
    """Return a page as a browser shows it after a script has acted on it. address: the end of its address."""
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium")
    path = folder / "page.html"
    text = text.replace("</body>", f"<script>{act} document.title = errors.join() || 'drawn';</script></body>")
    path.write_text(text.replace('"use strict";', '"use strict"; const errors = []; onerror = (e) => errors.push(e);'))
    browser = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *options,
        "--dump-dom",
        f"file://{path}{address}",
    ]
    done = subprocess.run(browser, capture_output=True, text=True, timeout=60, env={"HOME": str(folder)})
    if done.returncode or not done.stdout:
        pytest.skip(f"chromium does not run here: {done.stderr[-200:]}")
    assert "<title>drawn</title>" in done.stdout
    return done.stdout


def words_of_class(text: str, name: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(rf'<span class="word[^"]* ?{name}[^"]*"[^>]*>([^<]*)<', text)]


def test_a_browser_highlights_and_filters_links(tmp_path: Path) -> None:
    text = links_page(read_bitext(BITEXT), HOSTILE)
    point = "document.querySelector('.pair').words[1][1].dispatchEvent(new Event('mouseenter'));"
    dom = drawn(text, point, tmp_path)
    assert dom.count('class="pair"') + dom.count('class="pair asking"') == 50 + 2  # the templates
    assert len(re.findall('<line [^>]*class="lit"', dom)) == 2
    assert re.findall("<text[^>]*>([^<]*)</text>", dom) == ["0.40", "0.12"]
    assert words_of_class(dom, "asked") == ["ה"]
    assert words_of_class(dom, "linked") == ["the", "house"]
    assert words_of_class(dom, "bare")[:2] == [HOSTILE, "&lt;"]
    assert "121 of 121 pairs; on this page 101 of 101 links" in dom
    dom = drawn(text, f"at('least').value = 0.45; draw(); {point}", tmp_path)
    assert dom.count("<line ") == 1 + 2 * 49 and 'class="lit"' not in dom
    dom = drawn(text, "at('find').value = 'HOUSE'; choose();", tmp_path)
    assert "1 of 121 pairs; on this page 3 of 3 links" in dom
    dom = drawn(text, "at('order').value = 'unsure'; choose(); at('page').value = 99; turn();", tmp_path)
    assert re.findall(r'<section class="pair"><b>(\d+)</b>', dom) == [str(number) for number in range(101, 122)]
    assert dom.count('<small title="confidence">0.63</small>') == 21


def test_addresses_keep_what_is_chosen(tmp_path: Path) -> None:
    text = links_page(read_bitext(BITEXT), "x")
    change = """
        at("order").value = "unsure"; at("find").value = "A b"; choose(); at("after").click();
        document.body.dataset.seen = location.hash;
    """
    assert 'data-seen="#order=unsure&amp;find=A+b&amp;page=2"' not in drawn(text, change, tmp_path)  # found in no side
    dom = drawn(text, change.replace("A b", "A a"), tmp_path)
    assert 'data-seen="#order=unsure&amp;find=A+a&amp;page=2"' in dom
    again = drawn(text, "", tmp_path, "#order=unsure&find=A+a&page=2")
    numbers = [re.findall(r'<section class="pair"><b>(\d+)</b>', each) for each in (dom, again)]
    assert numbers[0] == numbers[1] == [str(number) for number in range(52, 102)]
    assert "120 of 121 pairs" in again


def test_the_keyboard_walks_over_words(tmp_path: Path) -> None:
    act = """
        const pair = document.querySelector(".pair"), wide = pair.querySelector(".wide");
        const seen = ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "Escape"].map((key) => {
          wide.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          return pair.asked.join("-");
        });
        document.body.dataset.seen = seen;
    """  # the second side runs from right to left
    assert 'data-seen="0-0,0-1,1-1,1-2,"' in drawn(links_page(read_bitext(BITEXT), "x"), act, tmp_path)


RECORDS = [
    ParseRecord(
        tokens=["the", HOSTILE, "barks"], heads=[2, 3, 0], deprels=["det", "nsubj", "root"], confidences=[1, 0.5, 0]
    ),
    ParseRecord(tokens=["the", HOSTILE, "barks"], heads=[3, 3, 0], deprels=["det", "obj", "root"]),
]
TREE = ParseRecord(tokens=["a"], tree=Tree(["S", "X", "a"], [-1, 0, 1]))


def test_a_page_of_trees_marks_differences(tmp_path: Path) -> None:
    text = trees_page([(1, [TREE, TREE]), (4, RECORDS)], ["gold", "found"], HOSTILE)
    data = Tags(text).data
    assert [item["keys"] for item in data["items"]] == [[0, 1.0], [-4, 0.5]]
    assert data["items"][1]["records"][0]["dependencies"]["off"] == [0]
    dom = drawn(text, "at('order').value = 'unlike'; choose();", tmp_path)
    assert re.findall(r'<section class="pair"><b>(\d+)</b>', dom) == ["4", "1"]
    assert dom.count('class="edge off"') == 4 and dom.count('class="relation off"') == 4
    assert "2 of 2 sentences" in dom
    assert "<h2 hidden" in drawn(trees_page([(1, [TREE])], [], "x"), "", tmp_path)


@pytest.mark.parametrize("width", [390, 1200])
def test_pages_do_not_scroll_sideways(width: int, masked: ReadSentence, tmp_path: Path) -> None:
    """Only the rows in them do."""
    (alignment,) = read_alignments([PAIR])
    long = Line(json.dumps({"source": ["source"] * 90, "target": ["target"] * 90, "links": [[0, 0]]}), "a", 1)
    record = ParseRecord(tokens=["word"] * 90, heads=[0, *range(1, 90)])
    pages = [
        links_page(read_bitext([long]), "a_very_long_name" * 9),
        trees_page([(1, [record, record])], ["a" * 90, "b" * 90], "x"),
        attention_page(masked, "He", alignment),
    ]
    for page_text in pages:
        assert needed_width(page_text, width, tmp_path) <= width


def needed_width(text: str, width: int, folder: Path) -> int:
    """Return how many pixels a page needs on a screen of a width. In a frame, since browsers' windows are wider."""
    (folder / "framed.html").write_text(text)
    look = "document.body.dataset.seen = this.contentDocument.documentElement.scrollWidth;"
    frame = f'<iframe src="framed.html" width="{width}" onload="{look}">'
    page_of_frame = f'<!doctype html><html><body>{frame}</iframe><script>"use strict";</script></body></html>'
    dom = drawn(page_of_frame, "", folder, "", "--allow-file-access-from-files")
    (found,) = re.findall(r'data-seen="(\d+)"', dom)
    return int(found)


def test_a_browser_shows_each_side_in_its_own_direction(tmp_path: Path) -> None:
    act = """
        const [first, second] = document.querySelectorAll("p");
        const of = (row) => getComputedStyle(row).direction;
        const left = (node) => node.getBoundingClientRect().left, words = document.querySelector(".pair").words;
        document.body.dataset.seen = [of(first), of(second), left(words[0][0]) < left(words[0][2]),
          left(words[1][0]) > left(words[1][1])];
    """
    assert 'data-seen="ltr,rtl,true,true"' in drawn(links_page(read_bitext(BITEXT), "x"), act, tmp_path)


def test_a_browser_draws_the_page(masked: ReadSentence, tmp_path: Path) -> None:
    (alignment,) = read_alignments([PAIR])
    dom = drawn(attention_page(masked, "He", alignment), "ask(3);", tmp_path)
    tags = Tags(dom)
    assert sum("data-query" in attributes for _, attributes in tags.tags) == 15 + 15 + 5
    assert sum(attributes.get("class") == "link" for _, attributes in tags.tags) == 1
    assert sum(tag == "option" for tag, _ in tags.tags) == 2 + 2 + 2


FROM_THE_RIGHT = {
    "ar": "هو أبي .", "fa": "او پدرم است .", "ur": "وہ میرا باپ ہے", "he": "הוא אבי .", "yi": "ער איז מײַן טאַטע",
    "ckb": "ئەو باوکمە", "syr": "ܗܘ ܐܒܝ", "dv": "އޭނާ އަހަރެންގެ", "nqo": "ߊ߬ ߦߋ߫ ߒ ߝߊ߫ ߟߋ߬", "ff": "𞤫 𞤱𞤮𞤲𞤭",
    "quoting": "BBC قال إن أبي", "digits": "2026 عام 28",
}  # fmt: skip
FROM_THE_LEFT = {
    "en": "He is my father .", "ru": "Он мой отец", "el": "είναι", "hi": "वह मेरे पिता हैं", "th": "เขา เป็น",
    "zh": "他 是", "ja": "彼 は",
    "ka": "ის მამაჩემია", "am": "እሱ አባቴ", "quoting": "the word أب means father", "none": "28 . – !", "empty": "",
}  # fmt: skip


def test_a_browser_knows_the_direction_of_every_script(tmp_path: Path) -> None:
    (alignment,) = read_alignments([PAIR])
    text = alignment_page(*alignment_matrices([alignment], ["a"]), "x")
    sides = [[*(each.split() for each in group.values())] for group in (FROM_THE_RIGHT, FROM_THE_LEFT)]
    act = f"document.body.dataset.seen = {json.dumps(sides)}.map((side) => side.map(isFromTheRight)).flat();"
    seen = ",".join(["true"] * len(FROM_THE_RIGHT) + ["false"] * len(FROM_THE_LEFT))
    assert f'data-seen="{seen}"' in drawn(text, act, tmp_path)


@pytest.mark.parametrize("right", ["source", "target"])
def test_a_browser_draws_alignments_from_right_to_left(right: str, tmp_path: Path) -> None:
    """Words of Hebrew stand from right to left, in links and over columns, with their own links, cells and frames."""
    sides = {"source": ["He", "is", "old"], "target": ["He", "is", "old"], right: ["הוא", "זקן", "."]}
    line = Line(json.dumps({**sides, "links": [[0, 0, 0.9], [2, 1, 0.5]]}), "a", 1)
    text = alignment_page(*alignment_matrices(read_alignments([line]), ["a"]), "x")
    act = """
        const left = (node) => node.getBoundingClientRect().left;
        const all = (query) => [...document.querySelectorAll(query)];
        const falls = (places) => places.every((place, n) => !n || place < places[n - 1]);
        const rises = (places) => places.every((place, n) => !n || place > places[n - 1]);
        const words = all("#links text"), [source, target] = [words.slice(0, 3), words.slice(3)];
        const middle = (node) => { const box = node.getBoundingClientRect(); return (box.left + box.right) / 2; };
        const [line] = all("#links line"), near = (a, b) => Math.abs(a - b) < 2;
        const origin = left(document.querySelector("#links svg"));
        const cells = all("#heads g[data-query='0'] rect"), marks = all("#heads .mark");
        const way = (places) => rises(places) ? 1 : falls(places) ? -1 : 0;
        const ways = [source, target, cells].map((each) => way(each.map(left)));
        document.body.dataset.seen = [ways, near(+line.getAttribute("x1") + origin, middle(source[0])),
          near(+line.getAttribute("x2") + origin, middle(target[0])), near(left(marks[0]), left(cells[0])),
          near(left(marks[1]), left(cells[2]))].flat();
    """
    ways = "-1,1,-1" if right == "source" else "1,-1,1"
    assert f'data-seen="{ways},true,true,true,true"' in drawn(text, act, tmp_path)
