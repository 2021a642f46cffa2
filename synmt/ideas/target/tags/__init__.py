"""`tags`: a decoder of words that also predicts the tree, with one tag per word.

The decoder writes words, as in `sequence`, and a tag for each word (strings.py): its relation, and how many arcs follow
it. After word t, the decoder's state h_t predicts both the next token and the tag:

    word t+1   softmax over the words of E · h_t
    tag t      softmax over the tags of E · h_t, if a word ends at t

E contains the embeddings of words and of tags. The decoder never reads tags, so it finds words with the search of
`sequence`, at the same cost. The tree is a second task of the same decoder, and `share` weights its loss. The output
has the likeliest tree: tags are independent given the words, so an exact search finds the best tags that form a tree
(search.py).

The idea is our own. Nădejde et al. (2017), "Predicting Target Language CCG Supertags Improves Neural Machine
Translation" (WMT), write supertags between the words or learn them in another decoder. García-Martínez, Barrault &
Bougares (2016), "Factored Neural Machine Translation Architectures" (IWSLT), write lemmas and factors in parallel.
Neither predicts trees.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.ideas.target import CAUSAL, Spelling, TargetIdea
from synmt.ideas.target.tags.strings import read_tag, tagged
from synmt.options import setting
from synmt.text.bpe import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import transitions_of_record

if TYPE_CHECKING:
    from synmt.ideas.target.tags.search import TagOutput


@dataclass(frozen=True)
class TagSpelling(Spelling):
    """Words, each followed by its tag."""

    trees = "apart"
    needs = frozenset({"heads", "deprels"})

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        return tagged(transitions_of_record(record, segment, self.style))

    def read(self, entries: Sequence[str]) -> list[str]:
        return [entry for entry in entries if read_tag(entry) is None]

    def subwords(self, entries: Sequence[str]) -> int:
        return len(self.read(entries))

    def flaw(self, entries: Sequence[str], vocabulary: Vocabulary) -> str:
        known = all(map(vocabulary.knows, filter(read_tag, entries)))
        return "" if known else "a word whose arcs do not occur in training"

    def relations(self, entries: Sequence[str]) -> list[str]:
        return sorted({tag.relation for tag in map(read_tag, entries) if tag})

    def vocabulary(self, counts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
        tags = Counter({entry: count for entry, count in counts.items() if read_tag(entry)})
        return Counter({entry: count for entry, count in counts.items() if entry not in tags}), tags

    def unread(self, vocabulary: Vocabulary) -> int:
        is_tag = [read_tag(entry) is not None for entry in vocabulary.target]
        if is_tag != sorted(is_tag):
            raise ValueError("a target vocabulary must end with its tags")
        return sum(is_tag)

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> "TagOutput":
        from synmt.ideas.target.tags.search import TagOutput

        return TagOutput(vocabulary, self.unread(vocabulary), trees)


@dataclass(frozen=True)
class Tags(TargetIdea):
    """Words, each with a tag that encodes its arcs."""

    cites: ClassVar[tuple[str, ...]] = ("synmt",)

    share: float = setting(0.3, "share of the loss of tags in the total")

    runs = CAUSAL

    def spelling(self, style: ArcStyle) -> TagSpelling:
        return TagSpelling(share=self.share)
