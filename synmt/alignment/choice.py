"""Which method is fitted where none is named. Free of torch."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synmt.model.files import CONFIG_FILE, read_config
from synmt.streams import Notes

SECONDS, BYTES = 5e-6, 42  # of a word of one side with one of the other; measured, as in docs/results.md
MOST_CELLS = 3 << 23  # of which memory is taken at once
START = 3, 0.3e9


def default_method(settings: Mapping[str, Any], guide: str | None, resumed: Path | None) -> str:
    """Return `hmm`, whose links are good for the time that they take (docs/results.md); `mask-align` where
    that is given links, sizes or a training to learn from; or the method of the run that is resumed. Raises BadInput.
    """
    if resumed and (resumed / CONFIG_FILE).exists():
        made = read_config(resumed).get("aligner")
        return made if isinstance(made, str) else "mask-align"
    own = all(name.startswith("hmm_") for name in settings)
    return "hmm" if own and guide is None and int(os.environ.get("WORLD_SIZE", "1")) == 1 else "mask-align"


def note_choice(notes: Notes, method: str, settings: Mapping[str, Any], pairs: int, cells: int) -> None:
    """Note what is fitted for lack of a --method, what that takes, and what else there is.

    cells: Σ J × I of the pairs.
    """
    if method != "hmm":
        return
    learnt = min(settings.get("hmm_pairs") or pairs, pairs)
    cells = cells * learnt // pairs
    seconds = START[0] + SECONDS * cells
    size = (START[1] + BYTES * min(cells, MOST_CELLS)) / 1e9
    installed = "installed" if find_spec("eflomal") else "of synmt[align]"
    notes.add(
        f"fits hmm to {pairs} pairs: about {seconds:.0f} s of one core and {size:.1f} GB; on German and English, "
        f"neural-hmm made 4 to 9 % fewer errors in four times the time, and eflomal ({installed}) 8 to 24 % more"
    )
