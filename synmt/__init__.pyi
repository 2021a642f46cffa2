"""Types of the public functions. `python -m tests.api.stub` writes this file from their signatures."""

import collections.abc
import pathlib
from typing import Literal, Self

import synmt.api.alignment
import synmt.api.queries
import synmt.inspection
import synmt.metrics.metric
import synmt.metrics.significance
import synmt.search.scores
import synmt.search.translation
import synmt.training.run
import synmt.trees.record
from synmt.api.alignment import WordLinks as WordLinks
from synmt.api.queries import Match as Match
from synmt.metrics.metric import Score as Score
from synmt.runs.run import Run as Run
from synmt.search.translation import Translation as Translation
from synmt.streams import BadInput as BadInput
from synmt.trees.record import ParseRecord as ParseRecord
from synmt.trees.record import read_record as read_record
from synmt.trees.record import write_record as write_record

class Aligner:
    @classmethod
    def load(cls, folder: str | pathlib.Path, method: str | None = None, device: str = "auto") -> Self: ...
    def align(
        self,
        pairs: collections.abc.Iterable[
            tuple[
                str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
                str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
            ]
        ]
        | pathlib.Path,
        *,
        on_error: Literal["fail", "blank"] = "fail",
        symmetrize: Literal[
            "harmonic",
            "mean",
            "forward",
            "backward",
            "intersection",
            "union",
            "grow-diag",
            "grow-diag-lilt",
            "grow-diag-final",
            "grow-diag-final-and",
        ]
        | None = None,
        threshold: float | None = None,
        links_by: Literal["attention", "posterior"] | None = None,
        end_punctuation: bool = False,
        tree_links: bool = False,
        temperature: float | None = None,
        max_words: int = 2000,
        source_language: str | None = None,
        target_language: str | None = None,
        tokenizer: Literal["moses", "none"] | None = None,
    ) -> collections.abc.Iterator[synmt.api.alignment.WordLinks]: ...

class Model:
    @classmethod
    def load(
        cls,
        *folders: str | pathlib.Path,
        device: str = "auto",
        precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    ) -> Self: ...
    def translate(
        self,
        sentences: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]]
        | pathlib.Path,
        *,
        jobs: int = 1,
        on_error: Literal["fail", "blank"] = "fail",
        beam: int = 4,
        length_penalty: Literal["gnmt", "plain"] = "gnmt",
        alpha: float = 0.6,
        max_length_offset: int = 50,
        max_length_ratio: float | None = None,
        min_length_ratio: float = 0.0,
        no_repeat: int = 0,
        sample: bool = False,
        top_k: int = 0,
        seed: int = 1,
        search: Literal["tokens", "words"] = "tokens",
        constraints: Literal["none", "legal", "strict"] = "strict",
        task: Literal["translate", "parse"] = "translate",
        tokenizer: Literal["moses", "none"] | None = None,
        batch_tokens: int = 4096,
        max_tokens: int = 2000,
    ) -> collections.abc.Iterator[synmt.search.translation.Translation]: ...
    def n_best(
        self,
        sentences: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]],
        n: int,
        *,
        on_error: Literal["fail", "blank"] = "fail",
        beam: int = 4,
        length_penalty: Literal["gnmt", "plain"] = "gnmt",
        alpha: float = 0.6,
        max_length_offset: int = 50,
        max_length_ratio: float | None = None,
        min_length_ratio: float = 0.0,
        no_repeat: int = 0,
        sample: bool = False,
        top_k: int = 0,
        seed: int = 1,
        search: Literal["tokens", "words"] = "tokens",
        constraints: Literal["none", "legal", "strict"] = "strict",
        task: Literal["translate", "parse"] = "translate",
        tokenizer: Literal["moses", "none"] | None = None,
        batch_tokens: int = 4096,
        max_tokens: int = 2000,
    ) -> collections.abc.Iterator[list[synmt.search.translation.Translation]]: ...
    def log_probabilities(
        self,
        pairs: collections.abc.Iterable[
            tuple[
                str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
                str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
            ]
        ],
        *,
        on_error: Literal["fail", "blank"] = "fail",
        sum_trees: int = 0,
        tokenizer: Literal["moses", "none"] | None = None,
        batch_tokens: int = 4096,
        max_tokens: int = 2000,
    ) -> collections.abc.Iterator[synmt.search.scores.ForcedTarget]: ...
    def attention(
        self,
        sentence: str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
        *,
        side: Literal["source", "target"] = "source",
        layer: int = 1,
        head: int | None = None,
        title: str | None = None,
        width: float | None = None,
        dpi: int = 150,
    ) -> synmt.inspection.Picture: ...

def align(
    pairs: collections.abc.Iterable[
        tuple[
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
        ]
    ]
    | pathlib.Path,
    method: str | None = None,
    *,
    out: str | pathlib.Path | None = None,
    resume: bool = False,
    guide: str | None = None,
    links_from: collections.abc.Sequence[str | pathlib.Path] = (),
    device: str = "auto",
    on_error: Literal["fail", "blank"] = "fail",
    symmetrize: Literal[
        "harmonic",
        "mean",
        "forward",
        "backward",
        "intersection",
        "union",
        "grow-diag",
        "grow-diag-lilt",
        "grow-diag-final",
        "grow-diag-final-and",
    ]
    | None = None,
    threshold: float | None = None,
    links_by: Literal["attention", "posterior"] | None = None,
    end_punctuation: bool | None = None,
    tree_links: bool | None = None,
    temperature: float | None = None,
    max_words: int | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    tokenizer: Literal["moses", "none"] | None = None,
    models: str | None = None,
    preset: str | None = None,
    source_syntax: str | None = None,
    target_syntax: str | None = None,
    merges: int | None = None,
    batch_tokens: int | None = None,
    batch_by: Literal["tokens", "target-tokens", "source-words", "sentences"] | None = None,
    accumulate: int | None = None,
    max_length: int | None = None,
    learning_rate: float | None = None,
    schedule: Literal["constant", "inverse-sqrt", "cosine"] | None = None,
    warmup: int | None = None,
    adam_beta2: float | None = None,
    clip: float | None = None,
    label_smoothing: float | None = None,
    word_dropout: float | None = None,
    tree_dropout: float | None = None,
    epochs: int | None = None,
    updates: int | None = None,
    minutes: float | None = None,
    validate_every: int | None = None,
    average: int | None = None,
    checkpoint_minutes: float | None = None,
    report_every: int | None = None,
    tensorboard: bool | None = None,
    precision: Literal["auto", "fp32", "bf16"] | None = None,
    seed: int | None = None,
    width: int | None = None,
    feedforward: int | None = None,
    encoder_layers: int | None = None,
    decoder_layers: int | None = None,
    heads: int | None = None,
    cross_attention: Literal["all", "last"] | None = None,
    norm: Literal["pre", "post"] | None = None,
    positions: Literal["sinusoidal", "rotary"] | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    activation_dropout: float | None = None,
    hmm_agreement: int | None = None,
    hmm_compounds: int | None = None,
    hmm_concentration: float | None = None,
    hmm_null: float | None = None,
    hmm_frequent: int | None = None,
    hmm_jump: int | None = None,
    hmm_pairs: int | None = None,
    hmm_rounds: int | None = None,
    hmm_trees: bool | None = None,
    neural_hmm_agreement: int | None = None,
    neural_hmm_null: float | None = None,
    neural_hmm_jump: int | None = None,
    neural_hmm_pairs: int | None = None,
    mask_align_loss_form: Literal["code", "paper"] | None = None,
    mask_align_agreement: float | None = None,
    mask_align_entropy: float | None = None,
    mask_align_entropy_smoothing: float | None = None,
    mask_align_guidance: float | None = None,
    mask_align_diagonal: float | None = None,
    mask_align_causal: bool | None = None,
    mask_align_no_leak: bool | None = None,
    mask_align_no_agreement: bool | None = None,
    naive_att_layer: int | None = None,
    shift_att_layer: int | None = None,
    shift_aet_layer: int | None = None,
    add_sgd_steps: int | None = None,
    add_sgd_rate: float | None = None,
    mtl_fullc_layer: int | None = None,
    mtl_fullc_weight: float | None = None,
    bao_steps: int | None = None,
    bao_rate: float | None = None,
    bao_contiguity: float | None = None,
    embeddings_encoder: str | pathlib.Path | None = None,
    embeddings_layer: int | None = None,
    embeddings_rule: Literal["argmax", "itermax", "softmax"] | None = None,
    embeddings_threshold: float | None = None,
    embeddings_iterations: int | None = None,
    embeddings_alpha: float | None = None,
    embeddings_trust_pickle: bool | None = None,
    mask_per_layer: bool | None = None,
    mask_tree: Literal["constituency", "dependency"] | None = None,
    mask_relations: str | None = None,
    mask_hard: bool | None = None,
    label_masks_per_layer: bool | None = None,
    named_masks_names: str | None = None,
    named_masks_form: Literal["paper", "sum"] | None = None,
    pascal_layer: int | None = None,
    pascal_heads: int | None = None,
    pascal_layers: str | None = None,
    pascal_variance: float | None = None,
    pascal_dropout: float | None = None,
    pascal_weighting: Literal["multiply", "add-log-density", "parent-only"] | None = None,
    lisa_layer: int | None = None,
    lisa_weight: float | None = None,
    lisa_train_parents: Literal["predicted", "gold", "mixed"] | None = None,
    lisa_test_parents: Literal["predicted", "gold", "mixed"] | None = None,
    label_features_fields: str | None = None,
    label_features_size: int | None = None,
    fixed_heads_patterns: str | None = None,
    supervised_heads_teach: str | None = None,
    supervised_heads_layer: int | None = None,
    supervised_heads_weight: float | None = None,
) -> collections.abc.Iterator[synmt.api.alignment.WordLinks]: ...
def parse(
    sentences: pathlib.Path | collections.abc.Iterable[str | collections.abc.Sequence[str]],
    parser: Literal["benepar", "udpipe", "benepar+udpipe"] = "benepar",
    *,
    model: str | pathlib.Path | collections.abc.Sequence[str | pathlib.Path] = (),
    tokenized: bool = False,
    jobs: int = 1,
    on_error: Literal["fail", "blank"] = "fail",
    language: str = "en",
    device: str = "cpu",
    trust_pickle: bool = False,
) -> collections.abc.Iterator[synmt.trees.record.ParseRecord]: ...
def project(
    pairs: collections.abc.Iterable[
        collections.abc.Sequence[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]]
    ]
    | pathlib.Path,
    aligner: str | pathlib.Path | None = None,
    *,
    device: str = "auto",
    on_error: Literal["fail", "blank"] = "fail",
    method: Literal["votes", "direct"] = "votes",
    fit: bool = False,
    projective: bool = True,
    min_confidence: float = 0.0,
    overwrite_upos: bool = False,
    target_language: str | None = None,
    tokenizer: Literal["moses", "none"] | None = None,
) -> collections.abc.Iterator[synmt.trees.record.ParseRecord]: ...
def query(
    sentences: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]]
    | pathlib.Path,
    *,
    on_error: Literal["fail", "blank"] = "fail",
    relation: str | None = None,
    upos: str | None = None,
    feature: tuple[str, ...] | None = None,
    lemma: str | None = None,
    word: str | None = None,
    head_relation: str | None = None,
    head_upos: str | None = None,
    head_feature: tuple[str, ...] | None = None,
    head_lemma: str | None = None,
    head_word: str | None = None,
    min_distance: int | None = None,
    direction: Literal["before", "after"] | None = None,
    pattern: str | None = None,
) -> collections.abc.Iterator[synmt.api.queries.Match]: ...
def score(
    hypotheses: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]],
    *references: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]],
    metrics: str | collections.abc.Sequence[str] = ("bleu", "chrf"),
    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"] = "13a",
    case: Literal["mixed", "lower"] | None = None,
    detokenize: str | None = None,
    effective_order: bool = False,
    chrf_beta: int = 2,
    chrf_average: Literal["sacrebleu", "script"] = "sacrebleu",
    ribes_alpha: float = 0.25,
    ribes_beta: float = 0.1,
    link_base: int | None = None,
    reference_base: int | None = None,
) -> list[synmt.metrics.metric.Score]: ...
def significance(
    systems: collections.abc.Mapping[
        str, collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]]
    ],
    *references: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]],
    metrics: str | collections.abc.Sequence[str] = ("bleu", "chrf"),
    test: Literal[
        "bootstrap-wins", "bootstrap-shifted", "bootstrap-sacrebleu", "randomization", "sign"
    ] = "bootstrap-wins",
    resamples: int = 10000,
    seed: int = 12345,
    against: Literal["first", "best"] = "first",
    tokenize: Literal["13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"] = "13a",
    case: Literal["mixed", "lower"] | None = None,
    detokenize: str | None = None,
    effective_order: bool = False,
    chrf_beta: int = 2,
    chrf_average: Literal["sacrebleu", "script"] = "sacrebleu",
    ribes_alpha: float = 0.25,
    ribes_beta: float = 0.1,
    link_base: int | None = None,
    reference_base: int | None = None,
) -> list[synmt.metrics.significance.Comparison]: ...
def train(
    pairs: str
    | pathlib.Path
    | tuple[str | pathlib.Path, str | pathlib.Path]
    | synmt.training.run.PairFiles
    | collections.abc.Iterable[
        tuple[
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
        ]
    ],
    dev: str
    | pathlib.Path
    | tuple[str | pathlib.Path, str | pathlib.Path]
    | synmt.training.run.PairFiles
    | collections.abc.Iterable[
        tuple[
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
            str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str],
        ]
    ]
    | None = None,
    *,
    out: str | pathlib.Path,
    resume: bool = False,
    device: str = "auto",
    on_error: Literal["fail", "blank"] = "fail",
    prepared: str | pathlib.Path | None = None,
    jobs: int = 1,
    model: str | None = None,
    source_syntax: str | None = None,
    target_syntax: str | None = None,
    preset: str | None = None,
    init: str | pathlib.Path | None = None,
    split_arcs: bool | None = None,
    root_arc: bool | None = None,
    codes: str | pathlib.Path | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    tokenizer: Literal["moses", "none"] | None = None,
    merges: int | None = None,
    batch_tokens: int | None = None,
    batch_by: Literal["tokens", "target-tokens", "source-words", "sentences"] | None = None,
    prefixes: int | None = None,
    prefix_tokens: int | None = None,
    accumulate: int | None = None,
    max_length: int | None = None,
    learning_rate: float | None = None,
    schedule: Literal["constant", "inverse-sqrt", "cosine"] | None = None,
    warmup: int | None = None,
    adam_beta2: float | None = None,
    clip: float | None = None,
    label_smoothing: float | None = None,
    word_dropout: float | None = None,
    tree_dropout: float | None = None,
    subword_dropout: float | None = None,
    epochs: int | None = None,
    updates: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    select: Literal["bleu", "chrf", "loss"] | None = None,
    validate_every: int | None = None,
    validation_beam: int | None = None,
    average: int | None = None,
    checkpoint_minutes: float | None = None,
    report_every: int | None = None,
    tensorboard: bool | None = None,
    precision: Literal["auto", "fp32", "bf16"] | None = None,
    seed: int | None = None,
    width: int | None = None,
    feedforward: int | None = None,
    encoder_layers: int | None = None,
    decoder_layers: int | None = None,
    heads: int | None = None,
    cross_attention: Literal["all", "last"] | None = None,
    norm: Literal["pre", "post"] | None = None,
    positions: Literal["sinusoidal", "rotary"] | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    activation_dropout: float | None = None,
    mask_per_layer: bool | None = None,
    mask_tree: Literal["constituency", "dependency"] | None = None,
    mask_relations: str | None = None,
    mask_hard: bool | None = None,
    label_masks_per_layer: bool | None = None,
    named_masks_names: str | None = None,
    named_masks_form: Literal["paper", "sum"] | None = None,
    pascal_layer: int | None = None,
    pascal_heads: int | None = None,
    pascal_layers: str | None = None,
    pascal_variance: float | None = None,
    pascal_dropout: float | None = None,
    pascal_weighting: Literal["multiply", "add-log-density", "parent-only"] | None = None,
    lisa_layer: int | None = None,
    lisa_weight: float | None = None,
    lisa_train_parents: Literal["predicted", "gold", "mixed"] | None = None,
    lisa_test_parents: Literal["predicted", "gold", "mixed"] | None = None,
    label_features_fields: str | None = None,
    label_features_size: int | None = None,
    fixed_heads_patterns: str | None = None,
    supervised_heads_teach: str | None = None,
    supervised_heads_layer: int | None = None,
    supervised_heads_weight: float | None = None,
    tags_share: float | None = None,
    compose_heads: int | None = None,
    compose_stack_heads: int | None = None,
    compose_layers: int | None = None,
    compose_mask: Literal["tree", "random"] | None = None,
    gcn_layers: int | None = None,
    gcn_labels: bool | None = None,
    gcn_gates: bool | None = None,
    gcn_variant: Literal["paper", "reference"] | None = None,
    supervised_decoder_heads_teach: str | None = None,
    supervised_decoder_heads_layer: int | None = None,
    supervised_decoder_heads_weight: float | None = None,
) -> pathlib.Path: ...
def translate(
    model: str | pathlib.Path | collections.abc.Sequence[str | pathlib.Path],
    sentences: collections.abc.Iterable[str | synmt.trees.record.ParseRecord | collections.abc.Sequence[str]]
    | pathlib.Path,
    *,
    device: str = "auto",
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    jobs: int = 1,
    on_error: Literal["fail", "blank"] = "fail",
    beam: int = 4,
    length_penalty: Literal["gnmt", "plain"] = "gnmt",
    alpha: float = 0.6,
    max_length_offset: int = 50,
    max_length_ratio: float | None = None,
    min_length_ratio: float = 0.0,
    no_repeat: int = 0,
    sample: bool = False,
    top_k: int = 0,
    seed: int = 1,
    search: Literal["tokens", "words"] = "tokens",
    constraints: Literal["none", "legal", "strict"] = "strict",
    task: Literal["translate", "parse"] = "translate",
    tokenizer: Literal["moses", "none"] | None = None,
    batch_tokens: int = 4096,
    max_tokens: int = 2000,
) -> collections.abc.Iterator[synmt.search.translation.Translation]: ...

__version__: str
