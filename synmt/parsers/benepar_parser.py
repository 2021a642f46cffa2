"""Constituency trees by benepar.

Kitaev & Klein (2018), "Constituency parsing with a self-attentive encoder".
"""

import warnings
from collections.abc import Sequence
from typing import Any

from benepar import InputSentence, subbatching
from benepar.integrations.nltk_plugin import guess_language
from benepar.ptb_unescape import ptb_unescape

from synmt.device import local_device
from synmt.parsers.benepar_models import load_model
from synmt.parsers.character_model import CharacterModel
from synmt.parsers.chart import Analysis, Span, predict
from synmt.parsers.tokenization import ParserInput, SpacyTokenizer, Tokenized, tokenize
from synmt.trees.constituency import Tree, under_one_root
from synmt.trees.record import ParseRecord

BATCH_WORDS = 500
LONGEST_SENTENCE = 510  # words, for models without a limit of their own: the chart grows with the square
SHORTEST_SHOUT = 4  # words; fewer capitals may be a name
LONGEST_WORD = 100  # characters that the model gets to see; the rest tells it nothing


class BeneparParser:
    """benepar with the embedded model or another, on raw text (spaCy's tokens) or on tokens."""

    def __init__(self, model: str | None = None, device: str = "cpu", trust_pickle: bool = False) -> None:
        """Open the model. Raises ModelError, and BadInput for a device that is not there."""
        self.unparsed = 0
        self._model = load_model(model, trust_pickle).to(local_device(device))
        self._tokenizer = SpacyTokenizer(guess_language(self._model.label_vocab) or "xx")
        timing = self._model.add_timing
        self._longest = LONGEST_SENTENCE if timing is None else timing.timing_table.shape[0] - 2

    def parse(self, lines: Sequence[ParserInput]) -> list[ParseRecord]:
        tokenized = [tokenize(line, self._tokenizer.split) for line in lines]
        records = [line.record() for line in tokenized]
        for record, tree in zip(records, self.trees(tokenized), strict=True):
            record.tree = tree
        return records

    def trees(self, lines: Sequence[Tokenized]) -> list[Tree | None]:
        """Return the tree of each line, its sentences' trees under one root; None for a line without words, and for one
        with a sentence that is too long."""
        analyses = iter(self._analyses(lines))
        return [self._tree(line, [next(analyses) for _ in line.sentences]) for line in lines]

    def _analyses(self, lines: Sequence[Tokenized]) -> list[Analysis | None]:
        """Return the analysis of each sentence of the lines, None for those over the model's limit."""
        sentences = [
            InputSentence(words=as_in_treebanks(words), space_after=spaces)
            for line in lines
            for words, spaces in zip(line.sentences, line.sentence_spaces(), strict=True)
        ]
        short = [sentence for sentence in sentences if self._parsable(sentence)]
        if not short:
            return [None] * len(sentences)
        parse = chart_analyses if isinstance(self._model, CharacterModel) else benepar_analyses
        found = dict(zip(map(id, short), parse(self._model, short), strict=True))
        return [found.get(id(sentence)) for sentence in sentences]

    def _parsable(self, sentence: InputSentence) -> bool:
        """Return whether the sentence is within the model's limits, which count words, or subwords as well."""
        if len(sentence.words) > self._longest:
            return False
        if self._model.char_encoder is None:
            try:
                self._model.encode(sentence)
            except ValueError:
                return False
        return True

    def _tree(self, line: Tokenized, analyses: Sequence[Analysis | None]) -> Tree | None:
        found = [each for each in analyses if each is not None]
        self.unparsed += len(analyses) - len(found)
        if not found or len(found) < len(analyses):
            return None
        trees = zip(line.sentences, found, strict=True)
        return under_one_root([tree_of_spans(words, each.tags, each.spans) for words, each in trees])


def chart_analyses(model: CharacterModel, sentences: Sequence[InputSentence]) -> list[Analysis]:
    """Return the best trees by the fast chart parser, in batches of similar length."""
    words = [sentence.words for sentence in sentences]
    analyses: list[Analysis] = subbatching.map(
        lambda batch: predict(model, batch), words, costs=list(map(len, words)), max_cost=BATCH_WORDS
    )
    return analyses


def benepar_analyses(model: Any, sentences: Sequence[InputSentence]) -> list[Analysis]:
    """Return the best trees by benepar's own parsing, which every model can do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch_struct")
        outputs = model.parse(sentences, return_compressed=True, subbatch_max_tokens=BATCH_WORDS)
    labels, tags = model.decoder.label_from_index, model.tag_from_index
    analyses = []
    for sentence, output in zip(sentences, outputs, strict=True):
        spans = zip(output.starts.tolist(), output.ends.tolist(), output.labels.tolist(), strict=True)
        named_tags = ["UNK"] * len(sentence.words) if output.tags is None else [tags[tag] for tag in output.tags]
        analyses.append(Analysis([(start, end, labels[label]) for start, end, label in spans], named_tags))
    return analyses


def tree_of_spans(words: Sequence[str], tags: Sequence[str], spans: Sequence[Span]) -> Tree:
    """Return the tree of an analysis's spans."""
    nodes: list[str] = []
    parents: list[int] = []
    open_phrases: list[tuple[int, int]] = []  # (node, end)

    def add(node: str, parent: int) -> int:
        nodes.append(node)
        parents.append(parent)
        return len(nodes) - 1

    for start, end, labels in spans:
        while open_phrases and open_phrases[-1][1] <= start:
            open_phrases.pop()
        parent = open_phrases[-1][0] if open_phrases else -1
        chain = labels.split("::") if labels else []
        if parent < 0 and not chain and end - start > 1:
            chain = ["TOP"]
        for label in chain:
            parent = add(label, parent)
        if end - start == 1:
            add(words[start], add(tags[start], parent))
        elif chain:
            open_phrases.append((parent, end))
    return Tree(nodes, parents)


def as_in_treebanks(words: Sequence[str]) -> list[str]:
    """Return what the model gets to see: quotes, dashes and brackets as in its treebanks, no endless words, and a
    sentence in capitals in lower case, for treebanks have next to none."""
    seen = [word[:LONGEST_WORD] or word for word in ptb_unescape(words)]
    in_capitals = len(seen) >= SHORTEST_SHOUT and "".join(seen).isupper()
    return [word.lower() for word in seen] if in_capitals else seen
