"""Alignment of a stream of sentence pairs: with a model, with what is fitted to them, or from given links."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import orjson
from tqdm import tqdm

from synmt.alignment.aligner import Aligner, Fit, Pair, Predictor, open_method
from synmt.alignment.extraction import Alignment, Extraction, HardLinks, Rule, extract
from synmt.alignment.pairs import read_pairs, with_known_links
from synmt.alignment.tree_links import NEEDS as TREES
from synmt.alignment.tree_links import tree_links
from synmt.streams import BadInput, LineWriter, OnError, read_lines, windows
from synmt.systems.records import TokenizerName, fail
from synmt.text.links import write_links

WINDOW = 1000  # pairs that are sorted by length
FIRST_WINDOW = 50

Form = Literal["pharaoh", "talp", "jsonl"]


@dataclass(frozen=True)
class Request:
    """What is asked of a stream. tokenizer and languages: of raw text; what a model was fitted with goes first.

    rule: None is that of the method. trees: whether links that trees suggest are added. base: what words are
    counted from, but in JSON. scores: adds the confidence, or to JSON the scores of all pairs of words.
    predictions: adds to JSON whether each target word is predicted. max_words: a side with more is a bad line.
    """

    files: Sequence[str]
    tokenizer: TokenizerName
    languages: tuple[str, str]
    rule: Rule | None
    threshold: float | None
    end_punctuation: bool
    trees: bool
    form: Form
    base: int
    scores: bool
    predictions: bool
    max_words: int
    on_error: OnError


class KnownLinks:
    """An aligner in name: its links are those that each pair has brought along."""

    rule: Rule = "grow-diag-final-and"
    needs: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
    languages: tuple[str, str] | None = None
    tokenizer: TokenizerName | None = None

    def align(self, pairs: Sequence[Pair]) -> list[HardLinks]:
        return [pair.known or HardLinks(frozenset(), frozenset()) for pair in pairs]


def align_stream(aligner: Aligner, links: Sequence[str], request: Request) -> int:
    """Writes a line for each pair of the files to standard output, in constant memory.

    links: files of links that the pairs bring along. Raises BadInput, or with `on_error="blank"` gives no links
    for a bad line. Returns their count.
    """
    bad: list[BadInput] = []
    # What a model was fitted with goes first.
    tokenizer, languages = aligner.tokenizer or request.tokenizer, aligner.languages or request.languages
    pairs = _pairs(aligner.needs, replace(request, tokenizer=tokenizer, languages=languages), bad)
    if links:
        pairs = with_known_links(pairs, links)
    _write(aligner, pairs, request)
    return len(bad)


def fit_stream(
    method: str, settings: dict[str, Any], guide: str | None, out: Path | None, resume: bool, device: str,
    request: Request,
) -> int:  # fmt: skip
    """Fits a method to the pairs of the files, and writes a line for each as `align_stream` does.

    guide: a file of links to learn from; out: where to keep the model. Under torchrun, all processes fit and the
    first one aligns.
    """
    if out and (out / "config.json").exists() and not resume:  # before hours of parsing, not after
        raise BadInput("holds a model; --resume goes on with it", str(out))
    bad: list[BadInput] = []
    chosen = open_method(method)
    pairs = _pairs(chosen.needs(settings), request, bad)
    kept = list(with_known_links(pairs, [guide]) if guide else pairs)
    whole = [pair for pair in kept if pair.source.tokens and pair.target.tokens]
    if not whole:
        raise BadInput("no sentence pairs to be fitted to")
    known = [pair.known.forward for pair in whole if pair.known] if guide else None
    with TemporaryDirectory(prefix="synmt-align-") as temporary:
        folder = out or Path(temporary) / "model"
        fit = Fit(whole, known, request.languages, request.tokenizer, settings, folder, resume, device)
        aligner = chosen.fit(fit)
        if os.environ.get("RANK", "0") == "0":
            _write(aligner, tqdm(kept, unit="pair", disable=not sys.stderr.isatty()), request)
    return len(bad)


def _pairs(needs: tuple[frozenset[str], frozenset[str]], request: Request, bad: list[BadInput]) -> Iterator[Pair]:
    if request.trees:
        needs = needs[0] | TREES, needs[1] | TREES
    lines = read_lines(request.files, request.on_error)
    on_bad = fail if request.on_error == "fail" else bad.append
    return read_pairs(lines, needs, request.tokenizer, request.languages, request.max_words, on_bad)


def _write(aligner: Aligner, pairs: Iterable[Pair], request: Request) -> None:
    how = Extraction(request.rule or aligner.rule, request.threshold, request.end_punctuation)
    with LineWriter() as output:
        for window in windows(pairs, WINDOW, FIRST_WINDOW):
            whole = [pair for pair in window if pair.source.tokens and pair.target.tokens]
            lines = iter([_line(*each, request) for each in _aligned(aligner, whole, how, request)])
            for pair in window:
                empty = "{}" if request.form == "jsonl" else ""
                output.write(next(lines) if pair.source.tokens and pair.target.tokens else empty)


def _aligned(
    aligner: Aligner, pairs: Sequence[Pair], how: Extraction, request: Request
) -> Iterator[tuple[Pair, Alignment, list[bool] | None]]:
    """Each pair with its links and, if they are asked for, its predictions. Raises BadInput."""
    predicted: Sequence[list[bool] | None] = [None] * len(pairs)
    if request.predictions:
        if not isinstance(aligner, Predictor):
            raise BadInput("--predictions are of mask-align, which predicts words")
        predicted = aligner.predicted(pairs)
    for pair, found, each in zip(pairs, aligner.align(pairs), predicted, strict=True):
        try:
            alignment = extract(found, pair.source.tokens, pair.target.tokens, how)
        except ValueError as error:
            raise BadInput(str(error)) from None
        if request.trees:
            alignment = alignment.with_links(tree_links(alignment.links.keys(), pair.source, pair.target))
        yield pair, alignment, each


def _line(pair: Pair, found: Alignment, predicted: list[bool] | None, request: Request) -> str:
    if request.form != "jsonl":
        links = write_links(found.links, request.base)
        return f"{links}\t{found.confidence:.6f}" if request.scores else links
    fields: dict[str, object] = {
        "source": pair.source.tokens,
        "target": pair.target.tokens,
        "links": [[i, j, round(score, 6)] for (i, j), score in found.links.items()],
        "confidence": round(found.confidence, 6),
    }
    if request.scores:
        fields["scores"] = [[round(score, 6) for score in row] for row in found.scores.tolist()]
    if predicted is not None:
        fields["predicted"] = predicted
    return orjson.dumps(fields).decode()
