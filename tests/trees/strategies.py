"""Random trees for hypothesis."""

from hypothesis import strategies as st

from synmt.trees.constituency import ESCAPES, Tree

# What bracket strings can carry: no white space that ends a token, no parenthesis in a label.
LABELS = st.sampled_from(["S", "NP", "VP", "NP-SBJ", "PRP$", ".", "-LRB-", "``"])
_CHARACTERS = st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters=" ()[]{}") | st.sampled_from(
    "()[]{}"
)
# A word that is written like an escape is read as the bracket itself, in all treebanks.
WORDS = st.text(_CHARACTERS, min_size=1, max_size=6).filter(
    lambda word: not any(escape in word for escape in ESCAPES.values())
) | st.sampled_from(["(", ")", "()", "a(b", "NP", ".", ")"])


@st.composite
def parents(draw: st.DrawFn, max_nodes: int = 30) -> list[int]:
    """The parents of a random tree in preorder: each node hangs on the path from the root to the node before it."""
    path, chosen = [0], [-1]
    for node in range(1, draw(st.integers(1, max_nodes))):
        depth = draw(st.integers(0, len(path) - 1))
        chosen.append(path[depth])
        path = [*path[: depth + 1], node]
    return chosen


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 30, words: st.SearchStrategy[str] = WORDS) -> Tree:
    """Random trees of at least a label and a word."""
    shape = [-1, *(parent + 1 for parent in draw(parents(max_nodes)))]
    leaves = Tree([""] * len(shape), shape).is_leaf()
    return Tree([draw(words if leaf else LABELS) for leaf in leaves], shape)
