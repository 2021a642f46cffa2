"""The training loss of chart parsers: max-margin over trees, as in benepar.

Stern, Andreas & Klein (2017), "A minimal span-based neural constituency parser". The chart itself is not
differentiated: the gradient of its maximum is that of the best tree's score.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from synmt.parsers.chart import FORBIDDEN, ChartModel, best_spans, device_of, roots, score, triangle
from synmt.parsers.training.treebank import TreebankSentence

TAG_LOSS_SCALE = 0.5


def gold_labels(model: ChartModel, examples: Sequence[TreebankSentence]) -> Tensor:
    """Return the label of every span in `triangle` order, 0 for none and for unseen ones, [N]."""
    labels = []
    for each in examples:
        n = len(each.words)
        square = np.zeros((n, n), dtype=np.int64)
        for first, end, label in each.spans:
            square[first, end - 1] = model.label_vocab.get(label, 0)
        labels.append(square[triangle(n)])
    return torch.from_numpy(np.concatenate(labels))


def loss(model: ChartModel, examples: Sequence[TreebankSentence]) -> Tensor:
    """Return the structured hinge loss of the trees plus cross-entropy of the tags, both per word."""
    lengths = [len(each.words) for each in examples]
    scores = score(model, [each.words for each in examples])
    gold = gold_labels(model, examples).to(device_of(model))
    with torch.no_grad():
        augmented = scores.spans + 1
        augmented.scatter_add_(1, gold[:, None], -torch.ones_like(gold[:, None], dtype=torch.float32))
        augmented[roots(lengths), 0] = FORBIDDEN
        best_value, best_label = augmented.max(-1)
        chosen = torch.from_numpy(best_spans(best_value.cpu().numpy(), lengths)).to(device_of(model))
        margin = (best_label[chosen] != gold[chosen]).sum()
    predicted = scores.spans[chosen, best_label[chosen]].sum()
    true = scores.spans.gather(1, gold[:, None]).sum()
    tags = torch.tensor([model.tag_vocab.get(tag, -100) for each in examples for tag in each.tags])
    tags = tags.to(device_of(model))
    tag_loss = F.cross_entropy(scores.tags, tags, ignore_index=-100)
    return (predicted + margin - true) / sum(lengths) + TAG_LOSS_SCALE * tag_loss
