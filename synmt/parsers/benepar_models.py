"""Loads benepar models: the embedded model, released models by name, and files or folders by path.

Two forms are safe. One is PATH.safetensors with PATH.json, which has everything else that is needed to build the model;
the embedded model has this form. The other is a benepar export with its parameters in benepar_model.safetensors.
benepar's own parameter files are pickles, which can run code. We load them only on request, and then only tensors.
"""

import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import msgspec
from benepar.char_lstm import CharacterLSTM, RetokenizerForCharLSTM
from benepar.partitioned_transformer import (
    ConcatPositionalEncoding,
    FeatureDropout,
    PartitionedTransformerEncoder,
    PartitionedTransformerEncoderLayer,
)
from safetensors.torch import save_file
from torch import nn

from synmt.parameters import load_parameters, shapes_in
from synmt.parsers.parser import CONSTITUENCY, ModelError, embedded_model
from synmt.streams import Message
from synmt.streams.decoding import decoded

LARGEST_JSON, LARGEST_PART = 2**20, 2**25  # bytes of a model's JSON, and of a tokenizer's file
PICKLE, SAFE = "benepar_model.bin", "benepar_model.safetensors"  # in an export
_BREAKING = re.compile(r"[\s\0()]")


def load_model(model: str | None = None, trust_pickle: bool = False) -> Any:
    """Load a benepar model, by default the embedded one.

    model: PATH.safetensors (as `save_model` writes it), the path of a benepar checkpoint or export, or the name of a
    released model. Raises ModelError, also for a pickle unless `trust_pickle`.
    """
    try:
        path = Path(model) if model is not None else embedded_model(CONSTITUENCY)
        if not path.exists() and not path.suffix and len(path.parts) == 1:
            path = _find_released(str(path))
        if path.suffix == ".safetensors":
            return _load_safetensors(path)
        if (path / SAFE).exists():
            return _load_export(path)
        if not path.exists():
            raise FileNotFoundError("no such file")
        if not trust_pickle:
            raise UnpicklingError(
                Message(
                    "a pickle, which can run code when loaded; if you trust its source, add --trust-pickle,"
                    " or make it safe once and for all with `python -m synmt.parsers.convert`"
                )
            )
        return _load_by_benepar(path)
    except Exception as error:  # on a bad file, benepar and transformers may raise anything
        raise ModelError(Message("benepar model {}: {}", model, _cause(error))) from None


def save_model(model: "CharacterModel", path: Path) -> None:
    """Write PATH.safetensors in half precision, and PATH.json."""
    save_file({name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}, path)
    path.with_suffix(".json").write_bytes(msgspec.json.encode(model.config, order="sorted") + b"\n")


def convert(model: str, out: Path) -> None:
    """Write a benepar model in a safe form. Trusts its pickle. Raises ModelError.

    An export becomes the folder `out`, a checkpoint over a character LSTM out.safetensors and out.json.
    """
    path = Path(model) if Path(model).exists() else _find_released(model)
    loaded = load_model(str(path), trust_pickle=True)
    if path.is_dir():
        shutil.copytree(path, out, ignore=shutil.ignore_patterns(PICKLE))
        save_file({name: tensor.clone() for name, tensor in loaded.state_dict().items()}, out / SAFE)
    elif loaded.char_encoder is not None:
        save_model(loaded, out.with_suffix(".safetensors"))
    else:
        raise ModelError(f"benepar model {model}: a checkpoint over a pretrained encoder: export it with benepar first")


def _load_safetensors(path: Path) -> nn.Module:
    _check_file(path.with_suffix(".json"), LARGEST_JSON)
    config = decoded(path.with_suffix(".json").read_bytes())
    return _build(lambda: CharacterModel(config), config, config["hparams"], path)


def _load_export(folder: Path) -> nn.Module:
    """Load an export as benepar does, but from safetensors, and refuse files that name code to run."""
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

    for path in folder.iterdir():
        if path.suffix not in (".safetensors", ".bin") and not path.is_dir():
            _check_file(path, LARGEST_PART)
    for path in folder.glob("*.json"):
        if b'"auto_map"' in path.read_bytes():
            raise ValueError(f"{path.name} asks to run code")
    encoder = decoded((folder / "config.json").read_bytes())
    config = dict(encoder["benepar"])
    sizes = {"force_root_constituent": True, **config["hparams"]}
    config["hparams"] = HParams(**sizes)

    def build() -> nn.Module:
        parser: nn.Module = ChartParser(**config, pretrained_model_path=str(folder))
        return parser

    with with_special_tokens_method():
        return _build(build, encoder, sizes, folder / SAFE)


def _check_file(path: Path, largest: int) -> None:
    """Raise ValueError unless this is a regular file that is no larger than any model's."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is not a file")
    if status.st_size > largest:
        raise ValueError(f"{path.name} has {status.st_size} bytes, but at most {largest} are expected")


def _build(make: Callable[[], nn.Module], config: Any, sizes: dict[str, Any], path: Path) -> nn.Module:
    """Make the model and load its parameters, after comparing their sizes, so that a bad file costs no memory or
    time."""
    found = shapes_in(path)
    _check_layers(config, len(found))
    if sizes.get("use_encoder", True):
        _check_encoder(sizes, found)
    return load_parameters(make, path).eval()


def _check_encoder(sizes: dict[str, Any], found: dict[str, list[int]]) -> None:
    """Raise ValueError for wrong sizes of tensors that benepar allocates even on the meta device."""
    half = sizes["d_model"] // 2
    for name, shape in (
        ("add_timing.timing_table", [sizes["encoder_max_len"], half]),
        ("encoder.layers.0.self_attn.w_qkv_c", [sizes["num_heads"], half, 3, sizes["d_kv"] // 2]),
    ):
        if found.get(name) != shape:
            raise ValueError(f"tensor {name} is {found.get(name, 'missing')}, not {shape}")


def _check_layers(config: Any, tensors: int) -> None:
    """Raise ValueError for a number of layers, of any kind, that exceeds the number of tensors."""
    for name, value in config.items() if isinstance(config, dict) else ():
        if type(value) is int and value > tensors and re.search("layer|block|depth", name):
            raise ValueError(f"{name} cannot be {value!r} if there are {tensors} tensors")
        _check_layers(value, tensors)


def _load_by_benepar(path: Path) -> Any:
    """Load as benepar does. torch loads tensors only, to keep foreign files from running code."""
    from benepar.parse_chart import ChartParser

    with with_special_tokens_method(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ChartParser.from_trained(str(path)).eval()


@contextmanager
def with_special_tokens_method() -> Iterator[None]:
    """Give the tokenizers of transformers 5 a method that benepar calls when it loads a pretrained encoder."""
    from transformers import PreTrainedTokenizerFast

    name = "build_inputs_with_special_tokens"
    if hasattr(PreTrainedTokenizerFast, name):
        yield
        return
    setattr(PreTrainedTokenizerFast, name, _between_special_tokens)
    try:
        yield
    finally:
        delattr(PreTrainedTokenizerFast, name)


def _between_special_tokens(tokenizer: Any, ids: list[int]) -> list[int]:
    """Return the ids with the special tokens that the tokenizer puts before and after any text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    first = next(start for start in range(len(whole)) if whole[start : start + len(bare)] == bare)
    return [*whole[:first], *ids, *whole[first + len(bare) :]]


def _find_released(name: str) -> Path:
    from benepar.integrations.downloader import locate_model

    try:
        return Path(locate_model(name))
    except LookupError:
        raise FileNotFoundError(
            f"not installed; install it with `python -c \"import benepar; benepar.download('{name}')\"`"
        ) from None


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.strerror else str(error)
    if isinstance(error, UnpicklingError):
        message = str(error)
        return message if message.startswith("a pickle") else "has more than tensors: loading it could run code"
    return f"not a benepar model ({type(error).__name__}: {error})"


class CharacterModel(nn.Module):
    """A model over a character LSTM, built from benepar's layers.

    Its parts and parameters are called as in benepar's `ChartParser` with `use_chars_lstm`. We avoid that class because
    its module imports transformers, which takes a second and is only needed for other encoders.
    config: benepar's vocabularies and hyperparameters.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = config
        for name in ("label_vocab", "tag_vocab", "char_vocab"):
            _check_vocabulary(name, config[name])
        self.label_vocab: dict[str, int] = config["label_vocab"]
        self.tag_vocab: dict[str, int] = config["tag_vocab"]
        sizes = config["hparams"]
        self.d_model: int = sizes["d_model"]
        self.retokenizer = RetokenizerForCharLSTM(config["char_vocab"])
        self.char_encoder = CharacterLSTM(
            max(config["char_vocab"].values()) + 1,
            sizes["d_char_emb"],
            self.d_model // 2,
            char_dropout=sizes["char_lstm_input_dropout"],
        )
        self.morpho_emb_dropout = FeatureDropout(sizes["morpho_emb_dropout"])
        self.add_timing = ConcatPositionalEncoding(self.d_model, sizes["encoder_max_len"])
        layer = PartitionedTransformerEncoderLayer(
            self.d_model,
            sizes["num_heads"],
            sizes["d_kv"],
            sizes["d_ff"],
            ff_dropout=sizes["relu_dropout"],
            residual_dropout=sizes["residual_dropout"],
            attention_dropout=sizes["attention_dropout"],
        )
        self.encoder = PartitionedTransformerEncoder(layer, sizes["num_layers"])
        self.f_label: Any = _classifier(self.d_model, sizes["d_label_hidden"], max(self.label_vocab.values()))
        self.f_tag = _classifier(self.d_model, sizes["d_tag_hidden"], max(self.tag_vocab.values()) + 1)


def _check_vocabulary(name: str, vocabulary: dict[str, int]) -> None:
    """Raise ValueError unless ids count up from 0 and no label contains white space or brackets."""
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"{name} must be numbered from 0")
    for label in vocabulary:
        if name != "char_vocab" and _BREAKING.search(label):
            raise ValueError(f"{name} has {label!r}, which cannot be a label")


def _classifier(size: int, hidden: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, classes))
