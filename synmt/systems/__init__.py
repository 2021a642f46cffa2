"""The published systems: one file an idea, with its citation, features and options, and one line here."""

# Where each idea of the source side is made, by name: to list them imports none of them.
SOURCE_IDEAS = {
    "sequence": "synmt.systems.sequence:Sequence",
    "linearized": "synmt.systems.linearized:Linearized",
    "mask": "synmt.systems.mask:Mask",
    "named-masks": "synmt.systems.named_masks:NamedMasks",
    "pascal": "synmt.systems.pascal:Pascal",
    "lisa": "synmt.systems.lisa:Lisa",
    "multitask": "synmt.systems.multitask:Multitask",
    "label-features": "synmt.systems.label_features:LabelFeatures",
}
