"""Updates on a device: waits, number of operations, and order."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch._dynamo.utils import counters
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.nn import attention
from synmt.streams import BadInput
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes
from synmt.training.loop import ahead
from synmt.training.update import Updater, learning_rate
from tests import tiny
from tests.bench.corpus import VOCABULARY, random_sentences
from tests.bench.training import SYSTEMS, encoded
from tests.training.runs import OnTheDevice

CPU = torch.device("cpu")
aten = torch.ops.aten
WAITING = {aten._local_scalar_dense, aten.nonzero, aten.masked_select, aten._unique2, aten.equal, aten.is_nonzero}
# With boolean indices, they count the true values.
INDEXING = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}


class Waits(TorchDispatchMode):
    """Counts the operations that make the host wait for their results or sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operation = function.overloadpacket
        places = args[1] if operation in INDEXING else []
        if operation in WAITING or any(each is not None and each.dtype == torch.bool for each in places):
            self.found[str(operation)] += 1
        return function(*args, **(kwargs or {}))

    def counting(self, name: str) -> Callable[..., Any]:
        """Return the tensor method of this name, with calls counted."""
        method = getattr(torch.Tensor, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.found[name] += 1
            return method(*args, **kwargs)

        return counted


@pytest.mark.parametrize(
    ("system", "target"),
    [(system, "sequence") for system in tiny.SYSTEMS] + [("sequence", target) for target in tiny.TARGET_SYSTEMS],
)
def test_the_host_never_waits_for_the_device(system: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for a whole update, from the batch to the new parameters."""
    monkeypatch.setattr(attention, "sees_none", lambda blind: False)  # as on a GPU
    corpus, vocabulary = tiny.corpus(system, target)
    batch = OnTheDevice(corpus.batch([0, 1, 2, 3], CPU))
    model = tiny.model(system, vocabulary, target=target)
    updater = Updater(model, batch, TrainingConfig(word_dropout=0.1), Processes(0, 1, CPU))
    before = model.network.embedding.detach().clone()
    step = updater.step([[0]], 1)
    with Waits() as waits:
        for name in ("tolist", "numpy", "cpu"):  # methods that do not notify modes
            monkeypatch.setattr(torch.Tensor, name, waits.counting(name))
        updater(step, 1e-3)
    assert not torch.equal(model.network.embedding, before)
    assert waits.found == {}


@pytest.mark.parametrize(
    ("system", "target"),
    [
        ("sequence", "sequence"),
        ("mask", "sequence"),
        ("pascal", "sequence"),
        ("sequence", "tags"),
        ("sequence", "compose"),
    ],
)
def test_more_sentences_need_no_more_operations(system: str, target: str) -> None:
    """An update on four sentences has as many matrix products as an update on one sentence, and only a few other
    operations more, for padding. Nothing is computed or copied sentence by sentence."""

    def counted(rows: list[int]) -> Counter[str]:
        corpus, vocabulary = tiny.corpus(system, target)
        batch = OnTheDevice(corpus.batch(rows, CPU))
        model = tiny.model(system, vocabulary, target=target)
        updater = Updater(model, batch, TrainingConfig(word_dropout=0.1), Processes(0, 1, CPU))
        updater(updater.step([[0]], 1), 1e-3)
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            updater(updater.step([[0]], 2), 1e-3)
        return Counter(event.name for event in profiled.events() or () if event.name.startswith("aten::"))

    one, four = counted([0]), counted([0, 1, 2, 3])
    products = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
    assert 0 < sum(one[name] for name in products) == sum(four[name] for name in products)
    assert four["aten::copy_"] - one["aten::copy_"] <= 15
    assert four.total() <= 1.05 * one.total()


def test_updates_are_prepared_ahead_in_order() -> None:
    """One update is prepared ahead of the current one. An error comes after all earlier updates, and no thread is left
    behind."""
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in (1, 2, 3):
            made.append(number)
            yield number
        raise BadInput("broken")

    with pytest.raises(BadInput, match="broken"), ahead(items()) as upcoming:
        assert next(upcoming) == 1
        while len(made) < 2:
            time.sleep(0.001)
        time.sleep(0.01)
        assert made == [1, 2]
        assert [next(upcoming), next(upcoming)] == [2, 3]
        next(upcoming)
    with pytest.raises(KeyboardInterrupt), ahead(iter(range(1, 9))) as numbers:
        assert next(numbers) == 1
        raise KeyboardInterrupt
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")]


def test_updates_equal_those_of_plain_adam() -> None:
    """It uses the gradient per token, clipped to the maximal norm; unused parameters have a gradient of zeros."""
    corpus, vocabulary = tiny.corpus("sequence")
    config = TrainingConfig(word_dropout=0.0, clip=0.1)

    def new_model() -> Any:
        model = tiny.model("sequence", vocabulary)
        model.register_parameter("idle", torch.nn.Parameter(torch.ones(3)))
        return model

    model, slow = new_model(), new_model()
    slow.load_state_dict(model.state_dict())
    updater = Updater(model, corpus, config, Processes(0, 1, CPU))
    adam = torch.optim.Adam(slow.parameters(), lr=1e-3, betas=(0.9, config.adam_beta2))
    for update in (1, 2):
        _, tokens, norm = updater(updater.step([[0, 1], [2, 3]], update), 1e-3)
        adam.zero_grad()
        for batch in ([0, 1], [2, 3]):
            (slow.loss(*corpus.batch(batch, CPU), config.label_smoothing).total / tokens).backward()
        slow.idle.grad = torch.zeros(3)
        expected = torch.nn.utils.clip_grad_norm_(slow.parameters(), config.clip)
        assert float(norm) == pytest.approx(float(expected), rel=1e-4) and float(norm) > config.clip
        adam.step()
    for one, other in zip(model.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


def rates(schedule: Literal["constant", "inverse-sqrt", "cosine"], updates: list[int]) -> list[float]:
    return [learning_rate(update, 1.0, 4, schedule, 12) for update in updates]


def test_all_schedules_warm_up_alike() -> None:
    for schedule in ("constant", "inverse-sqrt", "cosine"):
        assert rates(schedule, [1, 2, 3, 4]) == [0.25, 0.5, 0.75, 1.0]


def test_after_the_warm_up() -> None:
    assert rates("constant", [5, 12]) == [1, 1]
    assert rates("inverse-sqrt", [16, 64]) == [0.5, 0.25]
    assert rates("cosine", [13]) == pytest.approx([0.0])
    falling = rates("cosine", list(range(4, 13)))
    assert falling == sorted(falling, reverse=True)
    assert falling[-1] > 0


def test_without_a_warm_up() -> None:
    assert learning_rate(1, 3e-4, 0, "constant", 10) == 3e-4
    assert learning_rate(4, 1.0, 0, "inverse-sqrt", 10) == 0.5


def test_a_compiled_layer_is_compiled_three_times_at_most() -> None:
    """For the first shape, for shapes of any size, and with or without padding. More shapes need no more."""
    sentences, side = random_sentences(60), SYSTEMS["mask"]
    corpus = encoded(side, sentences)
    network = replace(tiny.CONFIG, encoder_layers=1, decoder_layers=1)
    model = TranslationModel(network, side, target_side({"sequence": {}}), VOCABULARY)
    layer = model.network.decoder_layers[0]
    model.network.encoder.layers[0].compile(backend="eager")
    for name in ("within", "across"):
        setattr(layer, name, torch.compile(getattr(layer, name), backend="eager"))
    torch._dynamo.reset()
    counters.clear()
    batches = [corpus.batch(indices, CPU) for indices in corpus.shuffled_batches(400, seed=1, epoch=0)]
    shapes = {(*source.ids.shape, *target.inputs.shape) for source, target in batches}
    for batch in batches:
        model.loss(*batch, 0.1).total.backward()
    assert len(shapes) > 5
    assert 3 <= counters["frames"]["ok"] <= 3 * 3
    assert not counters["graph_break"]
