"""The nine relations by their definitions, pair by pair: a reference for tests and a baseline for benchmarks."""

from collections.abc import Sequence


def slow_relations(parents: Sequence[int]) -> list[list[int]]:
    """Return, at [q][k], the index in RELATIONS of the relation of key k to query q. Takes cubic time in the depth and
    length of a tree."""
    nodes = range(len(parents))
    return [[relation(parents, query, key) for key in nodes] for query in nodes]


def relation(parents: Sequence[int], query: int, key: int) -> int:
    if key == query:
        return 0
    if parents[query] == key:
        return 1
    if parents[key] == query:
        return 2
    if parents[key] == parents[query]:
        return 3 if key < query else 4
    if key in ancestors(parents, query):
        return 5
    if query in ancestors(parents, key):
        return 6
    return 7 if key < query else 8


def ancestors(parents: Sequence[int], node: int) -> list[int]:
    """Return all nodes above a node, nearest first."""
    path = []
    while parents[node] >= 0:
        node = parents[node]
        path.append(node)
    return path
