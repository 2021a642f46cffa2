"""`compose`: a causal decoder with heads that compose the tree it is writing.

The decoder writes words and arcs, as in `transitions`. Its positions see only earlier positions, so one pass trains on
a whole target, and a search caches keys and values. In each layer, some heads see less than the others. The latest
token of a word is its last subword, until the word becomes the head of an arc; then it is the token of that arc, which
is the new version of the head, with the dependent composed into it. At position t, which has read the token there,
these heads see:

    head       where the token is an arc                                          elsewhere
    compose    itself; all subwords of the head and of the dependent; the tokens
               that were the latest tokens of these two words before              itself
    stack      itself; the latest token of each word that waits for a head; the subwords of a word that is not
               complete

The idea is our own. It applies to translation what Sartran et al. (2022), "Transformer Grammars" (TACL), do for
language models of constituents, and Zhao, Lou & Tu (2024), "Dependency Transformer Grammars" (arXiv:2407.17406), for
dependencies. No new parameters; labels enter the model as the embeddings of arcs.

With mask `random`, each head sees the same number of positions, but a fixed random choice of them: a control.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.components.arcs import ROLE, role
from synmt.components.contract import DecoderComponent, Heads, StateFields, TransformerConfig, in_heads, setting
from synmt.components.linearization import ArcLinearization

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun, Value

FOREVER = 2**31 - 1  # the replacement of a token that nothing replaces


@dataclass(frozen=True)
class Compose(DecoderComponent):
    """Words, with arcs among them, and the stack of words that wait for a head. The first heads of a layer compose."""

    cites: ClassVar[tuple[str, ...]] = ("sartran2022transformer", "zhao2024dependency")

    heads: int = setting(1, "heads per layer that compose: an arc sees the two words that it links", 0, 2**16)
    stack_heads: int = setting(1, "heads per layer that see the words waiting for a head", 0, 2**16)
    layers: int = setting(0, "number of decoder layers with such heads, lowest first; 0: all", 0, 256)
    mask: Literal["tree", "random"] = setting("tree", "what they see; random: the same number of positions (a control)")

    prefixes = False
    writes = ArcLinearization
    state_fields = StateFields(
        ROLE, lambda vocabulary: role, ("replaced",), lambda fields: {"replaced": replaced(fields)}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.heads + self.stack_heads:
            raise ValueError("compose needs at least one head; without any, use transitions")

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return dict.fromkeys(self._layers(config), tuple(range(self.heads + self.stack_heads)))

    def bias(self, run: "SideRun") -> "Value":
        """Return −inf where a head sees nothing, in the layers that compose."""
        from synmt.nn.attention import hiding

        whole, count = None, run.own.config.heads
        heads = tuple(range(self.heads)), tuple(range(self.heads, self.heads + self.stack_heads))
        for number, (own, see) in enumerate(zip(heads, (composed, stacked), strict=True)):
            if own:
                seen = see(run.fields, run.queries)
                if self.mask == "random":
                    seen = scattered(seen.sum(dim=2), run.fields["replaced"], run.queries, number)
                hidden = in_heads(hiding(~seen).unsqueeze(1), own, count, 0.0)
                whole = hidden if whole is None else whole + hidden
        assert whole is not None
        return dict.fromkeys(self._layers(run.own.config), whole)

    def _layers(self, config: TransformerConfig) -> range:
        return range(1, 1 + (self.layers or config.decoder_layers))


def replaced(fields: "Mapping[str, Tensor]") -> "Tensor":
    """Return the position at which another token replaces each token as the representative of its word, [R,m]: the next
    token of the word or, if the word is the dependent of an arc, that arc's token.

    All subwords of an incomplete word represent it together. A token that represents no word is replaced at its own
    position, one that is never replaced at FOREVER. Where there is no token, it is −1.
    """
    import torch

    word, head, dependent, completes = (fields[name] for name in ROLE)
    owner = torch.where(head < 0, word, head)
    length = word.shape[1]
    later = torch.ones(length, length, dtype=torch.bool, device=word.device).triu(1)  # row = token, column = later one
    own = owner.unsqueeze(2)
    completing = word.masked_fill(completes < 1, -1)
    now = (own == head.unsqueeze(1)) | (own == dependent.unsqueeze(1)) | (own == completing.unsqueeze(1))
    now = now & later & (own >= 0)
    positions = torch.arange(length, device=word.device)
    first = torch.where(now, positions, FOREVER).amin(dim=2)
    found = torch.where(owner < 0, positions, first)
    return found.masked_fill(fields["role completes"] < 0, -1)


def composed(fields: "Mapping[str, Tensor]", queries: "Tensor") -> "Tensor":
    """Return the positions that a composing head sees, [R,Q,m]."""
    import torch

    words, replaced = fields["role word"].unsqueeze(1), fields["replaced"]
    heads, dependents = (fields[name][:, queries].unsqueeze(2) for name in ("role head", "role dependent"))
    keys = torch.arange(words.shape[2], device=queries.device)
    latest = replaced.unsqueeze(1) == queries.unsqueeze(1)  # the tokens that the arc's token replaces
    return ((heads >= 0) & (latest | (words == heads) | (words == dependents))) | (keys == queries.unsqueeze(1))


def stacked(fields: "Mapping[str, Tensor]", queries: "Tensor") -> "Tensor":
    """Return the positions that a head on the stack sees, [R,Q,m]."""
    import torch

    replaced = fields["replaced"]
    keys, asked = torch.arange(replaced.shape[1], device=queries.device), queries.unsqueeze(1)
    return ((keys <= asked) & (asked < replaced.unsqueeze(1))) | (keys == asked)


def scattered(counts: "Tensor", replaced: "Tensor", queries: "Tensor", number: int) -> "Tensor":
    """Return masks under which each query sees itself and random earlier tokens, `counts` [R,Q] in all: [R,Q,m]

    The choice depends only on the positions of tokens and on the number of the head, so it is the same on every device.
    """
    import torch

    keys, asked = torch.arange(replaced.shape[1], device=queries.device), queries.unsqueeze(1)
    there = replaced >= 0
    places = there.cumsum(dim=1) - 1
    drawn = _mixed(_mixed(places[:, queries] * 2 + number).unsqueeze(2) + places.unsqueeze(1))
    drawn = drawn.masked_fill((keys > asked) | ~there.unsqueeze(1), torch.iinfo(torch.int64).max)
    drawn = drawn.masked_fill(keys == asked, torch.iinfo(torch.int64).min)
    return drawn.argsort(dim=2).argsort(dim=2) < counts.unsqueeze(2)


def _mixed(numbers: "Tensor") -> "Tensor":
    """Return pseudo-random int64: the finalizer of splitmix64 (Steele, Lea & Flood 2014) with arithmetic shifts."""
    numbers = numbers * -7046029254386353131
    numbers = (numbers ^ (numbers >> 30)) * -4658895280553007687
    numbers = (numbers ^ (numbers >> 27)) * -7723592293110705685
    return numbers ^ (numbers >> 31)
