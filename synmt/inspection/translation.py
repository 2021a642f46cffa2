"""A model's own translation of a sentence, as its decoder reads it when the last token is written."""

import torch

from synmt.decoding.beam import beam_search
from synmt.decoding.config import SearchConfig, TranslateConfig
from synmt.decoding.translation import Translator
from synmt.inspection.sentence import ReadSentence, as_numbers, source_of
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.target import TargetSide, numbered_labels
from synmt.nn.attention import Recorder
from synmt.nn.graphs import Graph
from synmt.nn.stacks import Stacks
from synmt.streams import Line
from synmt.systems.idea import Layout
from synmt.text.bpe import JOINER
from synmt.text.vocabulary import Vocabulary, is_structural
from synmt.trees.tags import read_tag

BEGIN = " <s>"


@torch.inference_mode()
def read_translation(folder: ModelFolder[ModelConfig], line: Line) -> ReadSentence:
    """Return what the decoder makes of the best translation that it finds of one line. Raises BadInput.

    The tokens are begin of sentence, subwords, and arcs if it writes them; the record has the tree of these.
    """
    _, source = source_of(folder, line)
    translator = Translator.open(folder, torch.device("cpu"), SearchConfig(), TranslateConfig(format="jsonl"))
    model, vocabulary, target = translator.model, folder.vocabulary, folder.config.target
    best = beam_search(model, source, translator.search, translator.arcs)[0][0]
    entries = [vocabulary.target[number] for number in best.ids]
    tree = _tree(entries, target, vocabulary)
    numbers = [number for number, entry in zip(best.ids, entries, strict=True) if not read_tag(entry)]
    steps = [vocabulary.target[number] for number in numbers]  # what the decoder reads
    inputs = torch.tensor([[model.begin, *numbers]])
    encoded = model.encode(source)
    with Recorder([layer.attention for layer in model.network.decoder_layers]) as recorder:
        model.decoder.read(model.network, inputs, tree, encoded.states, encoded.bias)
    weights = as_numbers(recorder.weights, folder)
    layout = Layout([BEGIN, *steps], _words([BEGIN, *steps]))
    return ReadSentence(translator.translation(best).record(), layout, weights, target.owners(folder.config.network))


def _tree(entries: list[str], target: TargetSide, vocabulary: Vocabulary) -> Graph | Stacks | None:
    """Return what the decoder reads of the tree of the whole target: position 0 is the begin of sentence."""
    if target.reads_stacks:
        return Stacks(*torch.from_numpy(target.stack(entries)).long().unsqueeze(1))
    if not target.reads_graphs:
        return None
    edges = target.edges(entries, numbered_labels(vocabulary))
    graph = Graph.empty(1, 1 + len(entries), torch.device("cpu"))
    columns = [edges.parents, edges.children, edges.labels, edges.births]
    rows = [[0] * len(edges), *(column.tolist() for column in columns)]
    graph.add(torch.tensor(rows, dtype=torch.int64).t())
    return graph


def _words(entries: list[str]) -> list[int]:
    """Return for each entry the word that it is a subword of, -1 for arcs and the begin of sentence."""
    words = []
    word = 0
    for entry in entries:
        words.append(-1 if is_structural(entry) else word)
        word += not is_structural(entry) and not entry.endswith(JOINER)
    return words
