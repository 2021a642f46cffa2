"""Translation: the functions behind `synmt translate` and `synmt logprob`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import torch

from synmt.api.given import Pairs, Sentence, as_given, columns_of, files_in, lines_of, public
from synmt.components.contract import Task
from synmt.data.words import say_warnings
from synmt.device import Precision, local_device
from synmt.inspection.matrix import Picture, draw_matrices
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.options import Rules, check_used, given, options_in
from synmt.search.config import InputConfig, LogprobConfig, SearchConfig, TranslateConfig, choose
from synmt.search.exported import ExportedModel
from synmt.search.scores import ForcedTarget, forcing, open_pairs, scored
from synmt.search.stream import open_batches, source_sentences, words_of_sides
from synmt.search.translation import Translation, Translator, load
from synmt.streams import BadLines, Latest, Line, Notes, OnError, shown
from synmt.streams.pool import processes

OF_SETTINGS = options_in(SearchConfig) | options_in(TranslateConfig)
Opened = tuple[tuple[Path, ...], SearchConfig, TranslateConfig, str]


@public
def translate(
    model: str | Path | Sequence[str | Path],
    sentences: Iterable[Sentence] | Path,
    search: SearchConfig = SearchConfig(),
    *,
    inputs: InputConfig = InputConfig(),
    task: Task = "translate",
    device: str = "auto",
    precision: Precision = "auto",
    jobs: int = 1,
    on_error: OnError = "fail",
) -> Iterator[Translation]:
    """Yield the translation of each sentence by the model in a folder, or by the models in several folders together.

    device, precision: as for `Model.load`; the others as for `Model.translate`. Raises BadInput, TypeError and
    ValueError.
    """
    folders = (model,) if isinstance(model, str | Path) else tuple(model)
    opened = Model.load(*folders, device=device, precision=precision)
    return opened.translate(sentences, search, inputs=inputs, task=task, jobs=jobs, on_error=on_error)


@public
def logprob(
    model: str | Path,
    pairs: Pairs,
    inputs: InputConfig = InputConfig(),
    *,
    sum_trees: int = 0,
    device: str = "auto",
    precision: Literal["auto", "fp32", "bf16"] = "auto",
    on_error: OnError = "fail",
) -> Iterator[ForcedTarget]:
    """Yield the log-probability of each target, given its source, by the model in a folder.

    device, precision: as for `Model.load`; the others as for `Model.logprob`. Raises BadInput, TypeError and
    ValueError.
    """
    opened = Model.load(model, device=device, precision=precision)
    return opened.logprob(pairs, inputs, sum_trees=sum_trees, on_error=on_error)


@dataclass(frozen=True)
class Model:
    """A translation model in memory, or several that translate together."""

    def __repr__(self) -> str:
        names = shown(", ".join(str(each.path) for each in self.folders), 70)
        return f"<Model {names}: {self.precision} on {self.device}>"

    folders: Sequence[ModelFolder[ModelConfig]]
    models: Sequence[TranslationModel | ExportedModel]
    device: torch.device
    precision: Precision

    @classmethod
    @public
    def load(cls, *folders: str | Path, device: str = "auto", precision: Precision = "auto") -> Self:
        """Load one model, or several that translate together by averaging their probabilities.

        device: auto, cpu, cuda or cuda:N; precision: auto, fp32, bf16 or int8. Raises BadInput, TypeError and
        ValueError.
        """
        if not folders:
            raise TypeError("no model to load")
        opened = [ModelFolder.open(Path(folder), ModelConfig) for folder in folders]
        place = local_device(device)
        return cls(opened, [load(folder, place, precision) for folder in opened], place, precision)

    @public
    def translate(
        self,
        sentences: Iterable[Sentence] | Path,
        search: SearchConfig = SearchConfig(),
        *,
        inputs: InputConfig = InputConfig(),
        task: Task = "translate",
        jobs: int = 1,
        on_error: OnError = "fail",
    ) -> Iterator[Translation]:
        """Yield the translation of each sentence in order. The translation of an empty sentence is empty.

        It looks ahead over a bounded window, and translates sentences of similar length together.
        sentences: a file, or any iterable; task: as in `synmt translate`; jobs: processes, each with all models.
        on_error: fail, or blank: a bad sentence gets an empty translation and is counted in a warning.
        Raises BadInput, TypeError and ValueError.
        """
        return (best for best, *_ in self._found(sentences, None, search, inputs, task, on_error, jobs))

    @public
    def n_best(
        self,
        sentences: Iterable[Sentence] | Path,
        n: int,
        search: SearchConfig = SearchConfig(),
        *,
        inputs: InputConfig = InputConfig(),
        task: Task = "translate",
        on_error: OnError = "fail",
    ) -> Iterator[list[Translation]]:
        """Yield at most n distinct translations of each sentence, best first; with `sample`, n random ones.

        As `translate`; `beam` must be at least n. Raises BadInput, TypeError and ValueError.
        """
        return (found[:n] for found in self._found(sentences, n, search, inputs, task, on_error))

    @public
    def logprob(
        self, pairs: Pairs, inputs: InputConfig = InputConfig(), *, sum_trees: int = 0, on_error: OnError = "fail"
    ) -> Iterator[ForcedTarget]:
        """Yield the log-probability of each target, given its source, in nats: `total()`, and one for each subword.

        pairs: (source, target) pairs, a file of `source TAB target` lines, or a source and a target file; sum_trees: as
        in `synmt logprob`. on_error: fail, or blank: a bad pair gets no tokens and is counted in a warning. Raises
        BadInput, TypeError and ValueError, also for several models, and for a model loaded as int8.
        """
        folder = self._only("log-probabilities need")
        decided: dict[str, Any] = {"format": "jsonl", "precision": self.precision}
        config = LogprobConfig(**asdict(inputs), sum_trees=sum_trees, **decided)
        model = self.models[0]  # `forcing` refuses the folder of an exported one
        translator = forcing(folder, self.device, config, model if isinstance(model, TranslationModel) else None)
        return _forced(translator, config, pairs, on_error)

    @public
    def attention(
        self,
        sentence: Sentence,
        *,
        side: Literal["source", "target"] = "source",
        layer: int = 1,
        head: int | None = None,
    ) -> Picture:
        """Return a picture of the heads of a layer on a sentence, as `synmt inspect attention` draws it.

        side: the encoder, or the decoder on its translation; layer, head: from 1; head: None for all.
        The parameters are read from the folder again, because the picture needs fp32 on the CPU. Raises BadInput, also
        for a layer or head that the model lacks, and ValueError, also for several models.
        """
        from synmt.inspection.sentence import head_matrices, read_sentence, read_translation

        folder = self._only("a picture needs")
        readers = {"source": read_sentence, "target": read_translation}
        (line,) = lines_of([sentence], "sentence", "fail")
        shown = head_matrices(readers[side](folder, line), "weights", layer, head)
        return Picture(lambda figure: draw_matrices(figure, *shown))

    def _only(self, what: str) -> ModelFolder[ModelConfig]:
        """Return the folder of the only model. Raises ValueError for several."""
        if len(self.folders) > 1:
            raise ValueError(f"{what} exactly one model")
        return self.folders[0]

    def _found(
        self,
        sentences: Iterable[Sentence] | Path,
        n: int | None,
        search: SearchConfig,
        inputs: InputConfig,
        task: Task,
        on_error: OnError,
        jobs: int = 1,
    ) -> Iterator[list[Translation]]:
        decided: dict[str, Any] = {"n_best": n, "format": "jsonl", "precision": self.precision, "jobs": jobs}
        config = TranslateConfig(**asdict(inputs), task=task, **decided)
        config.check_search(search)
        first = self.folders[0]
        rules = Rules(lambda given: choose(first.config.target, config, "exported" in first.training))
        check_used(as_given({**given(search), **given(inputs), **decided}), OF_SETTINGS, rules)
        translator = Translator.open_all(self.folders, self.device, search, config, self.models)
        lines, bad = lines_of(sentences, "sentences", on_error), BadLines(on_error)
        opened = tuple(each.path for each in self.folders), search, config, str(self.device)
        return _translations(translator, config, lines, bad, opened)


def _forced(translator: Translator, config: LogprobConfig, pairs: Pairs, on_error: OnError) -> Iterator[ForcedTarget]:
    bad, notes, sides = BadLines(on_error), Notes(), words_of_sides(translator.config, config)
    columns = columns_of(pairs, open_pairs(files_in(pairs), translator.config), bad)
    yield from scored(translator, sides, columns, config, bad, notes, Latest())
    say_warnings(bad, notes, *sides)


def _translations(
    translator: Translator, config: TranslateConfig, lines: Iterable[Line], bad: BadLines, opened: Opened
) -> Iterator[list[Translation]]:
    """Yield the translations of each line. opened: the models for each of several processes to load."""
    words, _ = words_of_sides(translator.config, config)
    sentences = source_sentences(translator, words, lines, config, bad, Latest())
    with processes(config.jobs, translator.translate_batch, open_batches, *opened) as run:
        yield from translator.translate(sentences, run)
    say_warnings(bad, Notes(), words)
