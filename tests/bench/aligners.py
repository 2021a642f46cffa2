"""The cost of fitting an aligner to a bitext and aligning the bitext from the command line, and the error rate.

    python -m tests.bench.aligners DATA PAIRS > pairs.tsv

prints PAIRS pairs of Europarl, repeated as often as needed; each word is deleted or replaced with a total probability
of one in ten. The test pairs come last, unchanged.

eflomal runs as its own program, `eflomal-align`, which writes both directions. The model of fast_align runs through
synmt, since its package has no program. Each runs on one thread.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from synmt import align, score
from synmt.demo.corpus import draw_pairs
from synmt.runs.calls import bitext
from tests.bench.pairs import Comparison, Measure, of_rates
from tests.bench.usage import Usage, usage_of

OURS = "hmms", "hmm"
EFLOMAL, FAST_ALIGN = "eflomal-align", "systran-align"
OTHERS = EFLOMAL, FAST_ALIGN
DEMO_PAIRS, SOME_PAIRS = 7000, 5000
NOISE = 0.1


@dataclass(frozen=True)
class Linked:
    """A bitext of tokens in lower case, with gold links for its last pairs."""

    name: str
    pairs: list[str]
    gold: list[str]
    languages: tuple[str, str]

    def error_rate(self, links: Path) -> float:
        found = links.read_text().split("\n")[: len(self.pairs)][-len(self.gold) :]
        (rate,) = score(found, self.gold, metrics="aer")
        return rate.score


def compare_fits(rounds: int, data: Path | None) -> Iterator[Comparison | Measure]:
    with TemporaryDirectory() as name:
        for each in bitexts(data, Path(name)):
            yield from compared(each, rounds)


def bitexts(data: Path | None, folder: Path) -> Iterator[Linked]:
    """Yield the bitext of the demo and, if there is data, the bitexts of docs/results.md."""
    drawn = list(islice(draw_pairs(seed=7), DEMO_PAIRS))
    sides = ([[word.form.lower() for word in side.words] for side in (pair.english, pair.kel)] for pair in drawn)
    pairs = ["\t".join(" ".join(words) for words in both) for both in sides]
    gold = [" ".join(f"{i}-{j}" for i, j in pair.links()) for pair in drawn]
    yield Linked(f"demo, {len(pairs)} pairs", pairs, gold, ("en", "en"))
    if not data:
        return
    test, europarl = data / "aligned_deen", [data / f"europarl_deen/europarl20k.{side}" for side in ("de", "en")]
    with (folder / "europarl").open("w", encoding="utf-8") as file, redirect_stdout(file):
        bitext([[str(test / "test.de-en")]], ["de", "en"], list(map(str, europarl)))
    pairs = (folder / "europarl").read_text(encoding="utf-8").splitlines()
    gold = [_from_zero(line) for line in (test / "deen.talp").read_text().splitlines()]
    for size in (SOME_PAIRS, len(pairs)):
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


def compared(bitext: Linked, rounds: int) -> Iterator[Comparison | Measure]:
    """Yield the pairs per CPU second of each of our aligners and each other aligner, and the errors and memory of
    all."""
    used: dict[str, list[Usage]] = {name: [] for name in (*OURS, *OTHERS)}
    rates: dict[str, float] = {}
    for number in range(rounds):
        for name in list(used)[:: -1 if number % 2 else 1]:
            with TemporaryDirectory() as folder:
                used[name].append(run(name, bitext, Path(folder)))
                rates[name] = bitext.error_rate(Path(folder, "links"))
    yield from aligner_rows(bitext, used, rates)


def aligner_rows(
    bitext: Linked, used: Mapping[str, list[Usage]], rates: Mapping[str, float]
) -> Iterator[Comparison | Measure]:
    for ours in OURS:
        for other in OTHERS:
            speeds = [
                (len(bitext.pairs) / one.seconds, len(bitext.pairs) / two.seconds)
                for one, two in zip(used[ours], used[other], strict=True)
            ]
            yield of_rates(f"{ours} / {other}, {bitext.name}", "pairs", speeds)
    for name, each in used.items():
        yield Measure(f"{name}: AER, {bitext.name}", "%", rates[name])
        yield Measure(f"{name}: memory, {bitext.name}", "MiB", max(usage.memory for usage in each))


def run(name: str, bitext: Linked, folder: Path) -> Usage:
    """Run an aligner in an empty folder and write `links`. The time does not include merging eflomal's directions."""
    pairs, links = folder / "pairs.tsv", folder / "links"
    pairs.write_text("".join(f"{line}\n" for line in bitext.pairs), encoding="utf-8")
    if name != EFLOMAL:
        source, target = bitext.languages
        options = f"--tokenizer none --source-language {source} --target-language {target} --method {name}"
        return usage_of(["align", "--fit", *options.split(), "--device", "cpu", str(pairs)], folder, links)
    columns = zip(*(line.split("\t") for line in bitext.pairs), strict=True)
    for side, column in zip(("source", "target"), columns, strict=True):
        (folder / side).write_text("".join(f"{line}\n" for line in column), encoding="utf-8")
    program = shutil.which(EFLOMAL)
    assert program, "pip install eflomal"
    files = [str(folder / each) for each in ("source", "target", "forward", "backward")]
    arguments = [part for both in zip(("-s", "-t", "-f", "-r"), files, strict=True) for part in both]
    used = usage_of(arguments, folder, program=[program])
    merged = align(pairs, links_from=files[2:], tokenizer="none")
    links.write_text("".join(f"{' '.join(f'{i}-{j}' for i, j in each.links)}\n" for each in merged))
    return used


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        *_, europarl = bitexts(Path(sys.argv[1]), Path(temporary))
        test = len(europarl.gold)
        sys.stdout.writelines(f"{pair}\n" for pair in noisy(europarl.pairs, int(sys.argv[2]) - test))
        sys.stdout.writelines(f"{pair}\n" for pair in europarl.pairs[-test:])
