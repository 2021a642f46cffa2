"""German clauses with the object first, to check whether a translation confuses subject and object.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, appendix C: 99
sentences in three sets, in which case marks only the object (`Den Ball bringt das Kind`), only the subject (`Das Pferd
drängt der Vater`), or both. The file next to this module has the text of each clause, the constituents that case
marks, its subject, its object, and a translation.
"""

from collections.abc import Iterator
from importlib.resources import files

FORMS = "text", "tsv"


def clause_lines(form: str, subject_first: bool) -> Iterator[str]:
    """Yield the clauses as text or as rows of the file; subject_first: in the usual order."""
    table = files("synmt.challenge").joinpath("object_verb_subject.tsv").read_text(encoding="utf-8")
    for text, *others in (row.split("\t") for row in table.splitlines()):
        _, subject, object_, _ = others
        usual = f"{subject[0].upper()}{subject[1:]} {text.split()[2]} {object_}"
        yield "\t".join([usual if subject_first else text, *(others if form == "tsv" else [])])
