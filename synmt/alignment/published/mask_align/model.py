"""The network of mask-align: both directions, which share two embedding tables (see aligner.py).

Shapes: B pairs, J source and I target subwords, n input tokens of an encoder, d width.
"""

from typing import TYPE_CHECKING, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.alignment.corpus import SideBatch
from synmt.alignment.published.attention.weights import first_order_posteriors, guided_loss, weights_of_words
from synmt.alignment.published.mask_align.decoder import StaticDecoder
from synmt.model.source import SourceSide
from synmt.model.translation import drop_words, source_parts
from synmt.nn.attention import CrossAttention, Recorder
from synmt.nn.config import TransformerConfig
from synmt.nn.dropout import dropout
from synmt.nn.encoding import encoder_hooks, hiding_bias
from synmt.nn.losses import Loss, smoothed_cross_entropy
from synmt.nn.positions import Sinusoids
from synmt.nn.transformer import Encoder, final_norm
from synmt.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from synmt.alignment.published.mask_align.config import MaskAlignConfig


class DirectedModel(nn.Module):
    """One direction: an encoder of x, and a decoder that predicts y from it."""

    def __init__(
        self,
        config: TransformerConfig,
        options: "MaskAlignConfig",
        guided: bool,
        side: SourceSide,
        vocabulary: Vocabulary,
    ) -> None:
        """side and vocabulary: the encoder and the vocabulary of x."""
        super().__init__()
        self.config, self.guided = config, guided
        self.source_parts = source_parts(config, side, vocabulary)
        self.source_bias = nn.Parameter(torch.zeros(config.width))
        self.encoder = Encoder(config)
        self.encoder_norm = final_norm(config)
        self.decoder = StaticDecoder(config, options.causal, not options.no_leak)
        self.positions = Sinusoids(config.width)
        self.diagonal = nn.Parameter(torch.empty(config.heads)) if options.diagonal else None

    def encode(self, x: SideBatch, embeddings: Tensor, word_dropout: float) -> Tensor:
        """Return the states of the subwords [B,J,d]; embeddings [V,d] of x."""
        hooks = encoder_hooks(self.source_parts.values(), x.read, self.config)
        vectors = hooks.embed(self._embedded(drop_words(x.read.ids, word_dropout), embeddings))
        states = self.encoder_norm(self.encoder(self._placed(vectors + self.source_bias), hooks))
        if x.places is None:
            return states
        return states.gather(1, x.places.unsqueeze(2).expand(-1, -1, self.config.width))

    def forward(
        self, x: SideBatch, y: SideBatch, tables: tuple[Tensor, Tensor], begin: int, word_dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Return states [B,I,d] from which to predict the subwords of y, and the weights W_xy [B,I,J].

        tables: embeddings of x and y; begin: the id before the first word of y.
        """
        encoded, bias = self.encode(x, tables[0], word_dropout), self._bias(x, y)
        queries, words = self._inputs(drop_words(y.subwords, word_dropout), tables[1], begin)
        with Recorder([self.decoder.last_crossing]) as recorder:
            states = self.decoder(queries, words, y.padding, encoded, bias)
        if self.guided:
            return states, self._guided_weights(x, y, words, encoded, bias)
        return states, recorder.weights[0].mean(dim=1)

    def weights(self, x: SideBatch, y: SideBatch, tables: tuple[Tensor, Tensor], begin: int) -> Tensor:
        """Return only W_xy, which is cheaper."""
        queries, words = self._inputs(y.subwords, tables[1], begin)
        encoded, bias = self.encode(x, tables[0], 0.0), self._bias(x, y)
        if self.guided:
            return self._guided_weights(x, y, words, encoded, bias)
        with Recorder([self.decoder.last_crossing], stop=True) as recorder:
            self.decoder(queries, words, y.padding, encoded, bias)
        return recorder.weights[0].mean(dim=1)

    def posteriors(self, x: SideBatch, y: SideBatch, tables: tuple[Tensor, Tensor], vocabulary: Vocabulary) -> Tensor:
        """Return the posterior of W_xy given each y_i (attention/weights.py)."""
        with torch.enable_grad():
            queries, words = self._inputs(y.subwords, tables[1], vocabulary.begin)
            encoded, bias = self.encode(x, tables[0], 0.0), self._bias(x, y)
            with Recorder([self.decoder.last_crossing], cut=True) as recorder:
                states = self.decoder(queries, words, y.padding, encoded, bias)
            likelihood = -_cross_entropy(states, y, tables[1][: len(vocabulary.target)], 0.0)
            found = first_order_posteriors(recorder.weights[0], likelihood)
        return found[..., -encoded.shape[1] :]

    def _bias(self, x: SideBatch, y: SideBatch) -> Tensor | None:
        """Return a bias for the logits of attention to x, broadcastable to [B,H,I,J]."""
        hidden = hiding_bias(x.padding)
        if self.diagonal is None:
            return hidden
        near = -self.diagonal.clamp(min=0)[:, None, None] * distances(y.real, x.real).unsqueeze(1)
        return near if hidden is None else near + hidden

    def _guided_weights(
        self, x: SideBatch, y: SideBatch, words: Tensor, encoded: Tensor, bias: Tensor | None
    ) -> Tensor:
        """Return the weights of a pass without predictions: each position starts as its word and sees all words."""
        with Recorder([self.decoder.last_crossing], stop=True) as recorder:
            self.decoder(words, words, y.padding, encoded, bias, full=True)
        return weights_of_words(recorder.weights[0].mean(dim=1), x.words)

    def _inputs(self, ids: Tensor, embeddings: Tensor, begin: int) -> tuple[Tensor, Tensor]:
        """Return the decoder's queries and words, [B,I,d] each."""
        if self.decoder.causal:
            before = F.pad(ids, (1, -1), value=begin)
            states = self._placed(self._embedded(before, embeddings))
            return states, states
        words = self._placed(self._embedded(ids, embeddings))
        return self._placed(torch.zeros_like(words)), words

    def _embedded(self, ids: Tensor, embeddings: Tensor) -> Tensor:
        return F.embedding(ids, embeddings) * self.config.width**0.5

    def _placed(self, vectors: Tensor) -> Tensor:
        return dropout(vectors + self.positions(vectors.shape[1]), self.config.dropout, self.training)


class MaskAlignModel(nn.Module):
    """x is the source and y the target; the forward model predicts y from x, and the backward model x from y."""

    def __init__(
        self,
        config: TransformerConfig,
        options: "MaskAlignConfig",
        guided: bool,
        encoders: tuple[SourceSide, SourceSide],
        vocabularies: tuple[Vocabulary, Vocabulary],
    ) -> None:
        super().__init__()
        self.options = options
        self.vocabularies = vocabularies
        self.tables = nn.ParameterList(torch.empty(len(each), config.width) for each in vocabularies)
        self.forward_model, self.backward_model = (
            DirectedModel(config, options, guided, side, vocabulary)
            for side, vocabulary in zip(encoders, vocabularies, strict=True)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize each product as one matrix by normal Xavier, embeddings and leaks from N(0, 1/d)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, CrossAttention) and module.leak is not None:
                nn.init.normal_(module.leak, std=module.leak.shape[1] ** -0.5)
        for directed in (self.forward_model, self.backward_model):
            directed.decoder.reset_memories()
        for table in self.tables:
            nn.init.normal_(table, std=table.shape[1] ** -0.5)
        for directed in (self.forward_model, self.backward_model):
            if directed.diagonal is not None:
                nn.init.constant_(directed.diagonal, self.options.diagonal)

    def weights(self, x: SideBatch, y: SideBatch) -> tuple[Tensor, Tensor]:
        """Return W_xy [B,I,J] and W_yx [B,J,I], zero at padding."""
        (x_table, y_table), (x_vocabulary, y_vocabulary) = self.tables, self.vocabularies
        forward = self.forward_model.weights(x, y, (x_table, y_table), y_vocabulary.begin)
        backward = self.backward_model.weights(y, x, (y_table, x_table), x_vocabulary.begin)
        return forward * y.real.unsqueeze(2), backward * x.real.unsqueeze(2)

    def posteriors(self, x: SideBatch, y: SideBatch) -> tuple[Tensor, Tensor]:
        """Return r_xy [B,I,J] and r_yx [B,J,I], zero at padding."""
        (x_table, y_table), (x_vocabulary, y_vocabulary) = self.tables, self.vocabularies
        forward = self.forward_model.posteriors(x, y, (x_table, y_table), y_vocabulary)
        backward = self.backward_model.posteriors(y, x, (y_table, x_table), x_vocabulary)
        return forward * y.real.unsqueeze(2), backward * x.real.unsqueeze(2)

    def predicted(self, x: SideBatch, y: SideBatch) -> Tensor:
        """Return whether each subword of y is the most likely one at its position, [B,I] bool."""
        _, vocabulary = self.vocabularies
        states, _ = self.forward_model(x, y, tuple(self.tables), vocabulary.begin, 0.0)
        logits = F.linear(states, self.tables[1][: len(vocabulary.target)])
        return (logits.argmax(dim=2) == y.subwords) & y.real

    def loss(
        self, x: SideBatch, y: SideBatch, links: Tensor | None, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Return the losses of a batch: `translation` is summed over the subwords of both sides, and `total` is their
        number times the mean loss.

        links [k,3]: batch row, target subword and source subword of each link to learn.
        """
        (x_table, y_table), (x_vocabulary, y_vocabulary) = self.tables, self.vocabularies
        states, forward = self.forward_model(x, y, (x_table, y_table), y_vocabulary.begin, word_dropout)
        of_y = _cross_entropy(states, y, y_table[: len(y_vocabulary.target)], smoothing)
        states, backward = self.backward_model(y, x, (y_table, x_table), x_vocabulary.begin, word_dropout)
        of_x = _cross_entropy(states, x, x_table[: len(x_vocabulary.target)], smoothing)
        counts = int(y.real.sum()), int(x.real.sum())
        mean = of_y / counts[0] + of_x / counts[1]
        if self.options.loss_form == "code":
            mean = mean / 2
        if not self.options.no_agreement:
            mean = mean + self._agreement(forward, backward, x, y)
        if links is not None:
            mean = mean + self.options.guidance * _guided(forward, backward, links)
        tokens = sum(counts)
        return Loss((of_y + of_x).detach(), tokens, mean * tokens)

    def _agreement(self, forward: Tensor, backward: Tensor, x: SideBatch, y: SideBatch) -> Tensor:
        """Return α times the disagreement and β times both entropies."""
        options = self.options
        cells = y.real.unsqueeze(2) & x.real.unsqueeze(1)
        forward, backward = forward * cells, backward * cells.transpose(1, 2)
        entropies = sum(
            entropy_loss(weights, each, options.entropy_smoothing, options.loss_form)
            for weights, each in ((forward, cells), (backward, cells.transpose(1, 2)))
        )
        return options.agreement * agreement_loss(forward, backward, cells) + options.entropy * entropies


def distances(targets: Tensor, sources: Tensor) -> Tensor:
    """Return |(i+½)/I − (j+½)/J|, [B,I,J], given which positions are real, [B,I] and [B,J]."""
    i, j = (
        (torch.arange(side.shape[1], device=side.device) + 0.5) / side.sum(dim=1, keepdim=True)
        for side in (targets, sources)
    )
    return (i.unsqueeze(2) - j.unsqueeze(1)).abs()


def _cross_entropy(states: Tensor, side: SideBatch, embeddings: Tensor, smoothing: float) -> Tensor:
    """Return the cross-entropy, summed over the subwords of a side; states [B,I,d], embeddings [T,d]."""
    bias = torch.zeros(len(embeddings), device=states.device)
    return smoothed_cross_entropy(states[side.real], embeddings, bias, side.subwords[side.real], smoothing)


def _guided(forward: Tensor, backward: Tensor, links: Tensor) -> Tensor:
    """Return the losses of both directions, each averaged over the linked words."""
    row, target, source = links.unbind(dim=1)
    flipped = torch.stack([row, source, target], dim=1)
    losses = [
        guided_loss(weights, each) / max(1, len(each[:, :2].unique(dim=0)))
        for weights, each in ((forward, links), (backward, flipped))
    ]
    return losses[0] + losses[1]


def agreement_loss(forward: Tensor, backward: Tensor, cells: Tensor) -> Tensor:
    """Return the squared difference, averaged over cells: forward [B,I,J], backward [B,J,I]."""
    return (forward - backward.transpose(1, 2)).square().sum() / cells.sum()


def entropy_loss(weights: Tensor, cells: Tensor, smoothing: float, form: Literal["code", "paper"]) -> Tensor:
    """Return −Σ W̃ log W̃ divided by the number of rows (`paper`) or of cells (`code`); W̃ = (W + λ) / Σ_j (W + λ).

    weights W [B,I,J]; cells [B,I,J]: True if neither position is padding. Padded rows do not count.
    """
    raised = (weights + smoothing) * cells
    probabilities = raised / raised.sum(dim=2, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
    probabilities = probabilities.where(cells, 1.0)  # so that its logarithm and gradient are finite
    entropy = -(probabilities * probabilities.log()).sum()
    return entropy / (cells.sum() if form == "code" else cells.any(dim=2).sum())
