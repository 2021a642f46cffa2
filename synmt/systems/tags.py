"""`tags`: a decoder that writes a word and its arcs in one step.

Words, as in `sequence`, and after each word its tag (synmt.trees.tags), which says all arcs there. What is read and
predicted at position t, after the words and tags before it, by the decoder's state h_t:

    reads      the embedding of word t plus that of the tag before it
    tag t      softmax over the tags of E · h_t, if a word ends at t
    word t+1   softmax over the words of E · (h_t + A e), e the embedding of tag t

E are the embeddings, A [d,d] is the only new parameter. So the string of the network is as short as the sentence, and a
search takes a step a word; but the probability is that of words and tree, and each tag knows all words and tags before
it, and each word the tag before it too.

The idea is synmt's own. Nădejde et al. (2017), "Predicting Target Language CCG Supertags Improves Neural Machine
Translation" (WMT), write tags between the words, as steps of their own; García-Martínez, Barrault & Bougares (2016),
"Factored Neural Machine Translation Architectures" (IWSLT), write lemmas and factors side by side, each without the
other.
"""

from dataclasses import dataclass

from synmt.systems.idea import TargetIdea


@dataclass(frozen=True)
class Tags(TargetIdea):
    """Words, each with a tag that says its arcs."""

    writes_arcs = True
    writes_tags = True
