"""Word aligners, each one class (aligner.py), and the code that reads sentence pairs and writes links.

Other packages add aligners under the entry point `synmt.aligners`.
"""

from synmt.registry import Registry

ALIGNERS = Registry(
    "synmt.aligners",
    {
        "hmms": "synmt.alignment.hmms:Hmms",
        "hmm": "synmt.alignment.hmm.aligner:Hmm",
        "neural-hmm": "synmt.alignment.neural_hmm.aligner:NeuralHmm",
        "mask-align": "synmt.alignment.mask_align.aligner:MaskAlign",
        "naive-att": "synmt.alignment.translation.cross_attention:NaiveAtt",
        "naive-att-last": "synmt.alignment.translation.cross_attention:NaiveAttLast",
        "shift-att": "synmt.alignment.translation.cross_attention:ShiftAtt",
        "shift-aet": "synmt.alignment.translation.taught_heads:ShiftAet",
        "add-sgd": "synmt.alignment.translation.optimized:AddSgd",
        "mtl-fullc": "synmt.alignment.translation.cross_attention:MtlFullc",
        "bao": "synmt.alignment.translation.optimized:Bao",
        "bao-guided": "synmt.alignment.translation.taught_heads:BaoGuided",
        "embeddings": "synmt.alignment.embeddings.aligner:Embeddings",
        "eflomal": "synmt.alignment.statistical:Eflomal",
        "systran-align": "synmt.alignment.statistical:SystranAlign",
    },
)
DEFAULT = "hmms"  # makes the fewest errors in an acceptable time (docs/results.md)
