"""`mask-align`: aligns words by predicting each word from all others and from the translation.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. Two Transformers, one per direction,
are trained together. The decoder's queries start from positions alone. Its keys and values are the word embeddings in
every layer, and no position sees its own word (static-KV attention, section 2.1). The prediction of y_i therefore never
depends on y_i, and one pass predicts all words. Only the last layer attends to the source, with an additional key and
value for words without a counterpart (leaky attention). W_xy [I,J] is the mean of that attention's weights over heads,
and

    L = L_xy + L_yx + α ‖W_xy − W_yxᵀ‖² + β (H(W̃_xy) + H(W̃_yx)),   W̃ = (W + λ) / Σ_j (W + λ)

The square is averaged over cells, and H is the mean entropy of a row (`loss_form` paper). The paper's code, with which
α and β were tuned, halves L_xy + L_yx and averages the entropy over cells instead of rows (`loss_form` code).

Ablations (Table 2): `causal` decoders, `no_leak`, `no_agreement` (neither α nor β; links go from each word to its best
counterpart and are symmetrized), and `--cross-attention all`.

Our own addition is `diagonal` κ: it lowers the logits of attention to the source by κ_h |(i+½)/I − (j+½)/J|, where each
head learns κ_h ≥ 0, starting from κ. Until a word is learned, it is linked as in fast_align (Dyer, Chahuneau & Smith
2013), and the words around it are learned sooner.

If there are links to learn from (a guide), as in the guided systems of Table 1, we add γ times the cross-entropy of W
with the links of each linked word, in both directions (our own form of the loss). The attention that predicts y_i has
to guess where y_i comes from, and models of few pairs guess badly. A guided model therefore takes W from a second pass,
as in Garg et al. (2019), which predicts nothing and in which every word sees itself. It attends to whole words: W_ij is
the total weight of the subwords of x_j's word.

Differences from the paper's code: we also train on and align sides of one word, which in that code sees itself. No
softmax includes padding; label smoothing is the same as in all other systems.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from synmt.alignment.aligner import FitBitext, FittedText, Fitting, Needs, Settings, copy_saved, options_of
from synmt.alignment.config import ALL_OF_LINKS, Heuristic, LinksBy
from synmt.alignment.published.presets import PAPER
from synmt.data.records import SentencePair
from synmt.model.files import check_new
from synmt.model.source import ENCODERS, SourceSide, encoders_of, source_side
from synmt.nn.config import TransformerConfig
from synmt.options import Checked, Preset, option_names, setting
from synmt.streams import BadInput, Message, WrongUsage
from synmt.text.vocabulary import Vocabulary
from synmt.training.config import TrainingConfig, training_options
from synmt.training.presets import configs

if TYPE_CHECKING:
    from synmt.alignment.corpus import Opened
    from synmt.alignment.extraction import SoftLinks
    from synmt.alignment.published.mask_align.model import MaskAlignModel

# `small` is for about ten thousand pairs on two CPU cores, with a schedule that ends.
PRESETS = {
    "small": Preset({**PAPER, **dict(
        width=128, feedforward=256, encoder_layers=2, decoder_layers=2, dropout=0.05,
        merges=4000, batch_tokens=1024, accumulate=1, epochs=10, updates=0,
        learning_rate=2e-3, schedule="cosine", warmup=400,
    )}),
    "paper": Preset(PAPER),
}  # fmt: skip
GUIDED_THRESHOLD = 0.4  # higher than for subwords, because whole words weigh more; tuned on 40 hand-aligned pairs
# Positions are sinusoidal. No validation chooses a model, because there are no gold links.
USED = ALL_OF_LINKS.union(
    {"device", "guide", "resume", "preset", *ENCODERS},
    set(option_names(TransformerConfig)) - {"positions"},
    training_options(
        "patience", "select", "validation-beam", "prefixes", "prefix-tokens", "tree-dropout", "subword-dropout"
    ),
)


@dataclass(frozen=True)
class MaskAlign(Checked):
    cites: ClassVar[tuple[str, ...]] = ("chen2021mask",)
    loss_form: Literal["code", "paper"] = setting("code", "how the terms of Mask-Align's loss are normalized")
    agreement: float = setting(5.0, "α, the weight of both directions' agreement", unless="no_agreement")
    entropy: float = setting(1.0, "β, the weight of the entropy of attention", unless="no_agreement")
    entropy_smoothing: float = setting(
        0.05, "λ, added to attention weights before their entropy is computed", 1e-9, unless="no_agreement"
    )
    guidance: float = setting(4.0, "γ, the weight of the links from --guide")
    diagonal: float = setting(0.0, "κ, how strongly attention favours the diagonal at first; try 4 with few pairs")
    causal: bool = setting(False, "predict each word only from the previous ones")
    no_leak: bool = setting(False, "do without the key for words that have no counterpart")
    no_agreement: bool = setting(False, "train the two directions independently: α and β are 0")
    text: FittedText | None = None
    links_by: LinksBy = "attention"
    opened: "Opened[MaskAlignConfig] | None" = field(default=None, repr=False, compare=False)
    presets: ClassVar[Mapping[str, Preset]] = PRESETS
    of_guide: ClassVar[tuple[str, ...]] = ("guidance",)
    several: ClassVar[bool] = True

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
        from synmt.alignment.published.mask_align.validation import SAMPLE, LinkValidation
        from synmt.training.distribution import joined_processes
        from synmt.training.fit import Recipe, fit

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
            fit(how.out, config, data, Recipe(training), processes, announce=lambda *_: how.notes.say())
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
        """Return an aligner that reads links from this model."""
        config = opened.folder.config
        return cls(**options_of(config.options), text=config.text, opened=opened)

    def align(self, pairs: Sequence[SentencePair]) -> "list[SoftLinks]":
        """Return the weights of each pair in order. Raises BadInput for a record that lacks something its side needs,
        and for posteriors of a model trained on links, whose attention has seen the word."""
        import torch

        from synmt.alignment.extraction import HARMONIC_THRESHOLD

        assert self.opened
        guided, model = self.opened.folder.config.guided, self.opened.model
        if self.links_by == "posterior" and guided:
            raise BadInput(Message("--links-by posterior does not work with a model trained on links (--guide)"))
        read = model.posteriors if self.links_by == "posterior" else model.weights
        threshold = GUIDED_THRESHOLD if guided else HARMONIC_THRESHOLD
        with torch.no_grad():
            return self.opened.links(pairs, read, threshold)

    def predicted(self, pairs: Sequence[SentencePair]) -> list[list[bool]]:
        """Implement Predictor (Chen, Sun & Liu 2021, section 4.4)."""
        import torch

        from synmt.alignment.corpus import BATCH_TOKENS
        from synmt.data.batches import in_batches
        from synmt.device import autocast

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
    """The config in the folder. guided: whether the model learned from given links; encoders: of source and target;
    text: the text that it was fitted to; network: all sizes. A FolderConfig."""

    options: MaskAlign
    guided: bool
    encoders: tuple[SourceSide, SourceSide]
    text: FittedText
    network: TransformerConfig
    aligner: ClassVar[str] = "mask-align"
    vocabulary_folders: ClassVar[tuple[str, ...]] = ("source", "target")

    def __post_init__(self) -> None:
        """Raise ValueError for incompatible fields."""
        if type(self.guided) is not bool:
            raise ValueError(f"guided cannot be {self.guided!r}")
        if self.guided and self.options.causal:
            raise ValueError("a causal decoder cannot learn from given links")
        for side in self.encoders:
            side.check_network(self.network)

    def fields(self) -> dict[str, Any]:
        encoders = {"guided": self.guided, "encoders": [side.settings() for side in self.encoders]}
        network = {"network": asdict(self.network)}
        return {"options": options_of(self.options), **encoders, **asdict(self.text), **network}

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Self:
        source, target = (source_side(side) for side in fields["encoders"])
        options, network = MaskAlign(**fields["options"]), TransformerConfig(**fields["network"])
        return cls(options, fields["guided"], (source, target), FittedText.read(fields), network)

    def new_model(self, vocabularies: Sequence[Vocabulary]) -> "MaskAlignModel":
        from synmt.alignment.published.mask_align.model import MaskAlignModel

        source, target = vocabularies
        return MaskAlignModel(self.network, self.options, self.guided, self.encoders, (source, target))


def fitting_config(
    settings: Mapping[str, Any],
) -> tuple[tuple[SourceSide, SourceSide], TransformerConfig, TrainingConfig]:
    """Return the encoders, the network and the training config of these settings. Raises WrongUsage if no model can
    have them."""
    try:
        encoders = encoders_of(settings)
        network, training = configs({**PRESETS[settings.get("preset") or "small"].settings, **settings})
        for side in encoders:
            side.check_network(network)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return encoders, network, training
