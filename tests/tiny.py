"""A vocabulary, records and models small enough to test the core by hand."""

from collections.abc import Sequence
from typing import Any

import torch

from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.data.batches import Sources
from synmt.data.corpus import Corpus
from synmt.model.source import SourceFeatures, source_side
from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.nn.attention import Edit
from synmt.nn.config import TransformerConfig
from synmt.nn.encoding import SourceBatch, encoder_hooks
from synmt.nn.hooks import Part, SideRun
from synmt.nn.prefixes import PrefixPlan
from synmt.text.vocabulary import END_TOKEN, UNKNOWN_TOKEN, Vocabulary
from synmt.trees.arc_tokens import arc_labels
from synmt.trees.constituency import Tree, read_brackets
from synmt.trees.record import ParseRecord

# All files of a model folder whose training run has left no log and no checkpoint.
MODEL_FILES = {
    "config.json", "codes.bpe", "vocab.labels.txt", "vocab.source.txt", "vocab.target.txt", "model.safetensors"
}  # fmt: skip
# Of a component that has been deleted, the tests of others do without the systems below.
SYSTEMS: dict[str, dict[str, dict[str, Any]]] = {
    "sequence": {"sequence": {}},
    "linearized": {"linearized": {}},
    "mask": {"mask": {}},
    "mask per layer": {"mask": {"per_layer": True}},
    "mask, dependency": {"mask": {"tree": "dependency"}},
    "hard relations": {"mask": {"hard": True, "relations": "parent+child"}},
    "label masks": {"label-masks": {}},
    "label masks, linearized": {"linearized": {}, "label-masks": {"per_layer": True}},
    "mask+label masks": {"mask": {}, "label-masks": {}},
    "named masks": {"named-masks": {"names": "near+left"}},
    "pascal": {"pascal": {"heads": 1}},
    "pascal, log density": {"pascal": {"heads": 1, "weighting": "add-log-density"}},
    "pascal, both layers": {"pascal": {"layers": "1:2+2:1"}},
    "pascal, all heads": {"pascal": {"heads": 2, "layer": 2, "weighting": "parent-only"}},
    "lisa": {"lisa": {}},
    "lisa, gold": {"lisa": {"layer": 2, "train_parents": "gold", "test_parents": "gold"}},
    "label-features": {"label-features": {"fields": "deprels", "size": 4}},
    "supervised heads": {"supervised-heads": {"teach": "previous+parent@1+children@2.2"}},
    "multitask": {"multitask": {}},
    "all but multitask": {"mask": {}, "lisa": {}, "pascal": {"heads": 1}, "label-features": {"size": 4}},
    "mask+pascal": {"mask": {}, "pascal": {"heads": 1}},
    "supervised heads, masks": {"supervised-heads": {"teach": "mask:near+latest-linked@2.2"}},
    "mask+supervised heads": {"mask": {}, "supervised-heads": {"teach": "next+shuffled-parent"}},
    "mask+named masks": {"mask": {}, "named-masks": {"names": "near"}},
    "linearized+dependency masks": {"linearized": {}, "mask": {"tree": "dependency"}},
}
SYSTEMS = {name: each for name, each in SYSTEMS.items() if each.keys() <= set(ENCODER_COMPONENTS)}
_TARGET_OPTIONS: dict[str, tuple[dict[str, dict[str, Any]], dict[str, bool]]] = {
    "sequence": ({"sequence": {}}, {}),
    "transitions": ({"transitions": {}}, {}),
    "compose": ({"compose": {}}, {}),
    "compose, one head": ({"compose": {"stack_heads": 0}}, {"split": True, "root_arc": True}),
    "compose, stack alone": ({"compose": {"heads": 0, "layers": 1}}, {}),
    "compose, random": ({"compose": {"mask": "random"}}, {"root_arc": True}),
    "tags": ({"tags": {}}, {}),
    "bitran": ({"bitran": {}}, {}),
    "bitran with arcs": ({"transitions": {}, "bitran": {}}, {}),
    "parent": ({"parent": {}}, {}),
    "parent, split arcs": ({"parent": {}}, {"split": True, "root_arc": True}),
    "gcn": ({"gcn": {}}, {}),
    "gcn, no labels": ({"gcn": {"labels": False}}, {}),
    "gcn, no gates": ({"gcn": {"gates": False, "labels": False}}, {}),
    "gcn, reference": ({"gcn": {"variant": "reference", "layers": 1}}, {"root_arc": True}),
    "gcn, reference, split arcs": ({"gcn": {"variant": "reference"}}, {"split": True, "root_arc": True}),
    "parent+gcn": ({"parent": {}, "gcn": {}}, {}),
}
TARGET_SYSTEMS = {
    name: target_side(components, style)
    for name, (components, style) in _TARGET_OPTIONS.items()
    if components.keys() <= set(DECODER_COMPONENTS)
}
PREFIX_SYSTEMS = [name for name, side in TARGET_SYSTEMS.items() if side.reads_prefixes]
TREE_SYSTEMS = [name for name, side in TARGET_SYSTEMS.items() if side.linearization.trees]
WAITING_SYSTEMS = [name for name in TREE_SYSTEMS if TARGET_SYSTEMS[name].linearization.trees == "among"]
TREES = [
    "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",
    "(S (NP (NN father)) (VP (VBZ is)))",
    "(NP (NN father))",
    "(S (NP (NP (PRP$ my) (NN father)) (PP (IN of) (NP (PRP$ my) (NN father)))) (VP (VBZ is) (ADJP (JJ old))))",
]
TARGETS = [["er", "ist", "mein", "vater"], ["vater", "ist"], ["vater"], ["mein", "vater", "ist", "alt", "alt"]]
CONFIG = TransformerConfig(
    width=16,
    feedforward=32,
    encoder_layers=2,
    decoder_layers=2,
    heads=2,
    dropout=0.0,
    attention_dropout=0.0,
    activation_dropout=0.0,
)


def records(trees: Sequence[str] = TREES) -> list[ParseRecord]:
    read = [read_brackets(tree) for tree in trees]
    return [
        ParseRecord(
            tokens=tree.leaves(),
            tree=tree,
            heads=chain(len(tree.leaves())),
            deprels=labels(tree),
            masks=masks(len(tree.leaves())),
        )
        for tree in read
    ]


def chain(words: int) -> list[int]:
    """Return heads: each word depends on the next one."""
    return [*range(2, words + 1), 0]


def masks(words: int) -> dict[str, list[str]]:
    """Return two masks that overlap: neighbouring words, and words up to the query."""
    place = range(words)
    return {
        "near": ["".join("01"[abs(key - query) < 2] for key in place) for query in place],
        "left": ["".join("01"[key <= query] for key in place) for query in place],
    }


def labels(tree: Tree) -> list[str]:
    """Return a relation for each word."""
    return [f"rel{number % 3}" for number, _ in enumerate(tree.leaves())]


def segment(word: str) -> list[str]:
    """Split a word into subwords of at most three characters."""
    cut = [word[start : start + 3] for start in range(0, len(word), 3)]
    return [*(part + "@@" for part in cut[:-1]), cut[-1]]


def target_records() -> list[ParseRecord]:
    """Return targets whose root is the first word, or the last of two words; the other words depend on it."""
    found = []
    for words in TARGETS:
        root = len(words) if len(words) == 2 else 1
        heads = [root if number != root else 0 for number in range(1, len(words) + 1)]
        deprels = [f"rel{number % 3}" if head else "root" for number, head in enumerate(heads)]
        found.append(ParseRecord(text=" ".join(words), tokens=words, heads=heads, deprels=deprels))
    return found


def sources_and_vocabulary(system: str, target: str = "sequence") -> tuple[Sources, Vocabulary]:
    features = source_features(system)
    words = sorted({entry for sentence in target_entries(target) for entry in sentence})
    words += sorted(set(TARGET_SYSTEMS[target].style.tokens(arc_labels(words))) - set(words))
    known = {token for sentence in features for token in sentence.tokens}
    named = [name for name, each in features[0].fields.items() if each.shape == "label"]
    labels = {name: sorted({each for f in features for each in f.values[name] if each}) for name in named}
    for name in TARGET_SYSTEMS[target].labels:
        labels[name] = sorted({each for lessons in target_lessons(target) for each in lessons[name] if each})
    vocabulary = Vocabulary([END_TOKEN, UNKNOWN_TOKEN, *words], sorted(known - set(words)), labels)
    return Sources.encode(features, vocabulary), vocabulary


def source_features(system: str) -> list[SourceFeatures]:
    side = source_side(SYSTEMS[system])
    return [side.features(record, segment) for record in records()]


def source_batch(fields: dict[str, torch.Tensor]) -> SourceBatch:
    """Return the input of an encoder, given only its fields."""
    ids = next(iter(fields.values()))
    ids = ids if ids.ndim == 2 else ids[:, 0]
    return SourceBatch(ids, None, torch.tensor([1]), fields)


def part_of(component: Any, config: TransformerConfig = CONFIG, known: Any = None) -> Any:
    """Return a component with new parameters. known: the labels of an encoder's fields, or a decoder's vocabulary."""
    return Part("it", component, config, component.parameters(config, known or {}), slice(0))


def edits_of(fields: dict[str, torch.Tensor], *parts: Any) -> Sequence[Edit]:
    """Return the edits of components of an encoder, for a batch of these fields."""
    return encoder_hooks(parts, source_batch(fields), parts[0].config).edits


def run_of(part: Any, fields: dict[str, torch.Tensor], padding: torch.Tensor | None = None) -> SideRun:
    return SideRun(part, fields, torch.arange(next(iter(fields.values())).shape[1]), padding)


def target_entries(target: str) -> list[list[str]]:
    """Return the entries that a decoder should write: whole words, or subwords with arcs between them."""
    side = TARGET_SYSTEMS[target]
    return [side.tokens(record, segment if side.linearization.trees else whole) for record in target_records()]


def target_lessons(target: str) -> list[dict[str, Sequence[Any]]]:
    """Return the fields for training alone of each target."""
    return [
        TARGET_SYSTEMS[target].lessons(*each) for each in zip(target_records(), target_entries(target), strict=True)
    ]


def target_labels(target: str) -> list[dict[str, Sequence[str]]]:
    """Return the labels of each target that its decoder predicts."""
    return [{name: each[name] for name in TARGET_SYSTEMS[target].labels} for each in target_lessons(target)]


def string_of(target: str, entries: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return a target with its arcs, as `synmt transitions` writes it."""
    if TARGET_SYSTEMS[target].linearization.trees != "apart":
        return list(entries)
    from synmt.components.decoder.tags import transitions_of_tags

    return transitions_of_tags(entries, labels)


def whole(word: str) -> list[str]:
    return [word]


def corpus(
    system: str, target: str = "sequence", prefixes: int = 0, prefix_tokens: int = 1000
) -> tuple[Corpus, Vocabulary]:
    _, vocabulary = sources_and_vocabulary(system, target)
    side, entries = TARGET_SYSTEMS[target], target_entries(target)
    made = Corpus.empty(vocabulary, side, PrefixPlan(prefixes, prefix_tokens))
    for features, record, each in zip(source_features(system), target_records(), entries, strict=True):
        made.append(features, each, side.lessons(record, each))
    return made, vocabulary


def model(
    system: str, vocabulary: Vocabulary, config: TransformerConfig = CONFIG, seed: int = 1, target: str = "sequence"
) -> TranslationModel:
    """Return a random model. Its strengths, which are initially zero, are random too, so that masks have an effect."""
    torch.manual_seed(seed)
    made = TranslationModel(config, source_side(SYSTEMS[system]), TARGET_SYSTEMS[target], vocabulary)
    for name, parameter in made.named_parameters():
        if "strengths" in name or name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.7)
    return made.eval()
