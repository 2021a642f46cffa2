"""Sources of links (an aligner in a folder, or files of links), and the output lines."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from synmt.alignment.aligner import FittedAligner, Predictor, TwoReadings, load_aligner
from synmt.alignment.config import JSON, OF_VOTES, AlignConfig, SymmetrizeConfig, Vote
from synmt.alignment.derived import agreement, chunks, phrases, tree_links
from synmt.alignment.extraction import ExtractedLinks, Extraction, SoftLinks, extract
from synmt.data.records import SentencePair
from synmt.projection.stream import Linker
from synmt.streams import BadInput, Message, WrongUsage
from synmt.text.links import DirectedLinks, Link, write_links, write_scores
from synmt.text.tokenization import Words, spans_of
from synmt.trees.record import UNATTACHED

Aligned = tuple[str, list[Link]]  # the line of a pair, and its links
NO_SCORES = np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class KnownLinks:
    """Links that come with each pair, instead of an aligner.

    heuristic: for merging two directions; or `mean`, with which any number of files vote. In any case, the score of a
    link is its mean over all files, 0 in a file that lacks it.
    """

    heuristic: Vote
    temperature: ClassVar[float] = 1.0

    @classmethod
    def of(cls, config: SymmetrizeConfig, files: int) -> "KnownLinks":
        """Return how to combine the links of this number of files. Raises WrongUsage."""
        if config.is_vote(files):
            return cls("mean")
        if files != 2 and config.heuristic:
            cause = "{} merges two files of links; any number vote with --heuristic mean"
            raise WrongUsage(Message(cause, config.heuristic))
        for name in OF_VOTES:
            if getattr(config, name) is not None:
                raise WrongUsage(Message(f"--{name} needs a vote: add --heuristic mean"))
        return cls(config.heuristic or "grow-diag-final-and")

    @property
    def advice(self) -> str:
        """How to get more links."""
        return "lower --threshold" if self.heuristic == "mean" else "try --heuristic union"

    def links(self, pairs: Sequence[SentencePair]) -> Sequence[SoftLinks | DirectedLinks]:
        if self.heuristic == "mean":
            return list(map(_votes, pairs))
        return [DirectedLinks(pair.links[0].keys(), pair.links[-1].keys(), _means(pair)) for pair in pairs]


def _votes(pair: SentencePair) -> SoftLinks:
    source, target = range(len(pair.source.tokens)), range(len(pair.target.tokens))
    scores = np.zeros((len(source), len(target)), np.float32)
    for link, score in _means(pair).items():
        scores[link] = score
    return SoftLinks(scores, scores, source, target)


def _means(pair: SentencePair) -> dict[Link, float]:
    """Return the mean score of each link; divided once, so that k of n votes reach a threshold of k/n."""
    sums: defaultdict[Link, float] = defaultdict(float)
    for links in pair.links:
        for link, score in links.items():
            sums[link] += score
    return {link: total / len(pair.links) for link, total in sums.items()}


def aligning(aligner: FittedAligner | KnownLinks, config: AlignConfig) -> Callable[[list[SentencePair]], list[Aligned]]:
    """Return a function that turns pairs into lines, each with its links."""

    def align(pairs: list[SentencePair]) -> list[Aligned]:
        found = aligned(aligner, pairs, config)
        return [(_line(pair, links, predicted, config), list(links.links)) for pair, links, predicted in found]

    return align


def aligned(
    aligner: FittedAligner | KnownLinks, pairs: Sequence[SentencePair], config: AlignConfig
) -> Iterator[tuple[SentencePair, ExtractedLinks, list[bool] | None]]:
    """Yield each pair with its links and, if requested, its predictions; a pair with an empty side has neither. Raises
    BadInput."""
    found = _aligned(aligner, [pair for pair in pairs if pair.is_whole], config)
    for pair in pairs:
        yield (pair, *next(found)) if pair.is_whole else (pair, ExtractedLinks({}, NO_SCORES), None)


def _aligned(
    aligner: FittedAligner | KnownLinks, pairs: Sequence[SentencePair], config: AlignConfig
) -> Iterator[tuple[ExtractedLinks, list[bool] | None]]:
    """Yield the links and predictions of pairs without an empty side."""
    temperature = _temperature(aligner, config)
    how = Extraction(config.symmetrize or aligner.heuristic, config.threshold, config.end_punctuation)
    if config.links_by and isinstance(aligner, TwoReadings):
        aligner = replace(aligner, links_by=config.links_by)  # type: ignore[type-var]
    predicted: Sequence[list[bool] | None] = [None] * len(pairs)
    if config.predictions and isinstance(aligner, Predictor):
        predicted = aligner.predicted(pairs)
    for pair, given, each in zip(pairs, aligner.links(pairs), predicted, strict=True):
        try:
            links = extract(given, pair.source.tokens, pair.target.tokens, how)
        except ValueError as error:
            raise BadInput(str(error)) from None
        if config.tree_links:
            links = links.with_links(tree_links(links.links.keys(), pair.source, pair.target))
        yield links if temperature == 1 else links.tempered(temperature), each


def _temperature(aligner: FittedAligner | KnownLinks, config: AlignConfig) -> float:
    """Return the temperature of the scores, 1 if none are written."""
    if config.format not in JSON and not config.scores:
        return 1.0
    return config.temperature or aligner.temperature


def _line(pair: SentencePair, extracted: ExtractedLinks, predicted: list[bool] | None, config: AlignConfig) -> str:
    if not pair.is_whole:
        return "{}" if config.format in JSON else ""
    if config.format not in JSON:
        base = int(config.format == "talp")  # number of the first word
        if config.scores:
            return f"{write_scores(extracted.links, base)}\t{extracted.confidence:.6f}"
        return write_links(extracted.links, base)
    fields: dict[str, object] = {
        "source": pair.source.tokens,
        "target": pair.target.tokens,
        "links": [[i, j, round(score, 6)] for (i, j), score in extracted.links.items()],
        "confidence": round(extracted.confidence, 6),
    }
    for name, side in (("source", pair.source), ("target", pair.target)):
        if side.text:
            with suppress(ValueError):  # another program may have changed the tokens
                fields[f"{name}_spans"] = spans_of(side.tokens, side.text)
    if all(side.heads and UNATTACHED not in side.heads for side in (pair.source, pair.target)):
        fields["agreement"] = round(agreement(extracted.links, pair.source, pair.target), 6)
    if config.scores:
        fields["scores"] = [[round(score, 6) for score in row] for row in extracted.scores.tolist()]
    if config.format == "phrases":
        fields["chunks"] = chunks(extracted.links.keys())
        fields["phrases"] = phrases(extracted.links.keys())
    if predicted is not None:
        fields["predicted"] = predicted
    return msgspec.json.encode(fields).decode()


def linker_of(folder: Path, device: str, threshold: float | None) -> Linker:
    """Return a function that links sentence pairs with a saved aligner, as `synmt link` does. Raises BadInput.

    threshold: the least mean of a link, by default the aligner's own; None if its links have no mean.
    """
    aligner = load_aligner(folder, None, device)
    if any(aligner.needs()):
        raise BadInput("this aligner needs trees of both sides: align first, and give the links", str(folder))
    has_mean = aligner.heuristic in ("harmonic", "mean")
    config = AlignConfig(threshold=threshold if has_mean else None)

    def link(pairs: Sequence[SentencePair]) -> Iterator[dict[Link, float]]:
        return (found.links for _, found, _ in aligned(aligner, pairs, config))

    text, known = aligner.text, Words(aligner.text.tokenizer)
    return Linker(link, text.languages, (text.words[0] or known, text.words[1] or known))
