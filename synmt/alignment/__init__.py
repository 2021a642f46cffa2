"""Word aligners, each with a config (aligner.py), and the code that reads sentence pairs and writes links.

Other packages add aligners under the entry point `synmt.aligners`.
"""

from typing import Annotated, Any, Literal

from synmt.registry import Registry, attribute, parts_of


class Methods(Registry):
    """The configs of aligners by method; methods joined by `+` are known, too, if they are different."""

    def __getitem__(self, name: str) -> Any:
        if "+" not in name:
            return super().__getitem__(name)
        if name not in self:
            raise KeyError(name)
        return attribute("synmt.alignment.joined:joined")(*name.split("+"))

    def __contains__(self, name: object) -> bool:
        parts = str(name).split("+")
        return len({*parts}) == len(parts) and all(super(Methods, self).__contains__(part) for part in parts)

    def named(self, name: str) -> Any:
        """Return the config of a method. Raises ValueError for an unknown one, and for one that is joined twice."""
        for part in parts_of(name):
            super().named(part)
        return self[name]


PUBLISHED = {  # published neural aligners
    "mask-align": "synmt.alignment.published.mask_align.config:MaskAlignConfig",
    "naive-att": "synmt.alignment.published.naive_att:NaiveAtt",
    "naive-att-last": "synmt.alignment.published.naive_att_last:NaiveAttLast",
    "shift-att": "synmt.alignment.published.shift_att:ShiftAtt",
    "shift-aet": "synmt.alignment.published.shift_aet:ShiftAet",
    "add-sgd": "synmt.alignment.published.add_sgd:AddSgd",
    "mtl-fullc": "synmt.alignment.published.mtl_fullc:MtlFullc",
    "bao": "synmt.alignment.published.bao:Bao",
    "bao-guided": "synmt.alignment.published.bao_guided:BaoGuided",
}
ALIGNERS = Methods(
    "synmt.aligners",
    {
        "auto": "synmt.alignment.auto:AutoConfig",
        "hmm": "synmt.alignment.hmm.config:HmmConfig",
        "neural-hmm": "synmt.alignment.neural_hmm.config:NeuralHmmConfig",
        **PUBLISHED,
        "embeddings": "synmt.alignment.embeddings.config:EmbeddingsConfig",
        "eflomal": "synmt.alignment.statistical:EflomalConfig",
        "systran-align": "synmt.alignment.statistical:SystranAlignConfig",
    },
    noun="method",
)
DEFAULT = "auto"  # makes the fewest errors in an acceptable time (docs/results.md)
MethodName = Annotated[  # other packages add methods, and `+` joins several
    Literal[
        "auto", "hmm", "neural-hmm", "mask-align", "naive-att", "naive-att-last", "shift-att", "shift-aet", "add-sgd",
        "mtl-fullc", "bao", "bao-guided", "embeddings", "eflomal", "systran-align",
    ],
    "name",
]  # fmt: skip
