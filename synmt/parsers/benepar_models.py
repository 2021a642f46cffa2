"""Where benepar models come from: the embedded one, one of benepar's by name, a file or folder by path.

The embedded model is two files without pickle: the weights in half precision (`.safetensors`) and everything
else it is built from (`.json`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import orjson

from synmt.parsers.embedded import CONSTITUENCY, embedded_model
from synmt.parsers.parser import ModelError

if TYPE_CHECKING:
    from synmt.parsers.character_model import CharacterModel


def load_model(model: str | None = None) -> Any:
    """The embedded model, or another: PATH.safetensors (as `save_model` writes it), a benepar checkpoint or
    export by path, or one of benepar's released models by name. Raises ModelError."""
    path = Path(model) if model is not None else embedded_model(CONSTITUENCY)
    try:
        if path.suffix == ".safetensors":
            return _load_safetensors(path)
        if path.exists():
            return _load_by_benepar(path)
        if path.suffix or len(path.parts) > 1:
            raise FileNotFoundError("no such file")
        return _load_by_benepar(_find_released(str(path)))
    except Exception as error:  # benepar and transformers raise whatever a bad file makes them stumble over
        raise ModelError(f"benepar model {model}: {_cause(error)}") from None


def save_model(model: "CharacterModel", path: Path) -> None:
    """Writes PATH.safetensors, in half precision, and PATH.json."""
    from safetensors.torch import save_file

    save_file({name: tensor.half().contiguous() for name, tensor in model.state_dict().items()}, path)
    path.with_suffix(".json").write_bytes(orjson.dumps(model.config, option=orjson.OPT_SORT_KEYS) + b"\n")


def _load_safetensors(path: Path) -> Any:
    from safetensors.torch import load_file

    from synmt.parsers.character_model import CharacterModel

    model = CharacterModel(orjson.loads(path.with_suffix(".json").read_bytes()))
    model.load_state_dict(load_file(path))
    return model.eval()


def _load_by_benepar(path: Path) -> Any:
    """benepar's own loading. torch loads weights only, so that a file from elsewhere cannot run code."""
    from benepar.parse_chart import ChartParser

    with with_special_tokens_method():
        return ChartParser.from_trained(str(path)).eval()


@contextmanager
def with_special_tokens_method() -> Iterator[None]:
    """Inside, tokenizers of transformers 5 have the method that benepar asks when it loads a pretrained encoder."""
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
    """The ids with what the tokenizer puts before and after those of any text."""
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
        return "not a file of weights alone, so loading it could run code"
    return f"not a benepar model ({type(error).__name__}: {error})"
