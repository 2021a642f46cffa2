"""One tree of what all sources say.

Near words speak for each other a little, by NEAR / d at the distance d: AFTER times as much for a head that comes after
the word, as it does for most articles, prepositions and adjectives, and FUNCTION times for a head that is no noun or
verb, since other words have few dependents in Universal Dependencies. So words that no source tells of get a head. The
numbers are tuned on English to German, on 500 sentences.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synmt.projection.config import ProjectionConfig
from synmt.projection.constituents import project_phrases
from synmt.projection.direct import project
from synmt.projection.punctuation import place_marks
from synmt.projection.source import Source, is_mark, sentences, whole
from synmt.projection.votes import Arc, Votes, best, vote, weights
from synmt.trees.dependency import DEPENDENCY, UNKNOWN
from synmt.trees.record import UNATTACHED, ParseRecord
from synmt.trees.spanning import Scores, spanning_tree

NEAR, AFTER, FUNCTION = 0.2, 3.0, 0.1
CONTENT = frozenset({"NOUN", "PROPN", "VERB"})
ROOT = 1e-4  # for any word to be the root


def projected(target: ParseRecord, sources: Sequence[Source], config: ProjectionConfig) -> ParseRecord:
    """Return the target with the trees and parts of speech of its sources, in place of its own."""
    given = [whole(source, target) for source in sources]
    record = replace(target, tree=None, upos=[], heads=[], deprels=[], confidences=[])
    if not target.tokens:
        return record
    record.tree = next((project_phrases(each, target.tokens) for each in given if each.record.tree), None)
    votes = Votes()
    for source in given:
        (vote if config.method == "votes" else project)(source, votes)
    if votes.tags:
        record.upos = [_tag(word, form, votes) for word, form in enumerate(target.tokens, 1)]
    if any(source.record.heads for source in given) or record.tree is None:
        _attach(record, votes, len(given), config)
    return record


def _tag(word: int, form: str, votes: Votes) -> str:
    if is_mark(form):
        return "PUNCT"
    return best(votes.tags[word]) if word in votes.tags else UNKNOWN


def _attach(record: ParseRecord, votes: Votes, sources: int, config: ProjectionConfig) -> None:
    """Give each word a head, a relation and a confidence."""
    heads: dict[int, int] = {}
    marks: set[int] = set()
    for sentence in sentences(record):
        marks_here = [word for word in sentence if is_mark(record.tokens[word - 1])]
        words = sorted(set(sentence) - set(marks_here)) or [marks_here.pop(0)]
        tree = spanning_tree(_scores(words, votes), config.projective)
        heads |= {word: words[head - 1] if head else 0 for word, head in zip(words, tree, strict=True)}
        heads |= place_marks(words, marks_here, heads)
        marks.update(marks_here)
    for word in range(1, len(heads) + 1):
        head = heads[word]
        arc = (heads[head], head) if word in marks else (head, word)  # a mark is as sure as the phrase that it sets off
        confidence = min(1.0, votes.arc(arc) / sources)
        attached = confidence >= config.min_confidence
        relation = "punct" if word in marks and head else _relation((head, word), votes)
        record.heads.append(head if attached else UNATTACHED)
        record.deprels.append(relation if attached else UNKNOWN)
        record.confidences.append(confidence if attached else 0.0)


def _scores(words: Sequence[int], votes: Votes) -> Scores:
    """Return what speaks for each arc within a sentence, [n+1,n+1]."""
    n = len(words)
    place = {word: number for number, word in enumerate(words, 1)} | {0: 0}
    distance = np.subtract.outer(np.arange(n), np.arange(n))  # head minus word
    tags = [best(votes.tags[word]) if word in votes.tags else UNKNOWN for word in words]
    share = np.array([1.0 if tag in CONTENT or not votes.tags else FUNCTION for tag in tags])
    scores = np.full((n + 1, n + 1), ROOT)
    scores[1:, 1:] = share[:, None] * np.where(distance > 0, AFTER * NEAR, NEAR) / np.maximum(1, np.abs(distance))
    for head, word in votes.arcs:
        if head in place and word in place:
            scores[place[head], place[word]] += votes.arc((head, word))
    return scores


def _relation(arc: Arc, votes: Votes) -> str:
    """Return the relation of an arc; if no source has that, the one that sources know of the word."""
    if not arc[0]:
        return "root"
    found = weights()
    for other in [arc] if arc in votes.arcs else [each for each in votes.arcs if each[1] == arc[1]]:
        for relation, weight in votes.arcs[other].items():
            found[relation] += weight
    found.pop("root", None)
    return best(found) if found else DEPENDENCY
