"""Random trees for hypothesis."""

from pathlib import Path

from hypothesis import strategies as st

from synmt.trees.constituency import Tree
from synmt.trees.formats import written
from synmt.trees.record import ParseRecord

# Bracket strings cannot hold white space in tokens, or parentheses in labels.
UD = Path(__file__).parents[2] / ".." / "shared" / "data" / "ud"
LABELS = st.sampled_from(["S", "NP", "VP", "NP-SBJ", "PRP$", ".", "-LRB-", "``"])
_CHARACTERS = st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters=" ()[]{}") | st.sampled_from(
    "()[]{}"
)
_PARTS = ["(", ")", "[", "/", "*", "\\", "-", "-LRB-", "-RCB-", "LRB", "-LRB", "RSB-", "\\/", "a", "NP", "."]
WORDS = st.text(_CHARACTERS, min_size=1, max_size=6) | st.lists(st.sampled_from(_PARTS), min_size=1, max_size=4).map(
    "".join
)


@st.composite
def parents(draw: st.DrawFn, max_nodes: int = 30) -> list[int]:
    """Draw the parents of a random tree in preorder: each parent is on the path from the root to the previous node."""
    path, chosen = [0], [-1]
    for node in range(1, draw(st.integers(1, max_nodes))):
        depth = draw(st.integers(0, len(path) - 1))
        chosen.append(path[depth])
        path = [*path[: depth + 1], node]
    return chosen


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 30, words: st.SearchStrategy[str] = WORDS) -> Tree:
    """Draw a random tree of at least one label and one word."""
    shape = [-1, *(parent + 1 for parent in draw(parents(max_nodes)))]
    leaves = Tree([""] * len(shape), shape).is_leaf()
    return Tree([draw(words if leaf else LABELS) for leaf in leaves], shape)


@st.composite
def projective_heads(draw: st.DrawFn, max_words: int = 8) -> list[int]:
    """Draw the heads of a projective tree: a tree in preorder, with each node then placed among its children."""
    above = draw(parents(max_words))
    dependents: list[list[int]] = [[] for _ in above]
    for node, parent in enumerate(above[1:], 1):
        dependents[parent].append(node)
    order: list[int] = []

    def place(node: int) -> None:
        to_the_left = draw(st.integers(0, len(dependents[node])))
        for dependent in dependents[node][:to_the_left]:
            place(dependent)
        order.append(node)
        for dependent in dependents[node][to_the_left:]:
            place(dependent)

    place(0)
    word = {node: number for number, node in enumerate(order, 1)}
    return [word[above[node]] if above[node] >= 0 else 0 for node in order]


@st.composite
def dependency_records(draw: st.DrawFn) -> ParseRecord:
    """Draw a record of n tokens whose heads form a tree."""
    n = draw(st.integers(1, 8))
    some_feats = st.lists(st.sampled_from(["_", "A=B", "A=B|C=D,E"]), min_size=n, max_size=n)
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order[1:], 1):
        heads[word - 1] = draw(st.sampled_from(order[:place]))
    names = st.text("ab_", min_size=1, max_size=3).filter(lambda name: name.strip("_"))
    record = ParseRecord(
        tokens=draw(st.lists(st.sampled_from(["a", "_", "#", "1-2", "é", "(", "-LRB-"]), min_size=n, max_size=n)),
        spaces=[*draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1)), False],
        lemmas=draw(st.lists(names, min_size=n, max_size=n) | st.just([]) | st.just(["of course"] * n)),
        upos=draw(st.lists(names, min_size=n, max_size=n)),
        xpos=draw(st.lists(names, min_size=n, max_size=n) | st.just([])),
        feats=draw(some_feats.map(lambda feats: feats if set(feats) != {"_"} else [])),
        heads=heads,
        deprels=draw(st.lists(names, min_size=n, max_size=n)),
        sent_id=draw(st.sampled_from(["", "a-1"])),
    )
    record.text = written(record)
    return record
