"""synmt: syntax-aware neural machine translation.

Imports run one way: cli → runs → api → (inspection, alignment) → training → search → data → model → components → nn,
and (parsers, challenge) → metrics → trees → text → options → (streams, registry); tests/test_imports.py checks this.

The names below (docs/python.md) are imported on first use; their types are in `__init__.pyi`.
"""

import os
from importlib import import_module

__version__ = "0.1.0"

# Native libraries read these when PyTorch is first imported.
# How long OpenMP threads spin before they sleep. At OpenMP's default of 300,000, a small training run on a busy machine
# does little but spin; this value is as fast on an idle machine.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
# How many kernels oneDNN caches, one per shape. Its default of 1,024 takes half a GiB when training in bf16, where few
# shapes recur.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

_PLACES = {
    "Aligner": "synmt.api.alignment",
    "BadInput": "synmt.streams",
    "Match": "synmt.api.queries",
    "Model": "synmt.api.translation",
    "ParseRecord": "synmt.trees.record",
    "Run": "synmt.runs.run",
    "Score": "synmt.metrics.metric",
    "Translation": "synmt.search.translation",
    "WordLinks": "synmt.api.alignment",
    "align": "synmt.api.alignment",
    "link": "synmt.api.alignment",
    "logprob": "synmt.api.translation",
    "markup": "synmt.api.projection",
    "parse": "synmt.api.parsing",
    "project": "synmt.api.projection",
    "query": "synmt.api.queries",
    "read_record": "synmt.trees.record",
    "score": "synmt.api.scoring",
    "segment_test": "synmt.api.scoring",
    "sign_test": "synmt.api.scoring",
    "significance": "synmt.api.scoring",
    "strip_markup": "synmt.api.projection",
    "symmetrize": "synmt.api.alignment",
    "train": "synmt.api.training",
    "translate": "synmt.api.translation",
    "write_record": "synmt.trees.record",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'synmt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
