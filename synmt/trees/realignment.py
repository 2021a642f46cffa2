"""Dependency trees on other words: from a parser's tokens to a tokenizer's words of the same text.

A word takes the place of the highest of its tokens: where `don't` is one word, it is the `do` of `do|n't`, as in a
multiword token of CoNLL-U. Where one token is several words, they hang on the first of them.
"""

from collections.abc import Sequence
from itertools import accumulate, groupby

from synmt.trees.dependency import depths
from synmt.trees.record import ParseRecord, RecordError, check_heads


def realigned(record: ParseRecord, words: Sequence[str]) -> ParseRecord:
    """Return the record with `words`, [n], in place of its tokens; without its constituency tree.

    A token belongs to the word that holds most of it, the first of equals. A word that no token belongs to hangs as
    `goeswith` on the word of the token that it is a part of; its part of speech is X.
    Raises RecordError if words and tokens are not the same characters, or for heads that are no tree.
    """
    if list(words) == record.tokens:
        return record
    if record.heads:
        check_heads(record.heads, record.sentences)
    if "".join(words) != "".join(record.tokens) or "" in (*words, *record.tokens):
        raise RecordError("the words are not made of the characters of the tokens")
    token_at = [token for token, form in enumerate(record.tokens) for _ in form]
    word_at = [word for word, form in enumerate(words) for _ in form]
    owner = _owners(record.tokens, word_at)
    highest = _highest(owner, record.heads)
    part_of = {word: token_at[at] for at, word in reversed([*enumerate(word_at)])}

    def column(values: Sequence[str], of_parts: str) -> list[str]:
        return [values[highest[word]] if word in highest else of_parts for word in range(len(words))]

    def head(word: int) -> int:
        if word not in highest:
            return owner[part_of[word]] + 1
        above = record.heads[highest[word]]
        return owner[above - 1] + 1 if above else 0

    def sentence(word: int) -> int:
        token = highest.get(word, part_of[word])
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
    """Return the word that each token belongs to; word_at: the word of each character."""
    owners = []
    end = 0
    for token in tokens:
        start, end = end, end + len(token)
        held = word_at[start:end]
        owners.append(max(dict.fromkeys(held), key=held.count))
    return owners


def _highest(owner: Sequence[int], heads: Sequence[int]) -> dict[int, int]:
    """Return, of each word that owns tokens, the token with the fewest arcs above it, the first of equals."""
    depth = depths(heads) if heads else [1] * len(owner)
    highest: dict[int, int] = {}
    for token, word in enumerate(owner):
        if word not in highest or depth[token] < depth[highest[word]]:
            highest[word] = token
    return highest


def _spaces(record: ParseRecord, words: Sequence[str]) -> list[bool]:
    """Return whether a space follows each word in the text, where the record says so of its tokens."""
    if not record.spaces:
        return []
    ends = accumulate(map(len, record.tokens))
    spaced = {end for end, space in zip(ends, record.spaces, strict=True) if space}
    return [end in spaced for end in accumulate(map(len, words))]
