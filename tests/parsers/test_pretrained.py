"""benepar models with pretrained encoders: small random ones in the format of the released ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benepar import InputSentence
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, PretrainedConfig, RobertaConfig, T5Config

from synmt.parsers.benepar_models import convert, with_special_tokens_method
from synmt.parsers.benepar_parser import BeneparParser
from synmt.parsers.parser import ModelError
from synmt.trees.constituency import read_brackets, without_root, write_brackets

CHARACTERS = [chr(code) for code in range(ord("!"), ord("~"))]
SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def bert() -> tuple[Tokenizer, dict[str, str], PretrainedConfig]:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *CHARACTERS, *(f"##{each}" for each in CHARACTERS)]
    tokenizer = Tokenizer(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    config = BertConfig(vocab_size=len(words), **SIZES)
    return tokenizer, {"tokenizer_class": "BertTokenizerFast", **special}, config


def roberta() -> tuple[Tokenizer, dict[str, str], PretrainedConfig]:
    words = ["<s>", "<pad>", "</s>", "<unk>", *pre_tokenizers.ByteLevel.alphabet()]
    tokenizer = Tokenizer(models.BPE({word: index for index, word in enumerate(words)}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    config = RobertaConfig(vocab_size=len(words), max_position_embeddings=80, pad_token_id=1, **SIZES)
    return tokenizer, {"tokenizer_class": "RobertaTokenizerFast", **special}, config


def t5() -> tuple[Tokenizer, dict[str, str], PretrainedConfig]:
    words = ["<pad>", "</s>", "<unk>", "▁", *CHARACTERS]
    tokenizer = Tokenizer(models.Unigram([(word, -1.0) for word in words], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"}
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    settings: dict[str, Any] = {"vocab_size": len(words), **sizes, "decoder_start_token_id": 0}
    config = T5Config(**settings)
    return tokenizer, {"tokenizer_class": "T5TokenizerFast", **special}, config


# raised by torch_struct, which benepar uses
pytestmark = pytest.mark.filterwarnings("ignore:.*arg_constraints")

ENCODERS = {"bert": bert, "roberta": roberta, "t5": t5}


def export(folder: Path, encoder: str) -> None:
    """Write the files of a benepar export: encoder and tokenizer as transformers saves them, and all weights."""
    tokenizer, tokenizer_config, config = ENCODERS[encoder]()
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, **tokenizer_config}))
    parser_config: dict[str, Any] = {
        "tag_vocab": {"UNK": 0, "DT": 1, "NN": 2, "VBZ": 3},
        "label_vocab": {"": 0, "S": 1, "NP": 2, "S::VP": 3},
        "char_vocab": None,
        "hparams": {
            "use_pretrained": True, "use_chars_lstm": False, "use_encoder": True, "pretrained_model": "",
            "predict_tags": True, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_kv": 4, "d_ff": 16,
            "encoder_max_len": 30, "d_label_hidden": 8, "d_tag_hidden": 8, "tag_loss_scale": 5.0,
            "morpho_emb_dropout": 0.2, "relu_dropout": 0.1, "residual_dropout": 0.2, "attention_dropout": 0.2,
            "force_root_constituent": True,
        },
    }  # fmt: skip
    config.benepar = parser_config
    config.save_pretrained(folder)
    torch.manual_seed(1)
    with with_special_tokens_method():
        hparams = HParams(**parser_config["hparams"])
        model = ChartParser(**{**parser_config, "hparams": hparams, "pretrained_model_path": str(folder)})
    torch.save(model.state_dict(), folder / "benepar_model.bin")


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_export_parses(encoder: str, tmp_path: Path) -> None:
    export(tmp_path / "export", encoder)
    parser = BeneparParser(str(tmp_path / "export"), trust_pickle=True)
    sentences = [["The", "dog", "sleeps", "."], ["It", "barks"], ["Yes"]]
    records = parser.parse(sentences)
    assert [record.tokens for record in records] == sentences
    assert records == [parser.parse([sentence])[0] for sentence in sentences]
    words = sentences[0]
    (own,) = parser._model.parse(
        [InputSentence(words=words, space_after=[True, True, True, False], escaped_words=words)]
    )
    assert records[0].tree is not None
    assert write_brackets(without_root(read_brackets(str(own)), frozenset({"TOP"}))) == write_brackets(records[0].tree)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_sentences_over_a_limit_have_no_trees(encoder: str, tmp_path: Path) -> None:
    """29 words exceed the limit of the parser's own encoder, and 80 letters that of the tokenizer."""
    export(tmp_path / "export", encoder)
    parser = BeneparParser(str(tmp_path / "export"), trust_pickle=True)
    many, long = ["a"] * 29, ["x" * 80]
    records = parser.parse([many, ["a"], long])
    assert [record.tree is None for record in records] == [True, False, True]
    assert [record.tokens for record in records[::2]] == [many, long]
    assert parser.unparsed == 2


def test_a_safe_export_parses_the_same_and_runs_no_code(tmp_path: Path) -> None:
    export(tmp_path / "export", "t5")
    convert(str(tmp_path / "export"), tmp_path / "safe")
    assert not (tmp_path / "safe" / "benepar_model.bin").exists()
    words = [["The", "dog", "sleeps", "."]]
    trusted = BeneparParser(str(tmp_path / "export"), trust_pickle=True)
    assert BeneparParser(str(tmp_path / "safe")).parse(words) == trusted.parse(words)
    config = json.loads((tmp_path / "safe" / "config.json").read_text())
    bombs: list[dict[str, Any]] = [{"d_model": 10**9}, {"num_layers": 10**9}, {"vocab_size": 10**12}]
    for bomb in bombs:
        (tmp_path / "safe" / "config.json").write_text(json.dumps({**config, **bomb}))
        with pytest.raises(ModelError, match="safe: "):
            BeneparParser(str(tmp_path / "safe"))
    code = {"auto_map": {"AutoConfig": "evil.Config"}}
    (tmp_path / "safe" / "config.json").write_text(json.dumps({**config, **code}))
    with pytest.raises(ModelError, match=r"config\.json asks to run code"):
        BeneparParser(str(tmp_path / "safe"))
