"""`supervised-heads`: chosen heads learn where to attend, in training only.

After Strubell, Verga, Andor, Weiss & McCallum (2018), "Linguistically-Informed Self-Attention for Semantic Role
Labeling", EMNLP, but without a biaffine scorer and without replacing any weights. In translation, Deguchi, Tamura &
Ninomiya (2019), "Dependency-Based Self-Attention for Transformer NMT", RANLP, supervise heads in this way.

Head h of layer l is an ordinary head. The loss rewards the attention that each token t of a word pays to G(t), the
subwords of its target words:

    L = L_translation − λ Σ_h Σ_t log Σ_{j ∈ G_h(t)} A_h[t, j]

A_h is the head's softmax before dropout. There are no new parameters, and the forward pass does not change. The trained
model is therefore a plain Transformer: it translates without a parser, as fast as `sequence`, and can be exported.

Each head is taught one pattern: for each word, one word to attend to. It can also be taught one of the user's own
masks, `mask:NAME`: all words that the record's mask marks in the row of the token's word. Words without a head, and
sentences without a tree, add no loss to heads that are taught trees.

Three patterns depend only on position:

    previous   the word before; the first word attends to itself
    next       the word after; the last word attends to itself
    self       the word itself

Three depend on the dependency tree:

    parent          the head of the word; the root attends to itself
    children        all dependents of the word; a word without dependents is not taught
    latest-linked   the latest earlier word that is its head or its dependent, if there is one

Two are controls, which a claim about syntax has to beat:

    shuffled-parent   the parent in a tree whose words have been shuffled
    random            another word of the sentence

Both draw from a generator that is seeded by the words, so a sentence has the same targets in every epoch and every run.
"""

import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from synmt.components.contract import (
    SOME_HEADS,
    EncoderComponent,
    Field,
    Heads,
    Layout,
    ParseRecord,
    TransformerConfig,
    mask_over_tokens,
    parents_of_words,
    setting,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun

NOTHING = -1  # instead of the index of a word
MASK = "mask:"  # before the name of one of the user's own masks


def _latest_linked(record: ParseRecord) -> list[int]:
    latest = [NOTHING] * len(record.tokens)
    for word, parent in enumerate(parents_of_words(record)):
        first, second = sorted((word, parent))
        if NOTHING < first < second:
            latest[second] = max(latest[second], first)
    return latest


def _shuffled_parents(record: ParseRecord) -> list[int]:
    places = list(range(len(record.tokens)))
    _generator(record).shuffle(places)
    parents = [NOTHING] * len(places)
    for word, parent in enumerate(parents_of_words(record)):
        parents[places[word]] = NOTHING if parent == NOTHING else places[parent]
    return parents


def _random_others(record: ParseRecord) -> list[int]:
    last, generator = len(record.tokens) - 1, _generator(record)
    if last < 1:
        return [NOTHING] * len(record.tokens)
    drawn = [generator.randrange(last) for _ in record.tokens]
    return [other + (other >= word) for word, other in enumerate(drawn)]


def _generator(record: ParseRecord) -> random.Random:
    return random.Random(zlib.crc32(" ".join(record.tokens).encode()))


def _near(step: int) -> Callable[[ParseRecord], list[int]]:
    """Return the pattern of the word `step` places away, or of the word itself at the edge of the sentence."""

    def words(record: ParseRecord) -> list[int]:
        count = len(record.tokens)
        return [word + step if 0 <= word + step < count else word for word in range(count)]

    return words


Pattern = Callable[[ParseRecord], list[int]]  # for each word, the index of its target, or NOTHING
PATTERNS: Mapping[str, Pattern] = {
    "previous": _near(-1), "next": _near(1), "self": _near(0),
    "parent": parents_of_words, "children": parents_of_words, "latest-linked": _latest_linked,
    "shuffled-parent": _shuffled_parents, "random": _random_others,
}  # fmt: skip
OF_TREES = frozenset({"parent", "children", "latest-linked", "shuffled-parent"})
REVERSED = frozenset({"children"})  # the pattern maps each word to the word that should attend to it


class Taught(NamedTuple):
    """One supervised head. The layer is counted from 1, the head from 0."""

    pattern: str
    layer: int
    head: int


def read_taught(teach: str, layer: int) -> list[Taught]:
    """Return the heads that an option such as `previous+parent@3.2` names, each with its pattern.

    layer: the layer of heads without `@`. A head without a number is the first free one of its layer.
    Raises ValueError for an unknown pattern, and for a head that is taught twice.
    """
    named = [_read(part, layer) for part in teach.split("+")]
    taken = {(layer, head) for _, layer, head in named if head is not None}
    free: defaultdict[int, count[int]] = defaultdict(count)  # heads of each layer that may be free
    found = []
    for pattern, where, head in named:
        if head is None:
            head = next(each for each in free[where] if (where, each) not in taken)
        found.append(Taught(pattern, where, head))
    if len({each[1:] for each in found}) < len(found):
        raise ValueError(f"teach cannot be {teach!r}: a head occurs more than once")
    return found


def _read(part: str, layer: int) -> tuple[str, int, int | None]:
    """Return the pattern, layer and head of a part such as `parent@3.2`."""
    pattern, at, place = part.rpartition("@") if "@" in part else (part, "", "")
    number, dot, head = place.partition(".")
    numbers = [number] * bool(at) + [head] * bool(dot)
    known = pattern in PATTERNS or (pattern.startswith(MASK) and pattern != MASK)
    if not known or not all(each.isascii() and each.isdigit() and int(each) for each in numbers):
        names = ", ".join([*PATTERNS, f"{MASK}NAME"])
        raise ValueError(f"teach cannot be {part!r}; patterns are {names}, and places look like @3 or @3.2")
    return pattern, int(number) if at else layer, int(head) - 1 if dot else None


@dataclass(frozen=True)
class SupervisedHeads(EncoderComponent):
    """Fields: `taught_words`, the number of each token's word, counted from 1, and per pattern the number of its
    target word, such as `taught_parent`. Both are 0 for padding and for tokens that are no words; the target is also
    0 for words that are not taught. The user's own masks are `taught_mask:NAME`."""

    cites: ClassVar[tuple[str, ...]] = ("strubell2018linguistically", "deguchi2019dependency")

    training_only = True

    teach: str = setting(
        "next",
        f"what each head learns to attend to, joined by +: {', '.join(PATTERNS)}, or {MASK}NAME for a mask of the"
        " records; parent@3 is in layer 3, parent@3.2 its second head",
    )
    layer: int | None = setting(None, "encoder layer of heads without @ (2, or 1 of 1)", 1, 256)
    weight: float = setting(0.03, "weight of the loss of attention: λ")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.taught()

    def taught(self, layers: int = 2) -> list[Taught]:
        """Return the supervised heads of an encoder, as `read_taught` does."""
        return read_taught(self.teach, self.layer or min(2, layers))

    def needs(self, training: bool) -> frozenset[str]:
        names = {each.pattern for each in self.taught()} if training else set()
        of_masks = {"masks"} if any(name.startswith(MASK) for name in names) else set()
        return frozenset(of_masks | ({SOME_HEADS} if names & OF_TREES else set()))

    def reads(self) -> Mapping[str, Field]:
        found = {"taught_words": Field(training=True)}
        for each in self.taught():
            is_mask = each.pattern.startswith(MASK)
            shape = Field("pair", "bool", training=True) if is_mask else Field(training=True)
            found[f"taught_{each.pattern}"] = shape
        return found

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        found: dict[str, Any] = {"taught_words": [word + 1 for word in layout.words]}
        for name in {each.pattern: None for each in self.taught()}:
            if name.startswith(MASK):
                found[f"taught_{name}"] = mask_over_tokens(name.removeprefix(MASK), record, layout)
            else:
                found[f"taught_{name}"] = layout.of_words([word + 1 for word in PATTERNS[name](record)], 0)
        return found

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return _heads_of(self.taught(config.encoder_layers))

    def loss(self, run: "SideRun") -> "Tensor":
        """Return −λ Σ_h Σ_t log Σ_j A_h[t, j] over the taught tokens t and their target tokens j."""
        masses = [log_mass(*self._lesson(run, each)).sum() for each in self.taught(run.own.config.encoder_layers)]
        return -self.weight * sum(masses[1:], masses[0])

    def accuracies(self, run: "SideRun") -> Mapping[str, Callable[[], tuple[int, int]]]:
        taught = self.taught(run.own.config.encoder_layers)
        return {f"{each.pattern}@{each.layer}.{each.head + 1}": partial(self._right, run, each) for each in taught}

    def _lesson(self, run: "SideRun", taught: Taught) -> "tuple[Tensor, Tensor]":
        """Return the logits of a head, and whether query t learns to attend to key j, [B,n,n] each."""
        given = run.fields[f"taught_{taught.pattern}"]
        if not taught.pattern.startswith(MASK):
            given = target_tokens(run.fields["taught_words"], given, taught.pattern in REVERSED)
        return run.attended[taught.layer].logits(taught.head), given

    def _right(self, run: "SideRun", taught: Taught) -> tuple[int, int]:
        """Count the words whose first token attends most to one of its targets, and the words that are taught."""
        import torch.nn.functional as F

        words, (logits, targets) = run.fields["taught_words"], self._lesson(run, taught)
        starts = (words != F.pad(words, (1, -1))) & (words > 0)
        those = starts & targets.any(dim=2)
        best = logits.argmax(dim=2, keepdim=True)
        return int((targets.gather(2, best).squeeze(2) & those).sum()), int(those.sum())


def _heads_of(taught: Sequence[Taught]) -> Heads:
    """Return the supervised heads of each layer."""
    owned: dict[int, tuple[int, ...]] = {}
    for _, layer, head in taught:
        owned[layer] = (*owned.get(layer, ()), head)
    return owned


def target_tokens(words: "Tensor", given: "Tensor", reverse: bool) -> "Tensor":
    """Return whether query t learns to attend to key j, [B,n,n] bool.

    words [B,n]: the number of each token's word, counted from 1; given [B,n]: the number of the word that the pattern
    gives for it; 0 for none.
    reverse: each query learns to attend to the other words for which the pattern gives the query's word.
    """
    if reverse:
        query, key, other = words.unsqueeze(2), given.unsqueeze(1), words.unsqueeze(1)
        return (query == key) & (query != other) & (query > 0)
    query, key = given.unsqueeze(2), words.unsqueeze(1)
    return (query == key) & (query > 0)


def log_mass(logits: "Tensor", targets: "Tensor") -> "Tensor":
    """Return log Σ_j A[t, j] over the targets j of each query t: [B,n,n] twice → [B,n]

    0 for a query without targets, or from which a hard mask hides all of them.
    """
    import torch

    untaught = ~(targets & ~logits.isneginf()).any(dim=2, keepdim=True)
    of_targets = logits.masked_fill(~(targets | untaught), float("-inf"))
    return torch.logsumexp(of_targets, dim=2) - torch.logsumexp(logits, dim=2)
