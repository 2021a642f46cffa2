"""synmt markup and synmt strip-markup"""

import html
import random
import re
from pathlib import Path
from typing import Any

import pytest

import synmt as api
from tests.cli.commands import in_process, is_one_line_of_error, is_wrong_usage, shell, synmt
from tests.inspection.models import write_model
from tests.text.marked import marked_line

MARKED = "The <b>small house</b> is <a href='x?a=1&amp;b'>old</a>.<br/>"
SMALL = f"{MARKED}\tDas kleine Haus ist alt.\t0-0 1-1 2-2 3-3 4-4 5-5"


def test_markup_is_carried_over_links_or_by_an_aligner(letter_aligner: Path) -> None:
    text = f"{SMALL}\n\n{SMALL}:0.90\t0.912345\n"
    done = synmt("markup", "--target-language", "de", text=text, cold=True)
    carried = "Das <b>kleine Haus</b> ist <a href='x?a=1&amp;b'>alt</a>.<br/>\n"
    assert done.stdout == f"{carried}\n{carried}"
    assert (done.returncode, done.stderr) == (0, "synmt markup: source text is tokenized as en, target text as de\n")
    text = "a <i>b</i> c\tC A B\n\n<br>\t\na &amp; b\tA & <B>\n"
    found = in_process("markup", "--aligner", str(letter_aligner), text=text.encode())
    assert found.decode() == "C A <i>B</i>\n\n<br>\nA &amp; &lt;B&gt;\n"


def test_markup_is_stripped() -> None:
    done = synmt("strip-markup", text=f"{MARKED}\n\nR&amp;D <br>\n<li>Run <code>ls</code> &copy b<li>a\n")
    assert (done.stdout, done.stderr) == ("The small house is old.\n\nR&D \nRun © b a\n", "")


def test_a_pair_of_codes_and_content_that_is_not_translated_are_carried() -> None:
    source = '<bpt i="1">[b]</bpt>das Haus<ept i="1">[/b]</ept> H<sub>2</sub>O <code>x  &foo;</code>'
    text = f"{source}\tH2O ho\u0302use the\t0-2 1-1 2-0\n"
    done = synmt("markup", "--tokenizer", "none", text=text)
    carried = 'H<sub>2</sub>O <code>x  &foo;</code> <bpt i="1">[b]</bpt>ho\u0302use the<ept i="1">[/b]</ept>\n'
    assert (done.stdout, done.stderr) == (carried, "")


EVERY_LINK = " ".join(f"{i}-{j}" for i in range(150) for j in range(150))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("<b>a\tb\t", "character 1: <b> is not closed"),
        ("a <b><i>x</b></i>\tb\t", "character 10: '</b>', but </i> should come first"),
        ("a < b\tb\t", "does not begin a tag; write &lt;"),
        ("a\tb", "expected `source TAB target TAB links`, found 2 columns"),
        ("a\tb\t1-0", "link 1-0 for 1 source and 1 target words"),
        ('a\tb\t{"source": ["c"], "links": []}', "links of another source, with 'c' instead of 'a'"),
        (f"{'a ' * 1001}\tb\t", "1001 words, but a line with markup may have at most 1000"),
        (f"{'a ' * 150}\t{'b ' * 150}\t{EVERY_LINK}", "22500 links, but a line with markup may have at most 20000"),
    ],
)
def test_bad_markup_is_reported_or_left_empty(line: str, cause: str) -> None:
    done = synmt("markup", text=f"{SMALL}\n{line}\n")
    assert is_one_line_of_error(done, "synmt markup: stdin:2: ", cause) and done.stdout.count("\n") == 1
    blank = synmt("markup", "--on-error", "blank", text=f"{line}\n{SMALL}\n\xff\n".encode("latin-1"))
    assert blank.stdout.splitlines()[::2] == ["", ""] and "2 bad lines left empty" in blank.stderr


def test_untranslated_lines_are_left_empty_and_counted() -> None:
    done = synmt("markup", "--target-language", "de", text="<b>a</b>\t\t\n")
    assert (done.returncode, done.stdout) == (0, "\n")
    assert "synmt markup: 1 line without a translation left empty" in done.stderr


def test_markup_is_restored_in_translations(letter_aligner: Path, tmp_path: Path) -> None:
    """Each tag occurs once, with the same nesting, around words or none. The text between tags is the translation."""
    write_model(tmp_path / "model", "sequence")
    lines = ["He <b>is <i>my</i></b> father.<br>", "", "<p class='x'>father</p>", "no markup &amp; none", "<x id='1'/>"]
    lines += [
        "<code>ls  &foo;</code>",
        'is <bpt i="1">[b]</bpt>my<ept i="1">[/b]</ept> <b translate="no">Fa  <i>x</i></b>',
    ]
    (tmp_path / "page").write_text("".join(f"{line}\n" for line in ["<b>x", *lines]))
    blank = "--on-error blank"
    done = shell(
        f"synmt strip-markup {blank} page | synmt translate model | tee plain"
        f" | paste page - | synmt markup {blank} --aligner {letter_aligner}",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    bad, *found = done.stdout.splitlines()
    assert bad == "" and done.stderr.count("1 bad line left empty") == 2
    expected = (tmp_path / "plain").read_text().splitlines()[1:]
    hidden = r"<code>.*</code>|<bpt.*?</bpt>|<ept.*?</ept>|<b translate.*</b>|<[^>]*>"
    assert [html.unescape(re.sub(hidden, "", each)).split() for each in found] == [each.split() for each in expected]
    assert sorted(re.findall("<[^>]*>", found[0])) == sorted(re.findall("<[^>]*>", lines[0]))
    assert re.fullmatch("<p class='x'>.+</p>", found[2]) and found[4:6] == lines[4:6]
    assert re.search(r'<bpt i="1">\[b\]</bpt>.+<ept i="1">\[/b\]</ept>', found[6])
    assert '<b translate="no">Fa  <i>x</i></b>' in found[6]


@pytest.mark.parametrize(
    ("old", "cause"),
    [
        (["translate", "model", "--markup"], "unknown option --markup; `synmt strip-markup` removes tags"),
        (["translate", "model", "--aligner", "x"], "`synmt markup` restores them"),
        (["project", "--markup"], "unknown option --markup; `synmt markup` carries"),
        (["project", "--strip"], "unknown option --strip; `synmt strip-markup` removes"),
    ],
)
def test_old_options_name_the_new_commands(old: list[str], cause: str) -> None:
    assert is_wrong_usage(synmt(*old), cause)


@pytest.mark.parametrize("record", [["a"], ("a",), api.ParseRecord(text="x")])
def test_python_reads_markup_in_text_only(record: Any) -> None:
    kind = type(record).__name__
    for call in (
        lambda: api.strip_markup(["a", record]),
        lambda: api.markup([("a", "b", "0-0"), ("<b>a</b>", record, "0-0")]),
        lambda: api.markup([("a", "b", "0-0"), (record, "b", "0-0")]),
    ):
        with pytest.raises(TypeError, match=rf":2: markup is in a str, not in a {kind}$"):
            list(call())


def test_python_gives_the_lines_of_the_commands() -> None:
    source = random.Random(1)
    pages = [*(marked_line(source) for _ in range(50)), "", " "]
    text = "".join(f"{page}\n" for page in pages).encode()
    assert list(api.strip_markup(pages)) == in_process("strip-markup", text=text).decode().split("\n")[:-1]
    pairs = [(page, "A B C", "0-0" if page.strip() else "") for page in pages]
    text = "".join("\t".join(pair) + "\n" for pair in pairs).encode()
    expected = in_process("markup", "--tokenizer", "none", "--on-error", "blank", text=text).decode().split("\n")[:-1]
    with pytest.warns(UserWarning, match="left empty"):
        assert list(api.markup(pairs, config=api.MarkupConfig(tokenizer="none"), on_error="blank")) == expected
    with pytest.raises(api.BadInput, match=r"^sentences:2: character 1: <b> is not closed$"):
        list(api.strip_markup(["a", "<b>a"]))
    with pytest.raises(TypeError, match=r"a pair is \(source, target, links\)$"):
        list(api.markup([("a", "b")]))
