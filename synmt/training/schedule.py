"""Learning rates over a run."""

import math
from typing import Literal


def learning_rate(
    update: int, peak: float, warmup: int, schedule: Literal["constant", "inverse-sqrt", "cosine"], total: int
) -> float:
    """Return the rate of update 1, 2, …: linear to `peak` at update `warmup`, then the schedule.

    inverse-sqrt: peak·√(warmup/update) (Vaswani et al. 2017); cosine: down to zero at update `total`
    (Loshchilov & Hutter 2017).
    """
    if update <= warmup:
        return peak * update / warmup
    if schedule == "inverse-sqrt":
        return peak * math.sqrt(max(1, warmup) / update)
    if schedule == "cosine":
        progress = min(1.0, (update - warmup) / max(1, total + 1 - warmup))
        return peak * 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak
