"""Batched beam search and sampling.

Shapes: B unfinished sentences, K hypotheses per sentence, T target vocabulary, t positions so far.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from synmt.components.output import Hypothesis, Output
from synmt.model.translation import TranslationModel
from synmt.nn.decoders import EnsembleSteps, Steps
from synmt.nn.encoding import Encoded, SourceBatch
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN

GROUPS = 256  # groups that a long row is divided into, in the search for its largest values


@torch.inference_mode()
def beam_search(
    model: TranslationModel,
    source: SourceBatch,
    config: SearchConfig,
    output: Output | None = None,
    others: Sequence[tuple[TranslationModel, SourceBatch]] = (),
    seeds: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """Return the finished hypotheses of each sentence, best first: at least one, at most K and a few more.

    output: how targets are written, if not as plain words; others: more models of an ensemble with the same target
    vocabulary, each with its source batch; seeds: one per sentence, to sample one hypothesis (K is 1).

    A sentence is finished when K of its hypotheses have ended, or at its length limit, where open hypotheses count as
    finished. The end of sentence never comes first, and the unknown token never comes at all.
    """
    output = output or Output()
    search = _BeamSearch(model, source, config, output, others, seeds)
    while search.alive:
        search.step()
    found = [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in search.finished]
    return output.finished(model, search.encoded, config.constraints, found)


def _start(model: TranslationModel, encoded: Encoded) -> Steps:
    return model.decoder.start(model.network, encoded, 1)


class _BeamSearch:
    """The state of a search. Tensors with a first dimension B shrink as sentences finish."""

    def __init__(
        self,
        model: TranslationModel,
        source: SourceBatch,
        config: SearchConfig,
        output: Output,
        others: Sequence[tuple[TranslationModel, SourceBatch]],
        seeds: Sequence[int],
    ) -> None:
        batch, device = len(source.ids), source.ids.device
        self.config = config
        self.random = [torch.Generator(device).manual_seed(seed) for seed in seeds]  # [sentences]
        self.encoded = model.encode(source)
        self.decoder: Steps | EnsembleSteps = _start(model, self.encoded)
        if others:
            members = [(_start(other, other.encode(form)), other.begin) for other, form in others]
            self.decoder = EnsembleSteps([(self.decoder, model.begin), *members])
        self.shortest = torch.tensor([config.shortest(words) for words in source.words.tolist()], device=device)
        limits = [config.longest(words) for words in source.words.tolist()]
        self.hypotheses = output.hypotheses(config.constraints, limits, device)
        self.decoder.grow(self.hypotheses)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(batch)]
        self.alive = list(range(batch))  # the sentence of each row, -1 for a finished row
        self.limits = self.hypotheses.limits
        # [B,K,1+t]; every sentence starts with one hypothesis
        self.prefixes = torch.full((batch, 1, 1), model.begin, device=device)
        self.scores = torch.zeros(batch, 1, device=device)
        self.position = 0

    def step(self) -> None:
        logits = self.decoder.logits(self.prefixes).float()
        normalizer = logits.logsumexp(dim=2, keepdim=True)  # over all tokens, also forbidden ones
        logits[:, :, UNKNOWN] = float("-inf")
        too_short = (self.position < self.shortest).unsqueeze(1)
        if 0 < self.config.no_repeat <= self.position:
            self._forbid_repetitions(logits)
            # If nothing else is left of a small vocabulary, a translation may be too short.
            too_short = too_short & ~logits[:, :, UNKNOWN + 1 :].isneginf().all(dim=2)
        logits[:, :, END] = logits[:, :, END].masked_fill(too_short, float("-inf"))
        self.position += 1
        self.hypotheses.forbid(logits)
        scores, origins, tokens = (self._drawn if self.random else self._best)(logits, normalizer)
        ends = tokens == END
        self._finish(scores, origins, ends)
        keep = ends.long().argsort(dim=1, stable=True)[:, : self.config.beam]
        self.scores, origins, tokens = scores.gather(1, keep), origins.gather(1, keep), tokens.gather(1, keep)
        self.prefixes = torch.cat([self.prefixes.flatten(0, 1)[origins], tokens.unsqueeze(2)], dim=2)
        self._finish_at_limit()
        self._go_on(origins, tokens)

    def _forbid_repetitions(self, logits: Tensor) -> None:
        """Exclude from logits [B,K,T] each token that would repeat an n-gram of its hypothesis (Paulus, Xiong & Socher
        2018, section 2.5)."""
        said = self.prefixes[:, :, 1:]
        sequences = said.unfold(2, self.config.no_repeat, 1)
        begun = said[:, :, self.position - self.config.no_repeat + 1 :].unsqueeze(2)
        repeated = (sequences[..., :-1] == begun).all(dim=3)
        logits.scatter_(2, sequences[..., -1].masked_fill(~repeated, UNKNOWN), float("-inf"))

    def _best(self, logits: Tensor, normalizer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the 2K best continuations of each sentence: scores, indices of the continued hypotheses (of B·K) and
        tokens, all [B,2K].

        At most K of these end a hypothesis, so K open ones remain.
        """
        width = 2 * self.config.beam
        count = min(width, logits.shape[2])
        values, tokens = largest(logits, count)
        values = values - normalizer + self.scores.unsqueeze(2)
        if count < width:  # a tiny vocabulary has fewer
            values = F.pad(values, (0, width - count), value=float("-inf"))
            tokens = F.pad(tokens, (0, width - count), value=UNKNOWN)
        scores, best = values.flatten(1).topk(width, dim=1)
        first = torch.arange(len(best), device=best.device).unsqueeze(1) * values.shape[1]
        return scores, first + best.div(width, rounding_mode="floor"), tokens.flatten(1).gather(1, best)

    def _drawn(self, logits: Tensor, normalizer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return a sampled continuation of each sentence, in the form of `_best`, [B,1].

        Takes the maximum of log-probabilities plus Gumbel noise (Gumbel 1954). The noise of a sentence does not depend
        on the rest of the batch.
        """
        if self.config.top_k:
            least = largest(logits, min(self.config.top_k, logits.shape[2]))[0][:, :, -1:]
            logits = logits.masked_fill(logits < least, float("-inf"))
        exponential = torch.ones_like(logits)
        for row, sentence in enumerate(self.alive):
            if sentence >= 0:
                exponential[row].exponential_(generator=self.random[sentence])
        tokens = (logits - exponential.log()).argmax(dim=2)
        scores = logits.gather(2, tokens.unsqueeze(2)) - normalizer + self.scores.unsqueeze(2)
        origins = torch.arange(len(logits), device=logits.device).unsqueeze(1)
        return scores.squeeze(2), origins, tokens

    def _finish(self, scores: Tensor, origins: Tensor, ends: Tensor) -> None:
        """Move the hypotheses that end among the K best continuations to the finished ones."""
        beam, prefixes = self.config.beam, self.prefixes.flatten(0, 1)
        for row, rank in (ends[:, :beam] & scores[:, :beam].isfinite()).nonzero().tolist():
            sentence = self.alive[row]
            if sentence >= 0:
                self._add(sentence, prefixes[origins[row, rank], 1:].tolist(), float(scores[row, rank]))
                if len(self.finished[sentence]) >= beam:
                    self.alive[row] = -1

    def _finish_at_limit(self) -> None:
        """Finish the open hypotheses of sentences at their length limit."""
        for row, sentence in enumerate(self.alive):
            if sentence >= 0 and self.position >= self.limits[sentence]:
                for prefix, score in zip(self.prefixes[row, :, 1:].tolist(), self.scores[row].tolist(), strict=True):
                    if score > float("-inf"):
                        self._add(sentence, prefix, score)
                self.alive[row] = -1

    def _add(self, sentence: int, ids: list[int], log_probability: float) -> None:
        score = log_probability / self.config.penalty(self.position)
        self.finished[sentence].append(Hypothesis(ids, log_probability, score))

    def _go_on(self, origins: Tensor, tokens: Tensor) -> None:
        """Continue hypotheses `origins` with `tokens`, [B,K] each; drop finished sentences once they are a quarter."""
        rows = [row for row, sentence in enumerate(self.alive) if sentence >= 0]
        kept = None
        if len(rows) <= 0.75 * len(self.alive):
            self.alive = [self.alive[row] for row in rows]
            kept = torch.tensor(rows, dtype=torch.long, device=origins.device)
            origins, tokens = origins[kept], tokens[kept]
            self.scores, self.prefixes, self.shortest = self.scores[kept], self.prefixes[kept], self.shortest[kept]
        hypotheses = origins.flatten()
        self.hypotheses.advance(hypotheses, tokens.flatten())
        self.decoder.select(kept, hypotheses)
        self.decoder.grow(self.hypotheses)


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest values of each row and their indices, largest first: [..,T] → [..,count] each.

    On a CPU, where `topk` is slow for long rows, this searches only the `count` groups with the largest maxima, which
    contain the `count` largest values.
    """
    length = values.shape[-1]
    if values.device.type != "cpu" or length < 4 * GROUPS or count > GROUPS // 4:
        found, places = values.topk(count)
        return found, places
    grouped = length - length % GROUPS
    maxima = values[..., :grouped].unflatten(-1, (-1, GROUPS)).amax(dim=-2)
    groups = maxima.topk(count, sorted=False).indices.unsqueeze(-1)
    places = (groups + torch.arange(0, grouped, GROUPS)).flatten(-2)
    rest = torch.arange(grouped, length).expand(*places.shape[:-1], -1)
    places = torch.cat([places, rest], dim=-1)
    found, best = values.gather(-1, places).topk(count)
    return found, places.gather(-1, best)
