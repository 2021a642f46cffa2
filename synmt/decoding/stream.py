"""Translation of a stream of lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import orjson

from synmt.decoding.beam import SearchConfig
from synmt.decoding.translation import Translation, Translator
from synmt.device import local_device
from synmt.streams import BadInput, LineWriter, OnError, fail, read_lines
from synmt.systems.model_folder import ModelFolder
from synmt.systems.records import source_records
from synmt.systems.source import SourceFeatures, Task
from synmt.trees.dependency import conllu_of_record

Form = Literal["text", "jsonl", "conllu"]


def translate_stream(
    model: Path,
    files: Iterable[str],
    search: SearchConfig,
    n_best: int | None,
    form: Form,
    batch_tokens: int,
    max_tokens: int,
    device: str,
    on_error: OnError,
    task: Task,
) -> tuple[int, int]:
    """Writes a line for each line of the files to standard output.

    With form conllu, it writes the block of a sentence with the tree that the model generates. Raises BadInput, or
    with `on_error="blank"` gives an empty translation for a bad line; a sentence of more than `max_tokens` source
    tokens gets one, too. Returns how many lines were bad, and how many too long.
    """
    folder = ModelFolder.open(model)
    translator = Translator.open(folder, local_device(device), search, batch_tokens, task)
    if form == "conllu" and translator.transitions is None:
        raise BadInput("writes no dependency trees", str(model))
    tokenizer, _ = folder.config.open_tokenizers()
    bad: list[BadInput] = []
    on_bad = fail if on_error == "fail" else bad.append

    too_long = 0

    def sentences() -> Iterator[SourceFeatures]:
        nonlocal too_long
        lines, needs = read_lines(files, on_error), translator.side.needs(training=False)
        for line, record in source_records(lines, needs, tokenizer, folder.config.source_language, on_bad):
            try:
                features = translator.features(record) if record.tokens else SourceFeatures([], words=0)
            except ValueError as error:
                on_bad(line.error(error))
                features = SourceFeatures([], words=0)
            if len(features.tokens) > max_tokens:
                too_long += 1
                features = SourceFeatures([], words=0)
            yield features

    with LineWriter() as output:
        for translations in translator.translate(sentences()):
            output.write(_line(translations, n_best, form))
    return len(bad), too_long


def _line(translations: list[Translation], n_best: int | None, form: Form) -> str:
    best = translations[0]
    if form == "conllu":
        return conllu_of_record(best.record())
    if n_best is None and form == "text":
        return best.text
    fields = best.fields()
    if n_best is not None:
        fields["n_best"] = [translation.fields() for translation in translations[:n_best]]
    return orjson.dumps(fields).decode()
