from collections import Counter

from synmt.challenge.object_verb_subject import TransitiveClause, clauses
from synmt.trees.record import check_heads


def test_set_sizes_are_36_27_and_36() -> None:
    made = list(clauses())
    assert Counter(clause.marked for clause in made) == {"object": 36, "subject": 27, "both": 36}
    assert len({clause.record().text for clause in made}) == 99


def test_the_examples_of_the_paper_are_included() -> None:
    texts = {clause.record().text: clause.record(subject_first=True).text for clause in clauses()}
    assert texts["Den Ball bringt der Hund"] == "Der Hund bringt den Ball"
    assert texts["Das Pferd drängt der Hund"] == "Der Hund drängt das Pferd"
    assert texts["Den Hamster drückt die Mutter"] == "Die Mutter drückt den Hamster"


def role(clause: TransitiveClause, deprel: str, subject_first: bool) -> list[str]:
    """Return the article and noun of a relation, and their case."""
    record = clause.record(subject_first)
    noun = record.deprels.index(deprel)
    assert record.heads[noun - 1] == noun + 1
    assert record.feats[noun].split("|")[0] == record.feats[noun - 1].split("|")[0]
    return [record.tokens[noun - 1].lower(), record.tokens[noun], record.feats[noun].split("|")[0]]


def test_both_orders_mark_subject_and_object() -> None:
    for clause in clauses():
        for subject_first in (False, True):
            record = clause.record(subject_first)
            record.check()
            check_heads(record.heads)
            assert record.text == " ".join(record.tokens)
            assert record.deprels.index("nsubj") == (1 if subject_first else 4)
        _, marked, subject, object_, translation = clause.row()
        for order in (False, True):
            assert [*subject.split(), "Case=Nom"] == role(clause, "nsubj", order)
            assert [*object_.split(), "Case=Acc"] == role(clause, "obj", order)
        assert (object_.startswith("den "), subject.startswith("der ")) == (
            marked in ("object", "both"),
            marked in ("subject", "both"),
        )
        assert translation.split()[1] == clause.subject.english
        assert translation.split()[4] == clause.object.english
