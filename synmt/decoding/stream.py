"""Translation of a stream of lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import orjson

from synmt.decoding.config import SearchConfig, TranslateConfig
from synmt.decoding.translation import Translation, Translator
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.records import source_records
from synmt.model.source import SourceFeatures
from synmt.model.words import Sides, SideWords, note_doubts, sides_of
from synmt.pool import processes
from synmt.streams import BadInput, BadLines, Latest, Line, LineWriter, Notes, OnError, read_lines
from synmt.trees.dependency import conllu_of_record


def translate_stream(
    models: Sequence[Path],
    files: Iterable[str],
    search: SearchConfig,
    config: TranslateConfig,
    device: str,
    on_error: OnError,
) -> None:
    """Write a line for each line of the files to standard output; with format conllu, the block of a sentence.

    models: one, or several that translate together; the first says what becomes of raw text.

    Raises BadInput, or with `on_error="blank"` gives an empty translation for a bad line, as to a sentence of more
    than `max_tokens` source tokens. Both are counted on stderr.
    """
    opened = tuple(models), search, config, device
    translator = _open(*opened)
    if config.format == "conllu" and not translator.writes_trees:
        raise BadInput("writes no dependency trees", str(models[0]))
    bad = BadLines(on_error)
    words, _ = words_of_sides(translator.config, config)
    latest = Latest()
    sentences = source_sentences(translator, words, read_lines(files, on_error), config, bad, latest)
    with LineWriter() as output, processes(config.jobs, translator.translate_batch, open_batches, *opened) as run:
        for translations in translator.translate(sentences, run, latest.pauses):
            output.write(_line(translations, config))
            if latest.pauses():
                output.flush()
            if config.format == "conllu" and not translations[0].tokens:
                bad.leave_empty("line without a sentence in CoNLL-U")
    bad.report("translate")
    notes = Notes("translate")
    note_doubts(notes, words)
    notes.say()


def _open(models: tuple[Path, ...], search: SearchConfig, config: TranslateConfig, device: str) -> Translator:
    folders = [ModelFolder.open(model, ModelConfig) for model in models]
    return Translator.open_all(folders, local_device(device), search, config)


def open_batches(
    models: tuple[Path, ...], search: SearchConfig, config: TranslateConfig, device: str
) -> Callable[[list[SourceFeatures]], list[list[Translation]]]:
    return _open(models, search, config, device).translate_batch


def words_of_sides(model: ModelConfig, config: TranslateConfig) -> Sides:
    """Return the words of sources and of targets, which --tokenizer may make in place of the one of training."""
    return sides_of(model.languages, config.tokenizer) if config.tokenizer else model.sides()


def source_sentences(
    translator: Translator,
    words: SideWords,
    lines: Iterable[Line],
    config: TranslateConfig,
    bad: BadLines,
    latest: Latest,
) -> Iterator[SourceFeatures]:
    """Yield what the encoder reads of each line, nothing of one that is left empty; `latest` sees each."""
    for line, record in source_records(lines, translator.needs, words, bad):
        latest.see(line)
        features = SourceFeatures([], words=0)
        try:
            if record.tokens:
                features = translator.features(record)
        except ValueError as error:
            bad.add(line.error(error))
        if any(len(form.tokens) > config.max_tokens for form in features.forms):
            bad.leave_empty(f"line of more than {config.max_tokens} tokens")
            features = SourceFeatures([], words=0)
        yield features


def _line(translations: list[Translation], config: TranslateConfig) -> str:
    best = translations[0]
    if config.format == "conllu":
        return conllu_of_record(best.record())
    if config.n_best is None and config.format == "text":
        return best.text
    fields = best.fields()
    if config.n_best is not None:
        fields["n_best"] = [translation.fields() for translation in translations[: config.n_best]]
    return orjson.dumps(fields).decode()
