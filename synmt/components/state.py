"""The state of a decoder: what it knows after each token, what may follow, and the fields that its hooks read from it.

A state is immutable. Its methods are `after`, `allowed` and `most`, as in WordState, and it counts its tokens in
`length`. Decoders that write arcs use synmt.trees.transitions.State. This module imports no torch.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synmt.components.fields import Field
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, Kind, Token
from synmt.trees.transitions import Constraints

if TYPE_CHECKING:
    from torch import Tensor

Numbers = Callable[[Any], tuple[int, ...]]  # from a state to the fields, in order, at the last position it has read


@dataclass(frozen=True, slots=True)
class WordState:
    """The state of a decoder that writes subwords. States are immutable: `after` returns a new one.

    open_word: how many subwords of a word that is not complete have been written.
    """

    length: int = 0
    open_word: int = 0

    def after(self, token: Token) -> "WordState":
        return WordState(self.length + 1, self.open_word + 1 if token.kind == Kind.OPEN else 0)

    def allowed(self, constraints: Constraints, left: int) -> int:
        """Return the kinds of token that a search may choose next, at least one; left: how many tokens may follow."""
        subword = Kind.OPEN | Kind.WORD
        return subword if self.open_word else subword | Kind.END

    def most(self, subwords: int) -> int:
        """Return the most tokens of a target with at most so many subwords."""
        return subwords


def _nothing(fields: "Mapping[str, Tensor]") -> "Mapping[str, Tensor]":
    return {}


@dataclass(frozen=True)
class StateFields:
    """The fields that a decoder's hooks read from its state.

    fields: by name. numbers: returns the function that reads them, given the vocabulary.
    derived: the names of what `derive` returns, [R,n] or [R,n,n], given the fields [R,n] of whole targets. It is
    computed once, also for all prefixes of a target.
    """

    fields: Mapping[str, Field] = field(default_factory=dict)
    numbers: Callable[[Vocabulary], Numbers] = lambda vocabulary: lambda state: ()
    derived: tuple[str, ...] = ()
    derive: "Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]" = _nothing


@dataclass(frozen=True)
class Automaton:
    """How the state of a decoder moves through targets of one vocabulary.

    start: the state at the begin of sentence; tokens: the vocabulary's tokens as the state reads them; style: reads
    other tokens. readers: the names of the fields of each component, and its function of the state.
    """

    start: Any
    tokens: Sequence[Token]
    style: ArcStyle
    readers: Sequence[tuple[Collection[str], Numbers]]

    def numbers(self, state: Any) -> dict[str, int]:
        """Return the fields at the last position that a state has read, by name."""
        return {name: value for names, read in self.readers for name, value in zip(names, read(state), strict=True)}

    def fields(self, tokens: Sequence[str]) -> dict[str, list[int]]:
        """Return the fields at the begin of sentence and after each token of a target, [1+t] each."""
        state = self.start
        rows = [self.numbers(state)]
        for token in tokens:
            state = state.after(self.style.token(token))
            rows.append(self.numbers(state))
        return {name: [row[name] for row in rows] for name in rows[0]}
