import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synmt.inspection import page
from synmt.inspection.alignment import alignment_matrices, read_alignments
from synmt.inspection.page import alignment_page, attention_page
from synmt.inspection.sentence import ReadSentence, read_sentence
from synmt.streams import BadInput, Line
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


def test_a_page_holds_every_head_and_strength(masked: ReadSentence) -> None:
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


def test_trees_know_their_tokens(masked: ReadSentence, tmp_path: Path) -> None:
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


def test_a_page_needs_nothing_from_elsewhere_and_runs_nothing_of_its_data(tmp_path: Path) -> None:
    line = Line(json.dumps({"tokens": [HOSTILE, "&lt;"], "text": f"{HOSTILE} &lt;"}), "in", 1)
    read = read_sentence(write_model(tmp_path / "model", "sequence"), line)
    text = attention_page(read, HOSTILE)
    assert "http:" not in text and "https:" not in text
    found = Tags(text)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert not any({"src", "href"} & attributes.keys() for _, attributes in found.tags)
    rows = found.data["views"][0]["groups"][0]["matrices"][0]["rows"]
    assert "".join(token.removesuffix("@@") for token in rows) == f"{HOSTILE}&lt;"


def test_links_of_one_aligner_or_of_several(masked: ReadSentence) -> None:
    (alignment,) = read_alignments([PAIR])
    links = Tags(attention_page(masked, "He", alignment)).data["links"]
    assert links == {"source": ["a", "<b>"], "target": ["c"], "links": [[1, 0]]}
    matrices, legend = alignment_matrices([alignment, alignment], ["one", "two"])
    (view,) = Tags(alignment_page(matrices, legend, "a b")).data["views"]
    assert [matrix["title"] for matrix in view["groups"][0]["matrices"]] == ["one", "two"]
    assert view["groups"][0]["matrices"][0]["marks"] == [[0, 1]]


def test_a_page_too_large_for_a_browser_is_refused(masked: ReadSentence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_NUMBERS", 100)
    with pytest.raises(BadInput, match="numbers are more than the 100 that a page can hold"):
        attention_page(masked, "He")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_draws_the_page(masked: ReadSentence, tmp_path: Path) -> None:
    (alignment,) = read_alignments([PAIR])
    path = tmp_path / "page.html"
    ask = "<script>ask(3); document.title = errors.join() || 'drawn';</script></body>"
    text = attention_page(masked, "He", alignment).replace("</body>", ask)
    path.write_text(text.replace('"use strict";', '"use strict"; const errors = []; onerror = (e) => errors.push(e);'))
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"file://{path}"]
    done = subprocess.run(browser, capture_output=True, text=True, timeout=60, env={"HOME": str(tmp_path)})
    if done.returncode or not done.stdout:
        pytest.skip(f"chromium does not run here: {done.stderr[-200:]}")
    tags = Tags(done.stdout)
    assert "<title>drawn</title>" in done.stdout
    assert sum("data-query" in attributes for _, attributes in tags.tags) == 15 + 15 + 5
    assert sum(attributes.get("class") == "link" for _, attributes in tags.tags) == 1
    assert sum(tag == "option" for tag, _ in tags.tags) == 2 + 2 + 2
