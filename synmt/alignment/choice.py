"""Which method is fitted where none is named. Free of torch."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synmt.alignment.hmm.idea import Hmm
from synmt.model.files import CONFIG_FILE, read_config
from synmt.model.records import SentencePair
from synmt.streams import Notes

SECONDS, BYTES = 2e-6, 42  # of a word of one side with one of the other; measured, as in docs/results.md
START = 3, 0.3e9


def default_method(settings: Mapping[str, Any], guide: str | None, resumed: Path | None) -> str:
    """Return `hmm`, whose links are the best known for the time that they take (docs/results.md); `mask-align` where
    that is given links, sizes or a training to learn from; or the method of the run that is resumed. Raises BadInput.
    """
    if resumed and (resumed / CONFIG_FILE).exists():
        made = read_config(resumed).get("aligner")
        return made if isinstance(made, str) else "mask-align"
    own = all(name.startswith("hmm_") for name in settings)
    return "hmm" if own and guide is None and int(os.environ.get("WORLD_SIZE", "1")) == 1 else "mask-align"


def note_choice(notes: Notes, method: str, pairs: Sequence[SentencePair]) -> None:
    """Note what is fitted for lack of a --method, and what that takes."""
    if method == "hmm":
        cells = sum(len(pair.source.tokens) * len(pair.target.tokens) for pair in pairs)
        cells = cells * min(len(pairs), Hmm.pairs) // len(pairs)
        seconds, size = START[0] + SECONDS * cells, (START[1] + BYTES * cells) / 1e9
        cost = f"about {seconds:.0f} s of one core and {size:.1f} GB"
        notes.add(f"fits hmm to {len(pairs)} pairs: {cost}")
