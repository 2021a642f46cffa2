"""Whatever a hook returns takes effect, in every decoder, in training, search and every precision, or is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from synmt.components.contract import (
    ArcStyle,
    DecoderComponent,
    EncoderComponent,
    Field,
    Heads,
    Kinds,
    Layout,
    ParseRecord,
    StateFields,
    TransformerConfig,
    WordState,
)
from synmt.components.encoder.sequence import SequenceEncoder as Plain
from synmt.data.batches import Sources
from synmt.data.corpus import Corpus
from synmt.device import autocast
from synmt.model.source import SourceSide
from synmt.model.target import TargetSide
from synmt.model.translation import TranslationModel
from synmt.nn.hooks import SideRun
from synmt.nn.prefixes import PrefixPlan
from synmt.nn.quantization import quantize
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from tests import tiny

CPU = torch.device("cpu")
STATIC = ["bias", "scale", "penalty", "cross_bias", "cross_scale"]
CHANGES = [*STATIC, "embed", "weights", "cross_weights", "after"]
CONFIG = replace(tiny.CONFIG, decoder_layers=2)


def pattern(rows: int, queries: Tensor, keys: int, heads: int = 1) -> Tensor:
    """Return positive numbers that depend on the places of query and key, [rows,heads,Q,keys]."""
    places = (1 + queries.view(-1, 1)) * (2 + torch.arange(keys)) % 5
    return (0.5 + places.float()).expand(rows, heads, -1, -1)


class Hooked:
    """Hooks that change everything they can. `only`: the one hook that it has, or "" for none."""

    only: str

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({self.only} - {""})

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {2: (1,)} if "weights" in self.only else {}

    def layers_after(self, config: TransformerConfig) -> Sequence[int]:
        return (0, 1, 2) if self.only == "after" else ()

    def static(self, run: SideRun) -> Tensor:
        return pattern(1, run.queries, self.length(run))

    bias = penalty = scale = static

    def length(self, run: SideRun) -> int:
        return next(iter(run.fields.values())).shape[1]

    def cross(self, run: SideRun) -> Tensor:
        queries = run.queries if run.source is not None else torch.zeros(1)
        source = run.source.ids if run.source is not None else next(iter(run.fields.values()))
        return pattern(1, queries, source.shape[1])

    cross_bias = cross_scale = cross

    def weights(self, run: SideRun, layer: int, states: Tensor) -> Tensor:
        seen = torch.arange(states.shape[1]) <= run.queries.unsqueeze(1)
        found = pattern(len(states), run.queries, states.shape[1]) * seen
        return found / found.sum(dim=-1, keepdim=True)

    def cross_weights(self, run: SideRun, layer: int, states: Tensor) -> Tensor:
        hidden = run.source.padding
        found = pattern(len(states), run.queries, run.source.ids.shape[1])
        if hidden is not None:
            found = found * ~hidden[run.sentences][:, None, None]
        return found / found.sum(dim=-1, keepdim=True)

    def embed(self, run: SideRun, vectors: Tensor) -> Tensor:
        own = vectors[:, -len(run.queries) :]
        return own + own.roll(1, dims=2)

    def after(self, run: SideRun, layer: int, states: Tensor) -> Tensor:
        mean = states.cumsum(dim=1) / (1 + torch.arange(states.shape[1])).view(-1, 1)
        return states[:, run.queries] + mean[:, run.queries].roll(1, dims=2)


@dataclass(frozen=True)
class OfEncoder(Hooked, EncoderComponent):
    only: str = ""

    def reads(self) -> Mapping[str, Field]:
        return {"place": Field()} if self.only else {}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        return {"place": range(len(layout.tokens))} if self.only else {}


@dataclass(frozen=True)
class OfDecoder(Hooked, DecoderComponent):
    only: str = ""

    state_fields = StateFields({"place": Field()}, lambda vocabulary: lambda state: (state.length,))

    def state(self, style: ArcStyle) -> WordState:
        return WordState()


def made(source: SourceSide, target: TargetSide) -> tuple[TranslationModel, Corpus]:
    features = [source.features(record, tiny.segment) for record in tiny.records()]
    vocabulary = tiny.sources_and_vocabulary("sequence", "transitions")[1]
    corpus = Corpus.empty(vocabulary, target, PrefixPlan(0, 1000))
    for record, each in zip(tiny.target_records(), features, strict=True):
        corpus.append(each, target.tokens(record, tiny.whole))
    torch.manual_seed(1)
    return TranslationModel(CONFIG, source, target, vocabulary).eval(), corpus


def sides(side: str, hook: str, decoder: str) -> tuple[SourceSide, TargetSide]:
    source: dict[str, Any] = {"it": OfEncoder(hook)} if side == "encoder" else {"sequence": Plain()}
    target = dict(tiny.TARGET_SYSTEMS[decoder].components)
    if side == "decoder":
        target["it"] = OfDecoder(hook)
    return SourceSide(source), TargetSide(target)


def result(side: str, hook: str, decoder: str, precision: str) -> tuple[float, float, list[list[int]]]:
    """Return the loss of given targets, their forced log-probability, and the output of a search."""
    model, corpus = made(*sides(side, hook, decoder))
    if precision == "int8":
        quantize(model.network)
    source, target = corpus.batch([0, 1, 3], CPU)
    with torch.inference_mode(), autocast(CPU, "bf16" if precision == "bf16" else "fp32"):
        loss = float(model.loss(source, target).total)
        output = corpus.side.output(corpus.vocabulary)
        found = beam_search(model, source, SearchConfig(beam=2, max_length_offset=2), output)
        best = found[0][0]
        return loss, best.log_probability, [each.ids for each in found[0]]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("decoder", ["sequence", "bitran"])
@pytest.mark.parametrize("hook", CHANGES)
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_every_hook_changes_losses_and_searches_or_is_refused(
    side: str, hook: str, decoder: str, precision: str
) -> None:
    if side == "encoder" and hook == "cross_weights":
        with pytest.raises(ValueError, match="it: cross_weights is a hook of decoders"):
            result(side, hook, decoder, precision)
        return
    plain, changed = (result(side, each, decoder, precision) for each in ("", hook))
    assert abs(plain[0] - changed[0]) > 1e-3
    assert abs(plain[1] - changed[1]) > 1e-4 or plain[2] != changed[2]


@pytest.mark.parametrize("decoder", ["sequence", "bitran"])
@pytest.mark.parametrize("hook", CHANGES)
def test_what_is_searched_is_what_is_forced(hook: str, decoder: str) -> None:
    """The log-probability of a found translation equals that of the same translation when it is given."""
    source, target = sides("decoder", hook, decoder)
    model, corpus = made(source, target)
    batch, _ = corpus.batch([0, 1, 3], CPU)
    config = SearchConfig(beam=3, max_length_offset=3)
    compared = 0
    for row, found in enumerate(beam_search(model, batch, config, target.output(corpus.vocabulary))):
        for each in found[:2]:
            given = Corpus.empty(corpus.vocabulary, target, PrefixPlan(0, 1000))
            given.append(
                source.features(tiny.records()[[0, 1, 3][row]], tiny.segment), corpus.vocabulary.decode(each.ids)
            )
            with torch.no_grad():
                losses = model.loss(*given.batch([0], CPU)).each
            either = float(-losses.sum()), float(-losses[:-1].sum())
            assert min(abs(each.log_probability - total) for total in either) < 1e-3, (hook, each, either)
            compared += 1
    assert compared > 3


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("hook", CHANGES)
def test_a_batch_equals_its_sentences(side: str, hook: str) -> None:
    if side == "encoder" and hook == "cross_weights":
        return
    if side == "encoder" and hook == "weights":
        return  # these weights do not hide padding
    model, corpus = made(*sides(side, hook, "sequence"))
    together = model.loss(*corpus.batch([0, 1, 3], CPU)).total
    alone = [model.loss(*corpus.batch([index], CPU)).total for index in (0, 1, 3)]
    torch.testing.assert_close(together, torch.stack(alone).sum(), atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("decoder", ["sequence", "bitran"])
@pytest.mark.parametrize("hook", CHANGES)
def test_gradients_reach_what_a_hook_returns(hook: str, decoder: str) -> None:
    slope = torch.ones((), requires_grad=True)

    class Learned(OfDecoder):
        pass

    def scaled(name: str) -> Any:
        return lambda self, *given: getattr(OfDecoder, name)(self, *given) * slope

    setattr(Learned, hook, scaled(hook))
    model, corpus = made(sides("decoder", "", "sequence")[0], TargetSide(
        {**tiny.TARGET_SYSTEMS[decoder].components, "it": Learned(hook)}
    ))  # fmt: skip
    model.loss(*corpus.batch([0, 1, 3], CPU)).total.backward()
    assert slope.grad is not None and float(slope.grad) != 0


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (torch.zeros(1, 1, 1, 99), "it: bias returned the shape"),
        (torch.zeros(1, 1, 1, 1, dtype=torch.bool), "it: bias must return a tensor of floating point"),
        ({3: torch.zeros(1, 1, 1, 1)}, "it: bias returned a value for layer 3 of 2"),
        ("x", "it: bias must return a tensor of floating point, not str"),
    ],
)
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_values_that_fit_nothing_are_refused_by_name(side: str, value: Any, cause: str) -> None:
    kind: Any = OfEncoder if side == "encoder" else OfDecoder
    wrong = type("Wrong", (kind,), {"bias": lambda self, run: value})("bias")
    pair = sides("encoder", "", "sequence") if side == "decoder" else sides("decoder", "", "sequence")
    source = SourceSide({"it": wrong}) if side == "encoder" else pair[0]
    target = TargetSide({"it": wrong}) if side == "decoder" else pair[1]
    model, corpus = made(source, target)
    with pytest.raises((TypeError, ValueError), match=cause):
        model.loss(*corpus.batch([0, 1], CPU))


def test_an_export_refuses_hooks_of_either_side() -> None:
    from synmt.model.config import ModelConfig
    from synmt.model.export import _obstacle

    for hook in ("", *CHANGES):
        for side in ("encoder", "decoder"):
            source, target = sides(side, hook, "sequence")
            why = _obstacle(ModelConfig(source, target, ("en", "de"), "none", CONFIG))
            assert bool(why) == bool(hook or side == "decoder"), (side, hook)  # the decoder's state limits its output


# Earlier faults, one test each.


def test_a_bias_for_all_heads_of_a_causal_decoder_counts() -> None:
    strong = type("Strong", (OfDecoder,), {"bias": lambda self, run: 50 * OfDecoder.static(self, run)})("bias")
    source, _ = sides("decoder", "", "sequence")
    losses = []
    for component in (OfDecoder(""), strong):
        model, corpus = made(source, TargetSide({"it": component}))
        losses.append(float(model.loss(*corpus.batch([0, 1, 3], CPU)).total.detach()))
    assert abs(losses[0] - losses[1]) > 0.1


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "bool"])
def test_matrices_keep_their_numbers(dtype: Kinds) -> None:
    """Numbers of pairs reach the hooks as they were read, or are refused."""
    numbers = [[-3, 100, 5], [0, 1, 2], [7, 8, 9]] if dtype != "bool" else [[0, 1, 1], [1, 0, 0], [0, 0, 1]]

    @dataclass(frozen=True)
    class Pairs(EncoderComponent):
        def reads(self) -> Mapping[str, Field]:
            return {"pairs": Field("pair", dtype, pad=1)}

        def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
            return {"pairs": numbers}

    side, vocabulary = SourceSide({"it": Pairs()}), tiny.sources_and_vocabulary("sequence")[1]
    features = side.features(ParseRecord(tokens=["a", "b", "c"]), list)
    batch = Sources.encode([features], vocabulary).batch([0], vocabulary.padding, CPU)
    assert batch.fields["pairs"].tolist() == [numbers]
    with pytest.raises(ValueError, match="the field pairs has values that bool cannot hold"):
        Field("pair", "bool").array("pairs", [[2]])
    with pytest.raises(ValueError, match="the field it has values that int8 cannot hold"):
        Field("token", "int8").array("it", [300])


def test_a_decoder_that_reads_numbers_needs_a_state() -> None:
    stateless: Any = type("Stateless", (OfDecoder,), {"state": lambda self, style: None})
    with pytest.raises(ValueError, match="it reads fields of a state, so it must define `state`"):
        TargetSide({"it": stateless("bias")}).check_network(CONFIG)


def test_fields_for_training_are_declared_and_not_found_out() -> None:
    """A component whose fields are empty for an empty record keeps them and its loss."""

    @dataclass(frozen=True)
    class Lessons(DecoderComponent):
        def reads(self) -> Mapping[str, Field]:
            return {"length": Field(training=True)}

        def read(self, record: ParseRecord, entries: Sequence[str]) -> Mapping[str, Sequence[int]]:
            return {"length": [len(entries)] * (1 + len(entries))}

        def loss(self, run: SideRun) -> Tensor:
            return run.states.sum() + run.fields["length"].sum()

    source, _ = sides("decoder", "", "sequence")
    target = TargetSide({"it": Lessons()})
    model, corpus = made(source, target)
    assert set(target.fields) == {"length"} and "length" not in corpus.targets[0]
    without = model.loss(*corpus.batch([0], CPU))
    assert float(without.total.detach()) == pytest.approx(float(without.translation.detach()))
    entries = target.tokens(tiny.target_records()[0], tiny.whole)
    learning = Corpus.empty(corpus.vocabulary, target)
    learning.append(source.features(tiny.records()[0], tiny.segment), entries, target.lessons(ParseRecord(), entries))
    batch = learning.batch([0], CPU)
    assert batch[1].fields["length"].tolist() == [[len(entries)] * (1 + len(entries))]
    assert float(model.loss(*batch).total.detach()) != pytest.approx(float(without.total.detach()), abs=1)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_queries_that_see_nothing_are_safe_in_training(side: str, rate: float) -> None:
    """A component hides every key from the second position; losses and gradients stay finite."""

    def bias(self: Any, run: SideRun) -> Tensor:
        hidden = (run.queries == 1).view(-1, 1).expand(-1, Hooked.length(self, run))
        return torch.zeros(hidden.shape).masked_fill(hidden, float("-inf"))[None, None]

    kind: Any = OfEncoder if side == "encoder" else OfDecoder
    blind = type("Blind", (kind,), {"bias": bias})("bias")
    source = SourceSide({"it": blind} if side == "encoder" else {"sequence": Plain()})
    target = TargetSide({"it": blind} if side == "decoder" else dict(tiny.TARGET_SYSTEMS["sequence"].components))
    model, corpus = made(source, target)
    for layer in [*model.network.encoder.layers, *model.network.decoder]:
        layer.attention.dropout = rate
    model.train()
    loss = model.loss(*corpus.batch([0, 1, 3], CPU)).total
    loss.backward()
    assert loss.isfinite() and all(each.grad is None or each.grad.isfinite().all() for each in model.parameters())


def test_hooks_that_could_have_no_effect_are_refused() -> None:
    for hook, cause in (("after", "layers_after, where"), ("weights", "owned_heads, whose")):
        idle: Any = type("Idle", (EncoderComponent,), {hook: getattr(OfEncoder, hook)})
        with pytest.raises(TypeError, match=f"Idle .* so it must define {cause}"):
            SourceSide({"it": idle()}).check_network(CONFIG)
