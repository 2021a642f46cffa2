"""UDPipe models from outside synmt: the sizes in their headers, and what happens if they are damaged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ufal.udpipe import ProcessingError, Sentences, Trainer

from synmt.parsers.config import CombinedParser, ParserConfig, open_parser
from synmt.parsers.parser import DEPENDENCY, ModelError, Parser, ParserInput, embedded_model
from synmt.parsers.stream import ParserPool
from synmt.parsers.training.udpipe import read_treebank
from synmt.parsers.udpipe import UDPipeParser, UDPipeProcess, open_udpipe, unpacked_size
from tests.udpipe_files import blocks, packed, with_block

EMBEDDED = embedded_model(DEPENDENCY)
LINES: list[ParserInput] = [
    "He is my father. She can't go (home)!",
    "",
    ["I", "don't", "know.", "#", "1-2", "_"],
    " \t ",
    "a\u3000b \x1b[31m c",
    ["a"] * 1001,
]
ROWS = "1\tHe\the\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\t_\n2\tgoes\tgo\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No\n\n"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the embedded model, which synmt treats as a foreign file."""
    path = tmp_path_factory.mktemp("models") / "elsewhere.udpipe"
    path.write_bytes(EMBEDDED.read_bytes())
    return path


@pytest.fixture(scope="module")
def process(elsewhere: Path) -> Parser:
    return open_udpipe(str(elsewhere))


def test_only_embedded_models_are_opened_in_this_process(process: Parser) -> None:
    assert isinstance(process, UDPipeProcess)
    assert isinstance(open_udpipe(str(EMBEDDED)), UDPipeParser)


def test_a_foreign_model_parses_like_an_embedded_one(process: Parser, udpipe: UDPipeParser) -> None:
    before = process.unparsed, udpipe.unparsed
    assert process.parse(LINES) == udpipe.parse(LINES)
    assert (process.unparsed - before[0], udpipe.unparsed - before[1]) == (1, 1)


def test_several_processes_parse_with_a_foreign_model(elsewhere: Path, udpipe: UDPipeParser) -> None:
    with ParserPool(ParserConfig("udpipe", (str(elsewhere),)), jobs=2) as pool:
        found = list(pool.parse_windows([LINES[:3], LINES[3:]]))
        assert found == [udpipe.parse(LINES[:3]), udpipe.parse(LINES[3:])]
        assert pool.unparsed == 1


def test_benepar_reads_its_sentences(elsewhere: Path, combined: CombinedParser) -> None:
    opened = open_parser(ParserConfig("benepar+udpipe", (str(elsewhere),)))
    assert opened.parse(LINES[:4]) == combined.parse(LINES[:4])


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGXCPU, signal.SIGKILL])
def test_if_its_process_dies_the_error_names_the_model(elsewhere: Path, number: signal.Signals) -> None:
    parser = UDPipeProcess(elsewhere)
    assert len(parser.parse(["He goes."])) == 1
    os.kill(parser._process.pid or 0, number)
    cause = "takes too long" if number == signal.SIGXCPU else rf"crashed on it \({number.name}\)"
    with pytest.raises(ModelError, match=rf"UDPipe model .*elsewhere\.udpipe: UDPipe {cause}"):
        parser.parse(["He goes."])


@pytest.mark.parametrize(("times", "seconds", "code"), [(3, 0.6, 0), (1, 20, -signal.SIGXCPU)])
def test_each_line_gets_the_full_time_limit(times: int, seconds: float, code: int) -> None:
    script = f"""
import time
from synmt.parsers.udpipe import _allow
for _ in range({times}):
    _allow(2**40, 1)
    end = time.process_time() + {seconds}
    while time.process_time() < end:
        pass
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == code


def trained(folder: Path, tokenizer: str, tagger: str, parser: str) -> bytes:
    """Return a model trained on a few words, as small as UDPipe's trainer allows."""
    (folder / "rows.conllu").write_text(ROWS * 20)
    sentences = Sentences(read_treebank(folder / "rows.conllu"))
    error = ProcessingError()
    model = Trainer.train("morphodita_parsito", sentences, sentences, tokenizer, tagger, parser, error)
    assert not error.occurred(), error.message
    return bytes(model)


TOKENIZER = "dimension=16;epochs=1;batch_size=1"
TAGGER = "models=2;iterations=1;templates_1=lemmatizer;templates_2=tagger"
PARSER = "hidden_layer=5;iterations=1;embedding_form=5;embedding_upostag=5;embedding_feats=0;embedding_deprel=5"


@pytest.mark.parametrize(
    ("tokenizer", "tagger", "parser"),
    [(TOKENIZER, TAGGER, PARSER), ("none", "iterations=1", PARSER), (TOKENIZER, "none", PARSER)],
)
def test_the_size_of_a_model_is_the_sum_of_its_blocks(tokenizer: str, tagger: str, parser: str, tmp_path: Path) -> None:
    model = trained(tmp_path, tokenizer, tagger, parser)
    path = tmp_path / "small.udpipe"
    path.write_bytes(model)
    assert unpacked_size(path) == sum(len(block.data) for block in blocks(model))


@pytest.mark.parametrize("language", ["en", "de"])
def test_truncated_models_are_refused_by_their_sizes(language: str, tmp_path: Path) -> None:
    model = embedded_model(DEPENDENCY, language).read_bytes()
    path = tmp_path / "cut.udpipe"
    for place in {0, 1, 18, 19, 20, len(model) - 1, *(block.start + n for block in blocks(model) for n in (0, 5, 99))}:
        path.write_bytes(model[:place])
        with pytest.raises(ModelError, match="not a UDPipe 1 model, or damaged: "):
            unpacked_size(path)


def test_false_sizes(tmp_path: Path) -> None:
    model = EMBEDDED.read_bytes()
    path = tmp_path / "lies.udpipe"
    for block in blocks(model):
        path.write_bytes(with_block(model, block, packed(b"", unpacked=2**32 - 1)))
        with pytest.raises(ModelError, match=r"lies\.udpipe: it would unpack to 4\d{9} bytes"):
            UDPipeProcess(path)
        path.write_bytes(with_block(model, block, packed(block.data, longer=2**31)))
        with pytest.raises(ModelError, match=r"would reach beyond the end of the file, with \d+ bytes"):
            UDPipeProcess(path)
        path.write_bytes(model[: block.start + 4] + b"\0" + model[block.start + 5 :])
        with pytest.raises(ModelError, match=r"the checksum of its .* is wrong"):
            UDPipeProcess(path)
