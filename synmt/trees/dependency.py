"""Dependency trees as lists of heads: measures, changes of their arcs, and records over other words.

Heads count from 1; 0 is the head of a root. `lifted` and `lowered` are pseudo-projective parsing: Nivre & Nilsson
(2005), "Pseudo-Projective Dependency Parsing" (ACL), with the encoding Head. The shortest arc that crosses others is
lifted: its word attaches to the head of its head, until no arcs cross. Its relation names the relation of its former
head: `obj↑xcomp` is the object of an `xcomp` below the word that it is now attached to.
"""

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from synmt.text.marks import marked, spelled, unmarked
from synmt.text.tokenization import Tokenizer, spaces_after, spans_of
from synmt.trees.constituency import with_leaves
from synmt.trees.record import UNATTACHED, ParseRecord, RecordError, check_heads

DEPENDENCY = "dep"  # the unspecific relation of Universal Dependencies
UNKNOWN = "_"
STRINGS = ("lemmas", "upos", "xpos", "feats", "deprels")  # the columns of strings
MARK = "↑"


def depths(heads: Sequence[int]) -> list[int]:
    """Return the depth of each word: 1 for a root or a word without a head, else one more than its head's depth, [n].

    The heads must have passed `check_heads`.
    """
    found = [0] + [-1] * len(heads)
    for word in range(1, len(heads) + 1):
        path = []
        while found[word] < 0:
            path.append(word)
            word = max(0, heads[word - 1])
        for depth, visited in enumerate(reversed(path), found[word] + 1):
            found[visited] = depth
    return found[1:]


def dependents(heads: Sequence[int]) -> list[list[int]]:
    """Return the dependents of each word, from 1, in sentence order, [n+1]; the dependents of 0 are the roots."""
    found: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        found[head].append(word)
    return found


def preorder(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the place of each word in preorder, from 1, and the end of its subtree, [n] each.

    Dependents are in sentence order, and arcs may cross. The heads must have passed `check_heads`.
    """
    below = dependents(heads)
    sequence: list[int] = []
    waiting = [0]
    while waiting:
        sequence.append(waiting.pop())
        waiting += reversed(below[sequence[-1]])
    sizes = [1] * len(sequence)
    for word in reversed(sequence[1:]):
        sizes[heads[word - 1]] += sizes[word]
    orders = [0] * len(sequence)
    for place, word in enumerate(sequence):
        orders[word] = place
    return orders[1:], [order + size for order, size in zip(orders[1:], sizes[1:], strict=True)]


def joined(records: Sequence[ParseRecord]) -> ParseRecord:
    """Join the sentences of a line in one record, without their text; each keeps its own root.

    The words of a sentence without a tree have no heads.
    """
    whole = ParseRecord(sentences=[len(record.tokens) for record in records] if len(records) > 1 else [])
    for record in records:
        start, n = len(whole.tokens), len(record.tokens)
        whole.tokens += record.tokens
        whole.spaces += record.spaces
        whole.heads += [head + start if head > 0 else head for head in record.heads or [UNATTACHED] * n]
        for name in STRINGS:
            getattr(whole, name).extend(getattr(record, name) or [UNKNOWN] * n)
    return _without_unknown(whole)


def divided(record: ParseRecord) -> list[ParseRecord]:
    """Invert `joined`: return the sentences of a line, each with its part of the text.

    Raises ValueError if the tokens do not spell the text.
    """
    if not record.sentences:
        return [record]
    spans = spans_of(record.tokens, record.text) if record.text else [(0, 0)] * len(record.tokens)
    parts, start = [], 0
    for end in accumulate(record.sentences):
        part = ParseRecord(record.text[spans[start][0] : spans[end - 1][1]], record.tokens[start:end])
        part.spaces = record.spaces[start:end]
        part.heads = [head - start if head > 0 else head for head in record.heads[start:end]]
        for name in STRINGS:
            setattr(part, name, getattr(record, name)[start:end])
        parts.append(_without_unknown(part))
        start = end
    return parts


def _without_unknown(record: ParseRecord) -> ParseRecord:
    """Empty the columns without a known value."""
    if all(head == UNATTACHED for head in record.heads):
        record.heads = []
    for name in STRINGS:
        if all(value == UNKNOWN for value in getattr(record, name)):
            setattr(record, name, [])
    return record


def lifted(heads: Sequence[int], deprels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Lift arcs until the tree, which has one root, is projective. heads, deprels: [n]."""
    found, relations = list(heads), list(deprels)
    while word := _crossing(found):
        head = found[word - 1]
        if relations[word - 1] == deprels[word - 1]:
            relations[word - 1] = f"{deprels[word - 1]}{MARK}{deprels[head - 1]}"
        found[word - 1] = found[head - 1]
    return found, relations


def lowered(heads: Sequence[int], deprels: Sequence[str]) -> tuple[list[int], list[str]]:
    """Undo `lifted` as far as possible.

    A lifted word moves down to the nearest word with the relation that its own relation names, the leftmost of equals.
    Words higher in the tree move first. A word that finds none tries again after the others have moved, and stays if it
    still finds none. Trees may have several roots; words that are not lifted do not move.
    """
    found, relations = list(heads), [deprel.partition(MARK)[0] for deprel in deprels]
    words = [word for word in range(1, len(heads) + 1) if is_lifted(deprels[word - 1])]
    depth = depths(heads)
    waiting = sorted((word for word in words if heads[word - 1]), key=lambda word: depth[word - 1])
    more = True
    while more:
        before, tried, waiting = len(waiting), waiting, []
        for word in tried:
            top, wanted = found[word - 1], deprels[word - 1].partition(MARK)[2]
            found[word - 1] = _below(top, word, wanted, found, relations)
            if found[word - 1] == top:
                waiting.append(word)
        more = len(waiting) < before
    return found, relations


def is_lifted(deprel: str) -> bool:
    """Return whether a relation, or the token of its arc, was made by `lifted`."""
    return MARK in deprel


def _crossing(heads: Sequence[int]) -> int:
    """Return the word with the shortest of the arcs that cross others, the leftmost in a tie; 0 if none cross."""
    words = sorted(range(1, len(heads) + 1), key=lambda word: abs(word - heads[word - 1]))
    for word in words:
        head = heads[word - 1]
        between = range(min(word, head) + 1, max(word, head))
        if head and not all(_hangs_on(each, head, heads) for each in between):
            return word
    return 0


def _hangs_on(word: int, head: int, heads: Sequence[int]) -> bool:
    while word and word != head:
        word = heads[word - 1]
    return word == head


def _below(top: int, lifted_word: int, wanted: str, heads: Sequence[int], relations: Sequence[str]) -> int:
    """Return the first word with the wanted relation below the top, breadth first, or the top if there is none.

    Skips the lifted word and the words below it.
    """
    waiting = deque([top])
    while waiting:
        word = waiting.popleft()
        if word != top and relations[word - 1] == wanted:
            return word
        waiting += (each for each, head in enumerate(heads, 1) if head == word and each != lifted_word)
    return top


def realigned(record: ParseRecord, words: Sequence[str]) -> ParseRecord:
    """Move the dependency tree of a record from its tokens to other `words` of the same text, [n].

    A token belongs to the word that contains most of its characters, the first of equals. A word inherits the columns
    of the highest of its tokens: where `don't` is one word, it is the `do` of `do|n't`, as in a multiword token of
    CoNLL-U. A word without tokens attaches as `goeswith` to the word of the token that it is part of, with the part of
    speech X. The new record has no constituency tree.

    Raises RecordError if words and tokens do not spell the same text, or if the heads are not a tree.
    """
    if list(words) == record.tokens:
        return record
    if record.heads:
        check_heads(record.heads, record.sentences)
    if "".join(words) != "".join(record.tokens) or "" in (*words, *record.tokens):
        raise RecordError("the words do not spell the same text as the tokens")
    token_at = [token for token, form in enumerate(record.tokens) for _ in form]
    word_at = [word for word, form in enumerate(words) for _ in form]
    owner = _owners(record.tokens, word_at)
    top = highest(owner, record.heads)
    part_of = {word: token_at[at] for at, word in reversed([*enumerate(word_at)])}

    def column(values: Sequence[str], of_parts: str) -> list[str]:
        return [values[top[word]] if word in top else of_parts for word in range(len(words))]

    def head(word: int) -> int:
        if word not in top:
            return owner[part_of[word]] + 1
        above = record.heads[top[word]]
        return owner[above - 1] + 1 if above else 0

    def sentence(word: int) -> int:
        token = top.get(word, part_of[word])
        return sum(end <= token for end in accumulate(record.sentences))

    return ParseRecord(
        sent_id=record.sent_id,
        text=record.text,
        tokens=list(words),
        spaces=_spaces(record, words),
        lemmas=column(record.lemmas, "_") if record.lemmas else [],
        upos=column(record.upos, "X") if record.upos else [],
        xpos=column(record.xpos, "_") if record.xpos else [],
        feats=column(record.feats, "_") if record.feats else [],
        heads=[head(word) for word in range(len(words))] if record.heads else [],
        deprels=column(record.deprels, "goeswith") if record.deprels else [],
        sentences=[len([*found]) for _, found in groupby(range(len(words)), sentence)] if record.sentences else [],
    )


def _owners(tokens: Sequence[str], word_at: Sequence[int]) -> list[int]:
    """Return the word that each token belongs to. word_at: the word of each character."""
    owners = []
    end = 0
    for token in tokens:
        start, end = end, end + len(token)
        held = word_at[start:end]
        owners.append(max(dict.fromkeys(held), key=held.count))
    return owners


def highest(owner: Sequence[int], heads: Sequence[int]) -> dict[int, int]:
    """Return the index of the highest token of each owner, the first of equals; one without a head only if no other has
    any. owner, heads: of the tokens, [n]."""
    heights = [(head == UNATTACHED, depth) for head, depth in zip(heads, depths(heads), strict=True)]
    found: dict[int, int] = {}
    for token, word in enumerate(owner):
        if word not in found or (heads and heights[token] < heights[found[word]]):
            found[word] = token
    return found


def _spaces(record: ParseRecord, words: Sequence[str]) -> list[bool]:
    """Return whether a space follows each word in the text, or [] if the record does not tell."""
    if not record.spaces:
        return []
    ends = accumulate(map(len, record.tokens))
    spaced = {end for end, space in zip(ends, record.spaces, strict=True) if space}
    return [end in spaced for end in accumulate(map(len, words))]


def with_marks(record: ParseRecord) -> ParseRecord:
    """Return the record with the marks of `synmt.text.marks` on its words. If it does not tell where spaces are, they
    are between all words."""
    spaces = record.spaces or spaces_after(record.tokens, " ".join(record.text.split()))
    tokens = marked(record.tokens, spaces or [True] * len(record.tokens))
    return replace(record, tokens=tokens, tree=record.tree and with_leaves(record.tree, tokens))


def detokenized(record: ParseRecord, tokenizer: Tokenizer) -> ParseRecord:
    """Return the record of words that a model wrote, without marks, and with the text that the tokenizer makes of them.

    Words that consist of marks are left out, and their dependents attached to their heads.
    """
    if not tokenizer.marks:
        text = tokenizer.detokenize(record.tokens)
        return replace(record, text=text, spaces=spaces_after(record.tokens, text) or [])
    words, spaces, places = unmarked(record.tokens)
    found = replace(record, text=spelled(words, spaces), tokens=words, spaces=spaces)
    if len(places) < len(record.tokens):
        number = {0: 0, **{place + 1: word for word, place in enumerate(places, 1)}}
        found.heads = [number[_kept(record.heads, place, number)] for place in places] if record.heads else []
        found.deprels = [record.deprels[place] for place in places] if record.deprels else []
    return found


def _kept(heads: Sequence[int], word: int, kept: Container[int]) -> int:
    """Return the nearest ancestor of a word (from 0) that is kept (from 1), 0 if there is none."""
    head = heads[word]
    while head > 0 and head not in kept:
        head = heads[head - 1]
    return max(0, head)
