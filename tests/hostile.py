"""`python -m tests.hostile`: makes hostile and broken model folders and inputs, and passes each to its command.

Each must be refused with exit status 1 and one line on stderr, in little memory and time, and without running code. An
edited UDPipe model may also parse; then each line must be a parse record.
"""

import gzip
import json
import os
import pickle
import resource
import struct
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load, save_file

from synmt.alignment.aligner import FittedText
from synmt.alignment.published.mask_align.config import MaskAlignConfig, MaskAlignModelConfig
from synmt.cli import main
from synmt.model.config import ModelConfig
from synmt.model.export import export
from synmt.model.files import save_tensors
from synmt.model.folder import ModelFolder
from synmt.model.source import source_side
from synmt.model.target import target_side
from synmt.text.bpe import Bpe
from synmt.trees.record import read_record
from tests import tiny, udpipe_files
from tests.cli.commands import CODES, FORKS, RECORD

PARSER = Path(__file__).parents[1] / "synmt" / "parsers" / "models"
MEMORY = 2**30  # bytes; the most that a command may use to refuse its input
SECONDS = 10  # of processor time; the most that a command may use to refuse its input
LONGEST = 60  # seconds of processor time after which a command is stopped
EDITS = 24  # number of edited UDPipe models


@dataclass(frozen=True)
class Case:
    """A command line for `synmt`, run in the folder of all cases, and its standard input.

    records: number of parse records that it may write instead of refusing, 0 if it must refuse; make: a function that
    writes the files, which may be large.
    """

    name: str
    arguments: list[str]
    text: bytes = b""
    records: int = 0
    make: Callable[[], object] = lambda: None


class Exploit:
    """A pickle that runs code."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch pwned",)


def good_folder(path: Path, system: str = "mask") -> ModelFolder[ModelConfig]:
    """Return an untrained model."""
    _, vocabulary = tiny.sources_and_vocabulary(system)
    config = ModelConfig(source_side({system: {}}), target_side({"sequence": {}}), ("en", "de"), "moses", tiny.CONFIG)
    folder = ModelFolder(path, config, Bpe(CODES), (vocabulary,), {"seed": 1})
    folder.save()
    save_tensors(folder.parameters, tiny.model(system, vocabulary).state_dict())
    return folder


def good_export(path: Path) -> Path:
    """Return an untrained model that is exported for CTranslate2."""
    folder = good_folder(path / "model", "sequence")
    export(folder.path, path / "good")
    return path / "good"


def good_aligner(path: Path) -> ModelFolder[MaskAlignModelConfig]:
    """Return an untrained mask-align model."""
    plain, (_, vocabulary) = source_side({"sequence": {}}), tiny.sources_and_vocabulary("sequence")
    config = MaskAlignModelConfig(
        MaskAlignConfig(), False, (plain, plain), FittedText(("en", "de"), "none"), tiny.CONFIG
    )
    folder = ModelFolder(path, config, Bpe(CODES), (vocabulary, vocabulary), {"seed": 1})
    folder.save()
    save_tensors(folder.parameters, folder.new_model().state_dict())
    return folder


def edited(part: str, **changes: Any) -> Callable[[Path], None]:
    """Return a function that changes values in one part of the config."""

    def change(folder: Path) -> None:
        path = folder / "config.json"
        fields = json.loads(path.read_text())
        model = fields["model"]
        {"top": fields, "model": model, "network": model["network"]}[part].update(changes)
        path.write_text(json.dumps(fields))

    return change


def written(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: ((folder / name).write_bytes(content), None)[1]


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: ((folder / name).write_bytes(change((folder / name).read_bytes())), None)[1]


def filled(name: str, lines: Callable[[], Iterable[bytes]]) -> Callable[[Path], None]:
    """Return a function that writes a long file when it is needed."""
    return lambda folder: ((folder / name).write_bytes(b"".join(lines())), None)[1]


def numbers(count: int, form: bytes = b"%d\n") -> Callable[[], Iterable[bytes]]:
    return lambda: (form % number for number in range(count))


def linked(name: str, target: str) -> Callable[[Path], None]:
    def link(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return link


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def as_pipe(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return make


def as_hole(name: str, size: int) -> Callable[[Path], None]:
    """Return a function that makes a sparse file, which takes no disk space but all the memory of its reader."""
    return lambda folder: os.truncate(folder / name, size)


def header(tensors: Any, length: int | None = None, data: bytes = b"") -> bytes:
    text = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        weights = load((folder / "model.safetensors").read_bytes())
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return edit


def entry(shape: list[int], end: int, kind: str = "F32") -> dict[str, Any]:
    return {"network.embedding": {"dtype": kind, "shape": shape, "data_offsets": [0, end]}}


def many_tensors(count: int) -> bytes:
    return header({f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for number in range(count)})


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


MODELS: dict[str, Callable[[Path], None]] = {
    **{f"no {name}": removed(name) for name in (
        "config.json", "codes.bpe", "vocab.target.txt", "vocab.source.txt", "vocab.labels.txt", "model.safetensors"
    )},
    **{f"{name} is a link to /etc/passwd": linked(name, "/etc/passwd") for name in (
        "config.json", "codes.bpe", "vocab.target.txt", "model.safetensors"
    )},
    **{f"{name} is a pipe": as_pipe(name) for name in ("config.json", "vocab.source.txt", "model.safetensors")},
    **{f"{name} of a terabyte": as_hole(name, 2**40) for name in (
        "config.json", "codes.bpe", "vocab.labels.txt", "model.safetensors"
    )},
    "config is a link to itself": linked("config.json", "config.json"),
    "config leads out by ..": linked("config.json", "../../good/config.json"),
    "weights are a link to /dev/zero": linked("model.safetensors", "/dev/zero"),
    "config is no JSON": written("config.json", b"{"),
    "config is null": written("config.json", b"null"),
    "config is nested": written("config.json", nested(100_000)),
    "config is a pickle": written("config.json", pickle.dumps(Exploit())),
    "config with a huge number": written("config.json", b'{"format": ' + b"9" * 100_000 + b"}"),
    "config of another format": edited("top", format=1),
    "config with a field too many": edited("model", surprise=1),
    "config without a network": edited("model", network={}),
    "a width of 2**60": edited("network", width=2**60),
    "a width of 65536": edited("network", width=2**16),
    "a width of a billion": edited("network", width=10**9),
    "a negative width": edited("network", width=-16),
    "a width in words": edited("network", width="16"),
    "a feed-forward of 2**20": edited("network", feedforward=2**20),
    "a billion layers": edited("network", encoder_layers=10**9),
    "as many layers as may be": edited("network", decoder_layers=256),
    "no heads": edited("network", heads=0),
    "a billion heads": edited("network", heads=10**9),
    "a dropout of 2": edited("network", dropout=2),
    "a system by path": edited("model", source={"../../evil": {}}),
    "a system by module": edited("model", source={"os:system": {}}),
    "a system's option as code": edited("model", source={"mask": {"per_layer": "__import__('os')"}}),
    "a label embedding of a billion": edited("model", source={"label-features": {"size": 10**9}}),
    "a language that is a path": edited("model", languages="../../etc/passwd"),
    "a tokenizer that is a command": edited("model", tokenizer="; touch pwned"),
    "a vocabulary that is not UTF-8": written("vocab.target.txt", b"\xff\xfe\n"),
    "a vocabulary without its end token": written("vocab.target.txt", b"a\nb\n"),
    "a vocabulary with a token twice": changed("vocab.target.txt", lambda text: text + b"twice\ntwice\n"),
    "a vocabulary with a token too many": changed("vocab.target.txt", lambda text: text + b"more\n"),
    "an empty vocabulary": written("vocab.target.txt", b""),
    "codes of another version": written("codes.bpe", b"#version: 9\n"),
    "codes of three symbols": written("codes.bpe", b"#version: 0.2\na b c\n"),
    "codes with a NUL": written("codes.bpe", b"#version: 0.2\na \0\n"),
    "weights that are a pickle": written("model.safetensors", pickle.dumps(Exploit())),
    "no weights": written("model.safetensors", b""),
    "cut weights": changed("model.safetensors", lambda data: data[: len(data) // 2]),
    "weights cut by a byte": changed("model.safetensors", lambda data: data[:-1]),
    "weights and a byte": changed("model.safetensors", lambda data: data + b"\0"),
    "a header of 2**63 bytes": written("model.safetensors", header({}, 2**63)),
    "a header of 99 MB": written("model.safetensors", header({}, 99_000_000)),
    "a nested header": written("model.safetensors", header(nested(100_000))),
    "a tensor of 2**40 rows": written("model.safetensors", header(entry([2**40, 16], 2**46))),
    "a tensor of 2**63 rows": written("model.safetensors", header(entry([2**63, 2**63], 64))),
    "a tensor of a negative size": written("model.safetensors", header(entry([-1, 16], 64))),
    "a tensor that ends before it begins": written("model.safetensors", header(entry([1], -4))),
    "a tensor of no known kind": written("model.safetensors", header(entry([1], 4, "O"), data=b"\0\0\0\0")),
    "a tensor of another shape": tensors(lambda w: w.update({"network.embedding": torch.zeros(3, 16)})),
    "a tensor too few": tensors(lambda w: w.pop("network.embedding")),
    "a parameter that is no number": tensors(lambda w: next(iter(w.values())).view(-1)[0].fill_(float("nan"))),
    "a parameter that is infinite": tensors(lambda w: next(iter(w.values())).view(-1)[0].fill_(float("inf"))),
    "parameters that overflow": tensors(lambda w: [t.fill_(3e38) for t in w.values()]),
    "parameters that are integers": tensors(lambda w: w.update({name: t.int() for name, t in w.items()})),
    "components that are a number": edited("model", source=5),
    "a name of a megabyte": edited("model", source={"x" * 2**20: {}}),
    "a config of 180 MB": filled("config.json", lambda: [b"[", b"[]," * 60_000_000, b"1]"]),
    "a config of a megabyte": filled("config.json", lambda: [b"[", b"[]," * 349_000, b"1]"]),
    "a vocabulary of 3 million tokens": filled("vocab.source.txt", numbers(3_000_000)),
    "a vocabulary of long tokens": filled("vocab.target.txt", lambda: [b" </s>\n <unk>\n", b"x" * 60_000_000, b"\n"]),
    "2 million labels": filled("vocab.labels.txt", numbers(2_000_000, b"a %d\n")),
    "a vocabulary of 30 million lines": filled("vocab.target.txt", lambda: [b" </s>\n <unk>\n", b"a\n" * 30_000_000]),
    "a vocabulary with an empty token": changed("vocab.target.txt", lambda text: text + b"\n"),
    "a vocabulary with an escape": changed("vocab.target.txt", lambda text: text + b"\x1b[31m\n"),
    "a vocabulary with a space in a token": changed("vocab.source.txt", lambda text: text + b"a b\n"),
    "a vocabulary with carriage returns": changed("vocab.target.txt", lambda text: text.replace(b"\n", b"\r\n")),
    "codes of 30 million lines": filled("codes.bpe", lambda: [b"a b\n" * 30_000_000]),
    "codes of 1.2 million lines": filled("codes.bpe", lambda: [b"#version: 0.2\n", *numbers(1_200_000, b"a %d\n")()]),
    "a header of 400,000 tensors": filled("model.safetensors", lambda: [many_tensors(400_000)]),
    "a tensor too many": tensors(lambda w: w.update({"extra": torch.zeros(1)})),
}  # fmt: skip

BIN, THEIRS = "ctranslate2/model.bin", "ctranslate2/config.json"
EXPORTS: dict[str, Callable[[Path], None]] = {
    **{f"no {name}": removed(name) for name in (BIN, THEIRS, "ctranslate2/source_vocabulary.json", "codes.bpe")},
    **{f"{name} is a link to /etc/passwd": linked(name, "/etc/passwd") for name in (BIN, THEIRS)},
    "weights are a pipe": as_pipe(BIN),
    "weights of a terabyte": as_hole(BIN, 2**40),
    "weights of a terabyte, and a config as large": lambda folder: (
        as_hole(BIN, 2**40)(folder), edited("network", width=2**16, feedforward=2**20)(folder), None
    )[-1],
    "no weights": written(BIN, b""),
    "a width of 2**16": edited("network", width=2**16),
    "another number of heads": edited("network", heads=4),
    "a component with hooks": edited("model", source={"mask": {}}),
    "cut weights": changed(BIN, lambda data: data[: len(data) // 2]),
    "weights and a byte": changed(BIN, lambda data: data + b"\0"),
    "no heads": changed(BIN, lambda data: replaced(data, b"encoder/num_heads\0", 6, b"\0\0")),
    "a vector of 2**32 numbers": changed(BIN, lambda data: replaced(data, b"projection/bias\0", 1, b"\xff" * 4)),
    "a variable of no known kind": changed(BIN, lambda data: replaced(data, b"encoder/num_heads\0", 1, b"\x63")),
    "a variable twice": changed(BIN, lambda data: data.replace(b"layer_0/ffn/linear_1", b"layer_0/ffn/linear_0")),
    "a name of no characters": changed(BIN, lambda data: data.replace(b"decoder/", b"\xff\xff\xff\xff\xff\xff\xff/")),
    "weights that are no numbers": changed(BIN, lambda data: replaced(data, b"projection/bias\0", 10, b"\xff" * 8)),
    "another vocabulary": written("ctranslate2/target_vocabulary.json", b'["a", "b"]'),
    "a nested vocabulary": written("ctranslate2/target_vocabulary.json", nested(100_000)),
    "a nested config": written(THEIRS, nested(100_000)),
    "another start token": changed(THEIRS, lambda data: data.replace(b" <s>", b" <unk>")),
    "a mapping of the vocabulary": written("ctranslate2/vmap.txt", b"a b\n"),
}  # fmt: skip


def replaced(data: bytes, after: bytes, offset: int, new: bytes) -> bytes:
    """Return data with new bytes at a place after others."""
    place = data.index(after) + len(after) + offset
    return data[:place] + new + data[place + len(new) :]


# Edits that also apply to an aligner's folder, which has these files and fields under the same names.
OTHER_IN_ALIGNERS = "vocab", "system", "language", "label", "too few"
ALIGNERS = [name for name in MODELS if not any(part in name for part in OTHER_IN_ALIGNERS)]


def parser_config(**changes: Any) -> bytes:
    config = json.loads((PARSER / "en-constituency.json").read_text())
    for name, value in changes.items():
        config["hparams" if name in config["hparams"] else name] = (
            {**config["hparams"], name: value} if name in config["hparams"] else value
        )
    return json.dumps(config).encode()


def parser_models() -> dict[str, dict[str, bytes]]:
    """Return the files of each parser model; the first file is the model."""
    weights = (PARSER / "en-constituency.safetensors").read_bytes()
    udpipe = (PARSER / "en-dependency.udpipe").read_bytes()
    labels = json.loads((PARSER / "en-constituency.json").read_text())["label_vocab"]
    broken = {(label + "\n(" if label == "NP" else label): number for label, number in labels.items()}
    jsons = {
        "of a width of a billion": parser_config(d_model=10**9),
        "of a billion layers": parser_config(num_layers=10**9),
        "of a billion heads": parser_config(num_heads=10**9),
        "of a billion positions": parser_config(encoder_max_len=10**9),
        "with a label that breaks lines": parser_config(label_vocab=broken),
        "with labels that are no numbers": parser_config(label_vocab={"S": "x"}),
        "with a label beyond all": parser_config(label_vocab={"": 0, "S": 10**9}),
        "with nested JSON": nested(100_000),
        "with a pickle for JSON": pickle.dumps(Exploit()),
        "with a JSON of 60 MB": b"[" + b"[]," * 20_000_000 + b"1]",
    }
    return {
        **{f"a parser {name}": {"p.safetensors": weights, "p.json": text} for name, text in jsons.items()},
        "a parser without its JSON": {"p.safetensors": weights},
        "a parser cut in two": {"p.safetensors": weights[: len(weights) // 2], "p.json": parser_config()},
        "a parser that is a pickle": {"p.pt": pickle.dumps(Exploit())},
        "a parser that is empty": {"p.pt": b""},
        "an export that is a pickle": {
            "export/config.json": b"{}", "export/benepar_model.bin": pickle.dumps(Exploit()),
        },
        "an export that names code": {
            "export/config.json": b'{"auto_map": {"AutoConfig": "evil.Config"}}',
            "export/benepar_model.safetensors": b"",
            "export/evil.py": b"import os\nos.system('touch pwned')\n",
        },
        "an export with a tokenizer of 60 MB": {
            "export/config.json": b'{"model_type": "bert", "benepar": {}}',
            "export/tokenizer.json": b"[" + b"[]," * 20_000_000 + b"1]",
            "export/benepar_model.safetensors": header({}),
        },
        "an export whose encoder is a bomb": {
            "export/config.json": b'{"model_type": "bert", "num_hidden_layers": 1000000, "benepar": {}}',
            "export/benepar_model.safetensors": header({}),
        },
        "UDPipe's header alone": {"p.udpipe": udpipe[:19]},
        "UDPipe cut in two": {"p.udpipe": udpipe[: len(udpipe) // 2]},
        "UDPipe without its header": {"p.udpipe": udpipe[1:]},
        "UDPipe that is empty": {"p.udpipe": b""},
        "UDPipe that is a pickle": {"p.udpipe": pickle.dumps(Exploit())},
    }  # fmt: skip


LOG = b"update\tepoch\tloss\n"
LOGS: dict[str, Callable[[], bytes]] = {
    "an empty log": lambda: b"",
    "a log without rows": lambda: LOG,
    "a log of bytes": lambda: bytes(range(256)),
    "a log of 90 MB": lambda: LOG + b"1\t1\t0.5\n" * 10_000_000,
    "a log of a long field": lambda: LOG + b"1\t1\t" + b"9" * 1_000_000 + b"\n",
    "a log with a huge number": lambda: LOG + b"9" * 400 + b"\t1\t0.5\n",
    "a log with an infinite number": lambda: LOG + b"1\t1\t1e999\n2\t1\t1e308\n3\t1\t-1e308\n",
    "a log of 10,000 columns": lambda: b"update\t" + b"\t".join(b"valid_%d" % n for n in range(10_000)) + b"\n1"
    + b"\t1" * 10_000 + b"\n",
}  # fmt: skip

RECORDS: dict[str, bytes] = {
    "not UTF-8": b"\xff\xfe",
    "a NUL": b'{"tree": "(S \0)"}',
    "an escaped NUL": b'{"tree": "(S a\\u0000)"}',
    "half a surrogate": b'{"tree": "(S \\ud800)"}',
    "not JSON": b"(S a)",
    "a list": b"[1]",
    "nested JSON": nested(100_000),
    "a nested object": b'{"a":' * 100_000,
    "a huge number": b'{"heads": [' + b"9" * 100_000 + b"]}",
    "an infinite number": b'{"heads": [1e999999], "tokens": ["a"]}',
    "a tree that does not close": b'{"tree": "(S (NP a)"}',
    "two trees": b'{"tree": "(S a) (S b)"}',
    "words outside brackets": b'{"tree": "a (S b)"}',
    "labels without children": b'{"tree": "(S (NP) (VP))"}',
    "10,000 brackets open": b'{"tree": "' + b"(S " * 10_000 + b'"}',
    "a tree that is a number": b'{"tree": 7}',
    "other words than the tree's": b'{"tokens": ["a", "b"], "tree": "(S a)"}',
    "a word with a line feed": b'{"tokens": ["a\\nb"], "tree": "(S (X a) (X b))"}',
    "parents in a circle": b'{"tokens": ["S", "a"], "parents": [1, 0]}',
    "parents beyond all": b'{"tokens": ["S", "a"], "parents": [-1, 99999999999]}',
    "more parents than nodes": b'{"tokens": ["S"], "parents": [-1, 0]}',
    "a head beyond all": b'{"tree": "(S a)", "heads": [9]}',
    "a head below zero": b'{"tree": "(S a)", "heads": [-1]}',
    "a word that is its own head": b'{"tree": "(S a)", "heads": [1]}',
    "columns of other lengths": b'{"tree": "(S a)", "upos": ["X", "Y"]}',
    "heads that are words": b'{"tree": "(S a)", "heads": ["0"]}',
}
ROW = b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
CONLLU: dict[str, bytes] = {
    "nine columns": ROW.replace(b"\t_\n", b"\n"),
    "eleven columns": ROW.replace(b"\n", b"\t_\n"),
    "words in a circle": ROW.replace(b"\t0\t", b"\t2\t") + ROW.replace(b"1\ta", b"2\tb").replace(b"\t0\t", b"\t1\t"),
    "a head beyond the sentence": ROW.replace(b"\t0\t", b"\t9\t"),
    "a head of a hundred digits": ROW.replace(b"\t0\t", b"\t" + b"9" * 100 + b"\t"),
    "a head of ten thousand digits": ROW.replace(b"\t0\t", b"\t" + b"9" * 10_000 + b"\t"),
    "a head that is a word": ROW.replace(b"\t0\t", b"\tx\t"),
    "a word number beyond all": ROW.replace(b"1\ta", b"99999999999\ta"),
    "an endless multiword token": ROW.replace(b"1\ta", b"1-99999999999\ta") + ROW,
    "a multiword token of ten thousand digits": ROW.replace(b"1\ta", b"1-" + b"9" * 10_000 + b"\ta") + ROW,
    "a multiword token in words": ROW.replace(b"1\ta", b"a-b\ta") + ROW,
    "an empty form": ROW.replace(b"\ta\t", b"\t\t"),
    "a NUL in a row": ROW.replace(b"\ta\t", b"\t\0\t"),
}
LINKS: dict[str, bytes] = {
    "a word": b"x\n",
    "below zero": b"-1-0\n",
    "beyond the sentence": b"0-2\n",
    "a hundred digits": b"0-" + b"9" * 100 + b"\n",
    "ten thousand digits": b"0-" + b"9" * 10_000 + b"\n",
    "too many lines": b"0-0\n0-0\n",
    "no line": b"",
    "half an A3 file": b"# Sentence pair (1) source length 2\nHe is\n",
    "A3 beyond the sentence": b"# Sentence pair (1)\nHe is\nNULL ({ }) Er ({ 9 }) ist ({ })\n",
    "A3 of ten thousand digits": b"# Sentence pair (1)\nHe is\nNULL ({ }) Er ({ " + b"9" * 10_000 + b" }) ist ({ })\n",
}


def cases(folder: Path) -> Iterator[Case]:
    """Yield all cases. The files of a case are made in the folder when it runs."""
    good = good_folder(folder / "good")
    (folder / "text").write_text("He is my father .\n")
    for number, (name, spoil) in enumerate(MODELS.items()):
        path = folder / "models" / str(number)
        yield Case(name, ["translate", str(path)], RECORD.encode(), make=partial(make_spoiled, good.path, path, spoil))
    if find_spec("ctranslate2"):
        exported = good_export(folder / "exports")
        for number, (name, spoil) in enumerate(EXPORTS.items()):
            path = folder / "exports" / str(number)
            spoiled = partial(make_spoiled, exported, path, spoil)
            yield Case(f"translate an export: {name}", ["translate", str(path)], b"He is my father\n", make=spoiled)
    pair = b"He is\tEr ist\n"
    aligner = good_aligner(folder / "aligners" / "good").path
    for number, name in enumerate(ALIGNERS):
        path = folder / "aligners" / str(number)
        yield Case(f"link: {name}", ["link", str(path)], pair, make=partial(make_spoiled, aligner, path, MODELS[name]))
    (folder / "pairs").write_bytes(pair)
    for name, links in LINKS.items():
        (folder / "links").mkdir(exist_ok=True)
        (folder / "links" / name).write_bytes(links)
        yield Case(f"links: {name}", ["symmetrize", f"links/{name}", "--pairs", "pairs"])
    yield Case("a model that is not there", ["translate", "nowhere"], RECORD.encode())
    yield Case("a model that is a file", ["translate", "text"], RECORD.encode())
    for number, (name, files) in enumerate(parser_models().items()):
        paths = [folder / "parsers" / str(number) / each for each in files]
        for path, content in zip(paths, files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        model = str(paths[0] if paths[0].parent.name != "export" else paths[0].parent)
        parser = "udpipe" if model.endswith(".udpipe") else "benepar"
        command = ["parse", "--parser", parser, "--model", model, "text"]
        yield Case(name, command)
        if model.endswith(".pt"):
            yield Case(f"{name}, trusted", [*command, "--trust-pickle"])
    yield from edited_models(folder)
    for number, (name, make) in enumerate(LOGS.items()):
        path = folder / "logs" / str(number)
        yield Case(name, ["inspect", "curves", str(path)], make=partial(make_file, path / "log.tsv", make))
    for name, line in RECORDS.items():
        commands = [["linearize"], ["make-masks"]]
        if line.startswith((b"{", b"\xff")):  # anything else is text to translate
            commands.append(["translate", str(good.path)])
        for command in commands:
            yield Case(f"{command[0]}: {name}", command, line + b"\n")
    for name, block in CONLLU.items():
        yield Case(f"CoNLL-U: {name}", ["convert", "--input", "conllu"], block)
    for name in ("a tree that does not close", "two trees", "labels without children", "10,000 brackets open"):
        yield Case(f"brackets: {name}", ["convert", "--input", "ptb"], json.loads(RECORDS[name])["tree"].encode())
    for name, content in {
        "binary": bytes(range(1, 256)),
        "a triple": b"a b c\n",
        "version 9": b"#version: 9\n",
    }.items():
        (folder / "codes").mkdir(exist_ok=True)
        (folder / "codes" / name).write_bytes(content)
        yield Case(f"codes: {name}", ["bpe", "apply", "--codes", f"codes/{name}"], b"a\n")
    long = partial(make_file, folder / "codes" / "long", lambda: b"a b\n" * 30_000_000)
    yield Case("codes of 30 million lines", ["bpe", "apply", "--codes", "codes/long"], b"a\n", make=long)
    (folder / "bomb.gz").write_bytes(gzip.compress(b"a" * 2**20) * 300)
    for command in (["linearize"], ["bpe", "apply", "--codes"], ["parse", "--parser", "udpipe"]):
        yield Case(f"{command[0]}: a line of 300 MB in a small file", [*command, "bomb.gz"])
    (folder / "cut.gz").write_bytes(gzip.compress(RECORD.encode() * 100)[:-9])
    (folder / "junk.gz").write_bytes(b"junk")
    for name in ("cut.gz", "junk.gz", "good"):
        yield Case(f"a file that is {name}", ["linearize", name])
    train = ["train", "--out", "trained", "--model", "mask", "--preset", "small", "--device", "cpu"]
    tables = {"one column": b"a\n", "three columns": b"a\tb\tc\n", "no lines": b"",
              "a NUL": b"\0\tb\n", "latin-1": b"\xe4\tb\n", "a broken record": b'{"tree": "(S"}\tb\n'}  # fmt: skip
    for name, text in tables.items():
        yield Case(f"training pairs: {name}", [*train, "--tsv", "-"], text)
    yield Case("scores of other lengths", ["score", "--references", "text"], b"a\nb\n")
    yield Case("evalb of no trees", ["score", "--metric", "evalb", "--references", "text"], b"(S a)\n")


def edited_models(folder: Path) -> Iterator[Case]:
    """Yield cases of UDPipe models with an edited block and correct checksums."""
    model = (PARSER / "de-dependency.udpipe").read_bytes()
    found = udpipe_files.blocks(model)
    (folder / "german").write_text("Er geht zum Haus. Wer (im Wald)?\n\nDas sahen 3 Leute!\n")
    made: list[tuple[str, Callable[[], bytes]]] = []
    for number, block in enumerate(found):
        for lie, made_of in {
            "unpacks to 4 GiB": partial(udpipe_files.packed, b"", unpacked=2**32 - 1),
            "is 2 GiB": partial(udpipe_files.packed, block.data, longer=2**31),
            "of zeros": partial(udpipe_files.packed, bytes(10**7)),
        }.items():
            made.append((f"block {number} {lie}", partial(with_packed, model, block, made_of)))
    lies = len(made)
    made += [(f"edited with seed {seed}", partial(udpipe_files.edited, model, seed)) for seed in range(EDITS)]
    for number, (name, content) in enumerate(made):
        path = folder / "udpipe" / f"{number}.udpipe"
        command = ["parse", "--parser", "udpipe", "--model", str(path), "german"]
        yield Case(f"UDPipe: {name}", command, records=3 * (number >= lies), make=partial(make_file, path, content))


def with_packed(model: bytes, block: udpipe_files.Block, pack: Callable[[], bytes]) -> bytes:
    return udpipe_files.with_block(model, block, pack())


def make_file(path: Path, content: Callable[[], bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content())


def make_spoiled(good: Path, path: Path, spoil: Callable[[Path], None]) -> None:
    """Copy a good folder, and spoil the copy."""
    spoil(copytree(good, path))


@dataclass(frozen=True)
class Outcome:
    """How a command ended. memory, seconds: used by the command and the processes that it started, 0 if it was killed;
    wrote: the number of lines on stdout that are parse records, and the number that are not."""

    code: int
    said: str
    memory: int  # bytes
    seconds: float
    wrote: tuple[int, int]

    def right(self, case: Case) -> bool:
        """Return whether the command refused the input, or parsed it if the case allows that, without running its
        code."""
        parsed = case.records > 0 and self.code == 0 and self.wrote == (case.records, 0) and self.said == ""
        return parsed or self.refuses()

    def refuses(self) -> bool:
        one_line = self.said.endswith("\n") and self.said.count("\n") == 1 and self.said.startswith("synmt ")
        small = 0 < self.memory < MEMORY and self.seconds < SECONDS
        return self.code == 1 and one_line and len(self.said) < 1000 and small


def run(case: Case, folder: Path) -> Outcome:
    """Run the case in a separate process, forked from a process that has finished its imports."""
    given, said, memory = folder / "stdin", folder / "stderr", folder / "memory"
    given.write_bytes(case.text)
    case.make()
    child = FORKS.Process(target=_run, args=(case.arguments, folder))
    child.start()
    child.join(10 * LONGEST)  # in case the process waits without using processor time
    if child.exitcode is None:
        child.kill()
        child.join()
    assert child.exitcode is not None
    text = said.read_text(errors="replace")
    took, seconds = memory.read_text().split() if child.exitcode == 1 else ("0", "0")
    return Outcome(child.exitcode, text, int(took), float(seconds), _records(folder / "stdout"))


def _records(path: Path) -> tuple[int, int]:
    """Return the number of lines in a file that are parse records, and the number that are not."""
    good = bad = 0
    for line in path.read_bytes().splitlines():
        try:
            read_record(line.decode())
            good += 1
        except ValueError:
            bad += 1
    return good, bad


def _run(arguments: list[str], folder: Path) -> None:
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    for descriptor, path, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        with Path(path).open(mode) as stream:
            os.dup2(stream.fileno(), descriptor)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    sys.argv = ["synmt", *arguments]
    sys.modules["__main__"] = main  # its child processes import it, as those of the real command do
    code: object = 0
    try:
        main.main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stderr.flush()
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    Path("memory").write_text(f"{sum(each.ru_maxrss for each in used) * 1024} {seconds}")
    os._exit(code if isinstance(code, int) else 1)


def command() -> None:
    with TemporaryDirectory() as name:
        folder, wrong, total, most, parsed = Path(name), 0, 0, 0, 0
        for total, case in enumerate(cases(folder), 1):
            outcome = run(case, folder)
            most = max(most, outcome.memory)
            wrong += not outcome.right(case)
            parsed += outcome.right(case) and outcome.code == 0
            verdict = "refused" if outcome.refuses() else "parsed"
            if not outcome.right(case):
                took = f"{outcome.memory >> 20} MiB, {outcome.seconds:.1f} s"
                verdict = f"NOT REFUSED (exit {outcome.code}, {took}, {outcome.wrote} records)"
            print(f"{total}\t{case.name}\t{verdict}\t{outcome.said.strip()[:200]}", flush=True)
        pwned = [str(path) for path in folder.rglob("pwned")]
        refused = f"{total - wrong - parsed} refused with one line, {parsed} parsed"
        print(f"{total} cases, {refused}, {len(pwned)} ran code, {most >> 20} MiB at most")
        from tests.hostile_configs import all_failures  # imported here, since it imports this file

        for kind, edits, failed in all_failures(folder):
            print(f"config.json of {kind}: {edits} edits, {len(failed)} NOT REFUSED", *failed, sep="\n", flush=True)
            wrong += len(failed)
        sys.exit(bool(wrong or pwned))


if __name__ == "__main__":
    command()
