"""Words with their heads and meanings, and sentences made of them, in either language."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from synmt.trees.constituency import Tree


@dataclass(eq=False, slots=True)
class Word:
    """One token.

    meaning: the part of the derivation that it expresses; words with the same meaning are linked.
    glued: whether it follows the previous word without a space.
    head: its head; None for the root.
    """

    form: str
    lemma: str
    upos: str
    xpos: str = "_"
    feats: dict[str, str] = field(default_factory=dict)
    meaning: Hashable = None
    glued: bool = False
    head: "Word | None" = None
    deprel: str = "root"

    def attach(self, head: "Word", deprel: str) -> "Word":
        """Make this word a dependent of another one. Returns this word."""
        self.head, self.deprel = head, deprel
        return self


@dataclass(slots=True)
class Sentence:
    """The words of a sentence, and its constituency tree, if the language has one."""

    words: list[Word]
    tree: Tree | None = None

    def spaces(self) -> list[bool]:
        """Return whether white space follows each word, [n]."""
        return [not following.glued for following in self.words[1:]] + [False]

    def text(self) -> str:
        spaced = zip(self.words, self.spaces(), strict=True)
        return "".join(word.form + " " * space for word, space in spaced)

    def heads(self) -> list[int]:
        """Return the 1-based index of each word's head, 0 for the root, [n]."""
        place = {id(word): index for index, word in enumerate(self.words, 1)}
        return [place[id(word.head)] if word.head else 0 for word in self.words]

    def conllu(self) -> str:
        """Return the sentence as one CoNLL-U block, without the empty line after it."""
        rows = [f"# text = {self.text()}"]
        columns = zip(self.words, self.heads(), self.spaces(), strict=True)
        for number, (word, head, space) in enumerate(columns, 1):
            feats = "|".join(f"{name}={value}" for name, value in sorted(word.feats.items())) or "_"
            misc = "_" if space or number == len(self.words) else "SpaceAfter=No"
            cells = [number, word.form, word.lemma, word.upos, word.xpos, feats, head, word.deprel, "_", misc]
            rows.append("\t".join(map(str, cells)))
        return "\n".join(rows)


def links(source: Sentence, target: Sentence) -> list[tuple[int, int]]:
    """Return all pairs of a source and a target word with the same meaning, as 0-based positions."""
    places: dict[Hashable, list[int]] = {}
    for place, word in enumerate(source.words):
        places.setdefault(word.meaning, []).append(place)
    return sorted(
        (place, target_place)
        for target_place, word in enumerate(target.words)
        if word.meaning is not None
        for place in places.get(word.meaning, [])
    )
