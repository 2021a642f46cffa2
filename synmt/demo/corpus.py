"""The demo corpus: distinct sentence pairs in three sets, and their files."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path

from synmt.demo import english, kel
from synmt.demo.derivation import Sampler
from synmt.demo.words import Sentence, links
from synmt.trees.constituency import write_brackets

ENDINGS = ("en", "kel", "en.ptb", "en.conllu", "kel.conllu", "links")
READY = "systems.toml", "luke.es-en.tsv", "ATTRIBUTION.md"  # files to copy
LENGTHS = range(4, 26)  # English words, without punctuation


@dataclass(slots=True)
class Pair:
    english: Sentence
    kel: Sentence

    def links(self) -> list[tuple[int, int]]:
        """Return the gold word links, as 0-based English and Kel positions."""
        return links(self.english, self.kel)

    def lines(self) -> tuple[str, ...]:
        """Return the text of this pair for each kind of file, in the order of ENDINGS."""
        assert self.english.tree
        return (
            self.english.text(),
            self.kel.text(),
            write_brackets(self.english.tree),
            self.english.conllu() + "\n",
            self.kel.conllu() + "\n",
            " ".join(f"{source}-{target}" for source, target in self.links()),
        )


def draw_pairs(seed: int, depth: int = 3) -> Iterator[Pair]:
    """Yield pairs without end. Their English sentences are distinct; each has a random depth from 0 to `depth`."""
    rng = random.Random(seed)
    sampler = Sampler(rng)
    seen: set[str] = set()
    while True:
        derivation = sampler.derivation(rng.randint(0, depth))
        sentence = english.say(derivation)
        length = sum(word.upos != "PUNCT" for word in sentence.words)
        text = sentence.text()
        if length in LENGTHS and text not in seen:
            seen.add(text)
            yield Pair(sentence, kel.say(derivation))


def write_corpus(folder: Path, sentences: int, held_out: int, seed: int, depth: int = 3) -> None:
    """Write test and dev (`held_out` pairs each), then train, so that the size of train does not affect them; and copy
    the files in READY."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in READY:
        (folder / name).write_bytes(resources.files("synmt.demo").joinpath(name).read_bytes())
    pairs = draw_pairs(seed, depth)
    for part, size in (("test", held_out), ("dev", held_out), ("train", sentences)):
        with ExitStack() as stack:
            paths = [folder / f"{part}.{ending}" for ending in ENDINGS]
            files = [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths]
            for pair in islice(pairs, size):
                for file, line in zip(files, pair.lines(), strict=True):
                    file.write(line + "\n")
