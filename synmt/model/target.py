"""The target side of a model: the components, the output format and the fields of its decoder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from synmt.components import DECODER_COMPONENTS, PLAIN, options_of
from synmt.components.contract import Automaton, DecoderComponent, Field, check_components, owners_of_heads
from synmt.components.linearization import Linearization
from synmt.nn.config import TransformerConfig
from synmt.streams import Message
from synmt.text.bpe import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.components.output import Output
    from synmt.nn.decoders import Decoder


@dataclass(frozen=True)
class TargetSide:
    """The components of a decoder by name, at least one, and how they spell arcs.

    Raises ValueError for components that cannot be combined, and for linearized arcs that no component writes.
    """

    components: Mapping[str, DecoderComponent]
    style: ArcStyle = field(default_factory=ArcStyle)

    def __post_init__(self) -> None:
        if not self.components:
            raise ValueError("the decoder needs a component, such as sequence")
        names, every = "+".join(self.components), self.components.values()
        linearizations = [linearization for each in every if (linearization := each.linearization(self.style))]
        if any(each != linearizations[0] for each in linearizations):
            raise ValueError(f"{names} cannot be combined, because they write targets differently")
        if self.style != self.linearization.style:
            raise ValueError(Message("{} writes no arcs, so split and root_arc have no effect", names))
        if len({each.prefixes for each in every} - {None}) > 1:
            raise ValueError(f"{names} cannot be combined, because one is causal and the other is not")
        states = [state for each in every if (state := each.state(self.style)) is not None]
        if any(each != (self.linearization.state() or states[0]) for each in states):
            raise ValueError(f"{names} cannot be combined, because their states differ")

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return all fields that the decoder reads, by name. Raises ValueError for a name that two components use,
        unless both use the same field."""
        found: dict[str, Field] = {}
        for each in self.components.values():
            for name, own in each.fields_by_name.items():
                if own.shape == "pair" or own.dtype.startswith("float"):
                    raise ValueError(f"the field {name} of a decoder must be integers or labels of tokens")
                if found.setdefault(name, own) is not own:
                    raise ValueError(f"two components use the same name for fields: {name}")
        return found

    @cached_property
    def labels(self) -> dict[str, float]:
        """Return the fields of labels that the decoder predicts, with the weights of their losses in the total."""
        return {
            name: each.loss_weight()
            for each in self.components.values()
            for name, own in each.fields_by_name.items()
            if own.shape == "label"
        }

    @cached_property
    def linearization(self) -> Linearization:
        """Return how targets are written."""
        found = (each.linearization(self.style) for each in self.components.values())
        return next((each for each in found if each), Linearization())

    @cached_property
    def state(self) -> Any:
        """Return the state at the begin of sentence, None if nothing reads one."""
        own = (each.state(self.style) for each in self.components.values())
        return self.linearization.state() or next((state for state in own if state is not None), None)

    @property
    def reads_prefixes(self) -> bool:
        """Return whether the decoder reads its whole prefix at each step."""
        return any(each.prefixes for each in self.components.values())

    @property
    def is_plain(self) -> bool:
        """Return whether the decoder translates like a plain Transformer on subwords."""
        kept = [each for each in self.components.values() if not each.training_only]
        changes = any(each.hooks - {"loss", "accuracies"} for each in kept)
        return self.writes_words_alone and not self.reads_prefixes and self.state is None and not changes

    @property
    def writes_words_alone(self) -> bool:
        """Return whether the vocabulary has only subwords of targets."""
        return type(self.linearization) is Linearization

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a target record that the components read; those of the linearization are required."""
        return self.linearization.needs.union(*(each.needs(training) for each in self.components.values()))

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.components, config, config.decoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if a network of these sizes does not suit the components."""
        check_components(self.components, config, config.decoder_layers)
        self.fields  # noqa: B018 (a name that two components use is refused)
        for name, each in self.components.items():
            if each.state_fields.fields and self.state is None:
                raise ValueError(f"{name} reads fields of a state, so it must define `state`")

    def tokens(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return the tokens that the decoder should write, as `Linearization.tokens`."""
        return self.linearization.tokens(record, segment)

    def lessons(self, record: ParseRecord, tokens: Sequence[str]) -> dict[str, Sequence[Any]]:
        """Return the fields of a target for training alone, by name. Raises ValueError for undeclared ones, and
        TreeNotDerivable for a tree that they cannot express."""
        found: dict[str, Sequence[Any]] = {}
        for name, each in self.components.items():
            declared = each.reads().keys()
            more = each.read(record, tokens) if declared else {}
            if wrong := more.keys() ^ declared:
                raise ValueError(f"{name} reads and declares different fields: {min(wrong)}")
            for own, values in more.items():
                if len(values) != 1 + len(tokens):
                    raise ValueError(f"{name} reads {len(values)} values of {own}, not {1 + len(tokens)}")
            found.update(more)
        return found

    def automaton(self, vocabulary: Vocabulary) -> Automaton | None:
        """Return how the decoder's state moves through targets, None if it has none."""
        if self.state is None:
            return None
        reading = [each.state_fields for each in self.components.values() if each.state_fields.fields]
        readers = [(each.fields, each.numbers(vocabulary)) for each in reading]
        return Automaton(self.state, list(map(self.style.token, vocabulary.target)), self.style, readers)

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> "Output":
        """Return how a search writes targets. trees: the number of best hypotheses per sentence that need a tree
        written apart from their words; None for all."""
        return self.linearization.output(vocabulary, self.automaton(vocabulary), trees)

    def output_of_other_tasks(self, vocabulary: Vocabulary) -> "Output":
        """Return how a search writes targets of other tasks than translation, in which any token may follow."""
        from synmt.components.output import Output

        return Output(self.automaton(vocabulary), free=True)

    def decoder(self, config: TransformerConfig, vocabulary: Vocabulary) -> "Decoder":
        """Return the decoder. Raises ValueError for a vocabulary that lacks its labels."""
        from synmt.nn.decoders import CausalDecoder, LabelHead
        from synmt.nn.hooks import parts_of
        from synmt.nn.prefixes import PrefixDecoder

        heads = {}
        for name, loss_weight in self.labels.items():
            if not vocabulary.labels.get(name):
                raise ValueError(f"the vocabulary has no labels of the field {name}")
            heads[name] = LabelHead(config.width, len(vocabulary.labels[name]), loss_weight)
        parts = parts_of(self.components, config, lambda each: each.parameters(config, vocabulary))
        fillers = {name: int(each.pad) for name, each in self.fields.items() if not each.training}
        kind = PrefixDecoder if self.reads_prefixes else CausalDecoder
        return kind(config, parts, fillers, heads)

    def settings(self) -> dict[str, Any]:
        """Return the settings from which `target_side` restores the side."""
        return {
            "components": {name: asdict(each) for name, each in self.components.items()},
            "arcs": asdict(self.style),
        }


WORDS = TargetSide({PLAIN: DecoderComponent()})


def target_side(components: Mapping[str, Mapping[str, Any]], arcs: Mapping[str, bool] | None = None) -> TargetSide:
    """Return the side with these components and options. Raises ValueError or TypeError for invalid ones."""
    style = ArcStyle(**(arcs or {}))
    if not all(type(value) is bool for value in asdict(style).values()):
        raise ValueError("split and root_arc must be true or false")
    return TargetSide(DECODER_COMPONENTS.made(components), style)


def target_side_of(
    names: Sequence[str], settings: Mapping[str, Any], arcs: Mapping[str, bool] | None = None
) -> TargetSide:
    """Return the side with these components and their own settings, such as `gcn_layers`. Raises ValueError."""
    return target_side(options_of(DECODER_COMPONENTS, names, settings), arcs)
