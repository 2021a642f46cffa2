"""benepar's model over a character LSTM, put together from benepar's own layers.

Its parameters are those of benepar's `ChartParser` with `use_chars_lstm`, name for name. That class itself is
not used because its module imports transformers, a second of start-up, for encoders that are
not used here.
"""

import re
from typing import Any

from benepar.char_lstm import CharacterLSTM, RetokenizerForCharLSTM
from benepar.partitioned_transformer import (
    ConcatPositionalEncoding,
    FeatureDropout,
    PartitionedTransformerEncoder,
    PartitionedTransformerEncoderLayer,
)
from torch import nn

_BREAKING = re.compile(r"[\s\0()]")


class CharacterModel(nn.Module):
    """A `ChartModel` whose vocabularies and hyperparameters are benepar's, all of it in `config`."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.config = config
        for name in ("label_vocab", "tag_vocab", "char_vocab"):
            _check_vocabulary(name, config[name])
        self.label_vocab: dict[str, int] = config["label_vocab"]
        self.tag_vocab: dict[str, int] = config["tag_vocab"]
        sizes = config["hparams"]
        self.d_model: int = sizes["d_model"]
        self.retokenizer = RetokenizerForCharLSTM(config["char_vocab"])
        self.char_encoder = CharacterLSTM(
            max(config["char_vocab"].values()) + 1,
            sizes["d_char_emb"],
            self.d_model // 2,
            char_dropout=sizes["char_lstm_input_dropout"],
        )
        self.morpho_emb_dropout = FeatureDropout(sizes["morpho_emb_dropout"])
        self.add_timing = ConcatPositionalEncoding(self.d_model, sizes["encoder_max_len"])
        layer = PartitionedTransformerEncoderLayer(
            self.d_model,
            sizes["num_heads"],
            sizes["d_kv"],
            sizes["d_ff"],
            ff_dropout=sizes["relu_dropout"],
            residual_dropout=sizes["residual_dropout"],
            attention_dropout=sizes["attention_dropout"],
        )
        self.encoder = PartitionedTransformerEncoder(layer, sizes["num_layers"])
        self.f_label = _classifier(self.d_model, sizes["d_label_hidden"], max(self.label_vocab.values()))
        self.f_tag = _classifier(self.d_model, sizes["d_tag_hidden"], max(self.tag_vocab.values()) + 1)


def _check_vocabulary(name: str, vocabulary: dict[str, int]) -> None:
    """Raise ValueError unless its numbers count up from 0 and no label breaks the line that it would stand in."""
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"{name} is not numbered from 0")
    for label in vocabulary:
        if name != "char_vocab" and _BREAKING.search(label):
            raise ValueError(f"{name} has {label!r}, which is no label")


def _classifier(size: int, hidden: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, classes))
