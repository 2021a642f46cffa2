"""Where benepar models come from: the embedded one, one of benepar's by name, a file or folder by path.

Two forms are safe: PATH.safetensors with everything else that a model is built from in PATH.json, as the embedded
model is, and an export of benepar with its parameters in benepar_model.safetensors. benepar's own files of
parameters are pickles, which can run code; they are loaded for those who trust them, and then as tensors alone.
"""

import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import orjson

from synmt.parsers.embedded import CONSTITUENCY, embedded_model
from synmt.parsers.parser import ModelError

if TYPE_CHECKING:
    from torch import nn

    from synmt.parsers.character_model import CharacterModel

LARGEST_JSON, LARGEST_PART = 2**20, 2**25  # bytes of a model's JSON, and of what tokenizers read
PICKLE, SAFE = "benepar_model.bin", "benepar_model.safetensors"  # in an export


def load_model(model: str | None = None, trust_pickle: bool = False) -> Any:
    """Return the embedded model, or another: PATH.safetensors (as `save_model` writes it), a benepar checkpoint or
    export by path, or one of benepar's released models by name. Raises ModelError, also for a pickle unless it is
    to be trusted."""
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
                "a pickle, which can run code as it is loaded; where you trust its source, add --trust-pickle,"
                " or make it safe once with `python -m synmt.parsers.convert`"
            )
        return _load_by_benepar(path)
    except Exception as error:  # benepar and transformers raise whatever a bad file makes them stumble over
        raise ModelError(f"benepar model {model}: {_cause(error)}") from None


def save_model(model: "CharacterModel", path: Path) -> None:
    """Write PATH.safetensors, in half precision, and PATH.json."""
    from safetensors.torch import save_file

    save_file({name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}, path)
    path.with_suffix(".json").write_bytes(orjson.dumps(model.config, option=orjson.OPT_SORT_KEYS) + b"\n")


def convert(model: str, out: Path) -> None:
    """Write a model of benepar's in a safe form: an export as the folder `out`, a checkpoint over a character LSTM
    as out.safetensors and out.json. Trusts its pickle as `load_model` does. Raises ModelError."""
    from safetensors.torch import save_file

    path = Path(model) if Path(model).exists() else _find_released(model)
    loaded = load_model(str(path), trust_pickle=True)
    if path.is_dir():
        shutil.copytree(path, out, ignore=shutil.ignore_patterns(PICKLE))
        save_file({name: tensor.clone() for name, tensor in loaded.state_dict().items()}, out / SAFE)
    elif loaded.char_encoder is not None:
        save_model(loaded, out.with_suffix(".safetensors"))
    else:
        raise ModelError(f"benepar model {model}: a checkpoint over a pretrained encoder; export it with benepar first")


def _load_safetensors(path: Path) -> "nn.Module":
    from synmt.parsers.character_model import CharacterModel

    _check_file(path.with_suffix(".json"), LARGEST_JSON)
    config = orjson.loads(path.with_suffix(".json").read_bytes())
    return _build(lambda: CharacterModel(config), config, config["hparams"], path)


def _load_export(folder: Path) -> "nn.Module":
    """Load an export as benepar does, but from safetensors, and without code that its files might name."""
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

    for path in folder.iterdir():
        if path.suffix not in (".safetensors", ".bin") and not path.is_dir():
            _check_file(path, LARGEST_PART)
    for path in folder.glob("*.json"):
        if b'"auto_map"' in path.read_bytes():
            raise ValueError(f"{path.name} names code to run")
    encoder = orjson.loads((folder / "config.json").read_bytes())
    config = dict(encoder["benepar"])
    sizes = {"force_root_constituent": True, **config["hparams"]}
    config["hparams"] = HParams(**sizes)

    def build() -> "nn.Module":
        parser: nn.Module = ChartParser(**config, pretrained_model_path=str(folder))
        return parser

    with with_special_tokens_method():
        return _build(build, encoder, sizes, folder / SAFE)


def _check_file(path: Path, largest: int) -> None:
    """Raise ValueError for what is no file, or a larger one than any model has."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is no file")
    if status.st_size > largest:
        raise ValueError(f"{path.name} is {status.st_size} bytes, where at most {largest} are expected")


def _build(make: "Callable[[], nn.Module]", config: Any, sizes: dict[str, Any], path: Path) -> "nn.Module":
    """Return the model with its parameters; its sizes are compared with theirs before they take memory or time."""
    from synmt.parameters import load_parameters, shapes_in

    found = shapes_in(path)
    _check_layers(config, len(found))
    if sizes.get("use_encoder", True):
        _check_encoder(sizes, found)
    return load_parameters(make, path).eval()


def _check_encoder(sizes: dict[str, Any], found: dict[str, list[int]]) -> None:
    """Raise ValueError for other sizes of what benepar makes in memory even where only shapes are asked for."""
    half = sizes["d_model"] // 2
    for name, shape in (
        ("add_timing.timing_table", [sizes["encoder_max_len"], half]),
        ("encoder.layers.0.self_attn.w_qkv_c", [sizes["num_heads"], half, 3, sizes["d_kv"] // 2]),
    ):
        if found.get(name) != shape:
            raise ValueError(f"tensor {name} is {found.get(name, 'missing')}, not {shape}")


def _check_layers(config: Any, tensors: int) -> None:
    """Raise ValueError for more layers, of whatever kind, than the number of tensors could fill."""
    for name, value in config.items() if isinstance(config, dict) else ():
        if type(value) is int and value > tensors and re.search("layer|block|depth", name):
            raise ValueError(f"{name} cannot be {value!r} with {tensors} tensors")
        _check_layers(value, tensors)


def _load_by_benepar(path: Path) -> Any:
    """Load as benepar does. torch loads tensors only, so that a file from elsewhere cannot run code."""
    from benepar.parse_chart import ChartParser

    with with_special_tokens_method(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ChartParser.from_trained(str(path)).eval()


@contextmanager
def with_special_tokens_method() -> Iterator[None]:
    """Give the tokenizers of transformers 5 the method that benepar asks when it loads a pretrained encoder."""
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
    """Return the ids with what the tokenizer puts before and after those of any text."""
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
            f"not installed; get it with `python -c \"import benepar; benepar.download('{name}')\"`"
        ) from None


def _cause(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.strerror else str(error)
    if isinstance(error, UnpicklingError):
        message = str(error)
        return message if message.startswith("a pickle") else "not a file of tensors alone: loading it could run code"
    return f"not a benepar model ({type(error).__name__}: {error})"
