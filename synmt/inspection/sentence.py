"""A sentence as a model's encoder reads it or its decoder writes it, with each head's attention and mask strengths.

Figure 2 of McDonald & Chiang (NAACL SRW 2021) shows strengths. Rows are queries, columns are keys.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synmt.components.contract import Layout
from synmt.components.output import Hypothesis
from synmt.data.batches import Sources
from synmt.data.records import source_records
from synmt.data.words import sides_of_model
from synmt.inspection.matrix import Legend, Matrix
from synmt.inspection.strengths import Strengths, mask_parts, mask_strengths, strengths_legend
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.nn.attention import Recorder
from synmt.nn.encoding import SourceBatch, encoder_hooks
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.translation import Translator
from synmt.streams import BadInput, Line, counted
from synmt.text.bpe import JOINER
from synmt.text.vocabulary import is_structural
from synmt.trees.record import ParseRecord

Weights = npt.NDArray[np.float32]
BEGIN = " <s>"
Quantity = Literal["weights", "strengths"]


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A record of n tokens in an encoder or decoder of L layers with H heads.

    weights: attention of each token (row), [L,H,n,n].
    owners: components that own heads, by layer from 1 and head from 0.
    mask: the strength of each mask; strengths: the strength for each pair of tokens, [1 or L,H,n,n]. Both are None in a
    model without masks.
    """

    record: ParseRecord
    layout: Layout
    weights: Weights
    owners: dict[tuple[int, int], str]
    mask: Strengths | None = None
    strengths: Weights | None = None

    def head_name(self, layer: int, head: int) -> str:
        """Return the name of a head; layer and head count from 0."""
        owner = self.owners.get((layer + 1, head))
        return f"head {head + 1}" + (f" ({owner})" if owner else "")


@torch.inference_mode()
def read_sentence(folder: ModelFolder[ModelConfig], line: Line) -> ReadSentence:
    """Encode one line: text, a parse record or a mask record.

    Raises BadInput for a line without a sentence or without a field that the model needs, and if attention weights are
    not numbers.
    """
    record, batch = source_of(folder, line)
    side = folder.config.source
    model = folder.load_model(torch.device("cpu"))
    with Recorder([layer.attention for layer in model.network.encoder.layers]) as recorder:
        model.encode(batch)
    weights = as_numbers(recorder.weights, folder)
    mask = mask_strengths(model, folder.vocabulary, str(folder.path))
    return ReadSentence(
        record,
        side.layout(folder.config.learned(record), folder.bpe.segment),
        weights,
        side.owners(folder.config.network),
        mask,
        _of_pairs(model, batch) if mask else None,
    )


def source_of(folder: ModelFolder[ModelConfig], line: Line) -> tuple[ParseRecord, SourceBatch]:
    """Return the record of a line, and the encoder's input. Raises BadInput."""
    side = folder.config.source
    ((_, record),) = source_records([line], side.needs(training=False), sides_of_model(folder.config)[0], strict=True)
    if not record.tokens:
        raise line.error("no sentence")
    with line.naming():
        features = side.features(folder.config.learned(record), folder.bpe.segment)
    sources = Sources.encode([features], folder.vocabulary)
    return record, sources.batch([0], folder.vocabulary.padding, torch.device("cpu"))


def as_numbers(weights: Sequence[Tensor], folder: ModelFolder[ModelConfig]) -> Weights:
    """Join the weights of all layers, [1,H,n,n] → [L,H,n,n]. Raises BadInput for weights that are not numbers."""
    numbers: Weights = torch.cat(list(weights)).float().numpy()
    if not np.isfinite(numbers).all():
        raise BadInput("the attention of some head is not a number", str(folder.path))
    return numbers


def _of_pairs(model: TranslationModel, batch: SourceBatch) -> Weights:
    """Return the combined strength of all masks for each pair of tokens, nan where no mask applies: [1 or L,H,n,n]."""
    edits = encoder_hooks(mask_parts(model), batch, model.network.config).edits
    shared = all(edit is edits[0] for edit in edits)
    hidden = -torch.cat([edit.bias for edit in (edits[:1] if shared else edits) if edit.bias is not None])
    strengths: Weights = hidden.log().masked_fill(hidden == 0, float("nan")).float().numpy()
    return strengths


@torch.inference_mode()
def read_translation(folder: ModelFolder[ModelConfig], line: Line) -> ReadSentence:
    """Translate one line, and return the best translation as the decoder reads it at the last token. Raises BadInput.

    The tokens are the begin of sentence, subwords, and arcs if the decoder writes any; the record has their tree.
    """
    _, source = source_of(folder, line)
    model: TranslationModel = folder.load_model(torch.device("cpu"))
    translator = Translator(model, folder, SearchConfig(), TranslateConfig(format="jsonl"))
    vocabulary, target = folder.vocabulary, folder.config.target
    hypotheses = list[Hypothesis]()
    with suppress(FloatingPointError):
        (hypotheses,) = beam_search(model, source, translator.search, translator.output)
    record = translator.distinct(hypotheses)[0].record()
    best = hypotheses[0]
    steps = [vocabulary.target[number] for number in best.ids]
    inputs = torch.tensor([[model.begin, *best.ids]])
    automaton = target.automaton(vocabulary)
    found = automaton.fields(steps) if automaton else {}
    fields = {name: torch.tensor(values, dtype=torch.int64).unsqueeze(0) for name, values in found.items()}
    encoded = model.encode(source)
    with Recorder([layer.attention for layer in model.network.decoder_layers]) as recorder:
        model.decoder.read(model.network, inputs, fields, encoded)
    weights = as_numbers(recorder.weights, folder)
    layout = Layout([BEGIN, *steps], _words([BEGIN, *steps]))
    return ReadSentence(record, layout, weights, target.owners(folder.config.network))


def _words(entries: list[str]) -> list[int]:
    """Return the word that each subword belongs to, -1 for arcs and the begin of sentence."""
    words = []
    word = 0
    for entry in entries:
        words.append(-1 if is_structural(entry) else word)
        word += not is_structural(entry) and not entry.endswith(JOINER)
    return words


def head_matrices(
    sentence: ReadSentence, quantity: Quantity, layer: int, head: int | None, subwords: bool = False
) -> tuple[list[Matrix], Legend]:
    """Return the matrices of one head or all heads of a layer; layers and heads count from 1. Raises BadInput if the
    model lacks them.

    subwords: whether each subword has its own row and column, not each word.
    """
    layers, heads = sentence.weights.shape[:2]
    if not 1 <= layer <= layers or (head is not None and not 1 <= head <= heads):
        sizes = f"{counted(layers, 'layer')} of {counted(heads, 'head')}"
        raise BadInput(f"no head {head or 1} in layer {layer}: the model has {sizes}")
    values, legend = of_all_heads(sentence, quantity)
    tokens, own = sentence.layout.tokens, values[layer - 1]
    if not subwords:
        tokens, own = _of_words(sentence, own, quantity)
    chosen = range(heads) if head is None else [head - 1]
    shared = quantity == "strengths" and sentence.strengths is not None and len(sentence.strengths) == 1
    place = "" if shared else f"layer {layer}, "
    matrices = [Matrix(place + sentence.head_name(layer - 1, h), tokens, tokens, own[h]) for h in chosen]
    if quantity == "weights":
        legend = replace(legend, high=max(float(matrix.values.max()) for matrix in matrices))
    return matrices, legend


def _of_words(sentence: ReadSentence, values: Weights, quantity: Quantity) -> tuple[list[str], Weights]:
    """Return the words, and the values between them, [H,m,m]. Tokens that are not in a word stay as they are.

    values: between n tokens, [H,n,n]. A word gets the sum of the weights of its subwords as keys, and the mean over its
    subwords as queries, so rows sum to one; strengths are means over the pairs that have one.
    """
    tokens, words = sentence.layout.tokens, sentence.layout.words
    starts = [n for n, word in enumerate(words) if word < 0 or not n or words[n - 1] != word]
    ends = [*starts[1:], len(tokens)]
    names = ["".join(token.removesuffix(JOINER) for token in tokens[i:j]) for i, j in zip(starts, ends, strict=True)]
    own = sentence.record.tokens
    if max(words) + 1 == len(own):  # as in the text, without marks of the tokenizer
        names = [own[words[i]] if words[i] >= 0 else name for i, name in zip(starts, names, strict=True)]
    members = np.zeros((len(starts), len(tokens)), dtype=np.float32)  # [m,n]
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        members[row, start:end] = 1
    present = ~np.isnan(values)
    sums = members @ np.where(present, values, 0) @ members.T
    if quantity == "weights":
        return names, (sums / members.sum(axis=1)[:, None]).astype(np.float32)
    counts = members @ present.astype(np.float32) @ members.T
    return names, np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0).astype(np.float32)


def of_all_heads(sentence: ReadSentence, quantity: Quantity) -> tuple[Weights, Legend]:
    """Return the values of all heads, [L,H,n,n], and a common scale. Raises BadInput for strengths without masks."""
    if quantity == "weights":
        most = float(sentence.weights.max())
        return sentence.weights, Legend("query", "key", "attention weight", "Blues", 0.0, most)
    if sentence.mask is None or sentence.strengths is None:
        raise BadInput("the model has no masks, so its heads have no strengths")
    legend = strengths_legend("query", "key", [sentence.mask])
    most = max(legend.high, float(np.nanmax(sentence.strengths, initial=legend.high)))  # masks add up
    return np.broadcast_to(sentence.strengths, sentence.weights.shape), replace(legend, high=most)
