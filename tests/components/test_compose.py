"""`compose`: the positions that its heads see, compared with the component's table."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from synmt.components.arcs import ROLE, role
from synmt.components.contract import Automaton
from synmt.components.decoder.compose import composed, replaced, scattered, stacked
from synmt.components.output import Hypotheses, Output
from synmt.trees.arc_tokens import ArcStyle, read_tokens, write_tokens
from synmt.trees.transitions import State, transitions
from tests import tiny
from tests.components.slow_compose import slow_sets, slow_states
from tests.trees.strategies import projective_heads

CPU = torch.device("cpu")
STYLES = [ArcStyle(split, root_arc) for split in (False, True) for root_arc in (False, True)]
COALS = "Jo@@ hn put LEFT-ARC:nsubj the coals LEFT-ARC:det RIGHT-ARC:obj out RIGHT-ARC:compound:prt"
COMPOSE = [name for name in tiny.TARGET_SYSTEMS if name.startswith("compose")]


@st.composite
def strings(draw: st.DrawFn, style: ArcStyle) -> str:
    """Return the target string of a random tree whose words have one to three subwords."""
    heads = draw(projective_heads())
    subwords = [["x@@"] * draw(st.integers(0, 2)) + ["x"] for _ in heads]
    deprels = [draw(st.sampled_from(["a", "b"])) for _ in heads]
    return write_tokens(transitions(subwords, heads, deprels, style))


def noise(style: ArcStyle) -> st.SearchStrategy[str]:
    """Return any strings of words and arcs; most of the arcs are illegal where they are."""
    directions, relations = ["LEFT-ARC", "RIGHT-ARC"], ["a", "root"]
    arcs = (
        [*directions, *(f"ARC:{each}" for each in relations)]
        if style.split
        else [f"{side}:{each}" for side in directions for each in relations]
    )
    return st.lists(st.sampled_from(["x", "x", "x@@", *arcs]), max_size=14).map(" ".join)


def stacks_of(string: str, style: ArcStyle) -> dict[str, Tensor]:
    automaton = Automaton(State(style), [], style, [(tuple(ROLE), role)])
    fields = {name: torch.tensor([row]) for name, row in automaton.fields(read_tokens(string)).items()}
    return fields | {"replaced": replaced(fields)}


def sets(seen: Tensor) -> list[set[int]]:
    return [set(row.nonzero().flatten().tolist()) for row in seen[0]]


def check(string: str, style: ArcStyle) -> None:
    stacks = stacks_of(string, style)
    positions = torch.arange(stacks["replaced"].shape[1])
    found = sets(composed(stacks, positions)), sets(stacked(stacks, positions))
    assert found == slow_sets(string, style.root_arc)


def test_an_example_worked_by_hand() -> None:
    """Tokens 1 … 10: Jo@@ hn put ← the coals ← → out →"""
    compose, stack = slow_sets(COALS)
    assert compose == [
        {0}, {1}, {2}, {3}, {1, 2, 3, 4}, {5}, {6}, {5, 6, 7}, {3, 4, 6, 7, 8}, {9}, {3, 8, 9, 10},
    ]  # fmt: skip
    assert stack == [
        {0}, {1}, {2}, {2, 3}, {4}, {4, 5}, {4, 5, 6}, {4, 7}, {8}, {8, 9}, {10},
    ]  # fmt: skip
    check(COALS, ArcStyle())


@pytest.mark.parametrize("style", STYLES)
@given(data=st.data())
def test_heads_see_what_the_table_specifies(style: ArcStyle, data: st.DataObject) -> None:
    """This holds for trees in all spellings, and for strings that are not trees."""
    check(data.draw(strings(style) | noise(style)), style)


@pytest.mark.parametrize("style", STYLES)
@given(data=st.data())
def test_a_row_depends_only_on_the_string_so_far(style: ArcStyle, data: st.DataObject) -> None:
    string = data.draw(strings(style)).split()
    cut = data.draw(st.integers(0, len(string)))
    rows = torch.arange(1 + cut)
    whole, prefix = (stacks_of(" ".join(tokens), style) for tokens in (string, string[:cut]))
    for see in (composed, stacked):
        assert sets(see(whole, rows)) == sets(see(prefix, rows))


def test_the_control_sees_as_many_positions() -> None:
    """Each position sees itself, nothing later, and as many keys as without the control, in search and in training."""
    stacks = stacks_of(" ".join([COALS] * 3), ArcStyle())
    positions = torch.arange(stacks["replaced"].shape[1])
    for number, see in enumerate((composed, stacked)):
        counts = see(stacks, positions).sum(dim=2)
        drawn = scattered(counts, stacks["replaced"], positions, number)
        assert torch.equal(drawn.sum(dim=2), counts)
        assert drawn.diagonal(dim1=1, dim2=2).all() and not drawn.triu(1).any()
        assert not torch.equal(drawn, see(stacks, positions))
        for row in positions:
            prefix = stacks_of(" ".join([COALS] * 3).rsplit(" ", len(positions) - 1 - int(row))[0], ArcStyle())
            alone = scattered(counts[:, row : row + 1], prefix["replaced"], positions[row : row + 1], number)
            assert row == 0 or torch.equal(alone[0, 0], drawn[0, row, : row + 1])
    assert not torch.equal(scattered(counts, stacks["replaced"], positions, 0), drawn)


@pytest.mark.parametrize("target", COMPOSE)
@torch.inference_mode()
def test_the_decoder_computes_plain_attention_over_the_table(target: str) -> None:
    """The test computes the heads that the component uses in each layer one position and one head at a time."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    for index, entries in enumerate(tiny.target_entries(target)):
        source, batch = corpus.batch([index], CPU)
        encoded = model.encode(source)
        ids = batch.inputs[0].tolist()
        expected = slow_states(model, tiny.TARGET_SYSTEMS[target], ids, write_tokens(entries), encoded)
        found, _ = model.decoder(model.network, batch, encoded)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("target", COMPOSE)
def test_a_forced_search_computes_the_states_of_training(target: str) -> None:
    """The search is forced through the target; its rows change places, and it caches keys and values."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    side, entries = tiny.TARGET_SYSTEMS[target], tiny.target_entries(target)
    for index, row_of_target in enumerate(corpus.targets):
        source, batch = corpus.batch([index], CPU)
        encoded = model.encode(source)
        expected = model.network.logits(model.decoder(model.network, batch, encoded)[0])
        steps = model.decoder.start(model.network, encoded, beam=2)
        other = [side.style.token(entry) for entry in entries[index - 1]]
        states = [State(side.style), State(side.style)]
        ids = torch.full((1, 2, 1), vocabulary.begin)
        hypotheses = Hypotheses(Output(side.automaton(vocabulary)), "strict", [9, 9], CPU)
        hypotheses.states = states
        steps.grow(hypotheses)
        row = 0
        for position, number in enumerate(row_of_target["ids"].tolist()):
            found = steps.logits(ids)[0, row]
            torch.testing.assert_close(found, expected[position], atol=2e-6, rtol=1e-6)
            if position == len(entries[index]):
                break
            tokens = [side.style.token(entries[index][position]), other[position % len(other)]]
            states = [states[row].after(tokens[0]), states[1 - row].after(tokens[1])]
            numbers = [number, 2]
            order = [row, 1 - row]
            if position % 2:  # the rows change places
                states, numbers, order = states[::-1], numbers[::-1], order[::-1]
            row = position % 2
            ids = torch.cat([ids[:, order], torch.tensor(numbers).view(1, 2, 1)], dim=2)
            steps.select(None, torch.tensor(order))
            hypotheses.states = states
            steps.grow(hypotheses)


def test_it_adds_no_parameters() -> None:
    _, vocabulary = tiny.corpus("sequence", "compose")
    names = [
        dict(tiny.model("sequence", vocabulary, target=target).named_parameters()).keys()
        for target in ("compose", "transitions")
    ]
    assert names[0] == names[1]


def test_invalid_options() -> None:
    from synmt.model.target import target_side

    for components, cause in (
        ({"compose": {"heads": 0, "stack_heads": 0}}, "compose needs at least one head"),
        ({"compose": {}, "parent": {}}, "compose.parent cannot be combined, because one is causal"),
        ({"compose": {"mask": "none"}}, "mask cannot be 'none'"),
    ):
        with pytest.raises(ValueError, match=cause):
            target_side(components)
    side = target_side({"compose": {"heads": 2}})
    with pytest.raises(ValueError, match="compose takes 3 heads of layer 1, but the network has 2 layers of 2 heads"):
        side.owners(tiny.CONFIG)
