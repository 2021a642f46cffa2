"""The interface between the core and ideas of the target side: four kinds of object.

A Spelling turns a record into vocabulary entries. A Reading turns entries into columns, and columns into tensors. A
module (from `decoder_part`) turns tensors into changes of the decoder's layers. An Output tells a search which tokens
may come next, and turns the result into words and a tree. An idea defines the objects that it changes; several ideas
can share equal ones. This module imports no torch, because `--help` reads it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.ideas.source import Heads
from synmt.nn.config import TransformerConfig
from synmt.options import check_settings
from synmt.text.bpe import Segment, join_subwords
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import Constraints

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

CAUSAL, PREFIXES = "synmt.nn.decoders:CausalDecoder", "synmt.nn.prefixes:PrefixDecoder"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """ids: the tokens, without the end of sentence.
    log_probability: the model's log-probability of all tokens, in nats.
    score: log_probability divided by the length penalty.
    """

    ids: list[int]
    log_probability: float
    score: float


class Hypotheses:
    """The open hypotheses of a search, initially one per sentence. By default, any token may follow.

    limits [sentences]: the maximum number of tokens per sentence.
    """

    def __init__(self, limits: Sequence[int]) -> None:
        self.limits = limits

    def forbid(self, logits: "Tensor") -> None:
        """Set the logits [B,K,T] of forbidden next tokens to −∞, but leave each hypothesis at least one token."""

    def advance(self, rows: "Tensor", tokens: "Tensor") -> None:
        """Append tokens [B·K] to the hypotheses `rows` [B·K], one each."""


class Output:
    """How a search writes targets with one vocabulary. By default, it writes words.

    writes_trees: whether the output contains a tree.
    """

    writes_trees: bool = False

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: "torch.device") -> Hypotheses:
        """Return the hypotheses that a search starts with; subwords: the maximum number per sentence."""
        return Hypotheses(subwords)

    def finished(
        self, model: Any, encoded: Any, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Complete the hypotheses of each sentence, best first. encoded: `model.encode` of the sources."""
        return found

    def read(self, entries: Sequence[str]) -> tuple[ParseRecord, list[str] | None]:
        """Return the words of an output, with their tree if it has one, and that tree as a string with arcs."""
        return ParseRecord(tokens=join_subwords([entry for entry in entries if not is_structural(entry)])), None


@dataclass(frozen=True)
class Spelling:
    """How records are written as vocabulary entries. By default, as subwords only.

    trees: where the tree of a target is written. "among": between its words. "apart": in entries that are predicted
    together with the next token, that the decoder never reads, and that come last in the vocabulary.
    needs: the fields that a target's record must have.
    style: how arcs are spelled, if the targets contain any.
    share: the weight, in the total loss, of entries that are never read.
    """

    trees: ClassVar[Literal["", "among", "apart"]] = ""
    needs: ClassVar[frozenset[str]] = frozenset()

    style: ArcStyle = field(default_factory=ArcStyle)
    share: float = 1.0

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return the target entries of a record.

        Raises TreeNotDerivable for a tree that cannot be written, ValueError for a record that cannot be used.
        """
        return [subword for word in record.tokens for subword in segment(word)]

    def read(self, entries: Sequence[str]) -> Sequence[str]:
        """Return the entries that the decoder reads."""
        return entries

    def subwords(self, entries: Sequence[str]) -> int:
        """Return how many entries of a target are subwords."""
        return len(entries)

    def flaw(self, entries: Sequence[str], vocabulary: Vocabulary) -> str:
        """Return why a target cannot be learned with this vocabulary, to follow "pairs with"; "" if it can."""
        return ""

    def relations(self, entries: Sequence[str]) -> list[str]:
        """Return the relations of all arcs among vocabulary entries, sorted and without duplicates."""
        return []

    def vocabulary(self, counts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
        """Return the entries that a vocabulary needs, with their counts in targets, and entries that must come last."""
        return counts, Counter()

    def unread(self, vocabulary: Vocabulary) -> int:
        """Return how many entries at the end of a vocabulary are never read. Raises ValueError for one elsewhere."""
        return 0

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> Output:
        """Return how a search writes such targets. trees: the number of best hypotheses per sentence that need a
        tree written apart from their words; None for all."""
        return Output()

    def output_of_other_tasks(self, vocabulary: Vocabulary) -> Output:
        """Return how a search writes targets of other tasks than translation, in which any token may follow."""
        return Output()


class Reading:
    """The data that a decoder reads from targets in addition to tokens: columns of entries, and tensors of columns.

    By default, this is one number per position of the decoder's input: a subclass defines `numbers`, and its hypotheses
    have an attribute `latest`, the number at the last position of each, [R].

    name: the name of its column, by which modules find it.
    """

    name: ClassVar[str] = ""

    def __init__(self, style: ArcStyle, vocabulary: Vocabulary) -> None:
        self.style = style

    def numbers(self, entries: Sequence[str]) -> list[int]:
        """Return the number at each position from begin of sentence on, [1+t]. It may only depend on earlier
        entries."""
        raise NotImplementedError

    def columns(self, entries: Sequence[str]) -> Mapping[str, Any]:
        """Return integers computed from the entries of a target, by name."""
        return {self.name: self.numbers(entries)}

    def tensors(self, columns: "Mapping[str, Tensor]", length: int) -> Any:
        """Return the modules' input for whole targets of at most `length` positions; columns: [R,c] each, padded
        with 0."""
        from synmt.nn.decoders import Numbers

        return Numbers(columns[self.name])

    def start(self, rows: int, device: "torch.device") -> Any:
        """Return the modules' input before the first position of a search, with `select` and `joined` as in
        `Numbers`."""
        from synmt.nn.decoders import Numbers

        return Numbers.empty(rows, device)

    def grown(self, tensors: Any, hypotheses: Any) -> Any:
        """Return the tensors extended by one position, given the hypotheses of the search."""
        return tensors.grown(hypotheses.latest)


@dataclass(frozen=True)
class TargetIdea:
    """An idea of the target side. By default, methods behave as in a plain Transformer on subwords.

    Places are `module:attribute`, since the module may import torch.
    runs: the place of the decoder class, CAUSAL or PREFIXES, if this idea chooses it. If no idea does, the decoder is
    causal.
    reads: the place of a Reading, which is called with the style of arcs and the vocabulary, if this idea adds one.
    training_only: the trained model translates as if the idea were absent. In a search or in `--score`, its module must
    not change the run.
    cites: its papers, as in synmt.citations.
    """

    runs: ClassVar[str] = ""
    reads: ClassVar[str] = ""
    training_only: ClassVar[bool] = False
    cites: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds, and TypeError if there is a module but no decoder to run it."""
        check_settings(self)
        has_module = self.reads or type(self).decoder_part is not TargetIdea.decoder_part
        if has_module and not self.runs:
            raise TypeError(f"{type(self).__name__} has a module, so it must set `runs`, the decoder that runs it")

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a target's record that `columns` reads in training (and validation) or in `--score`.
        A record that lacks some is used as it is."""
        return frozenset()

    def spelling(self, style: ArcStyle) -> Spelling | None:
        """Return how targets are written, if this idea decides it; style: how to spell arcs."""
        return None

    def columns(self, record: ParseRecord, entries: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """Return integers of a target that only losses use, by name. They exist only in training and validation.

        entries: the entries that the decoder reads.
        """
        return {}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        """Return the decoder heads that only this idea edits."""
        return {}

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "nn.Module | None":
        """Return a module for the decoder to call, as CausalDecoder or PrefixDecoder describes."""
        return None
