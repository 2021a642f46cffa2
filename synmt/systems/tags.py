"""`tags`: a decoder of words that says the tree beside them.

Words, as in `sequence`, and of each word a tag (synmt.trees.tags): its relation, and how many arcs follow it. After
word t, the state h_t of the decoder predicts both what follows and the tag:

    word t+1   softmax over the words of E · h_t
    tag t      softmax over the tags of E · h_t, if a word ends at t

with E the embeddings of words and of tags. Tags are never read, so the words are those of `sequence`, with the same
search at the same price; the tree is a second task of the same decoder, whose loss has a share of what is minimized.
What is written is the likeliest tree of all: tags are independent given the words, so the best ones that make a tree
are found exactly (synmt.trees.best_tags).

The idea is synmt's own. Nădejde et al. (2017), "Predicting Target Language CCG Supertags Improves Neural Machine
Translation" (WMT), write supertags between the words or learn them as a task of another decoder; García-Martínez,
Barrault & Bougares (2016), "Factored Neural Machine Translation Architectures" (IWSLT), write lemmas and factors side
by side. Neither has trees.
"""

from dataclasses import dataclass

from synmt.options import setting
from synmt.systems.idea import TargetIdea


@dataclass(frozen=True)
class Tags(TargetIdea):
    """Words, each with a tag that says its arcs."""

    share: float = setting(0.3, "of the loss of tags in what is minimized")

    writes_arcs = True
    writes_tags = True

    def share_of_tags(self) -> float:
        return self.share
