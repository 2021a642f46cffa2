"""Translation of records in batches, sorted by length within a window and returned in input order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

import torch

from synmt.components.output import ArcOutput, Hypothesis
from synmt.data.batches import Sources, in_windows
from synmt.device import Precision, autocast
from synmt.model.config import ModelConfig
from synmt.model.folder import CODES_FILE, ModelFolder
from synmt.model.source import SourceFeatures
from synmt.model.translation import TranslationModel
from synmt.nn.encoding import SourceBatch
from synmt.nn.quantization import ENGINE, quantize
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.exported import ExportedModel
from synmt.search.tree_search import tree_search
from synmt.streams import BadInput, Message, never, shown
from synmt.streams.pool import Run, alone
from synmt.text.tokenization import open_tokenizer, spaces_after
from synmt.trees.arc_tokens import write_tokens
from synmt.trees.dependency import detokenized
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import with_one_root

WINDOW = 2000
USUAL_BEAM = 8  # a batch for more hypotheses per sentence has fewer sentences, so that memory stays the same


@dataclass(frozen=True, slots=True)
class Translation:
    """text: detokenized; tokens: words; scores as in Hypothesis.

    If the model writes arcs: heads and deprels as in a parse record, with words without heads as roots; and the target
    string in the format of `synmt transitions`. Otherwise None.
    """

    text: str = ""
    tokens: list[str] = field(default_factory=list)
    score: float = 0.0
    log_probability: float = 0.0
    heads: list[int] | None = None
    deprels: list[str] | None = None
    transitions: str | None = None

    def __repr__(self) -> str:
        return f"<Translation {shown(self.text, 70)!r}, score {self.score:.4f}>"

    @property
    def line(self) -> str:
        """The text, as `synmt translate` writes it."""
        return self.text

    def fields(self) -> dict[str, Any]:
        """Return the fields that are not None, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def record(self) -> ParseRecord:
        """Return the generated tree, in which further roots attach to the first; an empty translation has none."""
        spaces, heads, deprels = spaces_after(self.tokens, self.text) or [], self.heads or [], self.deprels or []
        return with_one_root(ParseRecord(self.text, self.tokens, spaces, heads=[*heads], deprels=[*deprels]))


class Translator:
    """A model with its vocabulary, tokenizers and options.

    samples: how many translations to sample per sentence; others: the other models of an ensemble, each with its own
    form of the source.
    """

    def __init__(
        self,
        model: TranslationModel | ExportedModel,
        folder: ModelFolder[ModelConfig],
        search: SearchConfig,
        how: TranslateConfig,
    ) -> None:
        self.config = config = folder.config
        self.bpe, self.vocabulary, self.search = folder.bpe, folder.vocabulary, search
        self.model: Any = model
        self.path, self.task, self.precision = folder.path, how.task, how.precision
        self.batch_tokens, self.samples = how.batch_tokens, how.n_best or 1
        self.side = config.source.for_translation()
        self.target = config.target
        trees = None if how.n_best else int(how.format != "text")
        if how.task == "translate":
            self.output = config.target.output(folder.vocabulary, trees)
        else:
            self.output = config.target.output_of_other_tasks(folder.vocabulary)
        self.empty = Translation(heads=[], deprels=[], transitions="") if self.writes_trees else Translation()
        self.tokenizer = open_tokenizer(config.tokenizer, config.languages[1])
        self.device = model.device if isinstance(model, ExportedModel) else model.network.embedding.device
        self.others: list[Translator] = []

    @classmethod
    def open(
        cls,
        folder: ModelFolder[ModelConfig],
        device: torch.device,
        search: SearchConfig,
        config: TranslateConfig,
        model: TranslationModel | ExportedModel | None = None,
    ) -> "Translator":
        """Open the model of a folder; `model` is the result of `load`, if that ran before. Raises BadInput, also for
        a task that the model was not trained for."""
        if config.task not in folder.config.source.tasks:
            raise BadInput(f"was not trained to {config.task}", str(folder.path))
        if model is None:
            model = load(folder, device, config.precision)
        return cls(model, folder, search, config)

    @classmethod
    def open_all(
        cls,
        folders: Sequence[ModelFolder[ModelConfig]],
        device: torch.device,
        search: SearchConfig,
        config: TranslateConfig,
        models: Sequence[TranslationModel | ExportedModel] = (),
    ) -> "Translator":
        """Open an ensemble; `models` are the results of `load`, if that ran before. Raises BadInput, also for models
        that cannot form an ensemble."""
        loaded: Sequence[TranslationModel | ExportedModel | None] = models or [None] * len(folders)
        first, *first.others = (
            cls.open(folder, device, search, config, model) for folder, model in zip(folders, loaded, strict=True)
        )
        for each in first.others:
            if exported := [side.path for side in (first, each) if isinstance(side.model, ExportedModel)]:
                raise BadInput("is exported for CTranslate2, which runs no ensembles", str(exported[0]))
            if others := [side.path for side in (first, each) if not side.target.writes_words_alone]:
                raise BadInput("writes trees, but an ensemble needs models that write only words", str(others[0]))
            if each.vocabulary.target != first.vocabulary.target:
                cause = (
                    "has a different target vocabulary than {}: train it on the same targets, with the BPE codes in {}"
                )
                raise BadInput(Message(cause, first.path, first.path / CODES_FILE), str(each.path))
        words = {(each.config.languages, each.config.tokenizer, each.config.marks) for each in folders}
        if len(words) > 1:
            raise BadInput("models of an ensemble need the same languages and tokenizers", str(first.path))
        return first

    @property
    def writes_trees(self) -> bool:
        return self.output.writes_trees

    @property
    def needs(self) -> frozenset[str]:
        """Return the fields that a record needs."""
        return frozenset().union(*(each.side.needs(training=False) for each in (self, *self.others)))

    def features(self, record: ParseRecord) -> SourceFeatures:
        """Return the input of the encoders. Raises ValueError for a record that lacks a field."""
        features = self.side.features(self.config.learned(record), self.bpe.segment, self.task)
        features.beside = [each.features(record) for each in self.others]
        return features

    def translate(
        self,
        sentences: Iterable[SourceFeatures],
        run: Run[list[SourceFeatures], list[list[Translation]]] | None = None,
        pauses: Callable[[], bool] = never,
    ) -> Iterator[list[Translation]]:
        """Yield the distinct translations of each sentence, best first; an empty sentence has one empty translation.

        Reads ahead over a bounded window, or until the input pauses. run: maps `translate_batch` over batches in other
        processes.
        """
        run = run or alone(self.translate_batch)
        hypotheses = self.samples if self.search.sample else self.search.beam
        tokens = max(1, self.batch_tokens * USUAL_BEAM // max(USUAL_BEAM, hypotheses))
        return in_windows(sentences, WINDOW, _length, tokens, run, pauses)

    def translate_batch(self, sentences: Sequence[SourceFeatures]) -> list[list[Translation]]:
        """Return the translations of sentences of similar lengths, as `translate` does."""
        whole = [each for each in sentences if each.tokens]
        hypotheses = iter(self._search(whole) if whole else [])
        return [self.distinct(next(hypotheses)) if each.tokens else [self.empty] for each in sentences]

    def _search(self, sentences: Sequence[SourceFeatures]) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first or in the order of sampling; none if numbers overflow."""
        if not self.search.sample:
            return self._found(sentences, self.search)
        search = replace(self.search, beam=1)
        copies = [each for each in sentences for _ in range(self.samples)]
        seeds = [_seed(self.search.seed, place % self.samples, each) for place, each in enumerate(copies)]
        drawn = chain.from_iterable(self._found(copies, search, seeds))
        return [list(islice(drawn, self.samples)) for _ in sentences]

    def _found(
        self, sentences: Sequence[SourceFeatures], search: SearchConfig, seeds: Sequence[int] = ()
    ) -> list[list[Hypothesis]]:
        if isinstance(self.model, ExportedModel):
            return self.model.search(sentences, search)
        source, *forms = (
            each.batch([sentence.forms[number] for sentence in sentences])
            for number, each in enumerate((self, *self.others))
        )
        with autocast(self.device, self.precision), suppress(FloatingPointError):
            if isinstance(self.output, ArcOutput) and search.search != "tokens":
                return tree_search(self.model, source, search, self.output)
            others = [(each.model, form) for each, form in zip(self.others, forms, strict=True)]
            return beam_search(self.model, source, search, self.output, others, seeds)
        return [[] for _ in sentences]

    def batch(self, sentences: Sequence[SourceFeatures]) -> SourceBatch:
        """Return the encoder input of sentences as tensors."""
        sources = Sources.encode(sentences, self.vocabulary)
        return sources.batch(range(len(sentences)), self.vocabulary.padding, self.device)

    def distinct(self, hypotheses: Iterable[Hypothesis]) -> list[Translation]:
        """Return the translations of hypotheses: the best for each text and tree, or all samples.

        Raises BadInput if there are no hypotheses.
        """
        translations = list(map(self.translation, hypotheses))
        if not translations:
            raise BadInput(
                "this model computes NaN or infinite values: no translation has a probability", str(self.path)
            )
        if self.search.sample:
            return translations
        distinct: dict[tuple[str, str | None], Translation] = {}
        for each in translations:
            distinct.setdefault((each.text, each.transitions), each)
        return list(distinct.values())

    def translation(self, hypothesis: Hypothesis) -> Translation:
        written = self.vocabulary.decode(hypothesis.ids)
        scores = hypothesis.score, hypothesis.log_probability
        if self.task == "parse":
            tokens = [token.strip() for token in written]
            return Translation(" ".join(tokens), tokens, *scores)
        read, string = self.output.read(written, hypothesis.labels)
        found = detokenized(read, self.tokenizer)
        if string is None:
            return Translation(found.text, found.tokens, *scores)
        return Translation(found.text, found.tokens, *scores, found.heads, found.deprels, write_tokens(string))


def load(
    folder: ModelFolder[ModelConfig], device: torch.device, precision: Precision
) -> TranslationModel | ExportedModel:
    """Return the trained model in the given precision, or an exported model in its own. Raises BadInput, also for int8
    on a GPU or without oneDNN."""
    if precision == "int8" and device.type != "cpu":
        raise BadInput(Message("runs only on a CPU: add --device cpu"), "int8")
    if precision == "int8" and ENGINE not in torch.backends.quantized.supported_engines:
        raise BadInput("needs a PyTorch build with oneDNN", "int8")
    if "exported" in folder.training:
        if precision != "auto":
            raise BadInput(f"is exported in a precision of its own, not {precision}", str(folder.path))
        return ExportedModel(folder, device)
    model: TranslationModel = folder.load_model(device)
    if precision == "int8":
        quantize(model.network)
    return model


def _seed(seed: int, number: int, sentence: SourceFeatures) -> int:
    """Return the seed of a sample of a sentence, which does not depend on the batch or process."""
    said = "\n".join([str(seed), str(number), *sentence.tokens])
    return int.from_bytes(blake2b(said.encode(), digest_size=7).digest(), "big")


def _length(sentence: SourceFeatures) -> int:
    """Return the number of tokens of a sentence in its longest form."""
    return max(len(form.tokens) for form in sentence.forms)
