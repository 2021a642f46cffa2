"""The encoder of a fit: whether it helps, and which words it finds similar (see aligner.py)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tqdm import tqdm

from synmt.alignment import encoders
from synmt.alignment.hmm.bitext import Compounds, IndexedBitext, Sentences, Sides
from synmt.alignment.hmm.lexicon import Floats
from synmt.alignment.hmm.model import fit
from synmt.alignment.hmm.similar import Similar
from synmt.alignment.statistical import plain_words
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.streams import note, windows

if TYPE_CHECKING:
    from synmt.alignment.encoders.similarity import Similarity
    from synmt.alignment.hmm.aligner import Hmm

WINDOW = 100  # pairs that are encoded together
TRIAL = 1000  # pairs on which the encoder is tried
LARGEST_LOSS = 0.05  # nats per word of held-out pairs
CompoundSides = tuple[Compounds, Compounds]


def sides_of(pairs: Iterable[SentencePair], trees: bool) -> Sides:
    """Return the words of both sides, in lower case."""
    sides = Sentences(), Sentences()
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
    similarity: "Similarity | None",
    pairs: Iterable[SentencePair],
    compounds: CompoundSides,
    every: int = 1,
    bar: "tqdm[None] | None" = None,
) -> Similar | None:
    """Return which parts of words are similar in pairs without an empty side; None without an encoder.

    every: how many pairs there are for each that is encoded.
    """
    if similarity is None:
        return None
    similar = Similar()
    for window in windows(pairs, WINDOW * every):
        found = iter(similarity.of(*tokens_of(window[::every])))
        for number, pair in enumerate(window):
            similar.add(None if number % every else _of_parts(next(found), pair, compounds))
        if bar is not None:
            bar.update(len(window))
    return similar


def _of_parts(q: Floats, pair: SentencePair, compounds: CompoundSides) -> Floats:
    """Return the similarities of the parts of words, given those of words."""
    for axis, (side, record) in enumerate(zip(compounds, (pair.source, pair.target), strict=True)):
        q = q.repeat([len(side.of(word)) for word in plain_words(record.tokens)], axis=axis)
    return q


def similarity_for(options: "Hmm", pairs: Bitext, compounds: CompoundSides, device: str) -> "Similarity | None":
    """Return the similarity of words for the encoder of the options, None for none. Raises BadInput.

    With `auto`, the encoder is used if it is installed and helps.
    """
    name = options.encoder
    if name == "none" or (name == "auto" and encoders.installed() is None):
        return None
    from synmt.alignment.encoders.encoder import open_encoder
    from synmt.alignment.encoders.similarity import OF_MEANS, Similarity
    from synmt.device import local_device

    encoder = open_encoder(encoders.PACKAGE if name == "auto" else name, None, local_device(device))
    sample = list(pairs.spread(TRIAL))
    similarity = Similarity.learn(encoder, *tokens_of(sample[:: -(-len(sample) // OF_MEANS)]))
    return similarity if name != "auto" or helps(options, similarity, sample, compounds) else None


def helps(options: "Hmm", similarity: "Similarity", sample: Sequence[SentencePair], compounds: CompoundSides) -> bool:
    """Return whether an encoder knows the languages of these pairs.

    Half of them are fitted with and without it. If it does not know the languages, what it teaches is wrong, and the
    other half becomes less likely, although the encoder is not asked about it.
    """
    learned, held_out = sample[::2], sample[1::2]
    if not held_out:
        return True
    known = similar_words(similarity, learned, compounds)
    sides, held = (cut(sides_of(half, options.trees), compounds) for half in (learned, held_out))
    models = [fit(options, sides, similar, quiet=True) for similar in (known, None)]
    with_it, without = (
        model.likelihood(IndexedBitext.index(held, range(len(held_out)), model.lexicon)) for model in models
    )
    if with_it < without - LARGEST_LOSS:
        note(
            f"hmm does not use the encoder, which does not seem to know these languages: held-out words are less likely"
            f" with it ({with_it:.2f} nats per word) than without ({without:.2f})"
        )
    return with_it >= without - LARGEST_LOSS
