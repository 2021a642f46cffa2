"""Parsing speed from text to records, compared with the bare libraries from tokens to trees with the same models."""

from collections.abc import Callable
from itertools import cycle, islice

from benepar import InputSentence
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from ufal.udpipe import Model, Pipeline, ProcessingError

from synmt.demo.corpus import draw_pairs
from synmt.parsers.benepar_models import load_model
from synmt.parsers.benepar_parser import BATCH_WORDS, BeneparParser
from synmt.parsers.config import ParserConfig, open_parser
from synmt.parsers.parser import DEPENDENCY, Parser, embedded_model
from synmt.parsers.stream import LAST_WINDOW, parse_texts
from synmt.trees.record import write_record
from tests.bench.pairs import Comparison, compare

SENTENCES = LAST_WINDOW  # per timed round


def texts() -> list[str]:
    """Return sentences of the demo grammar."""
    return [pair.english.text() for pair in islice(draw_pairs(seed=7), 4 * SENTENCES)]


def ours(parser: Parser, lines: list[str]) -> Callable[[], int]:
    stream = cycle(lines)

    def work() -> int:
        return sum(1 for record in parse_texts(islice(stream, SENTENCES), parser) if write_record(record))

    return work


def bare_benepar(lines: list[str]) -> Callable[[], int]:
    """Return a function that parses tokens with benepar itself, in batches, longest sentences first."""
    model = load_model()
    own = ChartParser(**{**model.config, "hparams": HParams(**model.config["hparams"])}).eval()
    own.load_state_dict(model.state_dict())
    words = [record.tokens for record in BeneparParser().parse(lines)]
    stream = cycle([InputSentence(words=each, space_after=[True] * len(each), escaped_words=each) for each in words])

    def work() -> int:
        batch = sorted(islice(stream, SENTENCES), key=lambda sentence: len(sentence.words))
        return len(list(own.parse(batch, subbatch_max_tokens=BATCH_WORDS)))

    return work


def bare_udpipe(lines: list[str]) -> Callable[[], int]:
    """Return a function that runs UDPipe's own pipeline from text to CoNLL-U."""
    model = Model.load(str(embedded_model(DEPENDENCY)))
    stream = cycle(lines)

    def work() -> int:
        pipeline = Pipeline(model, "tokenizer=presegmented", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
        error = ProcessingError()
        return pipeline.process("\n".join(islice(stream, SENTENCES)), error).count("# text = ")

    return work


def compare_parsing(rounds: int) -> list[Comparison]:
    lines = texts()
    return [
        compare(
            f"parse: {name} / the bare library",
            "sentences",
            ours(open_parser(ParserConfig(name)), lines),  # type: ignore[arg-type]
            bare(lines),
            rounds,
        )
        for name, bare in (("benepar", bare_benepar), ("udpipe", bare_udpipe))
    ]
