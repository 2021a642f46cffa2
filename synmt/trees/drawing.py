"""Trees in rows of text and as SVG, alone or beside another tree of the sentence with their differences marked.

In text, each word has a row, so long sentences fit on a screen, and trees of one sentence stand side by side. The
dependency tree is a tree of words in the order of the sentence, as udapi draws it:

      ╭─╼ the     DET   det
    ╭─┶ dogs      NOUN  nsubj
    ┾ bark        VERB  root
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest
from typing import TYPE_CHECKING

from synmt.text.graphemes import columns, is_from_the_right, label
from synmt.text.svg import LONGEST_WORD, SMALL, Svg, places, width_of
from synmt.trees.constituency import Tree, subtree_ends

if TYPE_CHECKING:
    from synmt.trees.record import ParseRecord

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = {
    UP | DOWN: "│", DOWN | RIGHT: "╭", UP | RIGHT: "╰", UP | DOWN | RIGHT: "├", LEFT | RIGHT: "─",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
WORDS = {0: "╼", DOWN: "┮", UP: "┶", UP | DOWN: "┾"}  # by where the dependents are
OTHER_HEAD, OTHER_RELATION, OTHER_LABEL = "≠", "~", "*"
ARC, LEVEL = 22, 36  # pixels between levels of arcs, and between levels of a constituency tree
Span = tuple[int, int]  # in characters of the words


@dataclass(frozen=True, slots=True)
class Differences:
    """What another tree of the sentence has not: words with such a head, words with the head but another relation, and
    nodes of the constituency tree."""

    heads: frozenset[int] = frozenset()
    relations: frozenset[int] = frozenset()
    nodes: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.heads) + len(self.relations) + len(self.nodes)


NONE = Differences()


def differences(record: "ParseRecord", other: "ParseRecord") -> Differences:
    """Return where a record differs from another one. Words may be divided in other ways. There is no difference
    between sentences with other characters, such as translations, nor where the other has no tree of this kind."""
    if "".join(record.tokens) != "".join(other.tokens):
        return NONE
    heads, relations, nodes = set[int](), set[int](), set[int]()
    if record.heads and other.heads:
        arcs = {span: (head, relation) for span, head, relation in _arcs(other)}
        for word, (span, head, relation) in enumerate(_arcs(record)):
            if arcs.get(span, (None, ""))[0] != head:
                heads.add(word)
            elif arcs[span][1] != relation:
                relations.add(word)
    if record.tree and other.tree:
        brackets = set(_brackets(other.tree))
        nodes = {node for node, each in enumerate(_brackets(record.tree)) if each[2] and each not in brackets}
    return Differences(frozenset(heads), frozenset(relations), frozenset(nodes))


def _spans(words: Sequence[str]) -> list[Span]:
    ends = list(accumulate(map(len, words), initial=0))
    return list(pairwise(ends))


def _arcs(record: "ParseRecord") -> Iterator[tuple[Span, Span | int, str]]:
    """Yield each word, its head, 0 for a root and -1 for none, and its relation, with words as spans."""
    spans = _spans(record.tokens)
    for span, head, relation in zip(spans, record.heads, _relations(record), strict=True):
        yield span, spans[head - 1] if head > 0 else head, relation


def _relations(record: "ParseRecord") -> Sequence[str]:
    return record.deprels or [""] * len(record.tokens)


def _brackets(tree: Tree) -> Iterator[tuple[int, int, str]]:
    """Yield the span and label of each node, without a label for a leaf."""
    leaves = tree.is_leaf()
    lengths = [len(node) * leaf for node, leaf in zip(tree.nodes, leaves, strict=True)]
    before = list(accumulate(lengths, initial=0))
    for node, end in enumerate(subtree_ends(tree.parents)):
        yield before[node], before[end], "" if leaves[node] else tree.nodes[node]


def rows(records: Sequence["ParseRecord"], names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the rows of the trees of a sentence: first constituents, then dependencies, of one or two records side by
    side. names: of two records, for a row above."""
    unlike = compared(records)
    for draw in (_constituency_rows, _dependency_rows):
        blocks = [list(draw(record, marks)) for record, marks in zip(records, unlike, strict=True)]
        if not any(blocks):
            continue
        width = max(columns(row) for row in [*(row for row, _ in blocks[0]), *names[:1], ""])
        if names:
            yield f"{_padded(names[0], width)}   {names[1]}"
        for words in _aligned(records):
            cells = [
                block[word] if word is not None and word < len(block) else ("", "")
                for block, word in zip(blocks, words, strict=True)
            ]
            first, *others = (row for row, _ in cells)
            mark = next((mark for _, mark in cells if mark), " ")
            yield "".join([_padded(first, width) if others else first, *(f" {mark} {row}" for row in others)]).rstrip()


def compared(records: Sequence["ParseRecord"]) -> list[Differences]:
    """Return how each of two records differs from the other one; nothing for a single record."""
    return [differences(*pair) for pair in (records, records[::-1])] if len(records) == 2 else [NONE] * len(records)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _aligned(records: Sequence["ParseRecord"]) -> Iterator[tuple[int | None, ...]]:
    """Yield the words of each record that begin at the same character, or nth words of records with other texts."""
    if len({"".join(record.tokens) for record in records}) > 1:
        return zip_longest(*(range(len(record.tokens)) for record in records))
    starts = [{start: word for word, (start, _) in enumerate(_spans(record.tokens))} for record in records]
    return (tuple(each.get(start) for each in starts) for start in sorted(set().union(*starts)))


def _dependency_rows(record: "ParseRecord", marks: Differences) -> Iterator[tuple[str, str]]:
    """Yield the row of each word, and its mark if it differs."""
    if not record.heads:
        return
    trees = [f"{bars} {_word(word)}" for bars, word in zip(_bars(record.heads), record.tokens, strict=True)]
    confidences = [f"{each:.2f}" for each in record.confidences]
    cells = [trees, record.upos, list(map(label, record.deprels)), confidences]
    widths = [max(map(columns, column)) for column in cells if column]
    for word, row in enumerate(zip(*filter(None, cells), strict=True)):
        mark = OTHER_HEAD if word in marks.heads else OTHER_RELATION if word in marks.relations else ""
        yield "  ".join(map(_padded, row, widths)).rstrip(), mark


def _word(word: str) -> str:
    """Return a word. One that is written from right to left is isolated, so that terminals do not reorder its row."""
    shown = label(word, LONGEST_WORD)
    return f"\u2068{shown}\u2069" if is_from_the_right([word]) else shown


def _bars(heads: Sequence[int]) -> list[str]:
    """Return the lines left of each word. A word stands right of its head, in a column where no other line is."""
    below: list[list[int]] = [[] for _ in heads]
    for word, head in enumerate(heads):
        if head > 0:
            below[head - 1].append(word)
    column, taken = [0] * len(heads), list[list[Span]]()
    waiting = [word for word, head in enumerate(heads) if head <= 0]
    for word in waiting:  # grows
        first, last = min([word, *below[word]]), max([word, *below[word]])
        column[word] = column[heads[word] - 1] + 1 if heads[word] > 0 else 0
        while column[word] < len(taken) and any(a <= last and first <= b for a, b in taken[column[word]]):
            column[word] += 1
        taken += [[] for _ in range(column[word] + 1 - len(taken))]
        taken[column[word]].append((first, last))
        waiting += below[word]
    grid: list[list[int]] = [[0] * len(taken) for _ in heads]
    ends = list(column)
    for head, own in enumerate(below):
        at, first, last = column[head], min([head, *own]), max([head, *own])
        for row in range(first, last + 1):
            grid[row][at] |= UP * (row > first) | DOWN * (row < last)
            ends[row] = max(ends[row], at)
        for row in own:
            for place in range(at, column[row]):
                grid[row][place] |= RIGHT | LEFT * (place > at)
    return [_line(grid[word], column[word], ends[word]) for word in range(len(heads))]


def _line(directions: Sequence[int], anchor: int, end: int) -> str:
    """Return the lines of a row with the word's own sign at `anchor`."""
    signs = [LINES.get(each, " ") for each in directions[: end + 1]]
    signs[anchor] = WORDS[directions[anchor] & (UP | DOWN)]
    return "".join(sign + "─ "[not directions[place] & RIGHT] for place, sign in enumerate(signs)).rstrip()


def _constituency_rows(record: "ParseRecord", marks: Differences) -> Iterator[tuple[str, str]]:
    """Yield the row of each word: the labels of the constituents that begin with it, and lines to those around it."""
    tree = record.tree
    if tree is None:
        return
    leaves, after = tree.is_leaf(), subtree_ends(tree.parents)
    names = [label(node) + OTHER_LABEL * (number in marks.nodes) for number, node in enumerate(tree.nodes)]
    begun, path = 0, list[int]()  # the first node that no row shows yet
    for leaf in (node for node, is_leaf in enumerate(leaves) if is_leaf):
        while path and after[path[-1]] <= leaf:
            path.pop()
        path += range(begun, leaf + 1)
        pieces = []
        for node, child in pairwise(path):
            is_last = after[child] == after[node]
            if node >= begun:
                pieces.append(names[node] + ("───" if is_last else "─┬─"))
            else:
                bar = ("╰─" if is_last else "├─") if child >= begun else "  " if is_last else "│ "
                pieces.append(" " * (columns(names[node]) + 1) + bar)
        word = _word(tree.nodes[leaf])
        if pieces and pieces[-1].endswith("─"):
            pieces[-1] += " "
        mark = OTHER_HEAD if any(node in marks.nodes for node in range(begun, leaf)) else ""
        begun = leaf + 1
        yield "".join([*pieces, word]), mark


def picture(records: Sequence["ParseRecord"], names: Sequence[str] = ()) -> str:
    """Return the trees of a sentence as SVG: one below the other for one or two records, with their differences marked.

    names: of the records, for titles.
    """
    svg = Svg()
    for number, (record, marks) in enumerate(zip(records, compared(records), strict=True)):
        if names:
            svg.text(10, svg.height + 18, names[number], "title")
            svg.grow(width_of(names[number]) + 20, svg.height + 28)
        if record.tree:
            _draw_constituency(svg, record.tree, marks)
        if record.heads:
            _draw_dependencies(svg, record, marks)
    return str(svg)


def _draw_constituency(svg: Svg, tree: Tree, marks: Differences) -> None:
    leaves, depths, top = tree.is_leaf(), tree.depths(), svg.height + 20
    children: list[list[int]] = [[] for _ in tree.nodes]
    for node, parent in enumerate(tree.parents[1:], 1):
        children[parent].append(node)
    widths = []
    for leaf in (node for node, is_leaf in enumerate(leaves) if is_leaf):
        node, widest = leaf, width_of(label(tree.nodes[leaf], LONGEST_WORD))
        while (node := tree.parents[node]) >= 0 and len(children[node]) == 1:
            widest = max(widest, width_of(label(tree.nodes[node])))
        widths.append(widest)
    middles, end = places(tree.leaves(), widths)
    of_leaves = iter(middles)
    x = [next(of_leaves) if leaf else 0.0 for leaf in leaves]
    for node in reversed(range(len(tree))):
        if children[node]:
            x[node] = (x[children[node][0]] + x[children[node][-1]]) / 2
    for node, (text, parent) in enumerate(zip(tree.nodes, tree.parents, strict=True)):
        y = top + LEVEL * depths[node]
        if parent >= 0:
            svg.path(f"M{x[parent]:.1f} {y - LEVEL + 6:.1f}L{x[node]:.1f} {y - 14:.1f}")
        svg.text(x[node], y, text, "off" if node in marks.nodes else "")
    svg.grow(end, top + LEVEL * max(depths) + 14)


def _draw_dependencies(svg: Svg, record: "ParseRecord", marks: Differences) -> None:
    heads, relations = record.heads, _relations(record)
    widths = [
        max(width_of(label(word, LONGEST_WORD)), width_of(label(relation), SMALL))
        for word, relation in zip(record.tokens, relations, strict=True)
    ]
    x, end = places(record.tokens, widths)
    levels = _levels(heads)
    ground = svg.height + 44 + ARC * max(levels)
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        kind = "off" if word in marks.heads else ""
        of_relation = "small off" if word in marks.heads or word in marks.relations else "small"
        top = ground - 18 - ARC * levels[word]
        if head == 0:
            svg.path(f"M{x[word]:.1f} {top:.1f}V{ground - 14:.1f}m-3 -5l3 5l3 -5", kind)
            svg.text(x[word], top - 3, relation, of_relation)
        elif head > 0:
            aside = 4 if x[word] < x[head - 1] else -4
            start, stop = x[head - 1] - aside, x[word] + aside
            svg.path(f"M{start:.1f} {ground - 14:.1f}V{top:.1f}H{stop:.1f}V{ground - 14:.1f}m-3 -5l3 5l3 -5", kind)
            svg.text((start + stop) / 2, top - 3, relation, of_relation)
    for middle, form in zip(x, record.tokens, strict=True):
        svg.text(middle, ground, form)
    svg.grow(end, ground + 14)


def _levels(heads: Sequence[int]) -> list[int]:
    """Return the height of each word's arc, above those that it spans or crosses. Those of roots are the highest; a
    word without a head has 0."""
    levels = [0] * len(heads)
    arcs = sorted(
        (abs(head - 1 - word), word, min(word, head - 1), max(word, head - 1))
        for word, head in enumerate(heads) if head > 0
    )  # fmt: skip
    for place, (_, word, first, last) in enumerate(arcs):
        below = (levels[other] for _, other, start, end in arcs[:place] if first < end and start < last)
        levels[word] = max(below, default=0) + 1
    highest = max(levels) + 1
    return [highest if head == 0 else level for head, level in zip(heads, levels, strict=True)]
