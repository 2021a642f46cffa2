"""The largest of long rows."""

import torch
from torch import Tensor

GROUPS = 256


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest of each row and where they are, the largest first: [..,T] → [..,count] each

    On a CPU, whose `topk` takes long for long rows, only groups with the largest maxima are looked at: the `count`
    largest values are in at most as many groups.
    """
    length = values.shape[-1]
    if values.device.type != "cpu" or length < 4 * GROUPS or count > GROUPS // 4:
        found, places = values.topk(count)
        return found, places
    grouped = length - length % GROUPS
    maxima = values[..., :grouped].unflatten(-1, (-1, GROUPS)).amax(dim=-2)
    groups = maxima.topk(count, sorted=False).indices.unsqueeze(-1)
    places = (groups + torch.arange(0, grouped, GROUPS)).flatten(-2)
    rest = torch.arange(grouped, length).expand(*places.shape[:-1], -1)
    places = torch.cat([places, rest], dim=-1)
    found, best = values.gather(-1, places).topk(count)
    return found, places.gather(-1, best)
