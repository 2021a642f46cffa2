"""Components: the plug-ins of encoders and decoders, their contract, and the registry of their names.

contract.py defines what a component can be and do, and exports all that it may import: the types of fields and what
reads them from records (fields.py), the state of a decoder (state.py), and helpers for the values of hooks (values.py).
Each published component is one file in encoder/ or decoder/, named after it, with its citation, formula, options,
tensors and presets. linearization.py, output.py and arcs.py are for decoders that write trees. A system is a named
choice of components. Other packages add components under the entry point `synmt.components`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from synmt.options import chosen
from synmt.registry import Registry, meant, parts_of

GROUP = "synmt.components"
PLAIN = "sequence"  # the plain Transformer on subwords, on either side
ENCODER_COMPONENTS = Registry(
    GROUP,
    {
        "sequence": "synmt.components.encoder.sequence:SequenceEncoder",
        "linearized": "synmt.components.encoder.linearized:Linearized",
        "mask": "synmt.components.encoder.mask:Mask",
        "label-masks": "synmt.components.encoder.label_masks:LabelMasks",
        "named-masks": "synmt.components.encoder.named_masks:NamedMasks",
        "pascal": "synmt.components.encoder.pascal:Pascal",
        "lisa": "synmt.components.encoder.lisa:Lisa",
        "multitask": "synmt.components.encoder.multitask:Multitask",
        "label-features": "synmt.components.encoder.label_features:LabelFeatures",
        "supervised-heads": "synmt.components.encoder.supervised_heads:SupervisedHeads",
        "distance": "synmt.components.encoder.distance:Distance",
        "distance-table": "synmt.components.encoder.distance_table:DistanceTable",
        "distance-taught": "synmt.components.encoder.distance_taught:DistanceTaught",
        "gcn-encoder": "synmt.components.encoder.gcn_encoder:GcnEncoder",
        "tree-positions": "synmt.components.encoder.tree_positions:TreePositions",
        "pretrained-states": "synmt.components.encoder.pretrained_states:PretrainedStates",
    },
    "synmt.components.contract:EncoderComponent",
    "component",
)
DECODER_COMPONENTS = Registry(
    GROUP,
    {
        "sequence": "synmt.components.decoder.sequence:SequenceDecoder",
        "transitions": "synmt.components.decoder.transitions:Transitions",
        "tags": "synmt.components.decoder.tags:Tags",
        "compose": "synmt.components.decoder.compose:Compose",
        "bitran": "synmt.components.decoder.bitran:BiTran",
        "parent": "synmt.components.decoder.parent:Parent",
        "gcn": "synmt.components.decoder.gcn:Gcn",
    },
    "synmt.components.contract:DecoderComponent",
    "component",
)


def systems() -> dict[str, tuple[str, str]]:
    """Return the encoder component and the decoder component of each name that `--model` accepts.

    A name that exists on both sides selects the component of the encoder.
    """
    of_target: dict[str, Any] = {name: (PLAIN, name) for name in DECODER_COMPONENTS}
    return of_target | {name: (name, PLAIN) for name in ENCODER_COMPONENTS}


def sides_of(system: str) -> tuple[list[str], list[str]]:
    """Return the components of the encoder and of the decoder that a system names, such as `mask+pascal+tags`; PLAIN on
    a side without any. Raises ValueError for an unknown one, and for one that is named twice."""
    known, names = systems(), parts_of(system)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown component {name!r}; known: {', '.join(known)}{meant(name, known)}")
    sides = [list(side) for side in zip(*(known[name] for name in names), strict=True)]
    source, target = ([name for name in side if name != PLAIN] or [PLAIN] for side in sides)
    return source, target


def options_of(known: Registry, names: Iterable[str], settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return each component's options among the settings, such as `pascal_heads`. Raises ValueError for an unknown
    one."""
    return {name: chosen(known.named(name), settings, f"{name}-") for name in names}
