"""Loads parameters from strangers: compares a safetensors file with its model before either takes memory."""

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

LARGEST_HEADER = 2**24  # bytes; a tensor takes about 100
SETTING = torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.fill_, torch.Tensor.zero_
Model = TypeVar("Model", bound=nn.Module)


def load_parameters(make: Callable[[], Model], path: Path) -> Model:
    """Make a model and load its parameters from a file. Calls `make` twice, first for the shapes.

    Raises ValueError, OSError or SafetensorError for a file that is damaged or belongs to another model, and ValueError
    for parameters that are not finite or of the wrong type.
    """
    found = shapes_in(path)
    with torch.device("meta"), Unset():
        check_shapes(make().state_dict(), found)
    with Unset():
        model = make()
    parameters, expected = load_file(path), model.state_dict()
    for name, tensor in parameters.items():
        if tensor.is_floating_point() != expected[name].is_floating_point():
            raise ValueError(f"tensor {name} has type {str(tensor.dtype).removeprefix('torch.')}")
        if not tensor.float().isfinite().all():
            raise ValueError(f"tensor {name} contains a number that is not finite")
    model.load_state_dict(parameters)
    return model


class Unset(TorchFunctionMode):
    """Skips the initialization of parameters, which will be loaded from a file.

    Drawing values takes time, and on the meta device PyTorch would load its compiler for it, as it would for `arange`.
    """

    def __torch_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        keywords = keywords or {}
        if function in SETTING or getattr(function, "__module__", "") == "torch.nn.init":
            tensor = arguments[0] if arguments else keywords["tensor"]
            if tensor.is_meta or isinstance(tensor, nn.Parameter):
                return tensor
        if function is torch.arange:
            keywords = {"device": "cpu", **keywords}
        return function(*arguments, **keywords)


def shapes_in(path: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors in a safetensors file, reading only its header."""
    check_header(path)
    with safe_open(path, "pt") as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 (no mapping)


def check_header(path: Path) -> None:
    """Raise ValueError unless this is a regular file whose header is no longer than a model or checkpoint needs."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("not a file")
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
    if length > LARGEST_HEADER:
        raise ValueError(f"the header has {length} bytes, but at most {LARGEST_HEADER} are expected")


def check_shapes(expected: Mapping[str, Tensor], found: Mapping[str, list[int]]) -> None:
    """Raise ValueError for the first tensor that is missing, unknown or of the wrong shape."""
    for name in sorted(expected.keys() | found.keys()):
        if name not in found or name not in expected:
            raise ValueError(f"tensor {name} is {'missing' if name in expected else 'not part of this model'}")
        if list(expected[name].shape) != found[name]:
            raise ValueError(f"tensor {name} has shape {found[name]}, not {list(expected[name].shape)}")
