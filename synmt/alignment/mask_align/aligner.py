"""`mask-align`: a model that aligns words by guessing each from all others and from its translation.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. A Transformer of each direction,
trained together. The decoder's queries begin as positions, its keys and values are the embedded words and stay so
through all layers, and no position sees its own word (static-KV attention, section 2.1): what predicts y_i never
reads it, so one pass predicts all words. Only the last layer attends to the source, with a key and a value besides
for words that have no counterpart (leaky attention). W_xy [I,J] are the weights of that attention, the mean of its
heads, and

    L = L_xy + L_yx + α ‖W_xy − W_yxᵀ‖² + β (H(W̃_xy) + H(W̃_yx)),   W̃ = (W + λ) / Σ_j (W + λ)

The square is a mean over cells, and H the mean entropy of a row (`loss_form` paper). The paper's code, with which
α and β were tuned, halves L_xy + L_yx and takes the entropy over cells instead of rows (`loss_form` code).

Ablations (Table 2): `causal` decoders, `no_leak`, `no_agreement` (neither α nor β; links are those of each word's
best counterpart, symmetrized), and `--cross-attention all`.

Of our own, `diagonal` κ: the logits of the attention to the source are lowered by κ_h |(i+½)/I − (j+½)/J|, κ_h ≥ 0
learnt by each head from κ on. Words that have not been learnt then link as fast_align's would (Dyer, Chahuneau & Smith
2013), and those around them learn sooner.

With links to learn from (a guide), as in the guided systems of Table 1, and of our own: + γ times the
cross-entropy of W with the links of each word that has some, in both directions. What predicts y_i attends to where
it expects y_i to come from; with few pairs it cannot know. So the W of a guided model is that of a second pass, as
in Garg et al. (2019), that predicts nothing and in which every word sees itself; and what a subword attends to is
words: W_ij is the weight of all subwords of the word of x_j.

What differs from the code: sides of one word are trained on and aligned; there, such a word saw itself. No softmax
runs over padding; label smoothing is that of all systems here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from synmt.alignment.aligner import FitBitext, FittedText, Fitting, Needs, Settings, copy_saved, options_of
from synmt.alignment.config import ALL_OF_LINKS, Heuristic, LinksBy
from synmt.alignment.presets import MASK_ALIGN as PRESETS
from synmt.model.files import check_new
from synmt.model.records import SentencePair
from synmt.model.source import ENCODERS, SourceSide, encoders_of, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Preset, check_settings, option_names, setting
from synmt.streams import BadInput, WrongUsage
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs, resolve

if TYPE_CHECKING:
    from synmt.alignment.corpus import Opened
    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.mask_align.model import MaskAlignModel

GUIDED_THRESHOLD = 0.4  # weights of whole words are larger than those of subwords; tuned on 40 pairs linked by hand
# No link is known to be right, so no validation decides.
USED = ALL_OF_LINKS | {*option_names(TransformerConfig), "guide", "resume", "preset", *ENCODERS} | training_options(
    "patience", "select", "validation-beam", "prefixes", "prefix-tokens", "tree-dropout", "subword-dropout"
) - {"positions"}  # fmt: skip


@dataclass(frozen=True)
class MaskAlign:
    cites: ClassVar[tuple[str, ...]] = ("chen2021mask",)
    loss_form: Literal["code", "paper"] = setting("code", "how the parts of Mask-Align's loss are normalized")
    agreement: float = setting(5.0, "α, the weight of both directions' agreement", unless="no_agreement")
    entropy: float = setting(1.0, "β, the weight of the entropy of attention", unless="no_agreement")
    entropy_smoothing: float = setting(
        0.05, "λ, what is added to attention weights for their entropy", 1e-9, unless="no_agreement"
    )
    guidance: float = setting(4.0, "γ, the weight of the links that --guide gives", needs="--guide")
    diagonal: float = setting(0.0, "κ, how much attention begins by favouring the diagonal; 4 with few pairs")
    causal: bool = setting(False, "words are predicted from those before them alone")
    no_leak: bool = setting(False, "every word attends to the source with all its weight")
    no_agreement: bool = setting(False, "two directions on their own: α and β are 0")
    text: FittedText | None = None
    links_by: LinksBy = "attention"
    opened: "Opened[MaskAlignConfig] | None" = field(default=None, repr=False, compare=False)
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    several: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return USED - {"links-by"} if given.get("guide") else USED

    @property
    def heuristic(self) -> Heuristic:
        return "grow-diag-lilt" if self.no_agreement else "harmonic"

    def needs(self, settings: Settings | None = None) -> Needs:
        if settings is None and self.opened:
            source, target = self.opened.folder.config.encoders
        else:
            (source, target), _, _ = fitting_config(settings or {})
        return source.needs(training=settings is not None), target.needs(training=settings is not None)

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        from synmt.alignment.corpus import LearningBitext
        from synmt.alignment.mask_align.validation import SAMPLE, LinkValidation
        from synmt.training.distribution import joined_processes
        from synmt.training.fit import fit

        encoders, network, training = fitting_config(how.settings)
        guided = bitext.guide is not None
        try:
            config = MaskAlignConfig(self, guided, encoders, bitext.text, network)
        except ValueError as error:
            raise WrongUsage(str(error)) from None
        check_new(how.out, how.resume)
        with joined_processes(how.device) as processes:
            sample = islice(bitext.pairs, 0, None, -(-len(bitext.pairs) // SAMPLE))
            score = partial(LinkValidation, self.reading, list(sample))
            data = LearningBitext(bitext.pairs, how.notes, bitext.guide, score)
            fit(how.out, config, data, training, processes, announce=lambda *_: how.notes.say())
            return self.open(how.out, str(processes.device))

    def save(self, folder: Path) -> None:
        assert self.opened
        copy_saved(self.opened.folder.path, folder)

    @classmethod
    def open(cls, folder: Path, device: str) -> Self:
        from synmt.alignment.corpus import Opened

        return cls.reading(Opened.open(folder, MaskAlignConfig, device))

    @classmethod
    def reading(cls, opened: "Opened[MaskAlignConfig]") -> Self:
        """Return an aligner that reads links off this model."""
        config = opened.folder.config
        return cls(**options_of(config.options), text=config.text, opened=opened)

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return the weights of each pair, in order. Raises BadInput for a record that lacks what its side needs, and
        for posteriors of a model that has learned links, whose attention has seen the word."""
        import torch

        from synmt.alignment.extraction import HARMONIC_THRESHOLD

        assert self.opened
        guided, model = self.opened.folder.config.guided, self.opened.model
        if self.links_by == "posterior" and guided:
            raise BadInput("--links-by posterior is of models that have learnt no links from others")
        read = model.posteriors if self.links_by == "posterior" else model.weights
        threshold = GUIDED_THRESHOLD if guided else HARMONIC_THRESHOLD
        with torch.no_grad():
            return self.opened.links(pairs, read, threshold)

    def predicted(self, pairs: Sequence[SentencePair]) -> list[list[bool]]:
        """Return what Predictor says (Chen, Sun & Liu 2021, section 4.4)."""
        import torch

        from synmt.alignment.corpus import BATCH_TOKENS
        from synmt.device import autocast
        from synmt.model.batches import in_batches

        assert self.opened
        opened, corpus = self.opened, self.opened.encode(pairs)

        def predict(batch: list[int]) -> list[list[bool]]:
            x, y, _ = corpus.batch(batch, opened.device)
            with autocast(opened.device):
                right = opened.model.predicted(x, y).cpu().numpy()
            predictions = []
            for row, number in enumerate(batch):
                words = corpus.target.words[number]
                of_words = [False] * len(pairs[number].target.tokens)
                for subword in right[row, : len(words)].nonzero()[0]:
                    of_words[words[subword]] = True
                predictions.append(of_words)
            return predictions

        with torch.inference_mode():
            return in_batches(corpus.lengths().tolist(), BATCH_TOKENS, predict)


@dataclass(frozen=True)
class MaskAlignConfig:
    """What a folder holds. guided: whether the model learned links from others; encoders: what those of source and
    target read; text: what it was fitted to; network: all sizes. A FolderConfig."""

    options: MaskAlign
    guided: bool
    encoders: tuple[SourceSide, SourceSide]
    text: FittedText
    network: TransformerConfig
    aligner: ClassVar[str] = "mask-align"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for what does not go together."""
        if type(self.guided) is not bool:
            raise ValueError(f"guided cannot be {self.guided!r}")
        if self.guided and self.options.causal:
            raise ValueError("a causal decoder learns no links from others")
        for side in self.encoders:
            side.check_network(self.network)

    def fields(self) -> dict[str, Any]:
        encoders = {"guided": self.guided, "encoders": [side.settings() for side in self.encoders]}
        network = {"network": asdict(self.network)}
        return {"options": options_of(self.options), **encoders, **self.text.fields(), **network}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        source, target = (source_side(side) for side in fields["encoders"])
        options, network = MaskAlign(**fields["options"]), TransformerConfig(**fields["network"])
        return cls(options, fields["guided"], (source, target), FittedText.read(fields), network)

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "MaskAlignModel":
        from synmt.alignment.mask_align.model import MaskAlignModel

        source, target = vocabularies
        return MaskAlignModel(self.network, self.options, self.guided, self.encoders, (source, target))


def fitting_config(
    settings: Mapping[str, Any],
) -> tuple[tuple[SourceSide, SourceSide], TransformerConfig, TrainingConfig]:
    """Return the encoders, the network and the training of these settings. Raises WrongUsage for those that no model
    can have."""
    try:
        encoders = encoders_of(settings)
        network, training = configs(resolve(PRESETS[settings.get("preset") or "small"], [], settings))
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return encoders, network, training
