"""Heads that are taught where to attend: worked examples, a slow twin, and laws."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from synmt.components.contract import SOME_HEADS, Layout, subwords
from synmt.components.encoder.supervised_heads import (
    OF_TREES,
    PATTERNS,
    REVERSED,
    SupervisedHeads,
    Taught,
    log_mass,
    target_tokens,
)
from synmt.model.source import source_side
from synmt.nn.attention import Edit, Recorder, Replacement, SelfAttention
from synmt.nn.encoding import SourceBatch, encoder_hooks
from synmt.search.translation import Translator
from synmt.trees.record import UNATTACHED, ParseRecord
from tests import tiny
from tests.model.test_export import saved

CPU = torch.device("cpu")
MONKEY = ParseRecord(tokens=["The", "monkey", "eats", "a", "banana"], heads=[2, 3, 0, 5, 3])
BY_HAND = {  # the words, from 0, that each word of MONKEY learns to attend to
    "previous": [{0}, {0}, {1}, {2}, {3}],
    "next": [{1}, {2}, {3}, {4}, {4}],
    "self": [{0}, {1}, {2}, {3}, {4}],
    "parent": [{1}, {2}, {2}, {4}, {2}],
    "children": [set(), {0}, {1, 4}, set(), {3}],
    "latest-linked": [set(), {0}, {1}, set(), {3}],
}


def segment(word: str) -> list[str]:
    return ["mon@@", "key"] if word == "monkey" else [word]


def taught_tokens(record: ParseRecord, layout: Layout, pattern: str) -> Tensor:
    """Return the targets of one sentence, [n,n]."""
    fields = SupervisedHeads(teach=pattern).read(record, layout)
    words, found = (torch.tensor([fields[name]]) for name in ("taught_words", f"taught_{pattern}"))
    return target_tokens(words, found, pattern in REVERSED)[0]


def slow_targets(record: ParseRecord, layout: Layout, taught: Sequence[set[int]]) -> list[list[bool]]:
    return [
        [word >= 0 and key >= 0 and key in taught[word] for key in layout.words]
        for word in layout.words
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", BY_HAND)
def test_a_source_sentence_worked_by_hand(pattern: str) -> None:
    """Subwords have the targets of their word; structure, here the first and last token, has no targets."""
    inner = subwords(MONKEY, segment)
    layout = Layout(["<a>", *inner.tokens, "<b>"], [-1, *inner.words, -1])
    found = taught_tokens(MONKEY, layout, pattern)
    assert found.tolist() == slow_targets(MONKEY, layout, BY_HAND[pattern])


@pytest.mark.parametrize("pattern", sorted(OF_TREES))
def test_missing_heads_and_trees_are_not_taught(pattern: str) -> None:
    partial = ParseRecord(tokens=MONKEY.tokens, heads=[2, UNATTACHED, 0, UNATTACHED, 3])
    attached = {"parent": 3, "children": 2, "latest-linked": 2, "shuffled-parent": 3}[pattern]
    assert int(taught_tokens(partial, subwords(partial, list), pattern).any(dim=1).sum() > 0)
    layout = subwords(partial, lambda word: [word])
    assert int(taught_tokens(partial, layout, pattern).any(dim=1).sum()) == attached
    bare = ParseRecord(tokens=MONKEY.tokens)
    assert not taught_tokens(bare, layout, pattern).any()


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_control_patterns(tokens: list[str], random: object) -> None:
    """A shuffled tree is the tree over permuted words, a random word is another word, and both are drawn only once."""
    heads = [0, *(random.randint(1, number) for number in range(1, len(tokens)))]  # type: ignore[attr-defined]
    record = ParseRecord(tokens=tokens, heads=heads)
    shuffled, parents = PATTERNS["shuffled-parent"](record), PATTERNS["parent"](record)
    assert sorted(map(shuffled.count, range(len(tokens)))) == sorted(map(parents.count, range(len(tokens))))
    assert [word for word, parent in enumerate(shuffled) if word == parent] != []
    drawn = PATTERNS["random"](record)
    assert all(other != word for word, other in enumerate(drawn))
    assert len(tokens) == 1 or min(drawn) >= 0
    for name in ("shuffled-parent", "random"):
        assert PATTERNS[name](record) == PATTERNS[name](ParseRecord(tokens=tokens, heads=heads))


def test_the_loss_of_the_worked_example() -> None:
    """Logits log 1, log 2, log 3 have the weights 1/6, 2/6, 3/6; a query without targets adds nothing."""
    logits = torch.tensor([1.0, 2.0, 3.0]).log().expand(1, 3, 3)
    targets = torch.tensor([[[True, False, True], [False, True, False], [False, False, False]]])
    found = log_mass(logits, targets)
    torch.testing.assert_close(found, torch.tensor([[math.log(4 / 6), math.log(2 / 6), 0.0]]))


def test_targets_that_are_hidden_are_not_taught() -> None:
    hidden = float("-inf")
    logits = torch.tensor([[[0.0, hidden, hidden], [hidden, 1.0, 1.0]]], requires_grad=True)
    targets = torch.tensor([[[False, True, True], [True, True, False]]])
    found = log_mass(logits, targets)
    assert found.tolist() == [[0.0, pytest.approx(math.log(0.5))]]
    found.sum().backward()
    assert logits.grad is not None and logits.grad[0, 0].tolist() == [0, 0, 0] and logits.grad.isfinite().all()


def test_the_gradient_of_the_loss() -> None:
    """The test uses finite differences in float64. Hidden keys and queries without targets have no gradient."""
    torch.manual_seed(0)
    targets = torch.tensor([[[1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]]) > 0
    logits = torch.randn(1, 4, 4, dtype=torch.float64, requires_grad=True)
    hidden = torch.tensor([0.0, 0.0, 0.0, float("-inf")], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda each: log_mass(each + hidden, targets), logits)
    log_mass(logits + hidden, targets).sum().backward()
    assert logits.grad is not None and not logits.grad[0, 2].any() and not logits.grad[..., 3].any()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("system", ["supervised heads", "supervised heads, masks", "mask+supervised heads"])
def test_loss_and_accuracy_against_a_slow_twin(system: str) -> None:
    """The twin uses the weights that inspection shows, sentence by sentence and word by word."""
    data, vocabulary = tiny.corpus(system)
    model = tiny.model(system, vocabulary)
    source, target = data.batch([0, 1, 3], CPU)
    side = source_side(tiny.SYSTEMS[system])
    component = side.components["supervised-heads"]
    assert isinstance(component, SupervisedHeads)
    layers: list[Any] = list(model.network.encoder.layers)
    with Recorder([layer.attention for layer in layers]) as recorder:
        loss = model.loss(source, target)
    expected, right, rows = 0.0, dict.fromkeys(component.taught(), 0), dict.fromkeys(component.taught(), 0)
    for place, index in enumerate([0, 1, 3]):
        record = tiny.records()[index]
        layout = side.layout(record, tiny.segment)
        for lesson in component.taught():
            weights = recorder.weights[lesson.layer - 1][place, lesson.head].detach()
            given_words = PATTERNS.get(lesson.pattern, PATTERNS["self"])(record)
            near = lesson.pattern == "mask:near"
            for query, word in enumerate(layout.words):
                keys = [
                    key
                    for key, other in enumerate(layout.words)
                    if min(word, other) >= 0
                    and (
                        abs(word - other) < 2
                        if near
                        else given_words[other] == word != other
                        if lesson.pattern == "children"
                        else given_words[word] == other
                    )
                ]
                if keys:
                    expected -= component.weight * math.log(sum(float(weights[query, key]) for key in keys))
                    if layout.words.index(word) == query:
                        rows[lesson] += 1
                        right[lesson] += int(weights[query].argmax()) in keys
    assert (loss.total - loss.translation).item() == pytest.approx(expected, rel=1e-5)
    assert {name: found() for name, found in loss.accuracies.items()} == {
        f"{each.pattern}@{each.layer}.{each.head + 1}": (right[each], rows[each]) for each in component.taught()
    }


@pytest.mark.parametrize("training", [False, True])
def test_everything_else_stays_the_same(training: bool) -> None:
    """With the parameters of `sequence`, states and translation loss are the same bit by bit, also with dropout."""
    found = []
    for system, side in (("sequence", "sequence"), ("supervised heads", "sequence")):
        data, vocabulary = tiny.corpus(system, side)
        model = tiny.model(system, vocabulary, target=side).train(training)
        for layer in [*model.network.encoder.layers, *model.network.decoder]:
            layer.attention.dropout = 0.3
        torch.manual_seed(7)
        found.append((model.state_dict(), model.loss(*data.batch([0, 1, 3], CPU), word_dropout=0.1).translation))
    (plain, loss), (taught, other) = found
    assert plain.keys() == taught.keys() and torch.equal(loss, other)
    assert all(torch.equal(plain[name], taught[name]) for name in plain)


def test_translation_needs_no_tree_and_computes_no_columns(tmp_path: Path) -> None:
    side = source_side(tiny.SYSTEMS["supervised heads"])
    assert side.needs(training=True) == {SOME_HEADS} and side.needs(training=False) == set()
    assert source_side({"supervised-heads": {"teach": "previous+next"}}).needs(training=True) == set()
    plain, taught = (saved(tmp_path / each, each) for each in ("sequence", "supervised heads"))
    records = [ParseRecord(text=each.text, tokens=each.tokens) for each in tiny.records()]

    def best(translator: Translator) -> list[tuple[list[str], float]]:
        features = [translator.features(record) for record in records]
        assert all(each.values == {} for each in features)
        return [(each[0].tokens, each[0].score) for each in translator.translate(features)]

    assert best(plain) == best(taught)


def test_a_recorder_gives_the_logits_of_a_head_unless_its_weights_are_replaced() -> None:
    torch.manual_seed(0)
    attention, states = SelfAttention(16, 4, 0.0), torch.randn(2, 5, 16)
    edit = Edit(torch.randn(1, 4, 5, 5), torch.randn(1, 1, 5, 5))
    with Recorder([attention]) as recorder:
        attention(states, edit)
        attention(states, Edit(replaced=(Replacement((1, 2), lambda _: torch.ones(2, 1, 5, 5)),)))
    first, second = recorder.calls
    torch.testing.assert_close(first.logits(2).softmax(dim=-1), first.weights[:, 2])
    assert first.inputs is states
    with pytest.raises(ValueError, match="head 3 are replaced"):
        second.logits(2)


def test_layers_and_heads_of_patterns() -> None:
    assert SupervisedHeads(teach="previous+parent@3.2+next").taught() == [
        Taught("previous", 2, 0), Taught("parent", 3, 1), Taught("next", 2, 1)
    ]  # fmt: skip
    assert SupervisedHeads(teach="self@1.1+next@1", layer=4).taught() == [Taught("self", 1, 0), Taught("next", 1, 1)]
    many = 20_000  # takes seconds if each head looks through all others
    assert [each.head for each in SupervisedHeads(teach="+".join(["self"] * many)).taught()] == [*range(many)]
    assert SupervisedHeads().taught(1) == [Taught("next", 1, 0)]
    assert SupervisedHeads().taught(6) == [Taught("next", 2, 0)]


@pytest.mark.parametrize(
    "teach", ["", "uncle", "previous+", "parent@", "parent@0", "parent@1.", "parent@x", "next@1.0"]
)
def test_unknown_patterns_and_heads(teach: str) -> None:
    with pytest.raises(ValueError, match="teach cannot be"):
        SupervisedHeads(teach=teach)


@pytest.mark.parametrize(
    ("components", "cause"),
    [
        ({"supervised-heads": {"teach": "next@2.1+self@2.1"}}, "a head occurs more than once"),
        ({"supervised-heads": {"teach": "next@3"}}, "takes 1 head of layer 3"),
        ({"supervised-heads": {"teach": "next+self+previous"}}, "takes 3 heads of layer 2"),
        ({"pascal": {"layer": 2, "heads": 2}, "supervised-heads": {}}, "both take head 1 of layer 2"),
        ({"lisa": {"layer": 2}, "supervised-heads": {}}, "both take head 1 of layer 2"),
    ],
)
def test_missing_and_taken_heads(components: dict[str, dict[str, object]], cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        source_side(components).check_network(tiny.CONFIG)


def test_a_batch_without_fields_is_unchanged() -> None:
    part = tiny.part_of(SupervisedHeads())
    batch = SourceBatch(torch.ones(1, 2, dtype=torch.int64), None, torch.tensor([2]))
    hooks = encoder_hooks([part], batch, tiny.CONFIG)
    assert hooks.runs == [] and hooks.losses(torch.zeros(1, 2, 16)) == {}
