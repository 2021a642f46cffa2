"""Forced decoding: log-probabilities of given translations.

Shapes: B sentences of t target tokens, of which R are predicted.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, tee
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from synmt.components.output import ArcOutput
from synmt.data.batches import in_batches
from synmt.data.corpus import Corpus
from synmt.data.records import BitextFiles, source_records, target_form, target_records
from synmt.data.rows import lengths_of
from synmt.data.words import Sides, say_warnings
from synmt.device import autocast, local_device
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures
from synmt.model.target import WORDS, TargetSide
from synmt.model.translation import TranslationModel
from synmt.nn.prefixes import PrefixPlan
from synmt.search.config import LogprobConfig, SearchConfig, TranslateConfig
from synmt.search.stream import words_of_sides
from synmt.search.translation import WINDOW, Translator
from synmt.search.tree_search import sums_over_strings
from synmt.streams import BadInput, BadLines, Latest, Line, Notes, OnError, counted, windows, write_lines
from synmt.text.tokenization import open_tokenizer
from synmt.text.vocabulary import END_TOKEN, structural
from synmt.trees.arc_tokens import is_arc, write_tokens
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import TreeNotDerivable

PREFIX_TOKENS = 16384  # positions to compute at a time, for a decoder that reads prefixes


@dataclass(frozen=True, slots=True)
class ForcedTarget:
    """tokens: those of the target and the end of sentence; log_probabilities: in nats, of each token given the previous
    ones, or one for all words, summed over trees. Both are empty for a pair that cannot be scored."""

    tokens: Sequence[str] = ()
    log_probabilities: Sequence[float] = ()

    def __repr__(self) -> str:
        return f"<ForcedTarget {self.total():.4f} nats, {counted(len(self.tokens), 'token')}>"

    def total(self, of_arcs: bool | None = None) -> float:
        """Return the sum over all tokens, over arcs only, or over all other tokens."""
        if of_arcs is None:
            return math.fsum(self.log_probabilities)
        pairs = zip(self.tokens, self.log_probabilities, strict=True)
        return math.fsum(value for token, value in pairs if is_arc(token) == of_arcs)


@dataclass(frozen=True, slots=True)
class ForcedPair:
    """The input of the encoder and the target of the decoder, which is empty for a pair that cannot be scored.

    labels: of the target, by field, as `TargetSide.lessons`.
    """

    source: SourceFeatures
    target: Sequence[str]
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def tokens(self) -> list[str]:
        """Return the target and its end of sentence, each label after its token."""
        found: list[str] = []
        for place, token in enumerate(self.target, 1):
            found += [token, *(structural(column[place]) for column in self.labels.values() if column[place])]
        return [*found, END_TOKEN]


NOTHING = ForcedPair(SourceFeatures([], words=0), [])


def logprob_stream(model: Path, files: Sequence[str], config: LogprobConfig, device: str, on_error: OnError) -> None:
    """Write a line for each pair of the files, as `open_pairs`, to standard output, an empty one for an empty pair.

    Raises BadInput for a bad line, or leaves it empty, with `on_error="blank"`. stderr reports how many lines were left
    empty, and how many subwords the model does not know.
    """
    folder = ModelFolder.open(model, ModelConfig)
    translator = forcing(folder, local_device(device), config)
    sides = words_of_sides(folder.config, config)
    bad, notes, latest = BadLines(on_error), Notes(), Latest()
    pairs = open_pairs(files, folder.config)
    found = scored(translator, sides, pairs.columns(bad), config, bad, notes, latest)
    has_trees = bool(folder.config.target.linearization.trees)
    write_lines((_line(forced, has_trees, config) for forced in found), latest.pauses, pairs.countable())
    say_warnings(bad, notes, *sides)


def open_pairs(files: Sequence[str], model: ModelConfig) -> BitextFiles:
    """Open files of pairs. A TMX file with more languages is read in those of the model. Raises BadInput."""
    source, target = model.languages
    return BitextFiles.open(files, {"source_language": source, "target_language": target} if source != target else {})


def forcing(
    folder: ModelFolder[ModelConfig], device: torch.device, config: LogprobConfig, model: TranslationModel | None = None
) -> Translator:
    """Open a model for forced decoding, as `Translator.open`."""
    how = TranslateConfig(batch_tokens=config.batch_tokens, precision=config.precision)
    return Translator.open(folder, device, SearchConfig(), how, model or folder.load_model(device))


def scored(
    translator: Translator,
    sides: Sides,
    lines: Iterable[tuple[Line, ...]],
    config: LogprobConfig,
    bad: BadLines,
    notes: Notes,
    latest: Latest,
) -> Iterator[ForcedTarget]:
    """Yield the scores of each source and target, and note how many subwords the model does not know.

    latest: records each line.
    """
    unknown = 0
    for window in windows(_pairs(translator, sides, lines, config, bad, latest), WINDOW, pauses=latest.pauses):
        found = forced_targets(translator, window, config)
        unknown += sum(not translator.vocabulary.knows(token) for pair in window for token in pair.target)
        yield from found
    if unknown:
        notes.add(f"{counted(unknown, 'subword')} not in the vocabulary, scored as the unknown token")


def _pairs(
    translator: Translator,
    sides: Sides,
    lines: Iterable[tuple[Line, ...]],
    config: LogprobConfig,
    bad: BadLines,
    latest: Latest,
) -> Iterator[ForcedPair]:
    """Yield the pair of each source and target, empty for lines left empty."""
    model = translator.config
    rest = iter(lines)
    for left, right in rest:
        if left.text.strip() or right.text.strip():
            rest = chain([(left, right)], rest)
            break
        latest.line = left
        yield NOTHING
    both, *columns = tee(rest, 3)
    lefts, rights = (map(itemgetter(side), columns[side]) for side in (0, 1))
    sources = source_records(lefts, model.source.needs(training=False), sides[0], bad)
    form, of_targets = target_form(rights, bool(model.target.linearization.trees))
    side = WORDS if config.sum_trees and form != "strings" else model.target
    tokenizer = open_tokenizer(config.tokenizer or model.tokenizer, model.languages[1])
    targets = target_records(of_targets, side, tokenizer, sides[1], bad, form)
    written = WORDS if config.sum_trees else model.target
    for (left, right), (_, source), (_, target) in zip(both, sources, targets, strict=True):
        pair = NOTHING
        latest.line = left
        try:
            if source.tokens and target.tokens:
                pair = _pair(translator, source, model.learned(target), written)
        except TreeNotDerivable as error:
            bad.leave_empty(f"line where {error}")
        except ValueError as error:
            bad.add(left.error(error))
        if bool(left.text.strip()) != bool(right.text.strip()):
            bad.leave_empty("line with an empty side")
        if max(len(pair.source.tokens), len(pair.target)) > config.max_tokens:
            bad.leave_empty(f"line of more than {config.max_tokens} tokens")
            pair = NOTHING
        yield pair


def _pair(translator: Translator, source: ParseRecord, target: ParseRecord, side: TargetSide) -> ForcedPair:
    """Return a pair. Raises ValueError, also for an unknown arc, which the model would take for an unknown word."""
    vocabulary, tokens = translator.vocabulary, side.tokens(target, translator.bpe.segment)
    lessons = side.lessons(target, tokens)
    labels = {name: lessons[name] for name in side.labels}
    unknown = [token for token in tokens if is_arc(token) and not vocabulary.knows(token)]
    for name, column in labels.items():
        unknown += [structural(each) for each in column if each and not vocabulary.knows_label(name, each)]
    if unknown:
        raise ValueError(f"the model does not know the arc {write_tokens(unknown[:1])}")
    return ForcedPair(translator.features(source), tokens, labels)


def forced_targets(translator: Translator, pairs: Sequence[ForcedPair], config: LogprobConfig) -> list[ForcedTarget]:
    """Score targets; with `sum_trees`, score only words, by `force_words` if the model writes arcs among them.

    Raises BadInput if a target has no finite probability.
    """
    try:
        if config.sum_trees and isinstance(translator.output, ArcOutput):
            return force_words(translator, pairs, translator.output, config.sum_trees)
        return force(translator, pairs)
    except FloatingPointError as error:
        raise BadInput(f"this model computes NaN or infinite values: {error}", str(translator.path)) from None


def force(translator: Translator, pairs: Sequence[ForcedPair]) -> list[ForcedTarget]:
    """Score targets, in order."""
    corpus = Corpus.empty(translator.vocabulary, translator.target, PrefixPlan(0, PREFIX_TOKENS))
    for pair in pairs:
        if pair.target:
            corpus.append(pair.source, pair.target, pair.labels)
    lengths = np.maximum(lengths_of(corpus.sources.rows), lengths_of(corpus.targets)).tolist()

    def run(indices: list[int]) -> Iterator[list[float]]:
        for part in corpus.parts(indices):
            yield from log_probabilities(translator, corpus, part)

    found = iter(in_batches(lengths, translator.batch_tokens, run))
    return [ForcedTarget(each.tokens(), next(found)) if each.target else ForcedTarget() for each in pairs]


def force_words(translator: Translator, pairs: Sequence[ForcedPair], arcs: ArcOutput, beam: int) -> list[ForcedTarget]:
    """Score the words of targets, in order, summed over the strings that a beam finds, as `sums_over_strings`."""
    some = [pair for pair in pairs if pair.target]
    vocabulary = translator.vocabulary

    def run(indices: list[int]) -> list[float]:
        source = translator.batch([some[index].source for index in indices])
        targets = [vocabulary.encode_target(some[index].target) for index in indices]
        with autocast(translator.device, translator.precision):
            return sums_over_strings(translator.model, source, targets, beam, arcs)

    lengths = [max(len(pair.source.tokens), 1 + len(pair.target)) for pair in some]
    found = iter(in_batches(lengths, translator.batch_tokens, run))
    return [ForcedTarget(each.tokens(), [next(found)]) if each.target else ForcedTarget() for each in pairs]


@torch.inference_mode()
def log_probabilities(translator: Translator, corpus: Corpus, indices: Sequence[int]) -> list[list[float]]:
    """Return the log-probabilities of the target tokens of each pair, each label after its token, the end of sentence
    last.

    Raises FloatingPointError if one is not finite.
    """
    source, target = corpus.batch(indices, translator.device)
    with autocast(translator.device, translator.precision):
        losses = translator.model.loss(source, target).each
    if not losses.isfinite().all():
        raise FloatingPointError("a target has no probability")
    labelled = [target.positions[places] for places, _ in target.labels.values()]
    order = torch.cat([2 * target.positions + 1, *(2 * each for each in labelled)]).argsort()
    sentences = torch.cat([target.positions, *labelled]) // target.inputs.shape[1]
    return [row.tolist() for row in (-losses[order]).split(sentences.bincount(minlength=len(indices)).tolist())]


def _line(forced: ForcedTarget, has_trees: bool, config: LogprobConfig) -> str:
    apart = has_trees and not config.sum_trees
    of_kinds = {"words": forced.total(False), "arcs": forced.total(True)} if apart else {}
    if config.format == "text":
        numbers = [forced.total(), *of_kinds.values()]
        return "\t".join(f"{number:.6f}" for number in numbers) if forced.tokens else ""
    fields: dict[str, Any] = {"log_probability": forced.total() if forced.tokens else None}
    if forced.tokens:
        fields |= {f"log_probability_of_{name}": value for name, value in of_kinds.items()}
    fields |= {"tokens": write_tokens(forced.tokens).split(" ") if forced.tokens else []}
    if not config.sum_trees:
        fields["log_probabilities"] = list(forced.log_probabilities)
    return msgspec.json.encode(fields).decode()
