"""A model's own translation of a sentence, as its decoder reads it when the last token is written."""

import torch

from synmt.decoding.beam import beam_search
from synmt.decoding.config import SearchConfig, TranslateConfig
from synmt.decoding.translation import Translator
from synmt.inspection.sentence import ReadSentence, as_numbers, source_of
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.nn.attention import Recorder
from synmt.streams import Line
from synmt.systems.idea import Layout
from synmt.text.bpe import JOINER
from synmt.text.vocabulary import is_structural

BEGIN = " <s>"


@torch.inference_mode()
def read_translation(folder: ModelFolder[ModelConfig], line: Line) -> ReadSentence:
    """Return what the decoder makes of the best translation that it finds of one line. Raises BadInput.

    The tokens are begin of sentence, subwords, and arcs if it writes them; the record has the tree of these.
    """
    _, source = source_of(folder, line)
    translator = Translator.open(folder, torch.device("cpu"), SearchConfig(), TranslateConfig(format="jsonl"))
    model, vocabulary, target = translator.model, folder.vocabulary, folder.config.target
    best = beam_search(model, source, translator.search, translator.output)[0][0]
    first_unread = len(vocabulary.target) - target.spelling.unread(vocabulary)
    numbers = [number for number in best.ids if number < first_unread]
    steps = [vocabulary.target[number] for number in numbers]  # what the decoder reads
    inputs = torch.tensor([[model.begin, *numbers]])
    found = (each for reading in target.readings(vocabulary) for each in reading.columns(steps).items())
    columns = {name: torch.tensor(values, dtype=torch.int64).unsqueeze(0) for name, values in found}
    encoded = model.encode(source)
    with Recorder([layer.attention for layer in model.network.decoder_layers]) as recorder:
        model.decoder.read(model.network, inputs, columns, encoded.states, encoded.bias)
    weights = as_numbers(recorder.weights, folder)
    layout = Layout([BEGIN, *steps], _words([BEGIN, *steps]))
    return ReadSentence(translator.translation(best).record(), layout, weights, target.owners(folder.config.network))


def _words(entries: list[str]) -> list[int]:
    """Return for each entry the word that it is a subword of, -1 for arcs and the begin of sentence."""
    words = []
    word = 0
    for entry in entries:
        words.append(-1 if is_structural(entry) else word)
        word += not is_structural(entry) and not entry.endswith(JOINER)
    return words
