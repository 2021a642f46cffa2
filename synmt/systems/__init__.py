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
# The same of the target side.
TARGET_IDEAS = {
    "sequence": "synmt.systems.sequence:SequenceTarget",
    "linearized": "synmt.systems.transitions:LinearizedTarget",
    "bitran": "synmt.systems.bitran:BiTran",
    "parent": "synmt.systems.parent:Parent",
    "gcn": "synmt.systems.gcn:Gcn",
}
# What `--model` names: an idea of the source side and one of the target side. `linearized` is the source's.
MODELS = {name: (name, "sequence") for name in SOURCE_IDEAS} | {
    "transitions": ("sequence", "linearized"),
    "bitran": ("sequence", "bitran"),
    "parent": ("sequence", "parent"),
    "gcn": ("sequence", "gcn"),
}
# And of ideas that find word links with translation models.
LINK_IDEAS = {
    "naive-att": "synmt.systems.naive_att:NaiveAtt",
    "naive-att-last": "synmt.systems.naive_att:NaiveAttLast",
    "shift-att": "synmt.systems.shift_att:ShiftAtt",
    "shift-aet": "synmt.systems.shift_aet:ShiftAet",
    "add-sgd": "synmt.systems.add_sgd:AddSgd",
    "mtl-fullc": "synmt.systems.mtl_fullc:MtlFullc",
    "bao": "synmt.systems.bao:Bao",
    "bao-guided": "synmt.systems.bao_guided:BaoGuided",
}
