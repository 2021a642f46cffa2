"""Who aligns words, and how links come out of what they say. May import training, decoding, systems and below."""

# Where each method is made, by name: to list them imports none of them.
METHODS = {
    "mask-align": "synmt.alignment.mask_align:MaskAlignMethod",
    "naive-att": "synmt.alignment.translation_methods:naive_att",
    "naive-att-last": "synmt.alignment.translation_methods:naive_att_last",
    "shift-att": "synmt.alignment.translation_methods:shift_att",
    "shift-aet": "synmt.alignment.translation_methods:shift_aet",
    "add-sgd": "synmt.alignment.translation_methods:add_sgd",
    "mtl-fullc": "synmt.alignment.translation_methods:mtl_fullc",
    "bao": "synmt.alignment.translation_methods:bao",
    "bao-guided": "synmt.alignment.translation_methods:bao_guided",
    "eflomal": "synmt.alignment.eflomal:EflomalMethod",
    "systran-align": "synmt.alignment.systran_align:SystranMethod",
}
