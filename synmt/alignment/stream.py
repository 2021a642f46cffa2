"""Alignment of a stream of sentence pairs: with a model, with what is fitted to them, or from given links."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson

from synmt.alignment.agreement import agreement
from synmt.alignment.aligner import Aligner, FitConfig, KnownWords, Needs, Predictor, Tempered, TwoReadings
from synmt.alignment.choice import note_choice
from synmt.alignment.config import AlignConfig, Heuristic
from synmt.alignment.extraction import ExtractedLinks, Extraction, SoftLinks, extract
from synmt.alignment.lexicon import Lexicon
from synmt.alignment.methods import open_aligner, open_method
from synmt.alignment.pairs import count_from_one, read_pairs, with_known_links
from synmt.alignment.phrases import chunks, phrases
from synmt.alignment.translation.idea import ONE_READING
from synmt.alignment.tree_links import NEEDS as TREES
from synmt.alignment.tree_links import tree_links
from synmt.model.files import CONFIG_FILE
from synmt.model.records import SentencePair
from synmt.model.words import Sides, note_doubts, sides_of, words_of
from synmt.pool import Run, processes
from synmt.projection.stream import Linker
from synmt.streams import (
    BadInput,
    BadLines,
    Latest,
    Line,
    LineWriter,
    Notes,
    OnError,
    read_lines,
    windows,
    with_progress,
)
from synmt.text.links import DirectedLinks, Link, write_links
from synmt.text.tokenization import TextConfig, TokenizerName, Words, note_tokenizers
from synmt.training.bitext import Bitext
from synmt.trees.record import UNATTACHED, ParseRecord

Aligned = tuple[str, list[Link]]  # the line of a pair, and its links
WINDOW = 1000  # pairs that are sorted by length
FIRST_WINDOW = 50


@dataclass(frozen=True)
class Kept:
    """An aligner in a folder: opened by the method of this name, or by that which made it."""

    folder: Path
    method: str | None
    device: str

    def open(self) -> Aligner:
        """Raise BadInput if it cannot be opened."""
        return open_aligner(self.folder, self.method, self.device)


@dataclass
class KnownLinks:
    """An aligner in name: its links are those that each pair has brought along.

    heuristic: of both directions; or `mean`, by which any number of files vote: the score of a link is its mean over
    all of them, 0 in one that lacks it.
    """

    heuristic: Heuristic
    needs: Needs = (frozenset(), frozenset())
    languages: tuple[str, str] | None = None
    tokenizer: TokenizerName | None = None
    words: KnownWords = (None, None)

    def open(self) -> "KnownLinks":
        return self

    def align(self, pairs: Sequence[SentencePair]) -> Sequence[SoftLinks | DirectedLinks]:
        if self.heuristic == "mean":
            return list(map(_votes, pairs))
        return [DirectedLinks(pair.links[0].keys(), pair.links[-1].keys()) for pair in pairs]


def _votes(pair: SentencePair) -> SoftLinks:
    source, target = range(len(pair.source.tokens)), range(len(pair.target.tokens))
    scores = np.zeros((len(source), len(target)), np.float32)
    for links in pair.links:
        for link, score in links.items():
            scores[link] += score / len(pair.links)
    return SoftLinks(scores, scores, source, target)


def align_stream(
    given: Kept | KnownLinks,
    links: Sequence[str],
    files: Sequence[str],
    config: AlignConfig,
    text: TextConfig,
    on_error: OnError,
) -> None:
    """Write a line for each pair of the files to standard output, in constant memory.

    given: an aligner, which each process of `config.jobs` opens for itself; links: files of links that the pairs bring
    along. text: of raw text where the aligner has not been fitted to any, or where it is to be tokenized otherwise.
    Raises BadInput, or with `on_error="blank"` gives no links for a bad line, and counts it.
    """
    lexicon = Lexicon(Path(config.lexicon)) if config.lexicon else None
    aligner = given.open()
    sides = sides_for(aligner, text)
    bad = BadLines(on_error)
    needs = needed(aligner.needs, config)
    if links:
        _check_links(links, files, needs, config, sides, on_error)
    pairs = read_pairs(read_lines(files, on_error), needs, sides, config.max_words, bad)
    pairs = with_known_links(pairs, links) if links else pairs
    with processes(config.jobs, _aligning(aligner, config), _open_aligning, given, config) as run:
        _write(run, pairs, config, lexicon)
    bad.report("align")
    notes = Notes("align")
    note_doubts(notes, *sides)
    _note_bases(notes, links)
    notes.say()


def sides_for(aligner: Aligner, text: TextConfig) -> Sides:
    """Return what makes the words of pairs that are to be aligned. Raises BadInput for a language that is not the
    aligner's."""
    languages = aligner.languages or text.languages
    for asked, known in zip((text.source_language, text.target_language), languages, strict=True):
        if asked not in (None, known):
            raise BadInput(f"text is in {asked}, but the model was fitted to {' and '.join(languages)}")
    words = (None, None) if text.tokenizer else aligner.words
    return sides_of(languages, text.tokenizer or aligner.tokenizer or "moses", words)


def linker_of(folder: Path, device: str, threshold: float | None) -> Linker:
    """Return what links sentence pairs by the aligner of a model folder, as `align_stream` does. Raises BadInput.

    threshold: the least mean of a link, if not the aligner's own; of links that have no mean there is none.
    """
    aligner = open_aligner(folder, None, device)
    if any(aligner.needs):
        raise BadInput("needs trees of what it aligns; align first, and give the links", str(folder))
    has_mean = aligner.heuristic in ("harmonic", "mean")
    how = Extraction(aligner.heuristic, threshold if has_mean else None)

    def link(pairs: Sequence[SentencePair]) -> Iterator[dict[Link, float]]:
        for pair, given in zip(pairs, aligner.align(pairs), strict=True):
            yield extract(given, pair.source.tokens, pair.target.tokens, how).links

    words = aligner.words[1] or (Words(aligner.tokenizer) if aligner.tokenizer else None)
    return Linker(link, aligner.languages[1] if aligner.languages else None, words)


def fit_stream(
    method: str,
    settings: Mapping[str, Any],
    guide: str | None,
    out: Path | None,
    resume: bool,
    device: str,
    files: Sequence[str],
    config: AlignConfig,
    text: TextConfig,
    on_error: OnError,
    say: bool = False,
) -> None:
    """Fit a method to the pairs of the files, and write a line for each as `align_stream` does.

    guide: a file of links to learn from; out: where to keep the model; say: name the method and what it costs, on
    stderr. Under torchrun, all processes fit and the first one aligns.
    """
    bad, lexicon = BadLines(on_error), Lexicon(Path(config.lexicon)) if config.lexicon else None
    needs = needed(open_method(method, settings).needs(settings), config)
    if guide and any(needs):  # before hours of parsing, not after
        _check_links([guide], files, needs, config, sides_of(text.languages, text.tokenizer or "moses"), on_error)
    notes, lines = Notes("align"), read_lines(files, on_error)
    note_tokenizers(notes, text.tokenizer or "moses", dict(zip(("source", "target"), text.languages, strict=True)))
    with fitted(method, settings, lines, guide, out, resume, device, config, text, bad, notes, say) as fitting:
        if os.environ.get("RANK", "0") == "0":
            notes.say()
            progress = with_progress(fitting.pairs(), "pairs", lambda: len(fitting.bitext))
            _write(partial(map, _aligning(fitting.aligner, config)), progress, config, lexicon)
    bad.report("align")


@dataclass(frozen=True)
class Fitted:
    """An aligner and what it was fitted to: all pairs but those with an empty side."""

    aligner: Aligner
    bitext: Bitext
    kept: "KeptPairs"

    def pairs(self) -> Iterator[SentencePair]:
        """Yield the pairs of all lines; those with an empty side have two."""
        return self.kept.all(self.bitext)


@contextmanager
def fitted(
    method: str,
    settings: Mapping[str, Any],
    lines: Iterable[Line],
    guide: str | None,
    out: Path | None,
    resume: bool,
    device: str,
    config: AlignConfig,
    text: TextConfig,
    bad: BadLines,
    notes: Notes,
    say: bool = False,
) -> Iterator[Fitted]:
    """Give an aligner that is fitted to the pairs of lines; one without a folder is gone in the end.

    As `fit_stream`; notes: of what is doubtful, also in fitting. Raises BadInput.
    """
    if out and (out / CONFIG_FILE).exists() and not resume:  # before hours of parsing, not after
        raise BadInput("holds a model; --resume goes on with it", str(out))
    chosen = open_method(method, settings)
    tokenizer = text.tokenizer or "moses"
    sides = sides_of(text.languages, tokenizer)
    pairs = read_pairs(lines, needed(chosen.needs(settings), config), sides, config.max_words, bad)
    kept = KeptPairs()
    bitext = Bitext(kept.whole(with_known_links(pairs, [guide]) if guide else pairs))
    if not len(bitext):
        raise BadInput("no sentence pairs to be fitted to")
    note_doubts(notes, *sides)
    _note_bases(notes, [guide] if guide else [])
    if say:
        note_choice(notes, method, settings, len(bitext), kept.cells)
    words = (
        words_of((pair.source for pair in bitext), text.languages[0], tokenizer),
        words_of((pair.target for pair in bitext), text.languages[1], tokenizer),
    )
    known = kept.links if guide else None
    with TemporaryDirectory(prefix="synmt-align-") as temporary:
        folder = out or Path(temporary) / "model"
        fitting = FitConfig(
            method, bitext, known, text.languages, tokenizer, settings, folder, resume, device, words, notes
        )
        yield Fitted(chosen.fit(fitting), bitext, kept)


class KeptPairs:
    """What is to be known of pairs that are kept on disk, in order.

    cells: Σ J × I; links: those that the pairs without an empty side have brought along.
    """

    def __init__(self) -> None:
        self.cells = 0
        self.links: list[Set[Link]] = []
        self._whole = bytearray()

    def whole(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield the pairs without an empty side."""
        for pair in pairs:
            cells = len(pair.source.tokens) * len(pair.target.tokens)
            self._whole.append(cells > 0)
            if cells:
                self.cells += cells
                if pair.links:
                    self.links.append(pair.links[0].keys())
                yield pair

    def all(self, bitext: Bitext) -> Iterator[SentencePair]:
        """Yield what has been kept of all pairs; those with an empty side have two."""
        pairs, line = iter(bitext), Line("", "", 0)
        for whole in self._whole:
            yield next(pairs) if whole else SentencePair(ParseRecord(), ParseRecord(), (line, line))


def needed(needs: Needs, config: AlignConfig) -> Needs:
    """Return what the records of both sides must have for an aligner of these needs."""
    return (needs[0] | TREES, needs[1] | TREES) if config.tree_links else needs


def _check_links(
    links: Sequence[str], files: Sequence[str], needs: Needs, config: AlignConfig, sides: Sides, on_error: OnError
) -> None:
    """Raise BadInput for links that are not of the pairs, before anything is made of them; of streams it would take
    what can be read only once."""
    if all(map(os.path.isfile, [*links, *files])):
        source, target = (side.without_trees(fields) for side, fields in zip(sides, needs, strict=True))
        lines, bad = read_lines(files, on_error), BadLines(on_error)
        pairs = read_pairs(lines, (frozenset(), frozenset()), (source, target), config.max_words, bad)
        for _ in with_known_links(pairs, links):
            pass


def _note_bases(notes: Notes, links: Sequence[str]) -> None:
    """Note which files of links seem to count words from 1."""
    for path in links:
        if Path(path).is_file() and count_from_one(path):
            notes.add(f"{path} links no word 0; it seems to count from 1, not from 0")


def _write(
    run: Run[list[SentencePair], list[Aligned]],
    pairs: Iterable[SentencePair],
    config: AlignConfig,
    lexicon: Lexicon | None,
) -> None:
    """Write a line for each pair, and say on stderr if most have no link; run: aligns windows of whole pairs."""
    total = unlinked = 0
    latest = Latest()
    under_way: deque[list[SentencePair]] = deque()

    def whole() -> Iterator[list[SentencePair] | None]:
        for window in windows(_followed(pairs, latest), WINDOW, FIRST_WINDOW, latest.pauses):
            under_way.append(window)
            yield [pair for pair in window if _is_whole(pair)]
            if latest.pauses():
                yield None

    with LineWriter() as output:
        for aligned in run(whole()):
            found = iter(aligned)
            for pair in under_way.popleft():
                if not _is_whole(pair):
                    output.write("{}" if config.format == "jsonl" else "")
                    continue
                line, links = next(found)
                total += 1
                unlinked += not links
                if lexicon:
                    lexicon.add(pair.source.tokens, pair.target.tokens, links)
                output.write(line)
            if latest.pauses():
                output.flush()
    if lexicon:
        lexicon.write()
    if 2 * unlinked > total:
        advice = "lower --threshold" if config.threshold else "fit longer, to more pairs, or try --symmetrize grow-diag"
        print(f"synmt align: {unlinked} of {total} pairs have no link: {advice}", file=sys.stderr)


def _followed(pairs: Iterable[SentencePair], latest: Latest) -> Iterator[SentencePair]:
    for pair in pairs:
        latest.see(pair.lines[0])
        yield pair


def _is_whole(pair: SentencePair) -> bool:
    return bool(pair.source.tokens and pair.target.tokens)


def _open_aligning(given: Kept | KnownLinks, config: AlignConfig) -> Callable[[list[SentencePair]], list[Aligned]]:
    return _aligning(given.open(), config)


def _aligning(aligner: Aligner, config: AlignConfig) -> Callable[[list[SentencePair]], list[Aligned]]:
    """Return what makes lines of whole pairs, each with its links."""

    def align(pairs: list[SentencePair]) -> list[Aligned]:
        if not pairs:
            return []
        found = aligned(aligner, pairs, config)
        return [(_line(pair, links, predicted, config), list(links.links)) for pair, links, predicted in found]

    return align


def aligned(
    aligner: Aligner, pairs: Sequence[SentencePair], config: AlignConfig
) -> Iterator[tuple[SentencePair, ExtractedLinks, list[bool] | None]]:
    """Yield each pair, of which no side is empty, with its links and, if they are asked for, its predictions.

    Raises BadInput.
    """
    temperature = _temperature(aligner, config)
    how = Extraction(config.symmetrize or aligner.heuristic, config.threshold, config.end_punctuation)
    if config.links_by:
        if not isinstance(aligner, TwoReadings):
            raise BadInput(ONE_READING)
        aligner.links_by = config.links_by
    predicted: Sequence[list[bool] | None] = [None] * len(pairs)
    if config.predictions:
        if not isinstance(aligner, Predictor):
            raise BadInput("--predictions are of mask-align, which predicts words")
        predicted = aligner.predicted(pairs)
    for pair, given, each in zip(pairs, aligner.align(pairs), predicted, strict=True):
        try:
            links = extract(given, pair.source.tokens, pair.target.tokens, how)
        except ValueError as error:
            raise BadInput(str(error)) from None
        if config.tree_links:
            links = links.with_links(tree_links(links.links.keys(), pair.source, pair.target))
        yield pair, links if temperature == 1 else links.tempered(temperature), each


def _temperature(aligner: Aligner, config: AlignConfig) -> float:
    """Return that of the scores, 1 where none are written."""
    if config.format != "jsonl" and not config.scores:
        return 1.0
    return config.temperature or (aligner.temperature if isinstance(aligner, Tempered) else 1.0)


def _line(pair: SentencePair, extracted: ExtractedLinks, predicted: list[bool] | None, config: AlignConfig) -> str:
    if config.format != "jsonl":
        base = int(config.format == "talp") if config.base is None else config.base
        links = write_links(extracted.links, base)
        return f"{links}\t{extracted.confidence:.6f}" if config.scores else links
    fields: dict[str, object] = {
        "source": pair.source.tokens,
        "target": pair.target.tokens,
        "links": [[i, j, round(score, 6)] for (i, j), score in extracted.links.items()],
        "confidence": round(extracted.confidence, 6),
    }
    if all(side.heads and UNATTACHED not in side.heads for side in (pair.source, pair.target)):
        fields["agreement"] = round(agreement(extracted.links, pair.source, pair.target), 6)
    if config.scores:
        fields["scores"] = [[round(score, 6) for score in row] for row in extracted.scores.tolist()]
    if config.phrases:
        fields["chunks"] = chunks(extracted.links.keys())
        fields["phrases"] = phrases(extracted.links.keys())
    if predicted is not None:
        fields["predicted"] = predicted
    return orjson.dumps(fields).decode()
