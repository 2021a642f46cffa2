"""The model of `mask-align` (synmt.systems.mask_align): both directions on two tables of embeddings.

Shapes: B pairs, J source and I target pieces, n tokens that an encoder reads, d width.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.agreement import agreement_loss, entropy_loss
from synmt.nn.config import TransformerConfig
from synmt.nn.dropout import dropout
from synmt.nn.encoding import SourceBatch, with_hidden_keys
from synmt.nn.linking import guided_loss, weights_of_words
from synmt.nn.losses import smoothed_cross_entropy
from synmt.nn.positions import Sinusoids
from synmt.nn.static import LinkingAttention, LinkingDecoder
from synmt.nn.transformer import LAYER_NORM_EPS, EncoderLayer
from synmt.systems.mask_align import MaskAlign
from synmt.systems.source import SourceSide
from synmt.systems.translation import drop_words, encoder_pass, hiding_bias, source_parts
from synmt.text.vocabulary import Vocabulary


@dataclass(slots=True)
class SideBatch:
    """One side of B pairs: what its encoder reads, and the pieces that the other direction predicts.

    pieces [B,J]; words [B,J]: which word each piece is of; padding [B,J] bool, None if there is none; places [B,J]:
    where each piece stands in what the encoder reads, None if that is the pieces and nothing else.
    """

    read: SourceBatch
    pieces: Tensor
    words: Tensor
    padding: Tensor | None
    places: Tensor | None

    @property
    def real(self) -> Tensor:
        """Where there is a piece, [B,J]."""
        return torch.ones_like(self.pieces, dtype=torch.bool) if self.padding is None else ~self.padding


@dataclass(slots=True)
class AlignerLoss:
    """translation: cross-entropy of the pieces of both sides, summed; tokens: how many these are; mean: the whole
    loss, each of its parts a mean over the batch."""

    translation: Tensor
    tokens: int
    mean: Tensor

    def total(self) -> Tensor:
        return self.mean * self.tokens


class Half(nn.Module):
    """One direction: an encoder of x, and a decoder that predicts y from it."""

    def __init__(
        self, config: TransformerConfig, options: MaskAlign, guided: bool, side: SourceSide, vocabulary: Vocabulary
    ) -> None:
        """side and vocabulary: of x."""
        super().__init__()
        pre = config.norm == "pre"
        self.width, self.dropout, self.guided = config.width, config.dropout, guided
        self.source_parts = source_parts(config, side, vocabulary)
        self.source_bias = nn.Parameter(torch.zeros(config.width))
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(config.width, eps=LAYER_NORM_EPS) if pre else nn.Identity()
        self.decoder = LinkingDecoder(config, options.causal, not options.no_leak)
        self.positions = Sinusoids(config.width)

    def encode(self, x: SideBatch, embeddings: Tensor, word_dropout: float) -> Tensor:
        """States of the pieces [B,J,d]; embeddings [V,d] of x."""
        this = encoder_pass(self.source_parts, x.read, len(self.encoder))
        vectors = self._embedded(drop_words(x.read.ids, word_dropout), embeddings)
        if this.features is not None:
            vectors = torch.cat([vectors[..., : -this.features.shape[-1]], this.features], dim=-1)
        states = self._placed(vectors + self.source_bias)
        for layer, edit in zip(self.encoder, with_hidden_keys(this.edits, x.read.padding), strict=True):
            states = layer(states, edit)
        states = self.encoder_norm(states)
        if x.places is None:
            return states
        return states.gather(1, x.places.unsqueeze(2).expand(-1, -1, self.width))

    def forward(
        self, x: SideBatch, y: SideBatch, tables: tuple[Tensor, Tensor], begin: int, word_dropout: float
    ) -> tuple[Tensor, Tensor]:
        """States [B,I,d] to predict the pieces of y from, and the weights W_xy [B,I,J].

        tables: embeddings of x and y; begin: the id that stands before y.
        """
        encoded, bias = self.encode(x, tables[0], word_dropout), hiding_bias(x.padding)
        inputs = self._inputs(drop_words(y.pieces, word_dropout), tables[1], begin)
        states, weights = self.decoder(*inputs, y.padding, encoded, bias)
        if self.guided:
            weights = self._guided_weights(x, y, inputs[1], encoded, bias)
        return states, weights

    def weights(self, x: SideBatch, y: SideBatch, tables: tuple[Tensor, Tensor], begin: int) -> Tensor:
        """W_xy alone."""
        inputs = self._inputs(y.pieces, tables[1], begin)
        encoded, bias = self.encode(x, tables[0], 0.0), hiding_bias(x.padding)
        if self.guided:
            return self._guided_weights(x, y, inputs[1], encoded, bias)
        return self.decoder.weights(*inputs, y.padding, encoded, bias)

    def _guided_weights(
        self, x: SideBatch, y: SideBatch, pieces: Tensor, encoded: Tensor, bias: Tensor | None
    ) -> Tensor:
        weights = self.decoder.full_context_weights(pieces, y.padding, encoded, bias)
        return weights_of_words(weights, x.words)

    def _inputs(self, ids: Tensor, embeddings: Tensor, begin: int) -> tuple[Tensor, Tensor]:
        """The decoder's queries and words, [B,I,d] each."""
        if self.decoder.causal:
            before = F.pad(ids, (1, -1), value=begin)
            states = self._placed(self._embedded(before, embeddings))
            return states, states
        words = self._placed(self._embedded(ids, embeddings))
        return self._placed(torch.zeros_like(words)), words

    def _embedded(self, ids: Tensor, embeddings: Tensor) -> Tensor:
        return F.embedding(ids, embeddings) * self.width**0.5

    def _placed(self, vectors: Tensor) -> Tensor:
        return dropout(vectors + self.positions(vectors.shape[1]), self.dropout, self.training)


class MaskAlignModel(nn.Module):
    """Source x and target y; `forth` predicts y from x, and `back` x from y."""

    def __init__(
        self,
        config: TransformerConfig,
        options: MaskAlign,
        guided: bool,
        sides: tuple[SourceSide, SourceSide],
        vocabularies: tuple[Vocabulary, Vocabulary],
    ) -> None:
        super().__init__()
        self.options = options
        self.vocabularies = vocabularies
        self.tables = nn.ParameterList(torch.empty(len(each), config.width) for each in vocabularies)
        self.forth, self.back = (
            Half(config, options, guided, side, vocabulary)
            for side, vocabulary in zip(sides, vocabularies, strict=True)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier normal for each product as one matrix, zero biases, embeddings and leaks N(0, 1/d)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, LinkingAttention) and module.leak is not None:
                nn.init.normal_(module.leak, std=module.leak.shape[1] ** -0.5)
        for half in (self.forth, self.back):
            half.decoder.reset_memories()
        for table in self.tables:
            nn.init.normal_(table, std=table.shape[1] ** -0.5)

    def weights(self, x: SideBatch, y: SideBatch) -> tuple[Tensor, Tensor]:
        """W_xy [B,I,J] and W_yx [B,J,I], zero where padded."""
        (x_table, y_table), (x_vocabulary, y_vocabulary) = self.tables, self.vocabularies
        forward = self.forth.weights(x, y, (x_table, y_table), y_vocabulary.begin)
        backward = self.back.weights(y, x, (y_table, x_table), x_vocabulary.begin)
        return forward * y.real.unsqueeze(2), backward * x.real.unsqueeze(2)

    def predicted(self, x: SideBatch, y: SideBatch) -> Tensor:
        """Whether each piece of y is the most likely one in its place, [B,I] bool."""
        _, vocabulary = self.vocabularies
        states, _ = self.forth(x, y, tuple(self.tables), vocabulary.begin, 0.0)
        logits = F.linear(states, self.tables[1][: len(vocabulary.target)])
        return (logits.argmax(dim=2) == y.pieces) & y.real

    def loss(
        self,
        x: SideBatch,
        y: SideBatch,
        links: Tensor | None,
        smoothing: float = 0.0,
        word_dropout: float = 0.0,
    ) -> AlignerLoss:
        """links [k,3]: batch row, target and source piece of each link to learn."""
        (x_table, y_table), (x_vocabulary, y_vocabulary) = self.tables, self.vocabularies
        states, forward = self.forth(x, y, (x_table, y_table), y_vocabulary.begin, word_dropout)
        of_y = _cross_entropy(states, y, y_table[: len(y_vocabulary.target)], smoothing)
        states, backward = self.back(y, x, (y_table, x_table), x_vocabulary.begin, word_dropout)
        of_x = _cross_entropy(states, x, x_table[: len(x_vocabulary.target)], smoothing)
        counts = int(y.real.sum()), int(x.real.sum())
        mean = of_y / counts[0] + of_x / counts[1]
        if self.options.loss_form == "code":
            mean = mean / 2
        if not self.options.no_agreement:
            mean = mean + self._agreement(forward, backward, x, y)
        if links is not None:
            mean = mean + self.options.guidance * _guided(forward, backward, links)
        return AlignerLoss((of_y + of_x).detach(), sum(counts), mean)

    def _agreement(self, forward: Tensor, backward: Tensor, x: SideBatch, y: SideBatch) -> Tensor:
        """α times the disagreement and β times both entropies."""
        options = self.options
        cells = y.real.unsqueeze(2) & x.real.unsqueeze(1)
        forward, backward = forward * cells, backward * cells.transpose(1, 2)
        entropies = sum(
            entropy_loss(weights, each, options.entropy_smoothing, options.loss_form)
            for weights, each in ((forward, cells), (backward, cells.transpose(1, 2)))
        )
        return options.agreement * agreement_loss(forward, backward, cells) + options.entropy * entropies


def _cross_entropy(states: Tensor, side: SideBatch, embeddings: Tensor, smoothing: float) -> Tensor:
    """Summed over the pieces of a side; states [B,I,d], embeddings [T,d]."""
    bias = torch.zeros(len(embeddings), device=states.device)
    return smoothed_cross_entropy(states[side.real], embeddings, bias, side.pieces[side.real], smoothing)


def _guided(forward: Tensor, backward: Tensor, links: Tensor) -> Tensor:
    """Of both directions, each a mean over the words that have links."""
    row, target, source = links.unbind(dim=1)
    flipped = torch.stack([row, source, target], dim=1)
    parts = [
        guided_loss(weights, each) / max(1, len(each[:, :2].unique(dim=0)))
        for weights, each in ((forward, links), (backward, flipped))
    ]
    return parts[0] + parts[1]
