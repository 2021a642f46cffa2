"""A causal decoder that writes a token and its tag in one step.

Shapes: B sentences of t entries, tokens and tags, in s steps; K hypotheses of each; R predictions; G tags, T target
vocabulary, d width.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.decoders import CausalDecoder, CausalSteps, TargetBatch
from synmt.nn.dropout import dropout
from synmt.nn.losses import Classes
from synmt.nn.transformer import Transformer


class TaggedDecoder(nn.Module):
    """What it reads at a step is a token and the tag before it, if there is one.

    tags: which entries of a target vocabulary of `size` entries are tags; end: which one ends the sentence.
    """

    tags: Tensor  # [G]
    words: Tensor
    is_tag: Tensor  # [T]
    number: Tensor  # [T], of an entry among those of its kind

    def __init__(self, width: int, tags: Sequence[int], size: int, end: int) -> None:
        super().__init__()
        self.end = end
        self.after = nn.Linear(width, width, bias=False)
        nn.init.xavier_normal_(self.after.weight)
        known = set(tags)
        kinds = [number in known for number in range(size)]
        words = [number for number in range(size) if number not in known]
        number = dict(zip([*sorted(known), *words], [*range(len(known)), *range(len(words))], strict=True))
        columns = {
            "tags": sorted(known), "words": words, "is_tag": kinds, "number": [number[each] for each in range(size)]
        }  # fmt: skip
        for name, column in columns.items():
            self.register_buffer(name, torch.tensor(column), persistent=False)

    def forward(self, network: Transformer, target: TargetBatch, encoded: Tensor, source_bias: Tensor | None) -> Tensor:
        """Return the states that predict words and tags: encoded [B,n,d], source_bias [B,1,1,n] → [R,d]"""
        return self.read(network, target.inputs, None, encoded, source_bias).flatten(0, 1)[target.positions]

    def read(
        self, network: Transformer, inputs: Tensor, tree: object, encoded: Tensor, source_bias: Tensor | None
    ) -> Tensor:
        """Run over whole targets, inputs [B,t] → [B,t,d]"""
        is_tag = self.known(inputs)
        step = (~is_tag).cumsum(dim=1) - 1
        steps = int(step.max()) + 1
        words = inputs.new_zeros(len(inputs), steps + 2)
        tags = torch.full_like(words, -1)
        words.scatter_(1, step.masked_fill(is_tag, steps + 1), inputs)
        tags.scatter_(1, (step + 1).masked_fill(~is_tag, steps + 1), inputs)
        states = self.embed(network, words[:, :steps], tags[:, :steps])
        states = network.decode(states, encoded, source_bias)
        states = states.gather(1, step.unsqueeze(2).expand(-1, -1, states.shape[2]))
        return states + self.of_tags(network, inputs.masked_fill(~is_tag, -1))

    @property
    def kept(self) -> Tensor:
        """Return what word dropout leaves: a tag tells where a step is."""
        return self.tags

    def known(self, ids: Tensor) -> Tensor:
        """Return which ids are tags."""
        inside = ids < len(self.is_tag)
        return self.is_tag[ids.masked_fill(~inside, 0)] & inside

    def embed(self, network: Transformer, words: Tensor, tags: Tensor, start: int = 0) -> Tensor:
        """Return what the decoder reads at the steps start…: ids [B,s], tags −1 where there is none → [B,s,d]"""
        vectors = _embedded(network, tags)
        states = network.embed(words, start)
        return states + dropout(vectors, network.config.dropout, self.training)

    def of_tags(self, network: Transformer, tags: Tensor) -> Tensor:
        """Return what tags add to the states after them, zero for −1: [..] → [..,d]"""
        vectors: Tensor = self.after(_embedded(network, tags))
        return vectors

    def classes(self, network: Transformer, gold: Tensor) -> list[Classes]:
        """Return what the entries [R] compete with: words with words, and tags with tags."""
        of_tags = self.is_tag[gold]
        found = []
        for rows, kind in ((~of_tags, self.words), (of_tags, self.tags)):
            places = rows.nonzero().squeeze(1)
            output = network.output_weight[kind], network.output_bias[kind]
            found.append(Classes(places, *output, self.number[gold[places]]))
        return found

    def start(self, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int) -> "TaggedSteps":
        return TaggedSteps(self, network, encoded, source_bias, beam)


class TaggedSteps:
    """A step writes the likeliest tag after the last token of each hypothesis, and what may follow that.

    tags [B·K,2]: those of the last step, as ids: before another token, and before the end; −1 for none.
    """

    def __init__(
        self, decoder: TaggedDecoder, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int
    ) -> None:
        self.decoder, self.network = decoder, network
        self.causal = CausalSteps(CausalDecoder(), network, encoded, source_bias, beam)
        self.allowed = torch.empty(0, 2, len(decoder.tags), dtype=torch.bool, device=encoded.device)
        self.tags = torch.full((len(encoded) * beam, 2), -1, device=encoded.device)
        self.of_tags = torch.empty(0, device=encoded.device)
        with torch.autocast(encoded.device.type, enabled=False):
            weight, bias = network.output_weight.float(), network.output_bias.float()
        self.to_tags = weight[decoder.tags], bias[decoder.tags]
        self.to_words = weight[decoder.words], bias[decoder.words]

    def grow(self, tokens: Tensor) -> None:
        """tokens [B·K,2,G]: which tags may follow the last token before another token, and before the end."""
        self.allowed = tokens

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, length = prefixes.shape
        words = prefixes[:, :, -1].reshape(-1, 1)
        embedded = self.decoder.embed(self.network, words, self.tags[:, :1], length - 1)
        states = self.causal.states(embedded.view(batch, beam, -1)).flatten(0, 1).float()
        self.tags, self.of_tags = self._choose(states)
        logits = torch.full((len(states), len(self.decoder.is_tag)), float("-inf"), device=states.device)
        logits[:, self.decoder.words] = self._of_words(states, self.tags[:, 0])
        self.norm = logits.logsumexp(dim=1, keepdim=True) - self.of_tags[:, :1]
        self._end(states, logits)
        return logits.view(batch, beam, -1)

    def normalizer(self, logits: Tensor) -> Tensor:
        return self.norm.view(*logits.shape[:2], 1)

    def _choose(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the likeliest of the tags that are allowed, and their log-probabilities, each [B·K,2]; where none is,
        nothing is written, which has probability one."""
        with torch.autocast(states.device.type, enabled=False):
            of_tags = F.linear(states, *self.to_tags).log_softmax(dim=1)
        best, chosen = of_tags.unsqueeze(1).masked_fill(~self.allowed, float("-inf")).max(dim=2)
        none = ~self.allowed.any(dim=2)
        return self.decoder.tags[chosen].masked_fill(none, -1), best.masked_fill(none, 0.0)

    def _of_words(self, states: Tensor, tags: Tensor) -> Tensor:
        with torch.autocast(states.device.type, enabled=False):
            return F.linear(states + self.decoder.of_tags(self.network, tags), *self.to_words)

    def _end(self, states: Tensor, logits: Tensor) -> None:
        """Give the end of sentence the probability that it has after its own tag."""
        others = (self.tags[:, 0] != self.tags[:, 1]).nonzero().squeeze(1)
        if len(others):
            of_words = self._of_words(states[others], self.tags[others, 1])
            end = self.decoder.number[self.decoder.end]
            log_p = of_words[:, end] - of_words.logsumexp(dim=1) + self.of_tags[others, 1]
            logits[others, self.decoder.end] = log_p + self.norm[others, 0]

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        self.causal.select(sentences, hypotheses)
        if hypotheses is not None:
            self.tags = self.tags[hypotheses]


def _embedded(network: Transformer, tags: Tensor) -> Tensor:
    none = tags < 0
    vectors = F.embedding(tags.masked_fill(none, 0), network.embedding) * network.config.width**0.5
    return vectors.masked_fill(none.unsqueeze(-1), 0.0)
