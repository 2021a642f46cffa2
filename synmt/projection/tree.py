"""Turns the votes for a target into one tree: weighs arcs, finds the best tree, and attaches punctuation marks.

Without a grammar, nearby words vote weakly for each other, with weight NEAR / d at distance d. The weight is multiplied
by AFTER if the head follows the word, as the heads of most articles, prepositions and adjectives do, and by FUNCTION if
the head is not a noun or verb, since other words have few dependents in Universal Dependencies. So words without votes
get a head too. We tuned the constants on 500 English–German sentences.

Constituents follow Yarowsky, Ngai & Wicentowski (2001), "Inducing Multilingual Text Analysis Tools via Robust
Projection across Aligned Corpora", HLT, who project noun phrases: a phrase of the source becomes the phrase from the
first to the last word that is linked to it. If a word in between belongs to another phrase, we drop the phrase, and its
words belong to the phrase around it. So phrases never cross, and if links allow none, the tree is flat. A word belongs
to the source word with the best link.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from synmt.projection.config import ProjectionConfig
from synmt.projection.votes import Arc, Source, Votes, best, is_mark, project, sentences, vote, weights, whole
from synmt.text.links import Link
from synmt.trees.constituency import Tree, phrases, tags, tree_of_phrases
from synmt.trees.dependency import DEPENDENCY, UNKNOWN
from synmt.trees.record import UNATTACHED, ParseRecord
from synmt.trees.spanning import Scores, spanning_tree

if TYPE_CHECKING:
    from synmt.projection.grammar import Grammar

NEAR, AFTER, FUNCTION = 0.2, 3.0, 0.1
CONTENT = frozenset({"NOUN", "PROPN", "VERB"})
ROOT = 1e-4  # score of any word as the root
MARK, OTHER = "PUNCT", "X"  # Universal Dependencies use OTHER for a word without a known part of speech
NO_PHRASE, NO_TAG = "X", "XX"  # treebanks' labels for unparsable text
TAGS_OF_MARKS = {",": ",", ".": ".", "!": ".", "?": "."}  # as in the Penn Treebank
OTHER_MARK = ":"
PROJECTED = "-projected"  # suffix of the sent_id of a projected sentence
DOCUMENT = re.compile(r"# ?new(doc|par)\b")  # a comment of CoNLL-U that begins a document or paragraph


class Reading(Protocol):
    """The evidence for the tree of one sentence.

    tags: parts of speech of its words, or [] if no source of the corpus has any; arcs: scores of arcs between the m
    words of the tree, [m+1,m+1].
    """

    tags: list[str]
    arcs: Scores

    def confidence(self, arc: Arc) -> float:
        """Return the confidence of an arc, 0 to 1."""
        ...

    def relations(self, heads: Mapping[int, int]) -> dict[int, str]:
        """Return the relation of each word to its head."""
        ...


@dataclass(slots=True)
class VotesReading:
    """A reading by votes, or by nearby words if there are no votes."""

    tags: list[str]
    arcs: Scores
    votes: Votes

    def confidence(self, arc: Arc) -> float:
        return min(1.0, self.votes.arc(arc) / self.votes.sources)

    def relations(self, heads: Mapping[int, int]) -> dict[int, str]:
        """Return relations. If no source has the arc, use the relations that sources give the word."""
        return {word: self._relation((head, word)) for word, head in heads.items()}

    def _relation(self, arc: Arc) -> str:
        arcs = self.votes.arcs
        found = weights()
        for other in [arc] if arc in arcs else [each for each in arcs if each[1] == arc[1]]:
            for relation, weight in arcs[other].items():
                found[relation] += weight
        found.pop("root", None)
        return best(found) if found else DEPENDENCY


def read_votes(tokens: Sequence[str], sentence: range, words: Sequence[int], votes: Votes) -> VotesReading:
    """Read a sentence without a grammar.

    tokens: of the whole record; sentence: its words, from 1; words: the words to attach in the tree.
    """
    tags = {word: best(votes.tags[word]) if word in votes.tags else OTHER for word in sentence}
    known = [MARK if is_mark(tokens[word - 1]) else tags[word] for word in sentence]
    return VotesReading(known, _scores([tags[word] for word in words], words, votes), votes)


def _scores(tags: Sequence[str], words: Sequence[int], votes: Votes) -> Scores:
    n = len(words)
    distance = np.subtract.outer(np.arange(n), np.arange(n))  # head minus word
    share = np.array([1.0 if tag in CONTENT or not votes.tags else FUNCTION for tag in tags])
    scores = np.full((n + 1, n + 1), ROOT)
    scores[1:, 1:] = share[:, None] * np.where(distance > 0, AFTER * NEAR, NEAR) / np.maximum(1, np.abs(distance))
    place = {word: number for number, word in enumerate(words, 1)} | {0: 0}
    for head, word in votes.arcs:
        if head in place and word in place:
            scores[place[head], place[word]] += votes.arc((head, word))
    return scores


def place_marks(words: Sequence[int], marks: Collection[int], heads: Mapping[int, int]) -> dict[int, int]:
    """Return the heads of the punctuation marks of a sentence, as in Universal Dependencies.

    A mark attaches to the phrase that it sets off: to the highest word whose phrase begins right after the mark, if
    that phrase depends on a word before the mark; else to the highest word whose phrase ends right before it. A mark at
    either end of the sentence attaches to the root. So marks never make arcs cross.

    words: the other words, in order; heads: of these words, one of them 0.
    """
    root = next(word for word in words if heads[word] == 0)
    first, last = dict(zip(words, words, strict=True)), dict(zip(words, words, strict=True))
    for word in words:
        above = heads[word]
        while above:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            above = heads[above]
    found = {}
    for mark in marks:
        before = max((word for word in words if word < mark), default=0)
        after = min((word for word in words if word > mark), default=0)
        if not before or not after:
            found[mark] = root
            continue
        while heads[before] and last[heads[before]] < mark:
            before = heads[before]
        while heads[after] and first[heads[after]] > mark:
            after = heads[after]
        found[mark] = after if 0 < heads[after] < mark else before
    return found


def project_phrases(source: Source, target: Sequence[str]) -> Tree:
    """Return a tree over the words of a target, at least one, with the root label of the source, which has a tree."""
    tree = source.record.tree
    assert tree is not None
    owners = _owners(source.links)
    (_, _, root), *inner = phrases(tree) or [(0, 1, NO_PHRASE)]
    found = [(0, len(target), root)]
    for first, end, label in inner:
        inside = range(first, end)
        words = [j for j in range(len(target)) if owners.get(j) in inside]
        if words and all(owners.get(j, first) in inside for j in range(words[0], words[-1] + 1)):
            found.append((words[0], words[-1] + 1, label))
    found.sort(key=lambda phrase: (phrase[0], -phrase[1]))
    source_tags = tags(tree)
    return tree_of_phrases(found, [_tag(word, owners.get(j), source_tags) for j, word in enumerate(target)], target)


def _owners(links: Mapping[Link, float]) -> dict[int, int]:
    """Return the source word of each linked target word: the one with the best link, the first of equals."""
    best: dict[int, tuple[float, int]] = {}
    for (i, j), score in links.items():
        best[j] = max(best.get(j, (0.0, 0)), (score, -i))
    return {j: -i for j, (_, i) in best.items()}


def _tag(word: str, owner: int | None, tags: Sequence[str]) -> str:
    if is_mark(word):
        return TAGS_OF_MARKS.get(word, OTHER_MARK)
    return NO_TAG if owner is None else tags[owner]


def votes_of(target: ParseRecord, sources: Sequence[Source], config: ProjectionConfig) -> Votes:
    """Return the votes of all sources for a target."""
    votes = Votes(len(sources))
    for source in sources:
        (vote if config.method == "votes" else project)(whole(source, target), votes)
    return votes


def projected(
    target: ParseRecord, sources: Sequence[Source], config: ProjectionConfig, grammar: "Grammar | None" = None
) -> ParseRecord:
    """Return the target with the projected trees of its sources in place of its own.

    The target also gets the parts of speech of the sources, if these have any, and the name and document marks of the
    first one, unless it has its own; the config may overwrite its own parts of speech. A word to which no source gives
    a part of speech gets X.
    grammar: weighs the votes; without one, nearby words do.
    """
    record = replace(target, tree=None, upos=[], heads=[], deprels=[], confidences=[], masks=target.word_masks)
    if not target.tokens:
        return record
    if sources:
        first = sources[0].record
        record.sent_id = target.sent_id or (f"{first.sent_id}{PROJECTED}" if first.sent_id else "")
        record.conllu = target.conllu or "\n".join(filter(DOCUMENT.match, first.conllu.split("\n")))
    with_tree = next((source for source in sources if source.record.tree), None)
    if with_tree:
        record.tree = project_phrases(whole(with_tree, target), target.tokens)
    votes = votes_of(target, sources, config)
    with_heads = record.tree is None or any(source.record.heads for source in sources)
    tagged = any(source.record.upos for source in sources)
    for sentence in sentences(record):
        words = _words(sentence, target.tokens)
        reading: Reading = (grammar.read if grammar else read_votes)(target.tokens, sentence, words, votes)
        record.upos += reading.tags if grammar or tagged else []
        if with_heads:
            _attach(record, sentence, words, reading, config)
    if target.upos and not config.overwrite_upos:
        tags = zip(target.upos, record.upos or target.upos, strict=True)
        record.upos = [found if own == UNKNOWN else own for own, found in tags]
    return record


def _words(sentence: range, tokens: Sequence[str]) -> list[int]:
    """Return the words to attach in the tree: all words except marks, or the first mark if there is nothing else."""
    return [word for word in sentence if not is_mark(tokens[word - 1])] or [sentence[0]]


def _attach(
    record: ParseRecord, sentence: range, words: Sequence[int], reading: Reading, config: ProjectionConfig
) -> None:
    """Give each word of a sentence a head, a relation and a confidence."""
    tree = spanning_tree(reading.arcs, config.projective)
    heads = {word: words[head - 1] if head else 0 for word, head in zip(words, tree, strict=True)}
    relations = reading.relations(heads)
    marks = place_marks(words, sorted(set(sentence) - set(words)), heads)
    heads |= marks
    for word in sentence:
        head = heads[word]
        # a mark has the confidence of the phrase that it sets off
        confidence = reading.confidence((heads[head], head) if word in marks else (head, word))
        attached = confidence >= config.min_confidence
        relation = "punct" if word in marks else "root" if not head else relations[word]
        record.heads.append(head if attached else UNATTACHED)
        record.deprels.append(relation if attached else UNKNOWN)
        record.confidences.append(confidence if attached else 0.0)
