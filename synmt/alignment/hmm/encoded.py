"""The encoder of a fit: whether it helps, and which words it finds similar (see aligner.py)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from synmt.alignment import encoders
from synmt.alignment.hmm.bitext import Compounds, IndexedBitext, IndexedSentences, Sides
from synmt.alignment.hmm.config import HmmConfig
from synmt.alignment.hmm.lexicon import Floats
from synmt.alignment.hmm.model import HmmModel, fit
from synmt.alignment.hmm.similar import Similar
from synmt.alignment.statistical import plain_words
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.streams import note, windows

if TYPE_CHECKING:
    from synmt.alignment.encoders.similarity import Similarity

WINDOW = 200  # pairs that are encoded together
TRIAL = 1000  # pairs on which the encoder is tried
LEAST_PAIRS = 50  # that tell whether it helps
# Agreement and the gain in nats per held-out word add up to at least this for languages that the encoder knows. On 200
# to 1,000 pairs of 10 languages, the sum was 0.81 or more; on invented, enciphered and shuffled ones, 0.50 or less.
LEAST_TRUST = 0.6
CompoundSides = tuple[Compounds, Compounds]


def sides_of(pairs: Iterable[SentencePair], trees: bool) -> Sides:
    """Return the words of both sides, in lower case."""
    sides = IndexedSentences(), IndexedSentences()
    for pair in pairs:
        for side, record in zip(sides, (pair.source, pair.target), strict=True):
            side.add(plain_words(record.tokens), record.heads if trees else ())
    return sides


def cut(sides: Sides, compounds: CompoundSides) -> Sides:
    """Return the sides with words cut into the parts of compounds."""
    source, target = (side.cut(each.of) for side, each in zip(sides, compounds, strict=True))
    return source, target


def tokens_of(pairs: Sequence[SentencePair]) -> tuple[list[list[str]], list[list[str]]]:
    return [pair.source.tokens for pair in pairs], [pair.target.tokens for pair in pairs]


def similar_words(
    similarity: "Similarity",
    pairs: Iterable[SentencePair],
    compounds: CompoundSides,
    encoded: Collection[int] | None = None,
    done: Callable[[int], object] = int,
) -> Similar:
    """Return which parts of words are similar in pairs without an empty side.

    encoded: the numbers of the pairs to encode, spread over all; None for all of them. done: is told how many
    more pairs have been read.
    """
    similar, every = Similar(), 1 if encoded is None else max(encoded, default=0) // max(1, len(encoded)) + 1
    for window in windows(enumerate(pairs), WINDOW * every):
        asked = [pair for number, pair in window if encoded is None or number in encoded]
        found = iter(similarity.of(*tokens_of(asked)))
        for number, pair in window:
            is_asked = encoded is None or number in encoded
            similar.add(_of_parts(next(found), pair, compounds) if is_asked else None)
        done(len(window))
    return similar


def _of_parts(q: Floats, pair: SentencePair, compounds: CompoundSides) -> Floats:
    """Return the similarities of the parts of words, given those of words."""
    for axis, (side, record) in enumerate(zip(compounds, (pair.source, pair.target), strict=True)):
        q = q.repeat([len(side.of(word)) for word in plain_words(record.tokens)], axis=axis)
    return q


def similarity_for(config: HmmConfig, pairs: Bitext, compounds: CompoundSides, device: str) -> "Similarity | None":
    """Return the similarity of words for the encoder of the options, None for none. Raises BadInput.

    With `auto`, the encoder is used if it is installed and helps.
    """
    name = config.encoder
    if name == "none" or (name == "auto" and encoders.installed() is None):
        return None
    from synmt.alignment.encoders.encoder import open_encoder
    from synmt.alignment.encoders.similarity import OF_MEANS, Similarity
    from synmt.device import local_device

    encoder = open_encoder(encoders.PACKAGE if name == "auto" else name, None, local_device(device))
    sample = list(pairs.spread(TRIAL))
    similarity = Similarity.learn(encoder, *tokens_of(sample[:: -(-len(sample) // OF_MEANS)]))
    return similarity if name != "auto" or helps(config, similarity, sample, compounds) else None


def helps(
    config: HmmConfig, similarity: "Similarity", sample: Sequence[SentencePair], compounds: CompoundSides
) -> bool:
    """Return whether an encoder knows the languages of these pairs.

    Half of them are fitted without it. If it knows the languages, the words that it finds similar are often linked. The
    same half is fitted with it, too. If it does not know them, what it teaches is wrong, and the other half becomes
    less likely, although the encoder is not asked about it.
    """
    learned, held_out = sample[::2], sample[1::2]
    if len(sample) < LEAST_PAIRS:
        return True
    known = similar_words(similarity, learned, compounds)
    sides, held = (cut(sides_of(half, config.trees), compounds) for half in (learned, held_out))
    taught, plain = (fit(config, sides, similar, quiet=True) for similar in (known, None))
    with_it, without = (
        model.likelihood(IndexedBitext.index(held, range(len(held_out)), model.lexicon)) for model in (taught, plain)
    )
    agreed = agreement(plain, sides, known)
    trusted = agreed + with_it - without >= LEAST_TRUST
    if not trusted:
        note(
            "hmm does not use the encoder, which does not seem to know these languages: words that it finds similar "
            f"are linked with a probability of {agreed:.2f} without it, and held-out words gain "
            f"{with_it - without:.2f} nats from it; known languages have a sum of at least {LEAST_TRUST}"
        )
    return trusted


def agreement(model: HmmModel, sides: Sides, similar: Similar) -> float:
    """Return how probable links of similar words are for a model without the encoder: the mean γ, with weights q²."""
    linked = total = 0.0
    for batch, (forward, backward) in model.links(IndexedBitext.index(sides, range(len(sides[0])), model.lexicon)):
        cells = similar.of(batch.rows)
        lines, targets, sources = cells.places
        means = (forward[lines, targets, sources] + backward[lines, sources, targets]) / 2
        linked += float(cells.q**2 @ means)
        total += float(cells.q @ cells.q)
    return linked / total if total else 0.0
