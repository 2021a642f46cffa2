"""Self-contained HTML pages: a sentence with its trees, links and a selector of heads; or many sentences with their
links or trees. All pages share one style and one script."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from synmt.inspection.alignment import Alignment
from synmt.inspection.matrix import Legend, Matrix
from synmt.inspection.trees import LONGEST_TEXT, Sentences
from synmt.streams import BadInput
from synmt.text.graphemes import label
from synmt.trees.drawing import NONE, Differences, compared
from synmt.trees.record import UNATTACHED, ParseRecord

if TYPE_CHECKING:
    from synmt.inspection.sentence import ReadSentence, Weights

DIGITS = 4  # decimals of numbers
LONGEST_WORD = 100  # characters of a word in a line
UNSURE, UNLIKE = ("unsure", "least sure first"), ("unlike", "most differences first")  # orders of sentences
MOST_NUMBERS = 10_000_000  # per page; more would be too much for a browser


@dataclass(frozen=True, slots=True)
class View:
    """Matrices under one legend. The reader chooses one by its group, such as a layer, and its title.

    shares: the values of a row sum to one, so values of a word's subwords add up. Each such matrix has its own colour
    scale, up to its largest value.
    """

    legend: Legend
    groups: Mapping[str, Sequence[Matrix]]
    shares: bool


def attention_page(sentence: "ReadSentence", title: str, alignment: Alignment | None = None) -> str:
    """Return a page with all heads of all layers on a sentence. Raises BadInput if the sentence is too long."""
    from synmt.inspection.sentence import of_all_heads

    weights, legend = of_all_heads(sentence, "weights")
    views = [View(legend, _layers(sentence, weights), shares=True)]
    if sentence.strengths is not None:
        _, legend = of_all_heads(sentence, "strengths")
        views.append(View(legend, _layers(sentence, sentence.strengths), shares=False))
    parts = {"reads": True, "tree": _tree(sentence), "dependencies": _dependencies(sentence)}
    if alignment is not None:
        words = {side: list(map(label, getattr(alignment, side))) for side in ("source", "target")}
        parts["links"] = {**words, "links": alignment.links}
    return _page(title, views, parts)


def alignment_page(matrices: Sequence[Matrix], legend: Legend, title: str) -> str:
    """Return a page with the matrices of several aligners for one pair; marks are links. Raises BadInput."""
    return _page(title, [View(legend, {"": matrices}, shares=False)], {})


def links_page(alignments: Iterable[tuple[int, Alignment]], title: str) -> str:
    """Return a page of numbered pairs with their links. Raises BadInput if there are too many for a page."""
    items, numbers = [], 0
    for number, each in alignments:
        numbers += len(each.source) + len(each.target) + 3 * len(each.links)
        _check_size(numbers)
        sides = [[label(word, LONGEST_WORD) for word in side] for side in (each.source, each.target)]
        confidence = round(each.confidence, DIGITS)
        items.append(
            {
                "number": number,
                "sides": sides,
                "texts": [" ".join(side) for side in sides],
                "links": [[i, j, round(float(each.scores[i, j]), DIGITS)] for i, j in each.links],
                "confidence": confidence,
                "keys": [confidence],
            }
        )
    return filled("sentences.html", title, {"items": items, "orders": [UNSURE], "links": True})


def trees_page(sentences: Sentences, names: Sequence[str], title: str) -> str:
    """Return a page of numbered sentences with their trees in each file, and their differences. Raises BadInput if
    there are too many for a page."""
    items, numbers, with_confidence = list[dict[str, Any]](), 0, False
    for number, records in sentences:
        unlike = compared(records)
        numbers += sum(3 * len(each.tokens) + 2 * len(each.tree.nodes if each.tree else ()) for each in records)
        _check_size(numbers)
        texts = [label(each.text or " ".join(each.tokens), LONGEST_TEXT) for each in records]
        item: dict[str, Any] = {"number": number, "texts": list(dict.fromkeys(texts))}
        item["records"] = [shown_trees(record, marks) for record, marks in zip(records, unlike, strict=True)]
        item["keys"] = [-sum(map(len, unlike))] * bool(names)
        if confidences := [each.confidence for each in records if each.confidences]:
            item["confidence"] = round(min(confidences), DIGITS)
            with_confidence = True
        items.append(item)
    if with_confidence:
        for item in items:
            item["keys"].append(item.get("confidence", 1.0))
    orders = [UNLIKE] * bool(names) + [UNSURE] * with_confidence
    return filled("sentences.html", title, {"items": items, "names": names, "orders": orders})


def shown_trees(record: ParseRecord, marks: Differences = NONE) -> dict[str, Any]:
    """Return the trees of a record as pages draw them, with the numbers of words and nodes to mark."""
    shown: dict[str, Any] = {}
    if record.heads:
        words = [label(word, LONGEST_WORD) for word in record.tokens]
        shown["dependencies"] = {"words": words, "heads": record.heads, "deprels": list(map(label, record.deprels))}
        if marks:
            shown["dependencies"] |= {"off": sorted(marks.heads), "other": sorted(marks.relations)}
    if record.tree:
        shown["tree"] = {"nodes": list(map(label, record.tree.nodes)), "parents": record.tree.parents}
        if marks:
            shown["tree"]["off"] = sorted(marks.nodes)
    return shown


def _layers(sentence: "ReadSentence", values: "Weights") -> dict[str, list[Matrix]]:
    """Group matrices by layer. values: [L,H,n,n], or [1,H,n,n] if all layers share them."""
    tokens = sentence.layout.tokens
    shared = len(values) < len(sentence.weights)
    return {
        "all layers" if shared else f"layer {layer + 1}": [
            Matrix(sentence.head_name(layer, head), tokens, tokens, matrix) for head, matrix in enumerate(heads)
        ]
        for layer, heads in enumerate(values)
    }


def _tree(sentence: "ReadSentence") -> dict[str, Any] | None:
    """Return the nodes of the tree that the encoder reads, or else of the record, with their parents and tokens."""
    layout, tree = sentence.layout, sentence.record.tree
    if layout.parents:
        tokens = [[token] for token in range(len(layout.tokens))]
        return {"nodes": list(map(label, layout.tokens)), "parents": layout.parents, "tokens": tokens}
    if tree is None:
        return None
    of_words = iter(_tokens_of_words(sentence))
    tokens = [next(of_words) if leaf else [] for leaf in tree.is_leaf()]
    return {"nodes": list(map(label, tree.nodes)), "parents": tree.parents, "tokens": tokens}


def _dependencies(sentence: "ReadSentence") -> dict[str, Any] | None:
    record = sentence.record
    if not record.heads or UNATTACHED in record.heads:
        return None
    words, deprels = list(map(label, record.tokens)), list(map(label, record.deprels))
    return {"words": words, "heads": record.heads, "deprels": deprels, "tokens": _tokens_of_words(sentence)}


def _tokens_of_words(sentence: "ReadSentence") -> list[list[int]]:
    """Return for each word the tokens that are its subwords."""
    tokens: list[list[int]] = [[] for _ in sentence.record.tokens]
    for token, word in enumerate(sentence.layout.words):
        if word >= 0:
            tokens[word].append(token)
    return tokens


def _page(title: str, views: Sequence[View], parts: Mapping[str, Any]) -> str:
    numbers = sum(each.values.size for view in views for group in view.groups.values() for each in group)
    _check_size(numbers)
    return filled("heads.html", title, {**parts, "views": list(map(_view, views))})


def _check_size(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise BadInput(f"{numbers} numbers, but a page can hold {MOST_NUMBERS} at most")


HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>@TITLE@</title>
"""  # of each page; its template begins with its style


def filled(template: str, title: str, data: object) -> str:
    """Fill a template, escaping data so that they cannot end the script element that contains them."""
    folder = resources.files("synmt.inspection")
    text, style, script = (
        folder.joinpath(name).read_text(encoding="utf-8").rstrip("\n") for name in (template, "page.css", "page.js")
    )
    text = f"{HEAD}{text}".replace("@STYLE@", style).replace("@SCRIPT@", script)
    before, between, after, end = text.replace("@DATA@", "@TITLE@").split("@TITLE@")
    return (
        html.escape(title).join([before, between, after])
        + msgspec.json.encode(data).decode().replace("<", "\\u003c")
        + end
    )


def _view(view: View) -> dict[str, Any]:
    groups = [{"name": name, "matrices": list(map(_matrix, group))} for name, group in view.groups.items()]
    return {"legend": asdict(view.legend), "groups": groups, "shares": view.shares}


def _matrix(matrix: Matrix) -> dict[str, Any]:
    return {
        "title": matrix.title,
        "rows": list(map(label, matrix.rows)),
        "columns": list(map(label, matrix.columns)),
        "values": matrix.values.astype(float).round(DIGITS).tolist(),
        "marks": matrix.marks,
    }
