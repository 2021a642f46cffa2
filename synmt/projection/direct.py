"""Direct projection: each arc of the source becomes an arc between the words that its two words are linked to.

Hwa, Resnik, Weinberg, Cabezas & Kolak (2005), "Bootstrapping Parsers via Syntactic Projection across Parallel Texts",
Natural Language Engineering. Words from source to target:

- 1:1: arc and relation are carried over.
- n:1: of the source words, the one nearest to the root counts, the best linked one of equals.
- 1:n: the best linked word stands for the source word; the others depend on it. (In the paper, all depend on a new
  word without a form, which no treebank has.)
- a source word without links: its dependents hang on the first word above it that is linked, as on the paper's new
  word if that is then taken out.
- a target word without links has no head.
"""

from synmt.projection.source import Source
from synmt.projection.votes import Votes
from synmt.trees.dependency import DEPENDENCY, depths


def project(source: Source, votes: Votes) -> None:
    """Add one vote for each arc that is projected, of the product of its links' scores."""
    record = source.record
    depth = depths(record.heads) if record.heads else [1] * len(record.tokens)
    linked: dict[int, tuple[int, float]] = {}  # target word to its source word and score
    for (i, j), score in source.links.items():
        known = linked.get(j)
        if known is None or (-depth[i], score) > (-depth[known[0]], known[1]):
            linked[j] = i, score
    best: dict[int, tuple[int, float]] = {}  # source word to the target word that stands for it
    for j, (i, score) in sorted(linked.items()):
        if i not in best or score > best[i][1]:
            best[i] = j, score
    for j, (i, score) in linked.items():
        if record.upos:
            votes.tags[j + 1][record.upos[i]] += score
        word, its_score = best[i]
        if j != word:
            votes.arcs[word + 1, j + 1][DEPENDENCY] += score * its_score
        elif record.heads:
            above = record.heads[i]
            while above and above - 1 not in best:
                above = record.heads[above - 1]
            head, its_score = best[above - 1] if above else (-1, 1.0)
            relation = record.deprels[i] if record.deprels else DEPENDENCY
            votes.arcs[head + 1, j + 1][relation] += score * its_score
