"""A pair of hidden Markov models at work, and what they keep in a folder.

`source.txt` and `target.txt` hold the words, one a line, and a blank between the parts of a compound;
`model.safetensors` how often words have been seen, which parts have been linked how often, and the jumps.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.hmm.bitext import IndexedBitext, Sentences, Sides
from synmt.alignment.hmm.compounds import Compounds, Parts
from synmt.alignment.hmm.idea import NAME, Hmm, needs_of
from synmt.alignment.hmm.lexicon import Floats, Lexicon
from synmt.alignment.hmm.model import Model, fit
from synmt.alignment.statistical import NO_NEEDS, new_folder, plain_words, read_folder
from synmt.model.files import CONFIG_FILE, LARGEST_TEXT, PARAMETERS_FILE, check_inside, naming, read_config, write_aside
from synmt.model.records import SentencePair
from synmt.text.tokenization import TokenizerName
from synmt.training.bitext import Bitext

SIDES = ("source", "target")
DIRECTIONS = ("forward", "backward")
TEMPERATURE = 1.75  # at which γ are probabilities; learnt from 44 pairs linked by hand (docs/results.md)
KINDS = ("jumps", "relations")  # of the weights of moves
LEAST_COUNT = 1e-3  # of links that are kept
LARGEST_COUNT = 1e12  # sums stay finite


@dataclass
class HmmAligner:
    model: Model
    compounds: tuple[Compounds, Compounds]
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    heuristic: Heuristic = "mean"
    needs: Needs = NO_NEEDS
    temperature: float = TEMPERATURE

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, of the parts of words."""
        if not pairs:
            return []
        whole = _sides(pairs, self.model.options.trees)
        sized = [
            (side, [len(each.of(word)) for word in side.words])
            for each, side in zip(self.compounds, whole, strict=True)
        ]
        sides = _cut(whole, self.compounds)
        bitext = IndexedBitext.index(sides, range(len(pairs)), self.model.lexicon)
        found: dict[int, SoftLinks] = {}
        for batch, (forward, backward) in self.model.posteriors(bitext):
            for line, row in enumerate(batch.rows):
                x, y = ([n for n, word in enumerate(side[row]) for _ in range(own[word])] for side, own in sized)
                of_targets, of_sources = forward.links[line, : len(y), : len(x)].T, backward.links[line, : len(x)]
                found[row] = SoftLinks(of_targets, of_sources[:, : len(y)], x, y)
        return [found[row] for row in range(len(pairs))]


def fit_folder(options: Hmm, config: FitConfig) -> HmmAligner:
    """Fit a model to a bitext, and keep it. Raises BadInput."""
    with new_folder(config, options=asdict(options)) as folder:
        sides = _sides(spread(config.bitext, options.pairs), options.trees)
        if len(sides[0]) < len(config.bitext):
            print(f"synmt align: hmm learns from {len(sides[0])} of {len(config.bitext)} pairs", file=sys.stderr)
        compounds = _compounds([side.counts() for side in sides], options)
        _save(fit(options, _cut(sides, compounds)), compounds, folder)
    return open_folder(config.out)


def _compounds(counts: Sequence[Mapping[str, float]], options: Hmm) -> tuple[Compounds, Compounds]:
    source, target = (Compounds.learn(each, options.compounds) for each in counts)
    return source, target


def _cut(sides: Sides, compounds: tuple[Compounds, Compounds]) -> Sides:
    source, target = (side.cut(each.of) for side, each in zip(sides, compounds, strict=True))
    return source, target


def _sides(pairs: Iterable[SentencePair], trees: bool) -> Sides:
    sides = Sentences(), Sentences()
    for pair in pairs:
        for side, record in zip(sides, (pair.source, pair.target), strict=True):
            side.add(plain_words(record.tokens), record.heads if trees else ())
    return sides


def spread(bitext: Bitext, most: int) -> Iterator[SentencePair]:
    """Yield at most so many pairs, as far from each other as may be; 0 is all."""
    size = len(bitext)
    most = min(most, size) or size
    for number, pair in enumerate(bitext):
        if (number + 1) * most // size > number * most // size:
            yield pair


def open_folder(folder: Path) -> HmmAligner:
    """Open the model of a folder. Raises BadInput."""
    text = read_folder(NAME, folder)
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        options = Hmm(**fields["options"])
    model, compounds = _load(options, folder)
    return HmmAligner(model, compounds, *text, needs=needs_of(options))


def _save(model: Model, compounds: tuple[Compounds, Compounds], folder: Path) -> None:
    level = model.lexicon.levels[-1]
    kept = np.flatnonzero(level.counts[:-1] >= LEAST_COUNT)
    targets, sources = np.divmod(level.types[kept], len(level.words[0].counts))
    tensors = {"types": np.stack([sources, targets], axis=1).astype(np.int32), "links": level.counts[kept]}
    for side, each in zip(SIDES, compounds, strict=True):
        write_aside(folder / f"{side}.txt", "".join(f"{' '.join(parts)}\n" for parts in each.parts.values()).encode())
        tensors[f"{side}.counts"] = np.array([*each.counts.values()], np.float32)
    for name, direction in zip(DIRECTIONS, model.directions, strict=True):
        tensors[f"{name}.unlinked"] = direction.unlinked[:-1]
        for kind, jumps in zip(KINDS, direction.jumps, strict=False):
            tensors[f"{name}.{kind}"] = jumps.weights
    write_aside(folder / PARAMETERS_FILE, save({name: np.ascontiguousarray(each) for name, each in tensors.items()}))


def _load(options: Hmm, folder: Path) -> tuple[Model, tuple[Compounds, Compounds]]:
    """Return the model of a folder, and its compounds. Raises BadInput, naming the file."""
    known = [_read_words(folder, folder / f"{side}.txt") for side in SIDES]
    path = folder / PARAMETERS_FILE
    check_inside(folder, path)
    with naming(path):
        tensors = load_file(path)
        types = tensors["types"]
        if types.ndim != 2 or types.shape[1] != 2 or types.dtype != np.int32:
            raise ValueError("tensor types holds no pairs of words")
        source, target = (
            Compounds(
                dict(zip(parts, _counts(tensors, f"{name}.counts", len(parts)).tolist(), strict=True)),
                options.compounds,
                parts,
            )
            for name, parts in zip(SIDES, known, strict=True)
        )
        seen = source.counts_of_parts(), target.counts_of_parts()
        words = [list(each) for each in seen]
        sources, targets = types.T.astype(np.int64)
        for ids, side in zip((sources, targets), words, strict=True):
            if ((ids < 0) | (ids >= len(side))).any():
                raise ValueError("tensor types holds a word that there is not")
        links = _counts(tensors, "links", len(types))
        lexicon = Lexicon.new(seen, options.concentration)
        lexicon.learn(lexicon.locate(words, sources, targets, new=True), links)
        _check_jumps(options, tensors)
        model = Model.new(options, lexicon)
        for name, direction, side in zip(DIRECTIONS, model.directions, reversed(words), strict=True):
            for kind, jumps in zip(KINDS, direction.jumps, strict=False):
                jumps.weights = _counts(tensors, f"{name}.{kind}", jumps.weights.shape, least=1e-12)
            direction.unlinked[:-1] = _counts(tensors, f"{name}.unlinked", len(side))
    return model, (source, target)


def _check_jumps(options: Hmm, tensors: Mapping[str, Floats]) -> None:
    """Raise ValueError or KeyError for other jumps than a folder holds, before they take memory."""
    for name in DIRECTIONS:
        kinds = tensors[f"{name}.jumps"].shape[1:]
        if kinds != (2 * options.jump + 1,):
            raise ValueError(f"tensor {name}.jumps has no jumps of up to {options.jump} words")


def _read_words(folder: Path, path: Path) -> dict[str, Parts]:
    """Return the parts of the words of a side. Raises BadInput."""
    check_inside(folder, path, LARGEST_TEXT)
    with naming(path):
        words = [tuple(line.split(" ")) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        parts = {"".join(each): each for each in words}
        if len(parts) < len(words) or not words:
            raise ValueError("holds a word twice" if words else "holds no words")
        return parts


def _counts(tensors: Mapping[str, Floats], name: str, shape: int | tuple[int, ...], least: float = 0.0) -> Floats:
    """Return a tensor of a shape. Raises ValueError or KeyError for one that is missing or holds what is no count."""
    counts, size = tensors[name], [shape] if isinstance(shape, int) else list(shape)
    if list(counts.shape) != size or counts.dtype != np.float32:
        raise ValueError(f"tensor {name} is {counts.dtype} {list(counts.shape)}, not float32 {size}")
    if not ((counts >= least) & (counts <= LARGEST_COUNT)).all():
        raise ValueError(f"tensor {name} holds what is no count")
    return counts
