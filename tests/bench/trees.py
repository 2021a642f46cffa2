"""Speed of relation matrices: our vectorised code compared with the definition, pair by pair."""

import random
from itertools import cycle, islice

from synmt.trees.linearization import relation_matrix
from tests.bench.pairs import Comparison, compare
from tests.trees.slow_relations import slow_relations


def random_parents(nodes: int, source: random.Random) -> list[int]:
    """Return the parents of a random tree in preorder: the parent of each node is on the path from the root to the node
    before it."""
    path, parents = [0], [-1]
    for node in range(1, nodes):
        depth = source.randrange(max(0, len(path) - 4), len(path))
        parents.append(path[depth])
        path = [*path[: depth + 1], node]
    return parents


def compare_relations(rounds: int) -> list[Comparison]:
    source = random.Random(7)
    trees = [random_parents(source.randrange(20, 61), source) for _ in range(500)]
    fast, slow = cycle(trees), cycle(trees)

    def vectorised() -> int:
        return sum(len(relation_matrix(parents)) > 0 for parents in islice(fast, 500))

    def pairwise() -> int:
        return sum(len(slow_relations(parents)) > 0 for parents in islice(slow, 20))

    return [compare("relation matrices: vectorised / pairwise", "sentences", vectorised, pairwise, rounds)]
