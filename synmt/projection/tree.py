"""One tree of what all sources say."""

import re
from collections.abc import Sequence
from dataclasses import replace

from synmt.projection.config import ProjectionConfig
from synmt.projection.constituents import project_phrases
from synmt.projection.direct import project
from synmt.projection.punctuation import place_marks
from synmt.projection.reading import NearWords, Reader, Reading
from synmt.projection.source import Source, is_mark, sentences, whole
from synmt.projection.votes import Votes, vote
from synmt.trees.dependency import UNKNOWN
from synmt.trees.record import UNATTACHED, ParseRecord
from synmt.trees.spanning import spanning_tree

PROJECTED = "-projected"  # follows the name of the source in that of its projection
MARK = re.compile(r"# ?new(doc|par)\b")  # a comment of CoNLL-U where a document or paragraph begins


def votes_of(target: ParseRecord, sources: Sequence[Source], config: ProjectionConfig) -> Votes:
    """Return what all sources say of the words of a target."""
    votes = Votes()
    for source in sources:
        (vote if config.method == "votes" else project)(whole(source, target), votes)
    return votes


def projected(
    target: ParseRecord, sources: Sequence[Source], config: ProjectionConfig, reader: Reader | None = None
) -> ParseRecord:
    """Return the target with the trees of its sources in place of its own.

    Where the target has none of its own, it gets the sources' parts of speech, which the config may ask for in any
    case, and the name and document marks of the first source.
    reader: what weighs the votes; near words, if there is none.
    """
    record = replace(target, tree=None, upos=[], heads=[], deprels=[], confidences=[])
    if not target.tokens:
        return record
    if sources:
        first = sources[0].record
        record.sent_id = target.sent_id or (f"{first.sent_id}{PROJECTED}" if first.sent_id else "")
        record.conllu = target.conllu or "\n".join(filter(MARK.match, first.conllu.split("\n")))
    with_tree = next((source for source in sources if source.record.tree), None)
    if with_tree:
        record.tree = project_phrases(whole(with_tree, target), target.tokens)
    votes = votes_of(target, sources, config)
    with_heads = record.tree is None or any(source.record.heads for source in sources)
    for sentence in sentences(record):
        words = _words(sentence, target.tokens)
        reading = (reader or NearWords()).read(target.tokens, sentence, words, votes, len(sources))
        record.upos += reading.tags
        if with_heads:
            _attach(record, sentence, words, reading, config)
    if target.upos and not config.overwrite_upos:
        tags = zip(target.upos, record.upos or target.upos, strict=True)
        record.upos = [found if own == UNKNOWN else own for own, found in tags]
    return record


def _words(sentence: range, tokens: Sequence[str]) -> list[int]:
    """Return the words that a tree is made of: all that are no marks; of marks alone, the first."""
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
        # a mark is as sure as the phrase that it sets off
        confidence = reading.confidence((heads[head], head) if word in marks else (head, word))
        attached = confidence >= config.min_confidence
        relation = "punct" if word in marks else "root" if not head else relations[word]
        record.heads.append(head if attached else UNATTACHED)
        record.deprels.append(relation if attached else UNKNOWN)
        record.confidences.append(confidence if attached else 0.0)
