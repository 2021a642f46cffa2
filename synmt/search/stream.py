"""Translation of a stream of lines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from synmt.data.records import source_records
from synmt.data.words import Sides, SideWords, say_warnings, sides_of, sides_of_model
from synmt.device import local_device
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures
from synmt.search.config import InputConfig, SearchConfig, TranslateConfig
from synmt.search.translation import Translation, Translator
from synmt.streams import BadInput, BadLines, Latest, Line, Message, Notes, read_lines, write_lines
from synmt.streams.pool import processes
from synmt.trees.formats import conllu_of_record


def translate_stream(
    models: Sequence[Path],
    files: Sequence[str],
    search: SearchConfig,
    config: TranslateConfig,
    device: str,
    bad: BadLines,
) -> None:
    """Translate the lines of files to standard output, one line each; with format conllu, one block each.

    models: one, or several for an ensemble, of which the first decides how raw text is processed.

    Sentences of more than `max_tokens` source tokens give empty translations, as do bad lines if these are not errors;
    stderr reports how many. Raises BadInput.
    """
    opened = tuple(models), search, config, device
    translator = _open(*opened)
    if config.format == "conllu" and not translator.writes_trees:
        raise BadInput(Message("does not write dependency trees, which --format conllu needs"), str(models[0]))
    words, _ = words_of_sides(translator.config, config)
    latest = Latest()
    lines = read_lines(files, bad.on_error)
    sentences = source_sentences(translator, words, lines, config, bad, latest)
    with processes(config.jobs, translator.translate_batch, open_batches, *opened) as run:
        write_lines(_written(translator.translate(sentences, run, latest.pauses), config, bad), latest.pauses, files)
    say_warnings(bad, Notes(), words)


def _open(models: tuple[Path, ...], search: SearchConfig, config: TranslateConfig, device: str) -> Translator:
    folders = [ModelFolder.open(model, ModelConfig) for model in models]
    return Translator.open_all(folders, local_device(device), search, config)


def open_batches(
    models: tuple[Path, ...], search: SearchConfig, config: TranslateConfig, device: str
) -> Callable[[list[SourceFeatures]], list[list[Translation]]]:
    return _open(models, search, config, device).translate_batch


def words_of_sides(model: ModelConfig, config: InputConfig) -> Sides:
    """Return how words of sources and targets are made: by --tokenizer, or as in training."""
    return sides_of(model.languages, config.tokenizer) if config.tokenizer else sides_of_model(model)


def source_sentences(
    translator: Translator, words: SideWords, lines: Iterable[Line], config: InputConfig, bad: BadLines, latest: Latest
) -> Iterator[SourceFeatures]:
    """Yield the encoder input of each line, empty for lines left empty; `latest` records each line."""
    for line, record in source_records(lines, translator.needs, words, bad):
        latest.line = line
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


def _written(found: Iterable[list[Translation]], config: TranslateConfig, bad: BadLines) -> Iterator[str]:
    """Yield the translations of each sentence as one line or a block of lines; CoNLL-U has no empty sentence."""
    for translations in found:
        if config.format == "conllu" and not translations[0].tokens:
            bad.leave_empty("line without a sentence in CoNLL-U")
        else:
            yield _line(translations, config)


def _line(translations: list[Translation], config: TranslateConfig) -> str:
    best = translations[0]
    if config.format == "conllu":
        return conllu_of_record(best.record())
    if config.n_best is None and config.format == "text":
        return best.text
    fields = best.fields()
    if config.n_best is not None:
        fields["n_best"] = [translation.fields() for translation in translations[: config.n_best]]
    return msgspec.json.encode(fields).decode()
