"""Word aligners, and how links come out of what they say.

Another package adds aligners under the entry point `synmt.aligners`.
"""

from synmt.registry import Registry

ALIGNERS = Registry(
    "synmt.aligners",
    {
        "hmms": "synmt.alignment.hmms.method:HmmsMethod",
        "hmm": "synmt.alignment.hmm.method:HmmMethod",
        "neural-hmm": "synmt.alignment.neural_hmm.method:NeuralHmmMethod",
        "mask-align": "synmt.alignment.mask_align.method:MaskAlignMethod",
        "naive-att": "synmt.alignment.ideas.naive_att:NaiveAtt",
        "naive-att-last": "synmt.alignment.ideas.naive_att:NaiveAttLast",
        "shift-att": "synmt.alignment.ideas.shift_att:ShiftAtt",
        "shift-aet": "synmt.alignment.ideas.shift_aet:ShiftAet",
        "add-sgd": "synmt.alignment.ideas.add_sgd:AddSgd",
        "mtl-fullc": "synmt.alignment.ideas.mtl_fullc:MtlFullc",
        "bao": "synmt.alignment.ideas.bao:Bao",
        "bao-guided": "synmt.alignment.ideas.bao_guided:BaoGuided",
        "embeddings": "synmt.alignment.embeddings.method:EmbeddingsMethod",
        "eflomal": "synmt.alignment.ideas.eflomal:Eflomal",
        "systran-align": "synmt.alignment.ideas.systran_align:SystranAlign",
    },
)
