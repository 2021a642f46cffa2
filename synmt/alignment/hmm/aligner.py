"""A pair of hidden Markov models at work, and what they keep in a folder.

`source.txt` and `target.txt` hold the words, one a line; `model.safetensors` how often they have been seen, which of
them have been linked how often, and the jumps.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.hmm.bitext import IndexedBitext
from synmt.alignment.hmm.chains import Jumps
from synmt.alignment.hmm.idea import NAME, Hmm
from synmt.alignment.hmm.lexicon import Floats, Lexicon
from synmt.alignment.hmm.model import Direction, Model, fit
from synmt.alignment.statistical import NO_NEEDS, new_folder, plain_words, read_folder
from synmt.model.files import CONFIG_FILE, LARGEST_TEXT, PARAMETERS_FILE, check_inside, naming, read_config, write_aside
from synmt.model.records import SentencePair
from synmt.text.tokenization import TokenizerName
from synmt.training.bitext import Bitext

SIDES = ("source", "target")
DIRECTIONS = ("forward", "backward")
TEMPERATURE = 1.75  # at which γ are probabilities; learnt from 44 pairs linked by hand (docs/results.md)
LEAST_COUNT = 1e-3  # of links that are kept
LARGEST_COUNT = 1e12  # sums stay finite


@dataclass
class HmmAligner:
    model: Model
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    heuristic: Heuristic = "mean"
    needs: Needs = NO_NEEDS
    temperature: float = TEMPERATURE

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, of words."""
        if not pairs:
            return []
        sources = [plain_words(pair.source.tokens) for pair in pairs]
        targets = [plain_words(pair.target.tokens) for pair in pairs]
        bitext = IndexedBitext.index(sources, targets, self.model.lexicon)
        found: dict[int, SoftLinks] = {}
        for batch, (forward, backward), _ in self.model.posteriors(bitext):
            for line, row in enumerate(batch.rows):
                x, y = range(len(sources[row])), range(len(targets[row]))
                of_targets, of_sources = forward.links[line, : len(y), : len(x)].T, backward.links[line, : len(x)]
                found[row] = SoftLinks(of_targets, of_sources[:, : len(y)], x, y)
        return [found[row] for row in range(len(pairs))]


def fit_folder(options: Hmm, config: FitConfig) -> HmmAligner:
    """Fit a model to a bitext, and keep it. Raises BadInput."""
    with new_folder(config, options=asdict(options)) as folder:
        pairs = list(spread(config.bitext, options.pairs))
        if len(pairs) < len(config.bitext):
            print(f"synmt align: hmm learns from {len(pairs)} of {len(config.bitext)} pairs", file=sys.stderr)
        sources = [plain_words(pair.source.tokens) for pair in pairs]
        targets = [plain_words(pair.target.tokens) for pair in pairs]
        _save(fit(options, sources, targets), folder)
    return open_folder(config.out)


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
    return HmmAligner(_load(options, folder), *text)


def _save(model: Model, folder: Path) -> None:
    level = model.lexicon.levels[-1]
    kept = np.flatnonzero(level.counts[:-1] >= LEAST_COUNT)
    targets, sources = np.divmod(level.types[kept], len(level.words[0].counts))
    tensors = {"types": np.stack([sources, targets], axis=1).astype(np.int32), "links": level.counts[kept]}
    for side, words in zip(SIDES, level.words, strict=True):
        write_aside(folder / f"{side}.txt", "".join(f"{word}\n" for word in words.ids).encode())
        tensors[f"{side}.counts"] = words.counts[:-1]
    for name, direction in zip(DIRECTIONS, model.directions, strict=True):
        tensors |= {f"{name}.jumps": direction.jumps.weights, f"{name}.unlinked": direction.unlinked[:-1]}
    write_aside(folder / PARAMETERS_FILE, save({name: np.ascontiguousarray(each) for name, each in tensors.items()}))


def _load(options: Hmm, folder: Path) -> Model:
    """Return the model of a folder. Raises BadInput, naming the file."""
    words = [_read_words(folder, folder / f"{side}.txt") for side in SIDES]
    path = folder / PARAMETERS_FILE
    check_inside(folder, path)
    with naming(path):
        tensors = load_file(path)
        types = tensors["types"]
        if types.ndim != 2 or types.shape[1] != 2 or types.dtype != np.int32:
            raise ValueError("tensor types holds no pairs of words")
        sources, targets = types.T.astype(np.int64)
        for ids, side in zip((sources, targets), words, strict=True):
            if ((ids < 0) | (ids >= len(side))).any():
                raise ValueError("tensor types holds a word that there is not")
        links = _counts(tensors, "links", len(types))
        counts = [_counts(tensors, f"{name}.counts", len(side)) for name, side in zip(SIDES, words, strict=True)]
        forward, backward = (
            Direction(
                Jumps(_counts(tensors, f"{name}.jumps", 2 * options.jump + 1, least=1e-12)),
                np.append(_counts(tensors, f"{name}.unlinked", len(side)), np.float32(0)),
            )
            for name, side in zip(DIRECTIONS, reversed(words), strict=True)
        )
    counted = [Counter(dict(zip(side, each.tolist(), strict=True))) for side, each in zip(words, counts, strict=True)]
    lexicon = Lexicon.new(counted, options.concentration)
    lexicon.learn(lexicon.locate(words, sources, targets, new=True), links)
    return Model(options, lexicon, (forward, backward))


def _read_words(folder: Path, path: Path) -> list[str]:
    """Return the words of a side. Raises BadInput."""
    check_inside(folder, path, LARGEST_TEXT)
    with naming(path):
        words = path.read_text(encoding="utf-8").split("\n")[:-1]
        if not words or len(set(words)) < len(words):
            raise ValueError("holds a word twice" if words else "holds no words")
        return words


def _counts(tensors: Mapping[str, Floats], name: str, size: int, least: float = 0.0) -> Floats:
    """Return a tensor [size]. Raises ValueError or KeyError for one that is missing or holds what is no count."""
    counts = tensors[name]
    if counts.shape != (size,) or counts.dtype != np.float32:
        raise ValueError(f"tensor {name} is {counts.dtype} {list(counts.shape)}, not float32 {[size]}")
    if not ((counts >= least) & (counts <= LARGEST_COUNT)).all():
        raise ValueError(f"tensor {name} holds what is no count")
    return counts
