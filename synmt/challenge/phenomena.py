"""Phenomena whose words stand far from their heads, for challenge sets.

Choshen & Abend (2019), "Automatically Extracting Challenge Sets for Non-local Phenomena in Neural Machine
Translation", CoNLL. A sentence belongs to a set if one of its words shows the phenomenon and is more than a given
number of positions away from its head. As in the published sets, the distance of a root is its own position.
"""

from dataclasses import dataclass

from synmt.challenge.query import Query, WordQuery


@dataclass(frozen=True, slots=True)
class Phenomenon:
    title: str
    query: Query


PHENOMENA = {
    "particle": Phenomenon("Verb particles: 'put the coals out'", Query(WordQuery(relation="*prt*"))),
    "reflexive": Phenomenon("Reflexive pronouns: 'sich oft irren'", Query(WordQuery(feature=("Reflex=Yes",)))),
    "preposition-stranding": Phenomenon(
        "Stranded prepositions: 'asked for'", Query(WordQuery(upos="ADP", relation="*obl*"))
    ),
}
