"""The published systems: one file an idea, with its citation, features and hooks, and one line here."""

# Where each source side is made, by name: to list them imports none of them.
SOURCE_SIDES = {
    "sequence": "synmt.systems.sequence:Sequence",
    "linearized": "synmt.systems.linearized:Linearized",
    "mask": "synmt.systems.mask:Mask",
    "mask-per-layer": "synmt.systems.mask:MaskPerLayer",
}
