"""`hmms`: `hmm` and `neural-hmm`, each fitted to the bitext, and the mean of what both say.

They err at different places: where one of them, of words in tables, is wrong, the other one, of subwords that have
embeddings, is seldom as sure. Free of numpy, as `--help` is.
"""

from collections.abc import Mapping
from typing import Any

from synmt.alignment.aligner import Method
from synmt.alignment.hmm.method import HmmMethod
from synmt.alignment.neural_hmm.method import NeuralHmmMethod
from synmt.options import chosen
from synmt.streams import WrongUsage

NAME, HMM, NEURAL = "hmms", "hmm", "neural-hmm"
Settings = Mapping[str, Any]


def split(settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of `hmm`, which are under its name, and those of `neural-hmm`, all others."""
    own = {name: value for name, value in settings.items() if name.startswith(f"{HMM}_")}
    return own, {name: value for name, value in settings.items() if name not in own}


def methods(settings: Settings) -> tuple[Method, Method]:
    """Return both, with their options. Raises WrongUsage."""
    try:
        hmm = HmmMethod(**chosen(HmmMethod, settings, f"{HMM}-"))
        return hmm, NeuralHmmMethod(**chosen(NeuralHmmMethod, settings, f"{NEURAL}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
