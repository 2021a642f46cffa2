"""synmt: syntax-aware neural machine translation.

Imports run one way: cli → runs → api → (inspection, alignment) → training → search → data → model → components → nn,
and (parsers, challenge) → metrics → trees → text → options → (streams, registry); tests/test_imports.py checks this.

The names below (docs/python.md) are imported on first use; type checkers read the imports.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synmt.alignment.config import AlignConfig as AlignConfig
    from synmt.alignment.config import SymmetrizeConfig as SymmetrizeConfig
    from synmt.alignment.embeddings.config import EmbeddingsConfig as EmbeddingsConfig
    from synmt.alignment.hmm.config import HmmConfig as HmmConfig
    from synmt.alignment.neural_hmm.config import NeuralHmmConfig as NeuralHmmConfig
    from synmt.api.alignment import Aligner as Aligner
    from synmt.api.alignment import WordLinks as WordLinks
    from synmt.api.alignment import align as align
    from synmt.api.alignment import link as link
    from synmt.api.alignment import symmetrize as symmetrize
    from synmt.api.parsing import parse as parse
    from synmt.api.projection import markup as markup
    from synmt.api.projection import project as project
    from synmt.api.projection import strip_markup as strip_markup
    from synmt.api.queries import Match as Match
    from synmt.api.queries import query as query
    from synmt.api.scoring import score as score
    from synmt.api.scoring import segment_test as segment_test
    from synmt.api.scoring import sign_test as sign_test
    from synmt.api.scoring import significance as significance
    from synmt.api.training import train as train
    from synmt.api.translation import Model as Model
    from synmt.api.translation import logprob as logprob
    from synmt.api.translation import translate as translate
    from synmt.challenge.query import Query as Query
    from synmt.challenge.query import WordQuery as WordQuery
    from synmt.metrics.config import MetricConfig as MetricConfig
    from synmt.metrics.config import SignificanceConfig as SignificanceConfig
    from synmt.metrics.metric import Score as Score
    from synmt.nn.config import TransformerConfig as TransformerConfig
    from synmt.parsers.config import ParserConfig as ParserConfig
    from synmt.projection.config import MarkupConfig as MarkupConfig
    from synmt.projection.config import ProjectionConfig as ProjectionConfig
    from synmt.runs.run import Run as Run
    from synmt.search.config import InputConfig as InputConfig
    from synmt.search.config import SearchConfig as SearchConfig
    from synmt.search.translation import Translation as Translation
    from synmt.streams import BadInput as BadInput
    from synmt.text.tokenization import TextConfig as TextConfig
    from synmt.training.config import TrainingConfig as TrainingConfig
    from synmt.trees.record import ParseRecord as ParseRecord
    from synmt.trees.record import read_record as read_record
    from synmt.trees.record import write_record as write_record


__version__ = "0.1.0"

# Native libraries read these when PyTorch is first imported.
# How long OpenMP threads spin before they sleep. At OpenMP's default of 300,000, a small training run on a busy machine
# does little but spin; this value is as fast on an idle machine.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
# How many kernels oneDNN caches, one per shape. Its default of 1,024 takes half a GiB when training in bf16, where few
# shapes recur.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

_NAMES = {
    "synmt.alignment.config": "AlignConfig SymmetrizeConfig",
    "synmt.alignment.embeddings.config": "EmbeddingsConfig",
    "synmt.alignment.hmm.config": "HmmConfig",
    "synmt.alignment.neural_hmm.config": "NeuralHmmConfig",
    "synmt.api.alignment": "Aligner WordLinks align link symmetrize",
    "synmt.api.parsing": "parse",
    "synmt.api.projection": "markup project strip_markup",
    "synmt.api.queries": "Match query",
    "synmt.api.scoring": "score segment_test sign_test significance",
    "synmt.api.training": "train",
    "synmt.api.translation": "Model logprob translate",
    "synmt.challenge.query": "Query WordQuery",
    "synmt.metrics.config": "MetricConfig SignificanceConfig",
    "synmt.metrics.metric": "Score",
    "synmt.nn.config": "TransformerConfig",
    "synmt.parsers.config": "ParserConfig",
    "synmt.projection.config": "MarkupConfig ProjectionConfig",
    "synmt.runs.run": "Run",
    "synmt.search.config": "InputConfig SearchConfig",
    "synmt.search.translation": "Translation",
    "synmt.streams": "BadInput",
    "synmt.text.tokenization": "TextConfig",
    "synmt.training.config": "TrainingConfig",
    "synmt.trees.record": "ParseRecord read_record write_record",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_PLACES]


if not TYPE_CHECKING:  # so that type checkers refuse other names

    def __getattr__(name: str) -> object:
        if name in _PLACES:
            return getattr(import_module(_PLACES[name]), name)
        raise AttributeError(f"module 'synmt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
