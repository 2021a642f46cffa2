"""HTML pages that need nothing else: a sentence with its trees, its links, and each head behind a selector; and the
links of a bitext, some pairs at a time."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

import orjson

from synmt.inspection.alignment import Alignment
from synmt.inspection.attention import of_all_heads
from synmt.inspection.matrix import Legend, Matrix, label
from synmt.inspection.sentence import ReadSentence, Weights
from synmt.streams import BadInput
from synmt.trees.record import UNATTACHED

DIGITS = 4  # after the point of a number on the page
LONGEST_WORD = 100  # characters of a word among others of a line
MOST_NUMBERS = 10_000_000  # on a page; more would be too much for a browser


@dataclass(frozen=True, slots=True)
class View:
    """Matrices to choose from, by group (a layer, say) and title, under one legend.

    shares: whether the values of a row are shares of one, so that those of a word's subwords add up; each such matrix
    has colours of its own, up to its greatest value.
    """

    legend: Legend
    groups: Mapping[str, Sequence[Matrix]]
    shares: bool


def attention_page(sentence: ReadSentence, title: str, alignment: Alignment | None = None) -> str:
    """Return a page of all heads of all layers on a sentence. Raises BadInput for a sentence too long for a page."""
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
    """Return a page of several aligners' matrices on a pair, with links as their marks. Raises BadInput."""
    return _page(title, [View(legend, {"": matrices}, shares=False)], {})


def links_page(alignments: Iterable[tuple[int, Alignment]], title: str) -> str:
    """Return a page of numbered pairs with their links. Raises BadInput for more of them than a page can hold."""
    pairs, numbers = [], 0
    for number, each in alignments:
        numbers += len(each.source) + len(each.target) + 3 * len(each.links)
        _check_size(numbers)
        words = [[label(word, LONGEST_WORD) for word in side] for side in (each.source, each.target)]
        links = [[i, j, round(float(each.scores[i, j]), DIGITS)] for i, j in each.links]
        pairs.append([number, *words, links, round(each.confidence, DIGITS)])
    return _filled("links.html", title, pairs)


def _layers(sentence: ReadSentence, values: Weights) -> dict[str, list[Matrix]]:
    """Return [L,H,n,n], or [1,H,n,n] where all layers share, in groups of a layer."""
    tokens = sentence.layout.tokens
    shared = len(values) < len(sentence.weights)
    return {
        "all layers" if shared else f"layer {layer + 1}": [
            Matrix(sentence.head_name(layer, head), tokens, tokens, matrix) for head, matrix in enumerate(heads)
        ]
        for layer, heads in enumerate(values)
    }


def _tree(sentence: ReadSentence) -> dict[str, Any] | None:
    """Return nodes, their parents, and the tokens of each node: the encoder's own tree, or that of the words."""
    layout, tree = sentence.layout, sentence.record.tree
    if layout.parents:
        tokens = [[token] for token in range(len(layout.tokens))]
        return {"nodes": list(map(label, layout.tokens)), "parents": layout.parents, "tokens": tokens}
    if tree is None:
        return None
    of_words = iter(_tokens_of_words(sentence))
    tokens = [next(of_words) if leaf else [] for leaf in tree.is_leaf()]
    return {"nodes": list(map(label, tree.nodes)), "parents": tree.parents, "tokens": tokens}


def _dependencies(sentence: ReadSentence) -> dict[str, Any] | None:
    record = sentence.record
    if not record.heads or UNATTACHED in record.heads:
        return None
    words, deprels = list(map(label, record.tokens)), list(map(label, record.deprels))
    return {"words": words, "heads": record.heads, "deprels": deprels, "tokens": _tokens_of_words(sentence)}


def _tokens_of_words(sentence: ReadSentence) -> list[list[int]]:
    """Return the tokens that are subwords of each word."""
    tokens: list[list[int]] = [[] for _ in sentence.record.tokens]
    for token, word in enumerate(sentence.layout.words):
        if word >= 0:
            tokens[word].append(token)
    return tokens


def _page(title: str, views: Sequence[View], parts: Mapping[str, Any]) -> str:
    numbers = sum(each.values.size for view in views for group in view.groups.values() for each in group)
    _check_size(numbers)
    return _filled("page.html", title, {**parts, "views": list(map(_view, views))})


def _check_size(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise BadInput(f"{numbers} numbers are more than the {MOST_NUMBERS} that a page can hold")


def _filled(template: str, title: str, data: object) -> str:
    """Return a page of a template, with data that cannot end the script that they stand in."""
    text = resources.files("synmt.inspection").joinpath(template).read_text(encoding="utf-8").rstrip("\n")
    before, between, after, end = text.replace("@DATA@", "@TITLE@").split("@TITLE@")
    return html.escape(title).join([before, between, after]) + orjson.dumps(data).decode().replace("<", "\\u003c") + end


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
