"""A pair of models that is ready to align, from a bitext or from a folder (see aligner.py)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from safetensors.numpy import load_file, save

from synmt.alignment import compiled
from synmt.alignment.extraction import SoftLinks, word_scores
from synmt.alignment.hmm.bitext import Compounds, IndexedBitext, Parts
from synmt.alignment.hmm.dictionary import prior_counts, read_dictionary
from synmt.alignment.hmm.encoded import WINDOW, cut, sides_of, similar_words, similarity_for, tokens_of
from synmt.alignment.hmm.lexicon import Floats, PrefixLexicon
from synmt.alignment.hmm.model import HmmModel, fit
from synmt.data.bitext import Bitext, spread
from synmt.data.records import SentencePair
from synmt.model.files import LARGEST_TEXT, PARAMETERS_FILE, check_inside, naming, write_aside
from synmt.streams import bar, note, windows

if TYPE_CHECKING:
    from synmt.alignment.encoders.similarity import Similarity
    from synmt.alignment.hmm.aligner import Hmm

SIDES = ("source", "target")
DIRECTIONS = ("forward", "backward")
KINDS = ("jumps", "relations")  # kinds of transitions: in sentences and in trees
LEAST_COUNT = 1e-3  # rarer links are not saved
LARGEST_COUNT = 1e12  # so that sums stay finite


@dataclass(frozen=True)
class FittedHmm:
    """similarity: how similar words are for an encoder, None to align without one. encoder: what identifies the encoder
    that it learned from, None if there was none."""

    model: HmmModel
    compounds: tuple[Compounds, Compounds]
    similarity: "Similarity | None"
    encoder: dict[str, Any] | None

    @classmethod
    def learn(cls, options: "Hmm", pairs: Bitext, device: str) -> Self:
        """Fit both directions to pairs, and return the same model that saving and opening it would give."""
        sides = sides_of(pairs.spread(options.pairs), options.trees)
        if len(sides[0]) < len(pairs):
            note(f"hmm learns from some of the pairs ({len(sides[0])} of {len(pairs)})")
        source, target = (Compounds.learn(side.counts(), options.compounds) for side in sides)
        compounds = source, target
        similarity = similarity_for(options, pairs, compounds, device)
        encoder = similarity.described | {"tuned": bool(options.tuning)} if similarity else None
        parts = cut(sides, compounds)
        prior = prior_counts(read_dictionary(options.dictionary), compounds, parts) if options.dictionary else None

        def fitted(similarity: "Similarity | None", encoded: Collection[int]) -> FittedHmm:
            """Fit both directions. encoded: the numbers of the pairs to encode."""
            with bar("pairs", quiet=similarity is None, total=len(sides[0]), desc="encoding") as line:
                similar = similar_words(similarity, pairs.spread(options.pairs), compounds, encoded, line.update)
            return FittedHmm(fit(options, parts, similar, prior), compounds, similarity, None)

        if similarity and options.tuning:
            chosen = spread(len(sides[0]), options.tuning)
            sample = [pair for number, pair in enumerate(pairs.spread(options.pairs)) if number in chosen]
            similarity = fitted(similarity, chosen)._tuned(sample)
        tensors = fitted(similarity, spread(len(sides[0]), options.encoded))._tensors()
        used = None if options.encoded else similarity
        return cls._of(options, (source.parts, target.parts), tensors, used, encoder)

    def _tuned(self, pairs: Sequence[SentencePair]) -> "Similarity":
        """Return the similarity of an encoder that learned from the links of these models."""
        from synmt.alignment.encoders.tuning import tune

        assert self.similarity
        links = [
            word_scores(soft, len(pair.source.tokens), len(pair.target.tokens), "mean")
            for window in windows(pairs, WINDOW)
            for pair, soft in zip(window, self.align(window), strict=True)
        ]
        return tune(self.similarity, *tokens_of(pairs), links, self.model.options.seed)

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return γ of both directions, between the parts of words."""
        if not pairs:
            return []
        whole = sides_of(pairs, self.model.options.trees)
        sized = [
            (side, [len(each.of(word)) for word in side.words])
            for each, side in zip(self.compounds, whole, strict=True)
        ]
        sides = cut(whole, self.compounds)
        similar = similar_words(self.similarity, pairs, self.compounds)
        bitext = IndexedBitext.index(sides, range(len(pairs)), self.model.lexicon, similar=similar)
        found: dict[int, SoftLinks] = {}
        for batch, (of_targets, of_sources) in self.model.links(bitext):
            for line, row in enumerate(batch.rows):
                x, y = ([n for n, word in enumerate(side[row]) for _ in range(own[word])] for side, own in sized)
                cells = of_targets[line, : len(y), : len(x)].T, of_sources[line, : len(x), : len(y)]
                found[row] = SoftLinks(*cells, x, y)
        return [found[row] for row in range(len(pairs))]

    def save(self, folder: Path) -> None:
        """Write all files except the config. Raises BadInput."""
        for side, each in zip(SIDES, self.compounds, strict=True):
            words = "".join(f"{' '.join(parts)}\n" for parts in each.parts.values())
            write_aside(folder / f"{side}.txt", words.encode())
        tensors = {name: np.ascontiguousarray(each) for name, each in self._tensors().items()}
        write_aside(folder / PARAMETERS_FILE, save(tensors))

    @classmethod
    def open(cls, options: "Hmm", folder: Path, encoder: Any, device: str) -> Self:
        """Load the files of a folder. encoder: the description of the encoder that it was fitted with, None for none.

        Raises BadInput, naming the file.
        """
        compiled.library()  # notes once what other processes would note, too
        source, target = (_read_words(folder, folder / f"{side}.txt") for side in SIDES)
        path = folder / PARAMETERS_FILE
        check_inside(folder, path)
        with naming(path):
            tensors = load_file(path)
        similarity = None
        if encoder is not None and not options.encoded:
            similarity = _similarity(folder, tensors, encoder, device)
        with naming(path):
            return cls._of(options, (source, target), tensors, similarity, encoder)

    def _tensors(self) -> dict[str, Any]:
        level = self.model.lexicon.levels[-1]
        kept = np.flatnonzero(level.counts[:-1] >= LEAST_COUNT)
        targets, sources = np.divmod(level.types[kept], len(level.words[0].counts))
        tensors = {"types": np.stack([sources, targets], axis=1).astype(np.int32), "links": level.counts[kept]}
        for side, each in zip(SIDES, self.compounds, strict=True):
            tensors[f"{side}.counts"] = np.array([*each.counts.values()], np.float32)
        for name, direction in zip(DIRECTIONS, self.model.directions, strict=True):
            tensors[f"{name}.unlinked"] = direction.unlinked[:-1]
            for kind, transitions in zip(KINDS, direction.transitions, strict=False):
                tensors[f"{name}.{kind}"] = transitions.weights
        if self.similarity:
            tensors |= {f"{side}.mean": mean for side, mean in zip(SIDES, self.similarity.means, strict=True)}
        if self.similarity and self.encoder and self.encoder["tuned"]:
            from synmt.alignment.encoders.encoder import tuned_weights

            tensors |= tuned_weights(self.similarity.encoder)
        return tensors

    @classmethod
    def _of(
        cls,
        options: "Hmm",
        known: Sequence[dict[str, Parts]],
        tensors: Mapping[str, Floats],
        similarity: "Similarity | None",
        encoder: dict[str, Any] | None,
    ) -> Self:
        """Build a model from its tensors. Raises ValueError or KeyError if they do not fit the words of both sides or
        do not hold counts."""
        types = tensors["types"]
        if types.ndim != 2 or types.shape[1] != 2 or types.dtype != np.int32:
            raise ValueError("tensor types must have pairs of words")
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
                raise ValueError("tensor types has a word that does not exist")
        links = _counts(tensors, "links", len(types))
        lexicon = PrefixLexicon.new(seen, options.concentration)
        lexicon.learn(lexicon.locate(words, sources, targets, new=True), links)
        for name in DIRECTIONS:  # before memory is allocated for jumps of this length
            if tensors[f"{name}.jumps"].shape[1:] != (2 * options.jump + 1,):
                raise ValueError(f"tensor {name}.jumps has no jumps of up to {options.jump} words")
        model = HmmModel.new(options, lexicon)
        for name, direction, side in zip(DIRECTIONS, model.directions, reversed(words), strict=True):
            for kind, transitions in zip(KINDS, direction.transitions, strict=False):
                transitions.weights = _counts(tensors, f"{name}.{kind}", transitions.weights.shape, least=1e-12)
            direction.unlinked[:-1] = _counts(tensors, f"{name}.unlinked", len(side))
        return cls(model, (source, target), similarity, encoder)


def _read_words(folder: Path, path: Path) -> dict[str, Parts]:
    """Return the parts of the words of a side. Raises BadInput."""
    check_inside(folder, path, LARGEST_TEXT)
    with naming(path):
        words = [tuple(line.split(" ")) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        parts = {"".join(each): each for each in words}
        if len(parts) < len(words) or not words:
            raise ValueError("has a duplicate word" if words else "is empty")
        return parts


def _similarity(folder: Path, tensors: Mapping[str, Floats], described: Any, device: str) -> "Similarity":
    """Open the encoder that a folder describes.

    Raises BadInput, also if mean states or tuned weights are missing or not of it.
    """
    from synmt.alignment.encoders.encoder import open_described, set_tuned_weights
    from synmt.alignment.encoders.similarity import Similarity
    from synmt.device import local_device

    encoder = open_described(described, folder, local_device(device))
    with naming(folder / PARAMETERS_FILE):
        source, target = (tensors[f"{side}.mean"] for side in SIDES)
        for mean in (source, target):
            if mean.shape != (encoder.width,) or mean.dtype != np.float32 or not np.isfinite(mean).all():
                raise ValueError("the means are not of this encoder")
        if described.get("tuned"):
            set_tuned_weights(encoder, tensors)
    return Similarity(encoder, (source, target))


def _counts(tensors: Mapping[str, Floats], name: str, shape: int | tuple[int, ...], least: float = 0.0) -> Floats:
    """Return a tensor of counts. Raises ValueError or KeyError if it is missing, or its shape or values are wrong."""
    counts, size = tensors[name], [shape] if isinstance(shape, int) else list(shape)
    if list(counts.shape) != size or counts.dtype != np.float32:
        raise ValueError(f"tensor {name} is {counts.dtype} {list(counts.shape)}, not float32 {size}")
    if not ((counts >= least) & (counts <= LARGEST_COUNT)).all():
        raise ValueError(f"tensor {name} must hold counts")
    return counts
