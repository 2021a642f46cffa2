"""Which method is fitted where none is named. Free of torch."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Method
from synmt.alignment.hmms.method import HmmsMethod
from synmt.alignment.neural_hmm.config import epochs_for
from synmt.model.files import CONFIG_FILE, read_config
from synmt.streams import Notes, WrongUsage

# of a word of one side with one of the other, to `hmm` and, each time that it is read, to `neural-hmm`; measured, as in
# docs/results.md
SECONDS, SECONDS_READ, BYTES = 5e-6, 4.2e-6, 42
MOST_CELLS = 3 << 23  # of which `hmm` takes memory at once
START = 13, 0.6e9


def default_method(settings: Mapping[str, Any], guide: str | None, resumed: Path | None) -> str:
    """Return `hmms`, which makes the fewest errors in a time that one accepts (docs/results.md); `mask-align` where
    there is what that does not take, such as links to learn from or layers, or there are several processes; or the
    method of the run that is resumed. Raises BadInput.
    """
    if resumed and (resumed / CONFIG_FILE).exists():
        made = read_config(resumed).get("aligner")
        return made if isinstance(made, str) else "mask-align"
    alone = guide is None and int(os.environ.get("WORLD_SIZE", "1")) == 1
    named = any(name.startswith(("hmm_", "neural_hmm_")) for name in settings)
    return "hmms" if alone and (named or _takes(HmmsMethod(), settings)) else "mask-align"


def _takes(method: Method, settings: Mapping[str, Any]) -> bool:
    try:
        method.needs(settings)
    except WrongUsage:
        return False
    return True


def note_choice(notes: Notes, method: str, settings: Mapping[str, Any], pairs: int, cells: int) -> None:
    """Note what is fitted for lack of a --method, what that takes, and what else there is.

    cells: Σ J × I of the pairs.
    """
    if method != "hmms":
        return
    learnt = cells * min(settings.get("hmm_pairs") or pairs, pairs) // pairs
    of_hmm, reads = SECONDS * learnt, 1 + settings.get("epochs", epochs_for(pairs))  # once for the links
    seconds = START[0] + of_hmm + SECONDS_READ * cells * reads
    size = (START[1] + BYTES * min(learnt, MOST_CELLS)) / 1e9
    installed = "installed" if find_spec("eflomal") else "of synmt[align]"
    notes.add(
        f"fits hmms to {pairs} pairs: about {seconds:.0f} s of one core and {size:.1f} GB; --method hmm takes "
        f"{of_hmm + 3:.0f} s and made 9 to 13 % more errors on German and English, eflomal ({installed}) 22 to 35 %"
    )
