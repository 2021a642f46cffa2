"""Scores of translations, parses and word links. No torch."""

from typing import Annotated, Literal

from synmt.registry import Registry

# Callables by name that take a `MetricConfig` and return a `Metric`. Their attribute `uses` lists the options of
# MetricConfig that they read, such as "chrf-beta"; without it, they read none.
METRICS = Registry(
    "synmt.metrics",
    {
        "bleu": "synmt.metrics.translations:bleu",
        "chrf": "synmt.metrics.translations:chrf",
        "chrf+": "synmt.metrics.translations:chrf_plus",
        "chrf++": "synmt.metrics.translations:chrf_plus_plus",
        "ter": "synmt.metrics.translations:ter",
        "ribes": "synmt.metrics.translations:Ribes",
        "evalb": "synmt.metrics.parses:evalb",
        "upos": "synmt.metrics.parses:upos",
        "uas": "synmt.metrics.parses:uas",
        "las": "synmt.metrics.parses:las",
        "clas": "synmt.metrics.parses:clas",
        "mlas": "synmt.metrics.parses:mlas",
        "blex": "synmt.metrics.parses:blex",
        "words": "synmt.metrics.parses:words",
        "tokens": "synmt.metrics.parses:tokens",
        "sentences": "synmt.metrics.parses:sentences",
        "xpos": "synmt.metrics.parses:xpos",
        "ufeats": "synmt.metrics.parses:ufeats",
        "alltags": "synmt.metrics.parses:alltags",
        "lemmas": "synmt.metrics.parses:lemmas",
        "elas": "synmt.metrics.parses:elas",
        "eulas": "synmt.metrics.parses:eulas",
        "aer": "synmt.metrics.links:aer",
        "precision": "synmt.metrics.links:precision",
        "recall": "synmt.metrics.links:recall",
        "f1": "synmt.metrics.links:f1",
        "cPcA": "synmt.metrics.links:cPcA",
        "wPcA": "synmt.metrics.links:wPcA",
        "cPwA": "synmt.metrics.links:cPwA",
        "wPwA": "synmt.metrics.links:wPwA",
    },
)
MetricName = Annotated[  # other packages add metrics
    Literal[
        "bleu", "chrf", "chrf+", "chrf++", "ter", "ribes", "evalb", "upos", "uas", "las", "clas", "mlas", "blex",
        "words", "tokens", "sentences", "xpos", "ufeats", "alltags", "lemmas", "elas", "eulas", "aer", "precision",
        "recall", "f1", "cPcA", "wPcA", "cPwA", "wPwA",
    ],
    "name",
]  # fmt: skip
