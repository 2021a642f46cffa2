"""Target strings as lines of text: from dependency trees, and back to them."""

from collections.abc import Callable

from synmt.streams import BadLines
from synmt.text.tokenization import Tokenizer, spaces_after
from synmt.trees.arc_tokens import ArcStyle, is_arc, read_entries, write_entries
from synmt.trees.dependency import written
from synmt.trees.lifting import is_lifted, lowered
from synmt.trees.realignment import realigned
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import (
    TransitionError,
    TreeNotDerivable,
    read_repaired,
    read_transitions,
    transitions_of_record,
)


def write_string(
    record: ParseRecord,
    style: ArcStyle,
    tokenizer: Tokenizer | None,
    segment: Callable[[str], list[str]] | None,
    bad: BadLines,
    crossings: list[bool],
) -> str:
    """Return the line of a record's tree, on the tokenizer's words if there is one; "" for a tree that has none.

    crossings: to which is added, for a tree that is not projective, whether its string gives it back.

    Raises ValueError for a record that cannot be used.
    """
    if tokenizer:
        record = realigned(record, tokenizer.tokenize(record.text or written(record)))
    try:
        entries = transitions_of_record(record, segment or _whole, style)
        if any(is_lifted(entry) for entry in entries if is_arc(entry)):
            string = read_transitions(entries, style)
            crossings.append(lowered(string.heads, string.deprels)[0] == record.heads)
        return write_entries(entries)
    except TreeNotDerivable as error:
        bad.leave_empty(f"line where {error}")
        return ""


def _whole(word: str) -> list[str]:
    return [word]


def read_string(
    line: str, style: ArcStyle, tokenizer: Tokenizer | None, repairs: list[str] | None = None
) -> ParseRecord:
    """Return the record of a line, its text as the tokenizer joins it.

    repairs: to which is added what a string breaks that is no tree, but is read as one; without it, raises
    TransitionError for such a string.
    """
    entries = read_entries(line)
    try:
        record = read_transitions(entries, style)
    except TransitionError as error:
        if repairs is None:
            raise
        repairs.append(str(error))
        record = read_repaired(entries, style)
    record.heads, record.deprels = lowered(record.heads, record.deprels)
    if tokenizer:
        record.text = tokenizer.detokenize(record.tokens)
        record.spaces = spaces_after(record.tokens, record.text) or []
    return record
