"""TMX and XLIFF files on the command line."""

from pathlib import Path

import pytest

from synmt import logprob
from tests.cli.commands import is_one_line_of_error, is_wrong_usage, synmt
from tests.inspection.models import write_model

XLIFF = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a" source-language="en-US" target-language="de-DE" datatype="html"><body>
    <trans-unit id='1'  approved="no">
      <source>Please <g id="1">give</g> the
        <bpt id="2">&lt;a&gt;</bpt>old dog<ept id="2">&lt;/a&gt;</ept> <![CDATA[R&D]]>.</source>
      <note>kept &#169;</note>
    </trans-unit>
    <trans-unit id="2"><source>a <g id="1">red</g> house</source><target>ein rotes Haus</target></trans-unit>
    <trans-unit id="3"><source><g id="1">all</g></source><target/></trans-unit>
  </body></file>
</xliff>
"""
TMX = '<tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>'
TU = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
PAIRS = [("the red house", "das rote Haus"), ("the old tree", "der alte Baum"), ("a b", ""), ("the tree", "der Baum")]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with the same pairs in several forms."""
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    (tmp_path / "pairs.tmx").write_text(TMX.format("\n".join(TU.format(*pair) for pair in PAIRS)))
    (tmp_path / "page.xlf").write_bytes(XLIFF.replace("\n", "\r\n").encode())
    return tmp_path


def test_sources_become_lines(files: Path) -> None:
    done = synmt("strip-markup", files / "page.xlf")
    assert done.stdout == "Please give the old dog R&D.\na red house\nall\n"
    units = TU.format("a", "b") + TU.format("c", "d").replace('"de"', '"fr"')
    (files / "three.tmx").write_text(TMX.format(units))
    assert synmt("strip-markup", files / "three.tmx").stdout == "a\nc\n"
    assert synmt("strip-markup", files / "three.tmx", "--source-language", "fr").stdout == "\nd\n"
    done = synmt("strip-markup", files / "pairs.tsv", "--source-language", "fr")
    assert is_wrong_usage(done, "--source-language has no effect on lines")
    done = synmt("strip-markup", files / "pairs.tsv", files / "page.xlf")
    assert is_one_line_of_error(done, "page.xlf:1: not lines but XML: name the .xlf file first")


def test_new_targets_are_written_into_the_file(files: Path) -> None:
    (files / "new").write_text("Bitte geben Sie dem alten Hund R&D.\t0-0 1-1 2-3 3-4 4-5 5-6 6-7 7-8\n\nalle\t0-0\n")
    done = synmt("markup", files / "page.xlf", files / "new")
    target = (
        '<target>Bitte <g id="1">geben</g> Sie dem <bpt id="2">&lt;a&gt;</bpt>alten Hund<ept id="2">&lt;/a&gt;</ept>'
        " R&amp;D.</target>"
    )
    expected = XLIFF.replace("</source>\n      <note>", f"</source>\n      {target}\n      <note>")
    expected = expected.replace("<target/>", '<target><g id="1">alle</g></target>')
    assert done.stdout == expected.replace("\n", "\r\n")
    assert "text is tokenized as en, target text as de" in done.stderr


def test_an_aligner_links_the_targets_of_a_file(files: Path) -> None:
    """Only targets that lack the tags of their sources change."""
    aligner = files / "aligner"
    by_lines = synmt("align", "--method", "hmm", files / "pairs.tsv", "--target-language", "de")
    by_file = synmt("align", "--method", "hmm", files / "pairs.tmx", "--out", aligner)
    assert by_file.returncode == 0, by_file.stderr
    assert by_file.stdout == by_lines.stdout != "\n" * 4
    assert synmt("link", aligner, files / "pairs.tmx").stdout == by_file.stdout
    (files / "links").write_text(by_file.stdout)
    done = synmt("symmetrize", files / "links", "--pairs", files / "pairs.tmx", "--format", "jsonl")
    assert '"target":["das","rote","Haus"]' in done.stdout

    done = synmt("markup", "--aligner", aligner, files / "page.xlf")
    expected = XLIFF.replace(">ein rotes Haus<", '>ein <g id="1">rotes</g> Haus<').replace("\n", "\r\n")
    assert done.stdout == expected
    (files / "done.xlf").write_bytes(done.stdout.encode())
    assert synmt("markup", "--aligner", aligner, files / "done.xlf").stdout == done.stdout

    (files / "fr.tmx").write_text(TMX.format(TU.format("a", "b").replace("de", "fr")))
    done = synmt("markup", "--aligner", aligner, files / "fr.tmx")
    assert is_one_line_of_error(done, "fr.tmx: the file is in en and fr, but the aligner was fitted to en and de")
    done = synmt("link", aligner, files / "pairs.tmx", "--source-language", "fr")
    assert is_one_line_of_error(done, "pairs.tmx: has no segments in fr, only in en, de")


@pytest.mark.parametrize(
    "lines, cause",
    [
        ("a\t0-0\n", "segment"),
        ("a\n\n\n", "stdin:1: expected `target TAB links`, found 1 column"),
        ("a\x02\t0-0\n\n\n", "stdin:1: U+0002 cannot be in an XML file"),
        ("\n\na\t0-7\n", "stdin:3: "),
    ],
)
def test_bad_translations(lines: str, cause: str, files: Path) -> None:
    done = synmt("markup", files / "page.xlf", "-", text=lines)
    assert done.returncode == 1 and cause in done.stderr.splitlines()[-1], done.stderr
    if "stdin" in cause:
        done = synmt("markup", files / "page.xlf", "-", "--on-error", "blank", text=lines)
        assert done.stdout == (files / "page.xlf").read_bytes().decode() and "1 bad line left empty" in done.stderr


def test_usage(files: Path) -> None:
    assert is_wrong_usage(synmt("markup", files / "page.xlf"), "add --aligner")
    assert is_wrong_usage(synmt("markup", files / "page.xlf", "-", "-"), "")
    done = synmt("align", files / "pairs.tmx", files / "pairs.tsv")
    assert is_one_line_of_error(done, "pairs.tsv: does not end in .tmx, .xlf or .xliff, unlike")
    done = synmt("filter", files / "pairs.tmx")  # without the aligner
    assert is_one_line_of_error(done, "pairs.tmx: expected the folder of a model, found a file")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("command", [["strip-markup"], ["align"], ["linearize"], ["translate", "model"]])
def test_xml_is_not_lines(command: list[str], encoding: str, files: Path) -> None:
    (files / "lines").write_bytes(f'<?xml version="1.0"?>\n{TMX}'.encode(encoding))
    done = synmt(*command, files / "lines")
    if command[0] != "translate":  # which opens the model first
        assert is_one_line_of_error(done, "lines:1: not lines but XML")
        assert ".tmx, .xlf or .xliff" in done.stderr


def test_a_model_reads_a_file_in_its_languages(files: Path) -> None:
    folder = write_model(files / "model", "sequence")
    languages = folder.config.languages
    assert languages == ("en", "de")
    unit = TU.replace("</tu>", '<tuv xml:lang="fr"><seg>la maison</seg></tuv></tu>')
    (files / "three.tmx").write_text(TMX.format("\n".join(unit.format(*pair) for pair in PAIRS)))
    done = synmt("logprob", files / "model", files / "three.tmx")
    assert done.returncode == 0 and done.stdout == synmt("logprob", files / "model", files / "pairs.tmx").stdout != ""
    three, pairs = (list(logprob(files / "model", files / name)) for name in ("three.tmx", "pairs.tmx"))
    assert three == pairs


def test_an_average_that_is_refused_leaves_no_folder(files: Path) -> None:
    write_model(files / "one", "sequence")
    write_model(files / "two", "mask")
    done = synmt("average", files / "one", files / "two", "--out", files / "mean")
    assert is_one_line_of_error(done, "has a different") and not (files / "mean").exists()
