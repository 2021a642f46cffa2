"""`python -m tests.pretended_gpu ARGUMENTS`: runs a synmt command on a simulated device, `gpu`.

Its tensors are on the CPU, but every operation is checked as on a GPU: tensors of two devices cannot be combined, and
NumPy sees only tensors that were copied back. It uses PyTorch's experimental support for backends in Python, and adds
what that lacks. It must be set up before the process computes its first gradient, so the tests start a new process.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from threading import Thread
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "gpu"
aten = torch.ops.aten
BETWEEN_DEVICES = {aten._to_copy.default, aten.copy_.default}
# Operations that autocast computes in bf16, as on a GPU; all others keep the types of their arguments.
LOWERED = ["linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "conv2d", "scaled_dot_product_attention"]


class Backend:
    """The functions that PyTorch needs from a backend's module."""

    @staticmethod
    def get_amp_supported_dtype() -> list[torch.dtype]:
        return [torch.bfloat16]

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """The CPU draws the random numbers."""


class Held(Tensor):
    """A tensor of the device. held: its values, on the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "Held":
        made: Held = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        made.held = held
        return made

    def tolist(self) -> Any:
        return self.held.tolist()

    __torch_dispatch__: Any = classmethod(
        lambda cls, operation, types, args=(), kwargs=None: compute(operation, args, kwargs or {})
    )


class EveryOperation(TorchDispatchMode):
    """Intercepts every operation, including those that create tensors, whose arguments do not show the device."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(operation, args, kwargs or {})


def compute(operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Compute an operation on the CPU. The result is on the device if the arguments are, or if the call requests it.

    Raises RuntimeError for tensors of two devices, single numbers aside.
    """
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    ours = {id(each.held): each for each in tensors if isinstance(each, Held)}
    others = [each for each in tensors if each.dim() and not isinstance(each, Held)]
    if ours and others and operation not in BETWEEN_DEVICES:
        raise RuntimeError(f"{operation} of tensors on two devices")
    if operation is aten._fused_sdp_choice.default:
        return 0  # attention as its definition, made of other operations
    if operation is aten._conj.default:  # a mark on the tensor, which the operations below this level do not read
        operation = aten._conj_physical.default
    asked = kwargs.get("device")
    plain = {**kwargs, "device": torch.device("cpu")} if asked is not None else kwargs
    on_cpu, plain = tree_map(lambda each: each.held if isinstance(each, Held) else each, (args, plain))
    result = operation(*on_cpu, **plain)
    if operation is aten.copy_.default:
        return args[0]
    if not (ours if asked is None else asked.type == NAME):
        return result
    return tree_map(lambda each: ours.get(id(each), Held(each)) if isinstance(each, Tensor) else each, result)


def lower(name: str, library: torch.library.Library) -> None:
    """Make autocast compute an operation in bf16."""
    operation = getattr(aten, name).default
    autocast = torch._C.DispatchKeySet(torch._C._dispatch_key_parse("AutocastPrivateUse1"))

    def lowered(*args: Any, **kwargs: Any) -> Any:
        def cast(each: Any) -> Any:
            ours = isinstance(each, Tensor) and each.device.type == NAME
            return each.to(torch.bfloat16) if ours and each.is_floating_point() else each

        with torch._C._ExcludeDispatchKeyGuard(autocast):
            args, kwargs = tree_map(cast, (args, kwargs))
            return operation(*args, **kwargs)

    library.impl(name, lowered, "AutocastPrivateUse1")


def moved(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a torch.tensor that works for all devices. For a device from outside PyTorch, the original allocates
    memory without notifying modes."""

    def tensor(data: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
        made = make(data, dtype=dtype)
        return made if device is None else made.to(device)

    return tensor


def without_gradients(mode: Any = True) -> Any:
    """Replace torch.inference_mode, in which tensors made in Python have no version counter."""
    if callable(mode):
        return torch.no_grad()(mode)
    return torch.no_grad() if mode else nullcontext()


def in_every_thread() -> None:
    """Check new threads, too, since a mode only applies to the thread that enters it."""
    run = Thread.run

    def checked(thread: Thread) -> None:
        with EveryOperation():
            run(thread)

    Thread.run = checked  # type: ignore[method-assign, assignment]


def set_up() -> list[torch.library.Library]:
    """Add the device to PyTorch. It exists as long as the returned libraries."""
    _setup_privateuseone_for_python_backend(NAME, Backend)
    others, ours = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    others.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for name in LOWERED:
        lower(name, ours)
    return [others, ours]


def main() -> None:
    libraries = set_up()  # noqa: F841 (must live as long as the command)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    vars(torch)["tensor"] = moved(torch.tensor)
    vars(torch)["inference_mode"] = without_gradients
    from synmt.cli.main import main as command  # imported late, since its decorators use the functions replaced above

    in_every_thread()
    with EveryOperation():
        command()


if __name__ == "__main__":
    main()
