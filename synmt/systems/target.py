"""What an idea of the target side is to the core, in four objects.

A record becomes vocabulary entries (Spelling), entries become columns and columns become tensors (Reading), tensors
become what the decoder's layers do (a module, from `decoder_part`), and a search asks which tokens may come next and
what an output says (Output). An idea names those that it changes; several ideas share equal ones. Free of torch, as
`--help` is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.nn.config import TransformerConfig
from synmt.options import check_settings
from synmt.systems.idea import Heads, Segment
from synmt.text.bpe import join_subwords
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord
from synmt.trees.transition_state import Constraints

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

CAUSAL, PREFIXES = "synmt.nn.decoders:CausalDecoder", "synmt.nn.prefixes:PrefixDecoder"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """ids without the end of sentence; log_probability that the model gives all tokens, in nats; score: that over the
    length penalty."""

    ids: list[int]
    log_probability: float
    score: float


class Hypotheses:
    """The open hypotheses of a search, at first one per sentence. Any token may continue these.

    limits [sentences]: how many tokens each sentence may have.
    """

    def __init__(self, limits: Sequence[int]) -> None:
        self.limits = limits

    def forbid(self, logits: "Tensor") -> None:
        """Set the logits [B,K,T] of tokens that may not come next to −∞, but never all of a hypothesis."""

    def advance(self, rows: "Tensor", tokens: "Tensor") -> None:
        """Continue the hypotheses `rows` [B·K] by one token each, [B·K]."""


class Output:
    """How a search writes targets with one vocabulary. What a subclass leaves out is that of words.

    writes_trees: whether what is written has a tree.
    """

    writes_trees: bool = False

    def hypotheses(self, constraints: Constraints, subwords: Sequence[int], device: "torch.device") -> Hypotheses:
        """Return the hypotheses with which a search starts; subwords: how many each sentence may have."""
        return Hypotheses(subwords)

    def finished(
        self, model: Any, encoded: Any, constraints: Constraints, found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Complete the hypotheses of each sentence, the best first. encoded: what `model` made of the sources."""
        return found

    def read(self, entries: Sequence[str]) -> tuple[ParseRecord, list[str] | None]:
        """Return what an output says: its words, with its tree if it has one, and that tree as a string with arcs."""
        return ParseRecord(tokens=join_subwords([entry for entry in entries if not is_structural(entry)])), None


@dataclass(frozen=True)
class Spelling:
    """How records are written as vocabulary entries. What a subclass leaves out is that of subwords alone.

    trees: where the tree of a target is written: "among" its words, or "apart" from them, in entries that are predicted
    together with the next token and that the decoder never reads; they stand last in a vocabulary.
    needs: the fields that a target's record must have.
    style: how arcs are spelled, where targets have some; share: of the loss of entries that are never read in what is
    minimized.
    """

    trees: ClassVar[Literal["", "among", "apart"]] = ""
    needs: ClassVar[frozenset[str]] = frozenset()

    style: ArcStyle = field(default_factory=ArcStyle)
    share: float = 1.0

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return what the decoder should say.

        Raises TreeNotDerivable for a tree that cannot be written, ValueError for a record that cannot be used.
        """
        return [subword for word in record.tokens for subword in segment(word)]

    def read(self, entries: Sequence[str]) -> Sequence[str]:
        """Return the entries that the decoder reads."""
        return entries

    def subwords(self, entries: Sequence[str]) -> int:
        """Return how many of the entries of a target are subwords."""
        return len(entries)

    def flaw(self, entries: Sequence[str], vocabulary: Vocabulary) -> str:
        """Return what is wrong with pairs that have such a target, "" if it can be learned with this vocabulary."""
        return ""

    def relations(self, entries: Sequence[str]) -> list[str]:
        """Return the relations of all arcs among vocabulary entries, each once, sorted."""
        return []

    def vocabulary(self, counts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
        """Return the entries that a vocabulary needs, by how often they are in targets, and those that stand last."""
        return counts, Counter()

    def unread(self, vocabulary: Vocabulary) -> int:
        """Return how many entries at the end of a vocabulary are never read. Raises ValueError for one elsewhere."""
        return 0

    def string(self, entries: Sequence[str]) -> list[str]:
        """Return what the decoder says, with its arcs as `synmt transitions` writes them."""
        return list(entries)

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> Output:
        """Return how a search writes such targets. trees: how many hypotheses of a sentence need the tree that is
        written apart from their words, the best ones; None for all."""
        return Output()


class Reading:
    """What a decoder reads of targets besides their tokens: columns of entries, and tensors of columns.

    What a subclass leaves out is that of one number per position of the decoder's input: a subclass then has
    `numbers`, and its hypotheses have the attribute `latest`, the number at the last position of each, [R].

    name: by which modules find it, and the name of its column.
    """

    name: ClassVar[str] = ""

    def __init__(self, style: ArcStyle, vocabulary: Vocabulary) -> None:
        self.style = style

    def numbers(self, entries: Sequence[str]) -> list[int]:
        """Return the number at each position, from the begin of sentence on, [1+t]; a function of the entries before
        that position alone."""
        raise NotImplementedError

    def columns(self, entries: Sequence[str]) -> Mapping[str, Any]:
        """Return integers of the entries of a target, by name."""
        return {self.name: self.numbers(entries)}

    def tensors(self, columns: "Mapping[str, Tensor]", length: int) -> Any:
        """Return what modules read of whole targets of at most `length` positions; columns: each [R,c], padded by 0."""
        from synmt.nn.decoders import Numbers

        return Numbers(columns[self.name])

    def start(self, rows: int, device: "torch.device") -> Any:
        """Return what they read before the first position of a search; it has `select` and `joined` as `Numbers`."""
        from synmt.nn.decoders import Numbers

        return Numbers.empty(rows, device)

    def grown(self, tensors: Any, hypotheses: Any) -> Any:
        """Return the tensors with one more position, by what the hypotheses of the search have built."""
        return tensors.grown(hypotheses.latest)


@dataclass(frozen=True)
class TargetIdea:
    """An idea of the target side. What a subclass leaves out is that of a plain Transformer on subwords.

    Places are `module:attribute`, for the module may import torch.
    runs: the place of the decoder that runs the layers, CAUSAL or PREFIXES, if this idea decides about that; where none
    does, the decoder is causal.
    reads: the place of a Reading, made of the style of arcs and the vocabulary, if this idea lets the decoder read one.
    training_only: the trained model translates as if the idea were not there. In a search, or in `--score`, its module
    has to leave a run as it is.
    """

    runs: ClassVar[str] = ""
    reads: ClassVar[str] = ""
    training_only: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds, and TypeError for a module that no decoder is named for."""
        check_settings(self)
        has_module = self.reads or type(self).decoder_part is not TargetIdea.decoder_part
        if has_module and not self.runs:
            raise TypeError(f"{type(self).__name__} has a module, but does not name a decoder to run it")

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a target's record that `columns` reads in training (and validation), or in `--score`; a
        record that lacks some is used as it is."""
        return frozenset()

    def spelling(self, style: ArcStyle) -> Spelling | None:
        """Return how targets are written, if this idea decides about that; style: how arcs are to be spelled."""
        return None

    def columns(self, record: ParseRecord, entries: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """Return integers of a target that only losses use, by name; entries: those that the decoder reads. A target
        has them in training and validation, and in nothing else."""
        return {}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        """Return the heads of decoder layers that this idea edits, alone."""
        return {}

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "nn.Module | None":
        """Return a module that the decoder calls, as CausalDecoder or PrefixDecoder says."""
        return None
