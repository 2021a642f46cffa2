import numpy as np
from hypothesis import given

from synmt.trees.constituency import read_brackets, subtree_ends
from synmt.trees.linearization import LEGEND, RELATIONS, relation_matrix, relation_rows
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


def test_the_worked_example() -> None:
    assert relation_rows(read_brackets(WHOLE).parents) == WHOLE_ROWS


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
def test_rows_spell_the_matrix_in_the_legend(parents: list[int]) -> None:
    rows = relation_rows(parents)
    assert [[LEGEND.index(cell) for cell in row] for row in rows] == relation_matrix(parents).tolist()


@given(parents())
def test_subtree_ends_enclose_the_descendants(parents: list[int]) -> None:
    nodes = range(len(parents))
    for node, end in enumerate(subtree_ends(parents)):
        below = [key for key in nodes if node in ancestors(parents, key)]
        assert [node, *below] == list(range(node, end))


def test_a_chain_of_ten_thousand_levels() -> None:
    n = 10_000
    chain = [-1, *range(n - 1)]
    assert subtree_ends(chain) == [n] * n
    matrix = relation_matrix(chain)
    assert matrix[5000].tolist() == [*[5] * 4999, 1, 0, 2, *[6] * 4998]
    assert (matrix[:, 0] == [0, 1, *[5] * 9998]).all()
