"""Scores of translations, parses and word links. No torch."""

from synmt.registry import Registry

# By name, what makes a metric of the config of metrics: `MetricConfig` to `Metric`. Its attribute `uses` holds the
# options of MetricConfig that it reads, such as "chrf-beta"; without it, it reads none.
METRICS = Registry(
    "synmt.metrics",
    {
        "bleu": "synmt.metrics.sacre:bleu",
        "chrf": "synmt.metrics.sacre:chrf",
        "chrf+": "synmt.metrics.sacre:chrf_plus",
        "chrf++": "synmt.metrics.sacre:chrf_plus_plus",
        "ter": "synmt.metrics.sacre:ter",
        "ribes": "synmt.metrics.ribes:Ribes",
        "evalb": "synmt.metrics.bracketing:evalb",
        "upos": "synmt.metrics.attachment:upos",
        "uas": "synmt.metrics.attachment:uas",
        "las": "synmt.metrics.attachment:las",
        "aer": "synmt.metrics.links:aer",
        "precision": "synmt.metrics.links:precision",
        "recall": "synmt.metrics.links:recall",
        "f1": "synmt.metrics.links:f1",
        "cPcA": "synmt.metrics.prediction:cPcA",
        "wPcA": "synmt.metrics.prediction:wPcA",
        "cPwA": "synmt.metrics.prediction:cPwA",
        "wPwA": "synmt.metrics.prediction:wPwA",
    },
)
