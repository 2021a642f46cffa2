import pytest

from synmt.trees.record import RecordError, read_words


def test_words_of_text_and_records() -> None:
    lines = ["", " a  b ", "{ a", "{}", '{"tokens": ["a", "b"]}', '{ "tree": "(NP (DT the) (NN dog))"}']
    words = [[], ["a", "b"], ["{", "a"], [], ["a", "b"], ["the", "dog"]]
    assert [read_words(line) for line in lines] == words
    with pytest.raises(RecordError):
        read_words('{"tokens": 1}')
