"""German clauses with the object first, generated from word lists, to check whether a translation confuses subject and
object.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, appendix C: 99
sentences in three sets, in which case marks only the object (`Den Ball bringt das Kind`), only the subject (`Das Pferd
drängt der Vater`), or both. Each clause can also be written in the usual order, with the subject first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from synmt.trees.record import ParseRecord, write_record


@dataclass(frozen=True, slots=True)
class NounPhrase:
    article: str  # nominative
    german: str
    english: str

    def phrase(self, case: str) -> list[str]:
        article = "den" if case == "Acc" and self.article == "der" else self.article
        return [article, self.german]

    def features(self, case: str) -> list[str]:
        gender = {"der": "Masc", "die": "Fem", "das": "Neut"}[self.article]
        noun = f"Case={case}|Gender={gender}|Number=Sing"
        return [f"Case={case}|Definite=Def|Gender={gender}|Number=Sing|PronType=Art", noun]


BALL, STONE = NounPhrase("der", "Ball", "ball"), NounPhrase("der", "Stein", "stone")
TABLE, HAMSTER = NounPhrase("der", "Tisch", "table"), NounPhrase("der", "Hamster", "hamster")
HORSE, CHILD = NounPhrase("das", "Pferd", "horse"), NounPhrase("das", "Kind", "child")
MOTHER, GIRL = NounPhrase("die", "Mutter", "mother"), NounPhrase("das", "Mädchen", "girl")
FATHER, DOG = NounPhrase("der", "Vater", "father"), NounPhrase("der", "Hund", "dog")
STUDENT = NounPhrase("der", "Student", "student")
VERBS = {"bringt": "brings", "wirft": "throws", "drückt": "pushes", "drängt": "urges", "zieht": "pulls"}
VERB_FEATURES = "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"

# For each set, the constituents that case marks, the objects, the verbs and the subjects.
SETS = (
    ("object", (BALL, STONE, TABLE, HAMSTER), ("bringt", "wirft", "drückt"), (CHILD, MOTHER, GIRL)),
    ("subject", (HORSE, CHILD, GIRL), ("drängt", "drückt", "zieht"), (FATHER, DOG, STUDENT)),
    ("both", (BALL, STONE, TABLE, HAMSTER), ("bringt", "wirft", "drückt"), (FATHER, DOG, STUDENT)),
)


@dataclass(frozen=True, slots=True)
class TransitiveClause:
    """A clause. marked: the constituents that case marks, `object`, `subject` or `both`."""

    marked: str
    object: NounPhrase
    verb: str
    subject: NounPhrase

    def record(self, subject_first: bool = False) -> ParseRecord:
        """Return the clause with its dependency tree."""
        phrases = [(self.object, "Acc", "obj"), (self.subject, "Nom", "nsubj")]
        (first, first_case, first_deprel), (last, last_case, last_deprel) = phrases[:: -1 if subject_first else 1]
        article, noun = first.phrase(first_case)
        tokens = [article.capitalize(), noun, self.verb, *last.phrase(last_case)]
        return ParseRecord(
            text=" ".join(tokens),
            tokens=tokens,
            spaces=[True, True, True, True, False],
            upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
            feats=[*first.features(first_case), VERB_FEATURES, *last.features(last_case)],
            heads=[2, 3, 0, 5, 3],
            deprels=["det", first_deprel, "root", "det", last_deprel],
        )

    def row(self, subject_first: bool = False) -> list[str]:
        """Return the clause, the constituents that case marks, the subject, the object and a translation."""
        translation = f"The {self.subject.english} {VERBS[self.verb]} the {self.object.english}"
        phrases = [" ".join(self.subject.phrase("Nom")), " ".join(self.object.phrase("Acc"))]
        return [self.record(subject_first).text, self.marked, *phrases, translation]


def clauses() -> Iterator[TransitiveClause]:
    """Yield the 99 clauses, set by set."""
    for marked, objects, verbs, subjects in SETS:
        for noun, verb, subject in product(objects, verbs, subjects):
            yield TransitiveClause(marked, noun, verb, subject)


FORMS: dict[str, Callable[[TransitiveClause, bool], str]] = {
    "text": lambda clause, subject_first: clause.record(subject_first).text,
    "tsv": lambda clause, subject_first: "\t".join(clause.row(subject_first)),
    "records": lambda clause, subject_first: write_record(clause.record(subject_first)),
}


def clause_lines(form: str, subject_first: bool) -> Iterator[str]:
    """Yield the clauses in one of the FORMS."""
    return (FORMS[form](clause, subject_first) for clause in clauses())
