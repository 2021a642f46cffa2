"""Who aligns words, and how links come out of what they say. May import training, decoding, systems and below."""

# Where each method is made, by name: to list them imports none of them.
METHODS = {
    "mask-align": "synmt.alignment.mask_align:MaskAlignMethod",
}
