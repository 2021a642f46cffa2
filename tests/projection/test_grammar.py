"""Grammars learned from projected trees: examples worked by hand, slow twins, and a language with known rules."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.projection.config import ProjectionConfig
from synmt.projection.features import arc_features, crossed, distances, sentence, tag_features, words_of
from synmt.projection.grammar import LONGEST, RATE, START, Grammar, LogLinear, Told, softmax
from synmt.projection.tree import projected, votes_of
from synmt.projection.votes import Source, sentences
from synmt.trees.record import ParseRecord
from tests.projection.test_tree import linked_pairs

Pair = tuple[ParseRecord, list[Source]]
CONFIG = ProjectionConfig(fit=True)


def learnt(corpus: list[Pair]) -> Grammar:
    grammar = Grammar()
    grammar.learn(
        (target.tokens, words, votes_of(target, sources, CONFIG))
        for target, sources in corpus
        for words in sentences(target)
    )
    return grammar


def pair(rng: random.Random, silent: bool) -> tuple[Pair, ParseRecord]:
    """Return a pair and the tree of its target. The target's word order is article, adjectives, noun, verb; the English
    order is verb, noun, article, adjectives. silent: leave articles and adjectives without links."""
    adjectives = [f"{stem}ig" for stem in rng.choices("bdfgk", k=rng.randint(0, 2))]
    tokens = [rng.choice(["der", "ein"]), *adjectives, rng.choice("mnp") + "ung", rng.choice("rst") + "iert"]
    noun, verb = len(tokens) - 1, len(tokens)
    tree = ParseRecord(
        tokens=tokens,
        upos=["DET", *["ADJ"] * len(adjectives), "NOUN", "VERB"],
        heads=[*[noun] * (noun - 1), verb, 0],
        deprels=["det", *["amod"] * len(adjectives), "nsubj", "root"],
    )
    order = [verb - 1, noun - 1, *range(noun - 1)]  # target word of each source word
    place = {target: number for number, target in enumerate(order, 1)}
    english = ParseRecord(
        tokens=[f"e{word}" for word in order],
        upos=[tree.upos[word] for word in order],
        heads=[tree.heads[word] and place[tree.heads[word] - 1] for word in order],
        deprels=[tree.deprels[word] for word in order],
    )
    links = {(number, word): 1.0 for number, word in enumerate(order) if not silent or word >= noun - 1}
    return (ParseRecord(tokens=tokens), [Source(english, links)]), tree


def test_unlinked_words_are_analysed_like_similar_words() -> None:
    rng = random.Random(1)
    made = [pair(rng, silent=number % 3 == 0) for number in range(150)]
    grammar = learnt([each for each, _ in made])
    for (target, sources), tree in made[::3]:
        alone = projected(target, sources, CONFIG)
        assert alone.upos[0] == "X" and alone.deprels[0] == "dep"
        found = projected(target, sources, CONFIG, grammar)
        assert (found.upos, found.heads, found.deprels) == (tree.upos, tree.heads, tree.deprels)
        assert min(found.confidences) > 0.5


def test_the_majority_wins_over_a_wrong_link() -> None:
    rng = random.Random(2)
    made = [pair(rng, silent=False) for _ in range(150)]
    grammar = learnt([each for each, _ in made])
    target = ParseRecord(tokens=["der", "big", "mung", "riert"])
    english = ParseRecord(tokens=["a", "b"], upos=["VERB", "DET"], heads=[0, 1], deprels=["root", "obj"])
    wrong = [Source(english, {(0, 0): 0.3, (1, 3): 0.3})]  # the article linked to the verb, and the verb to a dependent
    assert projected(target, wrong, CONFIG).heads[0] == 0
    found = projected(target, wrong, CONFIG, grammar)
    assert (found.heads, found.upos) == ([3, 3, 4, 0], ["DET", "ADJ", "NOUN", "VERB"])


@settings(max_examples=30)
@given(pair=linked_pairs())
def test_any_links_give_a_tree(pair: Pair) -> None:
    target, sources = pair
    found = projected(target, sources, CONFIG, learnt([pair]))
    found.check()
    assert len(found.heads) == len(found.deprels) == len(found.confidences) == len(target.tokens)
    assert all((relation == "root") == (head == 0) for relation, head in zip(found.deprels, found.heads, strict=True))
    assert all(0 <= each <= 1 + 1e-6 for each in found.confidences)
    assert len(found.upos) == (len(target.tokens) if votes_of(target, sources, CONFIG).tags else 0)


def test_a_sentence_without_a_source_is_parsed() -> None:
    rng = random.Random(4)
    grammar = learnt([each for each, _ in (pair(rng, silent=False) for _ in range(150))])
    for (target, _), tree in (pair(rng, silent=False) for _ in range(20)):
        found = projected(target, [Source(ParseRecord(), {})], CONFIG, grammar)
        assert (found.upos, found.heads, found.deprels) == (tree.upos, tree.heads, tree.deprels)


def test_nothing_to_learn_from() -> None:
    target = ParseRecord(tokens=["a", "b", "."])
    silent = [Source(ParseRecord(tokens=["x"], heads=[0], deprels=["root"]), {})]
    grammar = learnt([(target, silent), (ParseRecord(), [])])
    projected(target, silent, CONFIG, grammar).check()
    assert projected(ParseRecord(), [], CONFIG, grammar) == ParseRecord()


def test_sentences_too_long_to_learn_from_still_get_labels() -> None:
    words = LONGEST + 1
    source = ParseRecord(
        tokens=["x"] * words, upos=["INTJ"] * words, heads=[0, *[1] * (words - 1)],
        deprels=["root", *["vocative"] * (words - 1)],
    )  # fmt: skip
    corpus = [pair(random.Random(1), silent=False)[0]]
    corpus.append((ParseRecord(tokens=["y"] * words), [Source(source, {(n, n): 1.0 for n in range(words)})]))
    found = projected(*corpus[1], CONFIG, learnt(corpus))
    found.check()
    assert len(found.upos) == words


def test_grammars_are_reproducible() -> None:
    corpus = [each for each, _ in (pair(random.Random(seed), silent=bool(seed % 2)) for seed in range(40))]
    first, second = ([projected(*each, CONFIG, learnt(corpus)) for each in corpus[:5]] for _ in range(2))
    assert first == second


def test_votes_are_shares_of_at_most_one() -> None:
    """Two sources vote for the same analysis of the first word, and one for an analysis of the second."""
    told = Told(
        words=words_of(["a", "b"]),
        tagged=np.array([1, 1, 2]), tags=np.array([0, 1, 1]), of_tags=np.array([1.5, 0.5, 0.4], np.float32),
        arcs=np.array([[0, 2, 1], [1, 1, 2]]), relations=np.array([0, 0, 0]),
        of_arcs=np.array([1.0, 1.0, 0.3], np.float32),
    )  # fmt: skip
    assert told.tag_votes(2) == pytest.approx(np.array([[0.75, 0.25], [0, 0.4]]))
    assert told.arc_votes() == pytest.approx(np.array([[0.5, 0], [0, 0.3], [0.5, 0]]))
    assert told.relation_votes() == pytest.approx(np.array([1.0, 1.0, 0.3]))
    again = replace(told, arcs=np.array([[2, 2, 1], [1, 1, 2]]))
    assert again.relation_votes() == pytest.approx(np.array([0.5, 0.5, 0.3]))


def test_a_source_given_three_times_counts_as_one() -> None:
    rng = random.Random(7)
    made = [pair(rng, silent=False) for _ in range(150)]
    for (_, (source,)), _ in made:
        if rng.random() < 0.3:  # a parser that often errs: its relations compete with the grammar
            source.record.deprels[1] = "obj"
    once = [each for each, _ in made]
    thrice = [(target, sources * 3) for target, sources in once]
    trees = []
    for corpus in (once, thrice):
        grammar = learnt(corpus)
        found = [projected(*each, CONFIG, grammar) for each in corpus]
        trees.append([(each.heads, each.upos, each.deprels) for each in found])
    assert trees[0] == trees[1]


def test_a_step_worked_by_hand() -> None:
    """Each feature gets the weight −rate · g / √(start + g²); the label without a gradient keeps its weights."""
    model = LogLinear(8, 2)
    features = np.array([[crossed(1)[0], crossed(2)[0]]])
    model.step(features, np.array([[0.5, 0.0]], np.float32), done=0)
    assert model.scores(features) == pytest.approx(np.array([[2 * -RATE * 0.5 / (START + 0.25) ** 0.5, 0]]))


def test_training_approaches_the_distribution_of_votes() -> None:
    """−log p is smallest if p is the distribution of the votes."""
    model, features = LogLinear(10, 3), np.array([[crossed(7)[0]]])
    wanted = np.array([[0.7, 0.2, 0.1]], np.float32)
    for number in range(400):
        model.step(features, softmax(model.scores(features), axis=1) - wanted, number / 400)
    assert softmax(model.scores(features), axis=1) == pytest.approx(wanted, abs=0.01)


TAGS = st.sampled_from(["NOUN", "VERB", "AUX", "PRON", "SCONJ", "DET"])


@given(words=st.lists(st.tuples(st.sampled_from(["a", "Bcd", ",", "3rd"]), TAGS), min_size=1, max_size=9))
def test_counts_between_words_equal_those_of_a_loop(words: list[tuple[str, str]]) -> None:
    tokens, tags = zip(*words, strict=True)
    seen = sentence(words_of(tokens), tags)
    verbs, marks = seen.between(("VERB", "AUX"), 2), seen.marks_between(1)
    for head in range(len(words) + 1):
        for word in range(1, len(words) + 1):
            inside = words[min(head, word) : max(head, word) - 1] if head != word else []
            assert verbs[head, word - 1] == min(2, sum(tag in ("VERB", "AUX") for _, tag in inside))
            assert marks[head, word - 1] == min(1, sum(token == "," for token, _ in inside))


def test_distances_distinguish_directions() -> None:
    """The root is equally far from all words. Heads before and after a word have different distances."""
    far = distances(5)
    assert len(set(far[0].tolist())) == 1
    assert far[2, 0] == far[3, 1] and far[2, 0] != far[1, 1] and far[2, 0] != far[3, 0]
    assert len({*far[1:, 0].tolist()}) == 5  # itself, 1, 2, 3, 4


def test_features_distinguish_words() -> None:
    """Equal words in equal places have the same features. Another word, tag or case changes them."""
    tokens = ["Die", "Katze", "schläft"]
    first, again, small = (words_of(each) for each in (tokens, tokens, ["Die", "katze", "schläft"]))
    assert (tag_features(first) == tag_features(again)).all()
    assert (tag_features(first)[1] != tag_features(small)[1]).any()
    assert (tag_features(first)[1, 0] == tag_features(small)[1, 0]).all()  # feature of the lower-cased form
    noun, verb = (arc_features(sentence(first, ["DET", tag, "VERB"])) for tag in ("NOUN", "VERB"))
    assert noun.shape[:2] == (4, 3) and (noun[2, 0] != verb[2, 0]).any()
    assert (noun[1:, :, 4] == verb[1:, :, 4]).all()  # feature of both forms and the direction


def test_low_confidence_detaches_words() -> None:
    (target, sources), _ = pair(random.Random(3), silent=True)
    grammar = learnt([(target, sources)])
    whole, partial = (
        projected(target, sources, replace(CONFIG, min_confidence=least), grammar) for least in (0.0, 0.6)
    )
    for head, confidence, kept in zip(whole.heads, whole.confidences, partial.heads, strict=True):
        assert kept == (head if confidence >= 0.6 else -1)
