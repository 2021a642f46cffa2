from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from synmt.trees.constituency import read_brackets, subtree_ends
from synmt.trees.relations import LEGEND, RELATIONS, relation_matrix, relation_rows
from tests.trees.slow_relations import ancestors, slow_relations
from tests.trees.strategies import parents

WHOLE = "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))"
WHOLE_ROWS = """\
=CDDCDDDDDDDCD
P=CDr>>>>>>>r>
AP=C>>>>>>>>>>
AAP=>>>>>>>>>>
Pl<<=CDCDDDDr>
A<<<P=Cr>>>>>>
A<<<AP=>>>>>>>
A<<<Pl<=CDCD>>
A<<<A<<P=Cr>>>
A<<<A<<AP=>>>>
A<<<A<<Pl<=C>>
A<<<A<<A<<P=>>
Pl<<l<<<<<<<=C
A<<<<<<<<<<<P=
""".splitlines()
SPLIT = "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN fa@@ ther))) (. .))"
SPLIT_ROWS = """\
=CDDCDDDDDDDDCD
P=CDr>>>>>>>>r>
AP=C>>>>>>>>>>>
AAP=>>>>>>>>>>>
Pl<<=CDCDDDDDr>
A<<<P=Cr>>>>>>>
A<<<AP=>>>>>>>>
A<<<Pl<=CDCDD>>
A<<<A<<P=Cr>>>>
A<<<A<<AP=>>>>>
A<<<A<<Pl<=CC>>
A<<<A<<A<<P=r>>
A<<<A<<A<<Pl=>>
Pl<<l<<<<<<<<=C
A<<<<<<<<<<<<P=
""".splitlines()
TRANSPOSED = [0, 2, 1, 4, 3, 6, 5, 8, 7]


@pytest.mark.parametrize(("brackets", "rows"), [(WHOLE, WHOLE_ROWS), (SPLIT, SPLIT_ROWS)])
def test_the_worked_example(brackets: str, rows: list[str]) -> None:
    assert relation_rows(read_brackets(brackets).parents) == rows


def test_the_counts_of_the_worked_example() -> None:
    matrix = relation_matrix(read_brackets(WHOLE).parents)
    counts = Counter(RELATIONS[cell] for cell in matrix.flat)
    assert [counts[name] for name in RELATIONS] == [14, 13, 13, 5, 5, 18, 18, 55, 55]


def test_rows_are_queries_and_columns_are_keys() -> None:
    parents = read_brackets(WHOLE).parents
    matrix = relation_matrix(parents)
    assert RELATIONS[matrix[3, 2]] == "parent"  # PRP is the parent of He
    assert [RELATIONS[matrix[7, key]] for key in (0, 4, 5, 8, 9, 12)] == [
        *("anc", "parent", "left-sib", "child", "desc", "right-other")
    ]


@given(parents())
def test_the_matrix_agrees_with_the_definitions(parents: list[int]) -> None:
    matrix = relation_matrix(parents)
    assert matrix.dtype == np.uint8
    assert matrix.tolist() == slow_relations(parents)


@given(parents())
def test_transposition_swaps_the_roles_of_query_and_key(parents: list[int]) -> None:
    matrix = relation_matrix(parents)
    assert (np.array(TRANSPOSED)[matrix] == matrix.T).all()


@given(parents())
def test_the_relations_partition_all_pairs(parents: list[int]) -> None:
    n = len(parents)
    counts = np.bincount(relation_matrix(parents).ravel(), minlength=9)
    depths = [len(ancestors(parents, node)) for node in range(n)]
    assert len(counts) == 9
    assert counts.sum() == n * n
    assert counts[0] == n
    assert counts[1] == counts[2] == n - 1
    assert counts[5] == counts[6] == sum(depths) - (n - 1)


@given(parents())
def test_rows_write_the_matrix_in_the_legend(parents: list[int]) -> None:
    rows = relation_rows(parents)
    assert [[LEGEND.index(cell) for cell in row] for row in rows] == relation_matrix(parents).tolist()


@given(parents())
def test_subtree_ends_bound_the_descendants(parents: list[int]) -> None:
    nodes = range(len(parents))
    for node, end in enumerate(subtree_ends(parents)):
        below = [key for key in nodes if node in ancestors(parents, key)]
        assert [node, *below] == list(range(node, end))


def test_a_single_node_is_itself_alone() -> None:
    assert relation_rows([-1]) == ["="]
    assert subtree_ends([-1]) == [1]


def test_a_unary_chain_has_only_the_line_of_descent() -> None:
    assert relation_rows([-1, 0, 1, 2]) == ["=CDD", "P=CD", "AP=C", "AAP="]


def test_a_chain_of_ten_thousand_levels() -> None:
    n = 10_000
    chain = [-1, *range(n - 1)]
    assert subtree_ends(chain) == [n] * n
    matrix = relation_matrix(chain)
    assert matrix[5000].tolist() == [*[5] * 4999, 1, 0, 2, *[6] * 4998]
    assert (matrix[:, 0] == [0, 1, *[5] * 9998]).all()
