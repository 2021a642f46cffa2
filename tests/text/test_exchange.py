"""TMX and XLIFF files: only targets change, and what strangers send is checked."""

import gzip
import os
import random
import re
import tracemalloc
from pathlib import Path

import pytest

from synmt.cli.program import run
from synmt.streams import BadInput, BadLines
from synmt.text import exchange
from synmt.text.exchange import ExchangeFile, open_exchange
from tests.text.exchange_files import NEW, made

TMX = '<tmx version="1.4"><header srclang="{}"/><body>{}</body></tmx>'
FILE = '<file source-language="{}" target-language="{}"/>'
SEG = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'


def tu(**texts: str) -> str:
    return f"<tu>{''.join(SEG.format(name.replace('_', '-'), text) for name, text in texts.items())}</tu>"


def test_only_targets_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces of random files make up the file. With new targets, the bytes are those of a file made with them."""
    monkeypatch.setattr(exchange, "CHUNK", 17)
    source = random.Random(3)
    for _ in range(500):
        each = made(source)
        path = tmp_path / f"a.{'tmx' if each.form == 'tmx' else 'xlf'}"
        path.write_bytes(raw := each.written())
        if each.form == "tmx" and not each.targets:
            continue
        file = ExchangeFile.open(str(path))
        pieces = list(file.pieces())
        assert b"".join(piece.raw for piece in pieces) == raw
        found = [segment for piece in pieces for segment in piece.segments]
        assert len(found) == len(each.targets)
        for segment, content in zip(found, each.sources, strict=True):
            assert segment.source is not None
            assert segment.source.replace("&lt;b&gt; &amp; ", "<![CDATA[<b> & ]]>") == content
        new = {number: source.choice(NEW) for number in range(len(found)) if source.random() < 0.5}
        rest = iter([new.get(number) for number in range(len(found))])
        written = b"".join(piece.with_targets([next(rest) for _ in piece.segments]) for piece in pieces)
        assert written == each.written(new)


def test_translate_toolkit_reads_the_same(tmp_path: Path) -> None:
    """The sources and targets are those of translate-toolkit, before and after a change."""
    tmx = pytest.importorskip("translate.storage.tmx")
    path = tmp_path / "a.tmx"
    path.write_text(TMX.format("en", tu(en="the dog", de="der Hund") + tu(en="R&amp;D", de="<![CDATA[F&E]]>")))
    changed = b"".join(
        piece.with_targets(["neu &lt;" for _ in piece.segments]) for piece in ExchangeFile.open(str(path)).pieces()
    )
    for raw, targets in (path.read_bytes(), ["der Hund", "F&E"]), (changed, ["neu <", "neu <"]):
        units = tmx.tmxfile.parsestring(raw).units
        assert [unit.source for unit in units] == ["the dog", "R&D"]
        assert [unit.target for unit in units] == targets


@pytest.mark.parametrize(
    "text, cause",
    [
        ('<!DOCTYPE tmx [<!ENTITY a "x">]><tmx/>', "declares the entity a"),
        ('<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx><b>&a;</b></tmx>', "declares the entity a"),
        ('<!DOCTYPE tmx SYSTEM "http://localhost/t.dtd"><tmx><b>&a;</b></tmx>', "the entity a is not declared"),
        (f"<tmx>{'<a>' * 600}", "more than 500 nested"),
        ("<tmx><body></tmx>", "a:1: not well-formed XML: mismatched tag"),
        ("<tmx>", "not well-formed XML"),
        ("", "not well-formed XML: no element found"),
        ("<html/>", "neither TMX nor XLIFF: the file begins with <html>"),
        ('<?xml version="1.0" encoding="x-none"?><tmx/>', "unknown encoding"),
        (f"<tmx><body><tu><note>{'a' * 5000}</note></tu></body></tmx>", "more than 3000 bytes"),
        (f"<tmx><body a='{'a' * 5000}'></body></tmx>", "more than 3000 bytes"),
        (TMX.format("*all*", tu(en="a", de="b")), "no language is the source of all of en, de: choose with --source-"),
        (TMX.format("en", tu(en="a", de="b") + tu(fr="c")), "has de, fr besides en: choose one with --target-language"),
        (TMX.format("en", tu(en="a", zh_CN="b", zh_TW="c")), "has zh-CN, zh-TW besides en"),
        (TMX.format("en", tu(en_US="a", en_GB="b")), "en can be en-US or en-GB: name one of them"),
        (TMX.format("nl", tu(en="a", de="b")), "has no segments in nl, only in en, de"),
        (f"<xliff>{FILE.format('a', 'b')}{FILE.format('a', 'c')}</xliff>", "has translations a-b, a-c"),
    ],
)  # fmt: skip
def test_files_that_are_refused(text: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a file is used before it is checked. No entity is expanded, and no other file is read."""
    monkeypatch.setattr(exchange, "LARGEST", 3000)
    monkeypatch.setattr(exchange, "CHUNK", 1000)
    (tmp_path / "a").write_text(text)
    with pytest.raises(BadInput, match=re.escape(cause)):
        ExchangeFile.open(str(tmp_path / "a"))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tmx")
    with pytest.raises(BadInput, match=r"a\.tmx: TMX and XLIFF cannot be read from a pipe: give a file"):
        ExchangeFile.open(str(tmp_path / "a.tmx"))
    (tmp_path / "c.tmx").mkdir()
    for name, cause in ("b.tmx", "No such file or directory"), ("c.tmx", "Is a directory"):
        with pytest.raises(BadInput, match=rf"{name}: {cause}"):
            ExchangeFile.open(str(tmp_path / name))


@pytest.mark.parametrize(
    "asked, languages",
    [
        ((None, "de"), ("en-US", "DE")),
        (("de", "zh-tw"), ("DE", "zh-TW")),
        (("zh-TW", "en"), ("zh-TW", "en-US")),
        (("de-AT", "en-US"), ("DE", "en-US")),
    ],
)
def test_languages_are_chosen(asked: tuple[str, str], languages: tuple[str, str], tmp_path: Path) -> None:
    text = TMX.format("en", tu(en_US="a", DE="b") + tu(zh_CN="c", zh_TW="d", en_US="a2") + tu(de="b2"))
    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(text.encode()))
    file = open_exchange([str(tmp_path / "a.tmx.gz")], *asked)[0]
    assert file.languages == languages
    own = {"en": ["a", "a2", ""], "de": ["b", "", "b2"], "zh": ["", "d", ""]}
    assert [(one.text, other.text) for one, other in file.columns(BadLines())] == list(
        zip(*(own[each] for each in file.primary), strict=True)
    )


def test_a_unit_in_another_region_is_read_as_the_language(tmp_path: Path) -> None:
    """Here, de is also the source of the header, so only en is left for the target."""
    units = tu(de="a", en="b") + tu(de_AT="c", en="d") + tu(de_CH="e", de_AT="f", en_GB="g") + tu(fr="h", en="i")
    (tmp_path / "a.tmx").write_text(TMX.format("de", units))
    file = ExchangeFile.open(str(tmp_path / "a.tmx"), target="en")
    texts = [(one.text, other.text) for one, other in file.columns(BadLines())]
    assert texts == [("a", "b"), ("c", "d"), ("e", "g"), ("", "i")]
    file = ExchangeFile.open(str(tmp_path / "a.tmx"), needs_target=False)
    assert [one.text for one, _ in file.columns(BadLines())] == ["a", "c", "e", ""]
    (tmp_path / "b.tmx").write_text(TMX.format("en-US", tu(en_US="a", de="b") + tu(en_GB="c", de="d")))
    file = ExchangeFile.open(str(tmp_path / "b.tmx"), target="de")  # a region that was asked for
    assert [one.text for one, _ in file.columns(BadLines())] == ["a", ""]


def test_segments_inside_a_unit(tmp_path: Path) -> None:
    """<seg-source> divides a unit into segments. Units that must not be translated, and alternatives, have none."""
    (tmp_path / "a.xlf").write_text(
        '<xliff version="1.2"><file source-language="en"><trans-unit><source>One. Two.</source><seg-source>'
        '<mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">T<g id="1">wo</g>.</mrk></seg-source><target>'
        '<mrk mtype="seg" mid="2">Zwei.</mrk><mrk mtype="seg" mid="1">Eins.</mrk></target></trans-unit>'
        '<trans-unit translate="no"><source>No</source></trans-unit><group translate="no"><trans-unit>'
        "<source>No</source></trans-unit></group></file></xliff>"
    )
    pieces = list(ExchangeFile.open(str(tmp_path / "a.xlf")).pieces())
    found = [(each.source, each.target) for piece in pieces for each in piece.segments]
    assert found == [("One.", "Eins."), ('T<g id="1">wo</g>.', "Zwei.")]
    written = pieces[0].with_targets(["1", "2"])
    assert b'<target><mrk mtype="seg" mid="2">2</mrk><mrk mtype="seg" mid="1">1</mrk></target>' in written


def test_memory_is_bounded_by_a_unit(tmp_path: Path) -> None:
    """Four times the units need no more memory."""
    before, after = TMX.format("en", "|").split("|")
    peaks = []
    for size in (20, 1000, 4000):  # the first one imports and caches
        units = (tu(en=f"the <ph>x</ph> dog {number} " * 5, de="der Hund" * 10) + "\n" for number in range(size))
        (tmp_path / "a.tmx").write_text("".join([before, *units, after]))
        tracemalloc.start()
        try:
            assert sum(1 for _ in ExchangeFile.open(str(tmp_path / "a.tmx")).columns(BadLines())) == size
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1], peaks


@pytest.mark.parametrize(
    "command",
    [
        ["align", "--method", "hmm", "--hmm-encoder", "none"],
        ["link", "aligner"],
        ["filter", "aligner", "--min-confidence", "0"],
        ["symmetrize", "links", "--tree-links", "--pairs"],
        ["lexicon", "links"],
        ["strip-markup"],
        ["markup", "--aligner", "aligner"],
    ],
    ids=" ".join,
)
def test_a_file_is_parsed_once(command: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    parsers = iter([exchange.expat.ParserCreate()])
    monkeypatch.setattr(exchange.expat, "ParserCreate", lambda: next(parsers))
    assert run([*command, "pairs.tmx"]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exchange")
    pairs = [("the red house", "das rote Haus"), ("the old tree", "der alte Baum"), ("the tree", "der Baum")]
    (folder / "pairs.tmx").write_text(TMX.format("en", "".join(tu(en=en, de=de) for en, de in pairs)))
    (folder / "links").write_text("0-0 1-1 2-2\n0-0 1-1 2-2\n0-0 1-1\n")
    method = ["--method", "hmm", "--hmm-encoder", "none"]
    assert run(["align", *method, str(folder / "pairs.tmx"), "--out", str(folder / "aligner")]) == 0
    return folder
