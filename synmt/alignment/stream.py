"""Alignment of a stream of sentence pairs: with a model, with what is fitted to them, or from given links."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner
from synmt.alignment.config import AlignConfig
from synmt.alignment.fitted import fitted, needed
from synmt.alignment.given import Kept, KnownLinks
from synmt.alignment.lexicon import Lexicon
from synmt.alignment.linking import Aligned, aligning
from synmt.alignment.methods import open_method
from synmt.alignment.pairs import check_links, note_bases, read_pairs, with_known_links
from synmt.model.records import SentencePair
from synmt.model.words import Sides, note_doubts, sides_of
from synmt.pool import Run, processes
from synmt.streams import BadInput, BadLines, Latest, LineWriter, Notes, OnError, read_lines, windows, with_progress
from synmt.text.tokenization import TextConfig, note_tokenizers

WINDOW = 1000  # pairs that are sorted by length
FIRST_WINDOW = 50


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
        check_links(links, files, needs, config.max_words, sides, on_error)
    pairs = read_pairs(read_lines(files, on_error), needs, sides, config.max_words, bad)
    pairs = with_known_links(pairs, links) if links else pairs
    with processes(config.jobs, aligning(aligner, config), _open_aligning, given, config) as run:
        _write(run, pairs, config, lexicon)
    bad.report("align")
    notes = Notes("align")
    note_doubts(notes, *sides)
    note_bases(notes, links)
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
        check_links(
            [guide], files, needs, config.max_words, sides_of(text.languages, text.tokenizer or "moses"), on_error
        )
    notes, lines = Notes("align"), read_lines(files, on_error)
    note_tokenizers(notes, text.tokenizer or "moses", dict(zip(("source", "target"), text.languages, strict=True)))
    with fitted(method, settings, lines, guide, out, resume, device, config, text, bad, notes, say) as fitting:
        if os.environ.get("RANK", "0") == "0":
            notes.say()
            progress = with_progress(fitting.pairs(), "pairs", lambda: len(fitting.bitext))
            _write(partial(map, aligning(fitting.aligner, config)), progress, config, lexicon)
    bad.report("align")


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
    return aligning(given.open(), config)
