"""The published ideas. Each has one place, named after it, with its citation, formula, options, tensors and presets.

An idea is a plug-in on one side of a model; a system is a named choice of ideas. Other packages add ideas under the
entry point `synmt.ideas`.
"""

from typing import Any

from synmt.registry import Registry

GROUP = "synmt.ideas"
PLAIN = "sequence"  # the plain Transformer on subwords, on either side
SOURCE_IDEAS = Registry(
    GROUP,
    {
        "sequence": "synmt.ideas.sequence:Sequence",
        "linearized": "synmt.ideas.source.linearized:Linearized",
        "mask": "synmt.ideas.source.mask:Mask",
        "label-masks": "synmt.ideas.source.label_masks:LabelMasks",
        "named-masks": "synmt.ideas.source.named_masks:NamedMasks",
        "pascal": "synmt.ideas.source.pascal:Pascal",
        "lisa": "synmt.ideas.source.lisa:Lisa",
        "multitask": "synmt.ideas.source.multitask:Multitask",
        "label-features": "synmt.ideas.source.label_features:LabelFeatures",
        "supervised-heads": "synmt.ideas.source.supervised_heads:SupervisedHeads",
    },
    "synmt.ideas.source:SourceIdea",
)
TARGET_IDEAS = Registry(
    GROUP,
    {
        "sequence": "synmt.ideas.sequence:SequenceTarget",
        "transitions": "synmt.ideas.target.transitions:Transitions",
        "tags": "synmt.ideas.target.tags:Tags",
        "compose": "synmt.ideas.target.compose:Compose",
        "bitran": "synmt.ideas.target.bitran:BiTran",
        "parent": "synmt.ideas.target.parent:Parent",
        "gcn": "synmt.ideas.target.gcn:Gcn",
    },
    "synmt.ideas.target:TargetIdea",
)


def systems() -> dict[str, tuple[str, str]]:
    """Return the source idea and the target idea of each name that `--model` accepts.

    A name that exists on both sides selects the source idea.
    """
    of_target: dict[str, Any] = {name: (PLAIN, name) for name in TARGET_IDEAS}
    return of_target | {name: (name, PLAIN) for name in SOURCE_IDEAS}
