import orjson
from hypothesis import given

from synmt.trees.constituency import Tree
from synmt.trees.linearization import relation_rows, write_mask_record
from tests.trees.strategies import trees


@given(trees())
def test_a_mask_record_has_nodes_parents_and_relations(tree: Tree) -> None:
    line = write_mask_record(tree)
    assert "\n" not in line
    assert orjson.loads(line) == {
        "tokens": tree.nodes,
        "parents": tree.parents,
        "relations": relation_rows(tree.parents),
    }
