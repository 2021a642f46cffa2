"""Constituency trees by benepar, with a faster chart parser for models with a character LSTM on a CPU.

Kitaev & Klein (2018), "Constituency parsing with a self-attentive encoder". The scores are benepar's. The speed comes
from omitting work: we do not score spans below the diagonal, encode the characters of a word once per window of lines,
and replace the first label layer of each span by the difference of two projected fenceposts.
"""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import torch
from benepar import InputSentence, subbatching
from benepar.integrations.nltk_plugin import guess_language
from benepar.ptb_unescape import ptb_unescape
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from synmt.device import local_device
from synmt.parsers.benepar_models import CharacterModel, load_model
from synmt.parsers.parser import ParserInput, SpacyTokenizer, Tokenized, tokenize
from synmt.trees.constituency import Tree, tree_of_phrases, under_one_root
from synmt.trees.record import ParseRecord

FORBIDDEN = -1e9

Span = tuple[int, int, str]
BATCH_WORDS = 500
LONGEST_SENTENCE = 510  # words, for models without a limit of their own; the chart grows with the square
SHORTEST_SHOUT = 4  # words in a sentence to lowercase; a shorter one in capitals may be a name
LONGEST_WORD = 100  # characters that the model sees; the rest would not help


class Analysis(NamedTuple):
    """The parse of a sentence of n words.

    spans: (first word, word after the last, labels joined by `::`) in preorder: every labelled span, and every single
        word, with an empty label if no phrase consists of this word alone.
    tags: parts of speech, [n].
    """

    spans: list[Span]
    tags: list[str]


class ChartScores(NamedTuple):
    """Scores of a batch: k labels (0 is no constituent), N spans in all.

    spans: [N, k], for each sentence its (i, j) with i <= j in `triangle` order.
    tags: [sum of lengths, number of tags].
    """

    spans: Tensor
    tags: Tensor


@lru_cache(maxsize=512)
def triangle(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last word of each span of an n-word sentence, row by row, [n (n + 1) / 2] each."""
    return np.triu_indices(n)


def device_of(model: CharacterModel) -> torch.device:
    device: torch.device = model.f_label[0].weight.device
    return device


class WordVectors(NamedTuple):
    """The character LSTM's vectors of words: rows of `vectors`, [2 + number of words, d / 2], by word. The first two
    rows belong to sentence start and stop."""

    rows: dict[str, int]
    vectors: Tensor

    def of(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return the vectors of sentences, from start to stop, [b, longest + 2, d / 2]."""
        rows = torch.zeros(len(sentences), max(map(len, sentences)) + 2, dtype=torch.long)
        for sentence, words in enumerate(sentences):
            rows[sentence, 1 : len(words) + 1] = torch.tensor([self.rows[word] for word in words])
            rows[sentence, len(words) + 1] = 1
        return self.vectors[rows.to(self.vectors.device)]


def word_vectors(model: CharacterModel, sentences: Sequence[Sequence[str]]) -> WordVectors:
    """Encode each distinct word once."""
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    encoded = model.retokenizer(words, return_tensors="np")
    # The retokenizer puts the start symbol first and the stop symbol last; here both come first.
    order = np.r_[0, len(words) + 1, 1 : len(words) + 1]
    characters = pack_padded_sequence(
        torch.from_numpy(encoded["char_ids"][order]).to(device_of(model)),
        torch.from_numpy(encoded["word_lens"][order]),
        batch_first=True,
        enforce_sorted=False,
    )
    real = torch.ones(1, len(order), dtype=torch.bool, device=device_of(model))
    return WordVectors({word: row for row, word in enumerate(words, 2)}, model.char_encoder(characters, real)[0])


def score(model: CharacterModel, sentences: Sequence[Sequence[str]], words: WordVectors) -> ChartScores:
    """Return the scores of sentences, given the vectors of their words."""
    lengths = torch.tensor([len(words) for words in sentences], device=device_of(model))
    mask = torch.arange(int(lengths.max()) + 2, device=device_of(model)) < lengths[:, None] + 2
    encoded = model.encoder(model.add_timing(model.morpho_emb_dropout(words.of(sentences))), mask)
    encoded = torch.cat([encoded[..., 0::2], encoded[..., 1::2]], -1)
    is_word = mask.clone()
    is_word[:, 0] = False
    is_word[torch.arange(len(sentences), device=device_of(model)), lengths + 1] = False

    half = model.d_model // 2
    fenceposts = torch.cat([encoded[:, :-1, :half], encoded[:, 1:, half:]], -1)
    first, *rest = model.f_label
    projected = F.linear(fenceposts, first.weight).flatten(0, 1)
    starts, ends = [], []
    for sentence, length in enumerate(lengths.tolist()):
        firsts, lasts = triangle(length)
        offset = sentence * fenceposts.shape[1]
        starts.append(firsts + offset)
        ends.append(lasts + offset + 1)
    hidden = (
        projected[torch.from_numpy(np.concatenate(ends))]
        - projected[torch.from_numpy(np.concatenate(starts))]
        + first.bias
    )
    for layer in rest:
        hidden = layer(hidden)
    return ChartScores(F.pad(hidden, (1, 0)), model.f_tag(encoded[is_word]))


def best_spans(values: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Return the flat indices of the spans of each sentence's best binary tree, by CKY, [sum of 2 n - 1].

    values: the best label's score of every span, in `triangle` order, [N].
    """
    count, n = len(lengths), max(lengths)
    chart = np.zeros((count, n, n), dtype=np.float32)
    flat = np.full((count, n, n), -1)
    offset = 0
    for sentence, length in enumerate(lengths):
        firsts, lasts = triangle(length)
        chart[sentence, firsts, lasts] = values[offset : offset + len(firsts)]
        flat[sentence, firsts, lasts] = np.arange(offset, offset + len(firsts))
        offset += len(firsts)
    by_start = np.zeros((count, n, n), dtype=np.float32)  # [sentence, first word, width - 1]
    by_end = np.zeros((count, n, n), dtype=np.float32)  # [sentence, last word, width - 1]
    splits = np.zeros((count, n, n), dtype=np.int64)
    diagonal = np.arange(n)
    by_start[:, :, 0] = by_end[:, :, 0] = chart[:, diagonal, diagonal]
    for width in range(1, n):
        firsts = np.arange(n - width)
        sums = by_start[:, : n - width, :width] + by_end[:, width:, width - 1 :: -1][:, :, :width]
        split = sums.argmax(-1)
        best = np.take_along_axis(sums, split[..., None], -1)[..., 0] + chart[:, firsts, firsts + width]
        by_start[:, : n - width, width] = best
        by_end[:, width:, width] = best
        splits[:, firsts, firsts + width] = split
    chosen: list[int] = []
    for sentence, length in enumerate(lengths):
        split_of, index_of = splits[sentence].tolist(), flat[sentence].tolist()
        open_spans = [(0, length - 1)]
        while open_spans:
            i, j = open_spans.pop()
            chosen.append(index_of[i][j])
            if i < j:
                middle = i + split_of[i][j]
                open_spans += [(middle + 1, j), (i, middle)]
    return np.array(chosen)


def roots(lengths: Sequence[int]) -> Tensor:
    """Return the flat index of each sentence's whole span, [b]."""
    sizes = np.array([length * (length + 1) // 2 for length in lengths])
    return torch.from_numpy(np.cumsum(sizes) - sizes + np.array(lengths) - 1)


@torch.no_grad()
def predict(model: CharacterModel, sentences: Sequence[Sequence[str]], words: WordVectors) -> list[Analysis]:
    """Return the best tree of each sentence, given the vectors of its words. The model must be in evaluation mode."""
    lengths = [len(sentence) for sentence in sentences]
    scores = score(model, sentences, words)
    scores.spans[roots(lengths), 0] = FORBIDDEN
    values, labels = scores.spans.max(-1)
    chosen = best_spans(values.cpu().numpy(), lengths)
    chosen_labels = labels.cpu().numpy()[chosen].tolist()
    tags = scores.tags.argmax(-1).tolist()
    label_names = {index: label for label, index in model.label_vocab.items()}
    tag_names = {index: tag for tag, index in model.tag_vocab.items()}
    analyses = []
    spans_before = words_before = at = 0
    for n in lengths:
        firsts, lasts = triangle(n)
        own = chosen[at : at + 2 * n - 1] - spans_before
        spans = zip(firsts[own].tolist(), (lasts[own] + 1).tolist(), chosen_labels[at : at + 2 * n - 1], strict=True)
        analyses.append(
            Analysis(
                [(start, end, label_names[label]) for start, end, label in spans if label or end - start == 1],
                [tag_names[tag] for tag in tags[words_before : words_before + n]],
            )
        )
        spans_before += len(firsts)
        words_before += n
        at += 2 * n - 1
    return analyses


class BeneparParser:
    """benepar with the embedded model or another, on raw text (spaCy's tokens) or on tokens."""

    def __init__(self, model: str | None = None, device: str = "cpu", trust_pickle: bool = False) -> None:
        """Open the model. Raises ModelError, and BadInput if there is no such device."""
        self.unparsed = 0
        self._model = load_model(model, trust_pickle).to(local_device(device))
        self._tokenizer = SpacyTokenizer(guess_language(self._model.label_vocab) or "xx")
        timing = self._model.add_timing
        self._longest = LONGEST_SENTENCE if timing is None else timing.timing_table.shape[0] - 2

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        tokenized = [tokenize(line, self._tokenizer.split) for line in lines]
        records = [line.record() for line in tokenized]
        for record, tree in zip(records, self.trees(tokenized), strict=True):
            record.tree = tree
        return records

    def trees(self, lines: Sequence[Tokenized]) -> list[Tree | None]:
        """Return one tree per line, with the trees of several sentences under one root.

        A line without words, or with a sentence that is too long, gives None.
        """
        analyses = iter(self._analyses(lines))
        return [self._tree(line, [next(analyses) for _ in line.sentences]) for line in lines]

    def _analyses(self, lines: Sequence[Tokenized]) -> list[Analysis | None]:
        """Return the analysis of each sentence of the lines, None for sentences over the model's limit."""
        sentences = [
            InputSentence(words=as_in_treebanks(words), space_after=spaces)
            for line in lines
            for words, spaces in zip(line.sentences, line.sentence_spaces(), strict=True)
        ]
        parsable = [self._parsable(sentence) for sentence in sentences]
        short = list(compress(sentences, parsable))
        parse = chart_analyses if isinstance(self._model, CharacterModel) else benepar_analyses
        found = iter(parse(self._model, short) if short else ())
        return [next(found) if each else None for each in parsable]

    def _parsable(self, sentence: InputSentence) -> bool:
        """Return whether the sentence is within the model's limits on words and, for some models, subwords."""
        if len(sentence.words) > self._longest:
            return False
        if self._model.char_encoder is None:
            try:
                self._model.encode(sentence)
            except ValueError:
                return False
        return True

    def _tree(self, line: Tokenized, analyses: Sequence[Analysis | None]) -> Tree | None:
        found = [each for each in analyses if each is not None]
        self.unparsed += len(analyses) - len(found)
        if not found or len(found) < len(analyses):
            return None
        trees = zip(line.sentences, found, strict=True)
        return under_one_root([tree_of_spans(words, each.tags, each.spans) for words, each in trees])


@torch.no_grad()
def chart_analyses(model: CharacterModel, sentences: Sequence[InputSentence]) -> list[Analysis]:
    """Return the best trees by our fast chart parser, in batches of similar length."""
    tokens = [sentence.words for sentence in sentences]
    words = word_vectors(model, tokens)
    analyses: list[Analysis] = subbatching.map(
        lambda batch: predict(model, batch, words), tokens, costs=list(map(len, tokens)), max_cost=BATCH_WORDS
    )
    return analyses


def benepar_analyses(model: Any, sentences: Sequence[InputSentence]) -> list[Analysis]:
    """Return the best trees by benepar's own parser, which works with every model."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch_struct")
        outputs = model.parse(sentences, return_compressed=True, subbatch_max_tokens=BATCH_WORDS)
    labels, tags = model.decoder.label_from_index, model.tag_from_index
    analyses = []
    for sentence, output in zip(sentences, outputs, strict=True):
        spans = zip(output.starts.tolist(), output.ends.tolist(), output.labels.tolist(), strict=True)
        named_tags = ["UNK"] * len(sentence.words) if output.tags is None else [tags[tag] for tag in output.tags]
        analyses.append(Analysis([(start, end, labels[label]) for start, end, label in spans], named_tags))
    return analyses


def tree_of_spans(words: Sequence[str], tags: Sequence[str], spans: Sequence[Span]) -> Tree:
    """Return the tree of the spans of an analysis."""
    phrases = [(start, end, label) for start, end, labels in spans for label in labels.split("::") if label]
    if len(words) > 1 and not spans[0][2]:
        phrases.insert(0, (0, len(words), "TOP"))
    return tree_of_phrases(phrases, tags, words)


def as_in_treebanks(words: Sequence[str]) -> list[str]:
    """Return words as the model has seen them in treebanks.

    Normalizes quotes, dashes and brackets, truncates very long words, and lowercases sentences in capitals, which
    treebanks hardly have.
    """
    seen = [word[:LONGEST_WORD] or word for word in ptb_unescape(words)]
    in_capitals = len(seen) >= SHORTEST_SHOUT and "".join(seen).isupper()
    return [word.lower() for word in seen] if in_capitals else seen
