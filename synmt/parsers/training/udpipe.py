"""Trains the embedded UDPipe models: tokenizer, tagger and parser from UD treebanks.

Straka, Hajič & Straková (2016), "UDPipe: Trainable pipeline for processing CoNLL-U files". Our settings trade a little
accuracy for size and speed: one tagger without lemmas, short feature templates, a small parser. As in UDPipe's own
models, the parser's word embeddings are initialized by word2vec on the treebank (Mikolov et al. 2013). Treebanks of one
language may have different XPOS tags, so a tagger trained on several leaves XPOS out.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import click
from ufal.udpipe import Evaluator, InputFormat, Model, ProcessingError, Sentence, Sentences, Trainer

from synmt.parsers.training import complaining
from synmt.parsers.training.treebank import read_dependencies
from synmt.streams import BadInput, complain
from synmt.streams.process import temporary_folder

TOKENIZER = "epochs=15"
TAGGER = "models=1;order=2;iterations=14;prune_features=1;use_lemma=0;provide_lemma=0"
WITHOUT_XPOS = "use_xpostag=0;provide_xpostag=0"
PARSER = (
    "embedding_form=50;embedding_form_mincount=2;embedding_upostag=20;embedding_feats=20;embedding_deprel=20;"
    "hidden_layer=200;iterations=12;transition_system=projective;transition_oracle=dynamic"
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
    "TagUPos 0,Form -1,Form 1",
    "TagUPos 0,Form 1,Form 2",
    "TagUPos 0,Form -2",
    "TagUPos 0,Form 2",
    "TagUPos 0,Tag -1,Form 1",
    *(f"Tag 0,Prefix{length} 0" for length in range(1, 5)),
    *(f"Tag 0,Suffix{length} 0" for length in range(1, 6)),
    *(f"TagUPos 0,Suffix{length} 0" for length in range(1, 6)),
    "Tag 0,Num 0",
    "Tag 0,Cap 0",
    "Tag 0,Dash 0",
]


def read_treebank(path: Path) -> list[Sentence]:
    """Return the sentences of a CoNLL-U file as UDPipe's own objects. Raises BadInput, also if there are none."""
    reader = InputFormat.newConlluInputFormat()
    error = ProcessingError()
    sentences = []
    for block, _ in read_dependencies(path):
        reader.setText(f"{block.text}\n\n")
        sentences.append(Sentence())
        if not reader.nextSentence(sentences[-1], error):
            raise block.error(error.message)
    if not sentences:
        raise BadInput("no sentences", str(path))
    return sentences


def train(train_files: Sequence[Path], dev_file: Path | None) -> bytes:
    """Return the model as bytes. Without a dev file, hold out every tenth sentence to choose the best iteration."""
    sentences = [sentence for path in train_files for sentence in read_treebank(path)]
    if dev_file:
        training, heldout = sentences, read_treebank(dev_file)
    else:
        training = [sentence for number, sentence in enumerate(sentences) if number % 10]
        heldout = sentences[::10]
    tagger = TAGGER if len(train_files) == 1 else f"{TAGGER};{WITHOUT_XPOS}"
    with temporary_folder() as folder:
        templates, embeddings = folder / "templates", folder / "embeddings"
        templates.write_text("\n".join(TAGGER_TEMPLATES) + "\n")
        write_embeddings([[word.form for word in list(each.words)[1:]] for each in training], embeddings)
        error = ProcessingError()
        model = Trainer.train(
            "morphodita_parsito",
            Sentences(training),
            Sentences(heldout),
            TOKENIZER,
            f"{tagger};templates=file:{templates}",
            f"{PARSER};embedding_form_file={embeddings}",
            error,
        )
    if error.occurred():
        raise BadInput(error.message)
    return bytes(model)


def write_embeddings(sentences: Sequence[Sequence[str]], path: Path) -> None:
    """Write word2vec embeddings as text: skip-gram, 50 dimensions, words that occur at least twice."""
    from gensim.models import Word2Vec

    trained = Word2Vec(
        sentences, vector_size=50, window=10, min_count=2, sg=1, negative=5, epochs=15, workers=1, seed=1
    )
    trained.wv.save_word2vec_format(str(path))


def evaluate(model: Model, test_file: Path) -> str:
    """Return UDPipe's own reports on a test file, from raw text and from gold tokens."""
    gold = test_file.read_text(encoding="utf-8")
    reports = []
    for tokenizer in (Model.DEFAULT, Evaluator.NONE):
        error = ProcessingError()
        report = Evaluator(model, tokenizer, Model.DEFAULT, Model.DEFAULT).evaluate(gold, error)
        if error.occurred():
            raise BadInput(error.message, str(test_file))
        reports.append(report)
    return "\n".join(reports)


treebank = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--train", "train_files", type=treebank, required=True, multiple=True)
@click.option("--dev", "dev_file", type=treebank, help="Default: every tenth sentence of --train, held out.")
@click.option("--test", "test_file", type=treebank)
@click.option("--output", type=click.Path(path_type=Path), required=True)
@complaining("udpipe")
def main(train_files: tuple[Path, ...], dev_file: Path | None, test_file: Path | None, output: Path) -> None:
    """Train a UDPipe model on CoNLL-U files, write it, and print its scores on the test file, if given."""
    started = time.process_time()
    output.parent.mkdir(parents=True, exist_ok=True)  # before training
    if test_file:
        read_treebank(test_file)  # to refuse it before training
    try:
        trained = train(train_files, dev_file)
    except ModuleNotFoundError as error:
        raise SystemExit(complain("udpipe", f"{error}; pip install 'synmt[train-parsers]'")) from None
    output.write_bytes(trained)
    print(f"{output}: {output.stat().st_size} bytes, {time.process_time() - started:.0f} CPU seconds")
    if test_file:
        print(evaluate(Model.load(str(output)), test_file))


if __name__ == "__main__":
    main()
