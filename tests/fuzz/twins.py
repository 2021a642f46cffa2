"""Slow reimplementations of the commands, written from the papers and docs/formats.md, one sentence at a time.

Nothing here calls the code under test: subword-nmt makes subwords, numpy holds arrays, and files are read as formats.md
describes them.
"""

import json
import math
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from subword_nmt.apply_bpe import BPE

Array = NDArray[np.float64]
Links = set[tuple[int, int]]
END, UNKNOWN = 0, 1


class PlainModel:
    """A plain Transformer (Vaswani et al. 2017), read from the folder of a `sequence` or `multitask` model."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())["model"]
        self.network, self.source = config["network"], config["source"]
        self.tensors = {
            name: tensor.astype(np.float64) for name, tensor in load_file(folder / "model.safetensors").items()
        }
        self.target = (folder / "vocab.target.txt").read_bytes().decode().split("\n")[:-1]
        both = [*self.target, *(folder / "vocab.source.txt").read_bytes().decode().split("\n")[:-1]]
        self.ids = {entry: number for number, entry in enumerate(both)}
        self.begin = len(both) + 1
        with (folder / "codes.bpe").open(encoding="utf-8", newline="\n") as codes:
            self.bpe = BPE(codes)

    @staticmethod
    def knows(folder: Path) -> bool:
        """Return whether no component of a model changes the network."""
        model = json.loads((folder / "config.json").read_text())["model"]
        return set(model["source"]) <= {"sequence", "multitask"} and set(model["target"]["components"]) == {"sequence"}

    def subwords(self, words: Sequence[str]) -> list[str]:
        return [subword for word in words for subword in self.bpe.segment_tokens([word])]

    def read(self, words: Sequence[str], task: str = "translate") -> list[int]:
        entries = self.subwords(words)
        if "multitask" in self.source:
            entries = [f" <{task}>", *entries, f" <{task}>"]
        return [self.ids.get(entry, UNKNOWN) for entry in entries]

    def say(self, words: Sequence[str]) -> list[int]:
        """Return the ids of a target and the end of sentence."""
        ids = [self.ids.get(entry, UNKNOWN) for entry in self.subwords(words)]
        return [number if number < len(self.target) else UNKNOWN for number in ids] + [END]

    def log_probabilities(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Return the log-probability of each target token, given the source and the tokens before it, [t]."""
        memory = self._encode(source)
        states = self._embed([self.begin, *target[:-1]])
        causal = np.triu(np.full((len(target), len(target)), -np.inf), 1)
        last = self.network["decoder_layers"] - 1
        for layer in range(last + 1):
            name = f"network.decoder.{layer}"
            states = self._sublayer(
                states, f"{name}.attention_residual", lambda x, n=name: self._itself(x, f"{n}.attention", causal)
            )
            if self.network["cross_attention"] == "all" or layer == last:
                states = self._sublayer(
                    states, f"{name}.cross_residual", lambda x, n=name: self._across(x, memory, f"{n}.cross")
                )
            states = self._sublayer(
                states, f"{name}.feedforward_residual", lambda x, n=name: self._inside(x, f"{n}.feedforward")
            )
        states = self._last_norm(states, "network.decoder_norm")
        logits = states @ self.tensors["network.embedding"][: len(self.target)].T + self.tensors["network.output_bias"]
        largest = logits.max(axis=1, keepdims=True)
        normalizer = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=1))
        return logits[np.arange(len(target)), list(target)] - normalizer

    def _encode(self, source: Sequence[int]) -> Array:
        states = self._embed(source)
        for layer in range(self.network["encoder_layers"]):
            name = f"network.encoder.layers.{layer}"
            states = self._sublayer(
                states, f"{name}.attention_residual", lambda x, n=name: self._itself(x, f"{n}.attention", 0.0)
            )
            states = self._sublayer(
                states, f"{name}.feedforward_residual", lambda x, n=name: self._inside(x, f"{n}.feedforward")
            )
        return self._last_norm(states, "network.encoder_norm")

    def _embed(self, ids: Sequence[int]) -> Array:
        width = self.network["width"]
        vectors = self.tensors["network.embedding"][list(ids)] * math.sqrt(width)
        for position, channel in product(range(len(ids)), range(width)):
            angle = position / 10000 ** (2 * (channel // 2) / width)
            vectors[position, channel] += math.cos(angle) if channel % 2 else math.sin(angle)
        return vectors

    def _sublayer(self, states: Array, residual: str, sublayer: Any) -> Array:
        if self.network["norm"] == "pre":
            return states + sublayer(self._norm(states, f"{residual}.norm"))
        return self._norm(states + sublayer(states), f"{residual}.norm")

    def _last_norm(self, states: Array, name: str) -> Array:
        return self._norm(states, name) if self.network["norm"] == "pre" else states

    def _norm(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-6)
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def _product(self, states: Array, name: str) -> Array:
        return states @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def _inside(self, states: Array, name: str) -> Array:
        return self._product(np.maximum(self._product(states, f"{name}.inner"), 0), f"{name}.outer")

    def _itself(self, states: Array, name: str, bias: Array | float) -> Array:
        query, key, value = np.split(self._product(states, f"{name}.qkv"), 3, axis=1)
        return self._product(self._attend(query, key, value, bias), f"{name}.out")

    def _across(self, states: Array, memory: Array, name: str) -> Array:
        key, value = np.split(self._product(memory, f"{name}.kv"), 2, axis=1)
        return self._product(self._attend(self._product(states, f"{name}.query"), key, value, 0.0), f"{name}.out")

    def _attend(self, query: Array, key: Array, value: Array, bias: Array | float) -> Array:
        size = query.shape[1] // self.network["heads"]
        heads = []
        for start in range(0, query.shape[1], size):
            own = slice(start, start + size)
            logits = query[:, own] @ key[:, own].T / math.sqrt(size) + bias
            weights = np.exp(logits - logits.max(axis=1, keepdims=True))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ value[:, own])
        return np.concatenate(heads, axis=1)

    @cached_property
    def spellings(self) -> tuple[set[str], set[str]]:
        """Return the subwords that can begin or continue a word, without their joiners, and those that can end one."""
        inner = {entry.removesuffix("@@") for entry in self.target if entry.endswith("@@")}
        return inner, {entry for entry in self.target if not entry.startswith(" ") and not entry.endswith("@@")}

    def segmentations(self, word: str, cut: bool = False) -> Iterator[list[str]]:
        """Yield all ways to write a word in subwords of the target. cut: without the end of the word."""
        inner, last = self.spellings
        if word in last and not cut:
            yield [word]
        if word in inner and cut:
            yield [f"{word}@@"]
        for place in range(1 if word else 0, len(word)):
            if word[:place] in inner:
                for rest in self.segmentations(word[place:], cut):
                    yield [f"{word[:place]}@@", *rest]


def penalty(length: int, kind: str, alpha: float) -> float:
    """Return the length penalty: Wu et al. (2016), eq. 14 (`gnmt`), or a power of the length."""
    return float(((5 + length) / 6) ** alpha if kind == "gnmt" else length**alpha)


def symmetrized(forward: Links, backward: Links, heuristic: str) -> Links:
    """Return the symmetrized links, scanning the matrix like Moses' symal and the scripts of Zenkel et al.
    (grow-diag-lilt)."""
    union, links = forward | backward, forward & backward
    whole = {"union": union, "intersection": links, "forward": forward, "backward": backward}
    if heuristic in whole:
        return whole[heuristic]
    by_source = heuristic == "grow-diag-lilt"
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    size = 1 + max((max(link) for link in union), default=0)
    added = True
    while added:
        added = False
        for row, column in product(range(size), repeat=2):
            link = (row, column) if by_source else (column, row)
            for down, right in steps if link in links else []:
                near = (link[0] + down, link[1] + right) if by_source else (link[0] + right, link[1] + down)
                free = (near[0] not in {s for s, _ in links}) + (near[1] not in {t for _, t in links})
                if near in union and free >= (2 if by_source else 1):
                    links = links | {near}
                    added = True
    if "final" in heuristic:
        for direction in (forward, backward):
            for target, source in sorted((target, source) for source, target in direction):
                alone = source not in {s for s, _ in links}, target not in {t for _, t in links}
                if all(alone) if heuristic.endswith("-and") else any(alone):
                    links = links | {(source, target)}
    return links


def punctuation(word: str) -> bool:
    return all(unicodedata.category(character)[0] == "P" for character in word)


def links_of(
    forward: Links, backward: Links, sides: Sequence[Sequence[str]], heuristic: str, end_punctuation: bool
) -> Links:
    """Return the links of two directions as one set. end_punctuation: link it as Chen et al. (2020) do."""
    source, target = sides
    last = len(source) - 1
    if not (end_punctuation and punctuation(source[-1])):
        return symmetrized(forward, backward, heuristic)
    others = [{link for link in each if link[0] != last} for each in (forward, backward)]
    kept = symmetrized(others[0], others[1], heuristic)
    return kept | ({(last, len(target) - 1)} if punctuation(target[-1]) else set())


def best_links(weights: Array, words: Sequence[int], others: Sequence[int], threshold: float) -> Links:
    """Return for each column the best row, if its weight exceeds the threshold, as words: (the row's, the column's)."""
    found = set()
    for column in range(weights.shape[1]):
        row = max(range(weights.shape[0]), key=lambda each: (weights[each, column], -each))
        if weights[row, column] > threshold:
            found.add((words[row], others[column]))
    return found


def mean_scores(
    forward: Array, backward: Array, source_words: Sequence[int], target_words: Sequence[int], harmonic: bool
) -> Array:
    """Return for each pair of words the largest mean score of a pair of their subwords: the harmonic mean (Chen, Sun &
    Liu 2021) or the arithmetic one."""
    scores = np.zeros((max(source_words) + 1, max(target_words) + 1))
    for (j, u), (i, v) in product(enumerate(source_words), enumerate(target_words)):
        total = forward[j, i] + backward[j, i]
        mean = total / 2
        if harmonic:
            mean = 2 * forward[j, i] * backward[j, i] / total if total > 0 else 0.0
        scores[u, v] = max(scores[u, v], mean)
    return scores
