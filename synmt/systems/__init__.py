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
        "sequence": "synmt.systems.sequence:Sequence",
        "linearized": "synmt.systems.linearized:Linearized",
        "mixed": "synmt.systems.mixed:Mixed",
        "mask": "synmt.systems.mask:Mask",
        "label-masks": "synmt.systems.label_masks:LabelMasks",
        "named-masks": "synmt.systems.named_masks:NamedMasks",
        "pascal": "synmt.systems.pascal:Pascal",
        "lisa": "synmt.systems.lisa:Lisa",
        "multitask": "synmt.systems.multitask:Multitask",
        "label-features": "synmt.systems.label_features:LabelFeatures",
        "fixed-heads": "synmt.systems.fixed_heads:FixedHeads",
        "supervised-heads": "synmt.systems.supervised_heads:SupervisedHeads",
    },
    "synmt.systems.idea:SourceIdea",
)
TARGET_IDEAS = Registry(
    GROUP,
    {
        "sequence": "synmt.systems.sequence:SequenceTarget",
        "transitions": "synmt.systems.transitions:Transitions",
        "tags": "synmt.systems.tags:Tags",
        "compose": "synmt.systems.compose:Compose",
        "bitran": "synmt.systems.bitran:BiTran",
        "parent": "synmt.systems.parent:Parent",
        "gcn": "synmt.systems.gcn:Gcn",
        "supervised-decoder-heads": "synmt.systems.supervised_heads:SupervisedDecoderHeads",
    },
    "synmt.systems.target:TargetIdea",
)


def systems() -> dict[str, tuple[str, str]]:
    """Return the source idea and the target idea of each name that `--model` accepts.

    A name that exists on both sides selects the source idea.
    """
    of_target: dict[str, Any] = {name: (PLAIN, name) for name in TARGET_IDEAS}
    return of_target | {name: (name, PLAIN) for name in SOURCE_IDEAS}
