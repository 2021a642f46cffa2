"""The documentation builds as a site, whose links work, and whose pages load nothing from other hosts."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not find_spec("material"), reason="mkdocs-material is not installed")
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}  # attributes by tag


class Page(HTMLParser):
    """The links, files that a browser loads, and anchors of an HTML page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors.update({given.get("id", ""), given.get("name", "")})
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_links_lead_to_pages_and_headings(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 30
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not parts.scheme:
                assert goal.exists(), (path.name, link)
                anchor = unquote(parts.fragment)
                assert not anchor or anchor in pages[goal].anchors or anchor.startswith("__"), (path.name, link)


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = Page(path).loaded
        assert [link for link in loaded if urlsplit(link).netloc] == [] and len(loaded) > 2
    for path in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*|@import[^;]*", path.read_text(encoding="utf-8")) == []


def test_the_search_knows_the_options(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "--supervised-heads-teach" in index and "few-pairs" in index
