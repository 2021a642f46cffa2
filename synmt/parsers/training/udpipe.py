"""Trains the embedded UDPipe model: tokenizer, tagger and parser from one UD treebank.

Straka, Hajič & Straková (2016), "UDPipe: Trainable pipeline for processing CoNLL-U files". The settings trade
a little accuracy for size and speed: one tagger without lemmas, short feature templates, a small parser.
"""

import tempfile
import time
from pathlib import Path

import click
from ufal.udpipe import Evaluator, InputFormat, Model, ProcessingError, Sentence, Sentences, Trainer

TOKENIZER = "epochs=30"
TAGGER = "models=1;order=2;iterations=14;prune_features=1;use_lemma=0;provide_lemma=0"
PARSER = (
    "embedding_form=50;embedding_form_mincount=2;embedding_upostag=20;embedding_feats=20;embedding_deprel=20;"
    "hidden_layer=200;iterations=14;transition_system=projective;transition_oracle=dynamic"
)
TAGGER_TEMPLATES = [
    "Tag 0",
    "Tag 0,Tag -1",
    "Tag 0,TagUPos -1",
    "TagUPos 0,TagUPos -1",
    "Tag 0,Form 0",
    "Tag 0,Form -1",
    "Tag 0,Form 1",
    "TagUPos 0,Form -1,Form 0",
    *(f"Tag 0,Prefix{length} 0" for length in range(1, 4)),
    *(f"Tag 0,Suffix{length} 0" for length in range(1, 6)),
    *(f"TagUPos 0,Suffix{length} 0" for length in range(1, 5)),
    "Tag 0,Num 0",
    "Tag 0,Cap 0",
    "Tag 0,Dash 0",
]


def read_treebank(path: Path) -> Sentences:
    """The sentences of a CoNLL-U file as UDPipe holds them."""
    reader = InputFormat.newConlluInputFormat()
    reader.setText(path.read_text(encoding="utf-8"))
    error = ProcessingError()
    sentences = Sentences()
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = Sentence()
    if error.occurred():
        raise ValueError(f"{path}: {error.message}")
    return sentences


def train(train_file: Path, dev_file: Path) -> bytes:
    """The model's bytes."""
    with tempfile.NamedTemporaryFile("w", suffix=".templates") as templates:
        templates.write("\n".join(TAGGER_TEMPLATES) + "\n")
        templates.flush()
        error = ProcessingError()
        model = Trainer.train(
            "morphodita_parsito",
            read_treebank(train_file),
            read_treebank(dev_file),
            TOKENIZER,
            f"{TAGGER};templates=file:{templates.name}",
            PARSER,
            error,
        )
    if error.occurred():
        raise ValueError(error.message)
    return bytes(model)


def evaluate(model: Model, test_file: Path) -> str:
    """UDPipe's own report on a test file: from raw text, and with gold tokens."""
    gold = test_file.read_text(encoding="utf-8")
    reports = []
    for tokenizer in (Model.DEFAULT, Evaluator.NONE):
        error = ProcessingError()
        report = Evaluator(model, tokenizer, Model.DEFAULT, Model.DEFAULT).evaluate(gold, error)
        if error.occurred():
            raise ValueError(error.message)
        reports.append(report)
    return "\n".join(reports)


@click.command()
@click.option("--train", "train_file", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--dev", "dev_file", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--test", "test_file", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True)
def main(train_file: Path, dev_file: Path, test_file: Path, output: Path) -> None:
    """Trains a UDPipe model on CoNLL-U files, writes it and prints its scores on the test file."""
    started = time.process_time()
    output.write_bytes(train(train_file, dev_file))
    print(f"{output}: {output.stat().st_size} bytes, {time.process_time() - started:.0f} CPU seconds")
    print(evaluate(Model.load(str(output)), test_file))


if __name__ == "__main__":
    main()
