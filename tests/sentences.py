"""`python -m tests.sentences --seed N`: draws random sentences to read aloud, ten of each kind, with their places.

`--all` prints every sentence instead, and `--under synmt/runs` only those of one folder or file.
"""

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import click

from synmt.cli.manual import root, with_those_below
from tests.test_docs import DOCS, README, prose
from tests.test_messages import PACKAGE, messages

ROOT = PACKAGE.parent
CODE = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
EACH = 10
WORDS = 4  # of the shortest sentence that is drawn
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*`\"])")
DEFINED = ast.Module | ast.ClassDef | ast.FunctionDef
Sentences = Iterator[tuple[str, str]]  # place, sentence


def split(text: str) -> Iterator[str]:
    """Yield the sentences of a text. Paragraphs, items, cells of tables and headings each end one."""
    for block in re.split(r"\n\s*\n|\n(?=\s*[-|#*]\s?)|\n(?=\s*\d+\. )|(?<!`)\|", dedent(text)):
        for sentence in END.split(" ".join(block.split())):
            if len(re.findall(r"[a-z]{2}", sentence)) >= 2 and len(sentence.split()) >= WORDS:
                yield sentence


def of_page(path: Path) -> Sentences:
    for sentence in split(prose(path)):
        yield str(path.relative_to(ROOT)), sentence


def of_help() -> Sentences:
    for context in with_those_below(root(terminal_width=1000)):
        texts = [context.command.help or ""]
        texts += [each.help or "" for each in context.command.params if isinstance(each, click.Option)]
        for text in texts:
            for sentence in split(text.replace("\b", "")):
                yield context.command_path, sentence


def of_messages() -> Sentences:
    for path in PACKAGE.rglob("*.py"):
        for text in messages(ast.parse(path.read_text(encoding="utf-8"))):
            if len(text.split()) >= WORDS:
                yield str(path.relative_to(ROOT)), text


def of_code(path: Path) -> Sentences:
    """Yield the sentences of docstrings and of comments."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DEFINED) and (docstring := ast.get_docstring(node)):
            for sentence in split(docstring):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", sentence
    for comment in re.findall(r"(?:^ *# .*\n)+|(?<=  )# .*$", text, re.MULTILINE):
        for sentence in split(re.sub(r"^ *# ", "", comment, flags=re.MULTILINE)):
            if not sentence.startswith(("noqa", "type:", "fmt:")):
                yield str(path.relative_to(ROOT)), sentence


def kinds() -> dict[str, list[tuple[str, str]]]:
    """Return all sentences by kind."""
    return {
        "README": list(of_page(README)),
        "docs": [each for path in sorted(DOCS.glob("*.md")) if path.name != "cli.md" for each in of_page(path)],
        "help": list(dict.fromkeys(of_help())),
        "messages": list(of_messages()),
        "docstrings and comments": [each for path in CODE for each in of_code(path)],
    }


@click.command()
@click.option("--seed", type=int, default=1)
@click.option("--all", "is_all", is_flag=True)
@click.option("--under", default="")
def command(seed: int, is_all: bool, under: str) -> None:
    drawn = random.Random(seed)
    for kind, sentences in kinds().items():
        found = [each for each in sentences if each[0].startswith(under)]
        print(f"\n== {kind}: {len(found)}")
        for place, sentence in found if is_all else drawn.sample(found, min(EACH, len(found))):
            print(f"{place}: {sentence}")


if __name__ == "__main__":
    command()
