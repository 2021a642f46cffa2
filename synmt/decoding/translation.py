"""Translation of records in batches: sorted by length inside a window, given back in the order they came."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from synmt.decoding.beam import Hypothesis, SearchConfig, beam_search
from synmt.decoding.hypotheses import Transitions
from synmt.device import autocast
from synmt.streams import BadInput, windows
from synmt.systems.batches import Sources, token_batches
from synmt.systems.model_folder import ModelConfig, ModelFolder
from synmt.systems.source import SourceFeatures, Task
from synmt.systems.translation import TranslationModel
from synmt.text.bpe import Bpe, join_subwords
from synmt.text.tokenization import spaces_after
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.arc_tokens import write_entries
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import read_forest

WINDOW = 2000


@dataclass(frozen=True, slots=True)
class Translation:
    """text: detokenized; tokens: words; scores as in Hypothesis.

    Of a model that writes arcs: heads and deprels, as in a parse record, what has no head being a root; and the
    target string as it was written, as `synmt transitions` writes it. Else None.
    """

    text: str = ""
    tokens: list[str] = field(default_factory=list)
    score: float = 0.0
    log_probability: float = 0.0
    heads: list[int] | None = None
    deprels: list[str] | None = None
    transitions: str | None = None

    def fields(self) -> dict[str, Any]:
        """Those that are known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def record(self) -> ParseRecord:
        """The generated tree, nothing for the empty translation."""
        spaces = spaces_after(self.tokens, self.text) or []
        return ParseRecord(self.text, self.tokens, spaces, heads=self.heads or [], deprels=self.deprels or [])


class Translator:
    """A model, what stands around it, and how to search. `batch_tokens`: source tokens of a batch, padded."""

    def __init__(
        self,
        model: TranslationModel,
        config: ModelConfig,
        bpe: Bpe,
        vocabulary: Vocabulary,
        search: SearchConfig,
        batch_tokens: int = 4096,
        task: Task = "translate",
    ) -> None:
        self.model, self.bpe, self.vocabulary, self.search = model, bpe, vocabulary, search
        self.task = task
        self.side = config.side
        writes_arcs = task == "translate" and config.target.writes_arcs
        self.transitions = Transitions(config.target, vocabulary) if writes_arcs else None
        self.batch_tokens = batch_tokens
        self.detokenize = config.open_tokenizers()[1].detokenize
        self.device = model.network.embedding.device

    @classmethod
    def open(
        cls, folder: ModelFolder, device: torch.device, search: SearchConfig, batch_tokens: int, task: Task
    ) -> "Translator":
        """Raises BadInput, also for a task that the model has not learnt."""
        if task not in folder.config.side.tasks:
            raise BadInput(f"has not learnt to {task}", str(folder.path))
        model = folder.load_model(device)
        return cls(model, folder.config, folder.bpe, folder.vocabulary, search, batch_tokens, task)

    def features(self, record: ParseRecord) -> SourceFeatures:
        """What the encoder reads. Raises ValueError for a record that lacks what the model needs."""
        return self.side.features(record, self.bpe.segment, self.task)

    def translate(self, sentences: Iterable[SourceFeatures]) -> Iterator[list[Translation]]:
        """The finished translations of each sentence, best first; an empty one has one empty translation.

        Looks ahead over a bounded window.
        """
        for window in windows(sentences, WINDOW):
            yield from self._translate_window(window)

    def _translate_window(self, window: Sequence[SourceFeatures]) -> list[list[Translation]]:
        translations: list[list[Translation]] = [[Translation()] for _ in window]
        numbers = [number for number, sentence in enumerate(window) if sentence.tokens]
        for batch, found in self._search([window[number] for number in numbers]):
            for index, hypotheses in zip(batch, found, strict=True):
                translations[numbers[index]] = [self.translation(hypothesis) for hypothesis in hypotheses]
        return translations

    def _search(self, sentences: list[SourceFeatures]) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        if not sentences:
            return
        sources = Sources.encode(sentences, self.vocabulary)
        lengths = np.array([len(sentence.tokens) for sentence in sentences])
        order = lengths.argsort(kind="stable")[::-1].tolist()
        for batch in token_batches(order, lengths, self.batch_tokens):
            source = sources.batch(batch, self.vocabulary.padding, self.device)
            with autocast(self.device):
                yield batch, beam_search(self.model, source, self.search, self.transitions)

    def translation(self, hypothesis: Hypothesis) -> Translation:
        entries = self.vocabulary.decode(hypothesis.ids)
        scores = hypothesis.score, hypothesis.log_probability
        if self.task == "parse":
            tokens = [entry.strip() for entry in entries]
            return Translation(" ".join(tokens), tokens, *scores)
        if self.transitions is None:
            tokens = join_subwords([entry for entry in entries if not is_structural(entry)])
            return Translation(self.detokenize(tokens), tokens, *scores)
        tree = read_forest(entries, self.transitions.style)
        text = self.detokenize(tree.tokens)
        return Translation(text, tree.tokens, *scores, tree.heads, tree.deprels, write_entries(entries))
