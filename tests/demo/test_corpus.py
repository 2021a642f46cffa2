"""Laws of the demo corpus: it is deterministic, its trees and links fit, and Kel agrees as Kel should."""

import random
from collections import Counter
from itertools import islice
from pathlib import Path

import conllu
import pytest

from synmt.demo import english, kel
from synmt.demo.corpus import ENDINGS, LENGTHS, READY, Pair, draw_pairs, write_corpus
from synmt.demo.derivation import Sampler
from synmt.demo.words import Sentence, Word
from synmt.trees.constituency import read_brackets, write_brackets

CASE_OF = {"nsubj": "Nom", "obj": "Acc", "obl": "Obl", "nmod:poss": "Gen"}


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return list(islice(draw_pairs(seed=3), 1500))


def dependents(sentence: Sentence, head: Word, deprel: str) -> list[Word]:
    return [word for word in sentence.words if word.head is head and word.deprel == deprel]


def is_projective(heads: list[int]) -> bool:
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_corpus_depends_only_on_the_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        write_corpus(tmp_path / name, sentences=60, held_out=20, seed=seed)
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a")["train.en"] != read(tmp_path / "c")["train.en"]


def test_the_test_set_does_not_depend_on_the_size_of_train(tmp_path: Path) -> None:
    write_corpus(tmp_path / "small", sentences=30, held_out=20, seed=5)
    write_corpus(tmp_path / "large", sentences=90, held_out=20, seed=5)
    small, large = read(tmp_path / "small"), read(tmp_path / "large")
    assert small["test.kel"] == large["test.kel"]
    assert large["train.kel"].startswith(small["train.kel"])


def test_the_sets_are_disjoint_and_their_files_parallel(tmp_path: Path) -> None:
    write_corpus(tmp_path, sentences=400, held_out=50, seed=1)
    files = read(tmp_path)
    assert set(files) == {f"{part}.{ending}" for part in ("train", "dev", "test") for ending in ENDINGS} | {*READY}
    sentences = [line for part in ("train", "dev", "test") for line in files[f"{part}.en"].splitlines()]
    assert len(set(sentences)) == len(sentences) == 500
    for side in ("en", "kel"):
        blocks = conllu.parse(files[f"train.{side}.conllu"])
        assert [block.metadata["text"] for block in blocks] == files[f"train.{side}"].splitlines()
    assert all(len(files[f"train.{ending}"].splitlines()) == 400 for ending in ("en.ptb", "links"))


def test_conllu_has_the_heads_and_the_text(pairs: list[Pair]) -> None:
    for sentence in (side for pair in pairs[:200] for side in (pair.english, pair.kel)):
        (block,) = conllu.parse(sentence.conllu() + "\n\n")
        assert [token["head"] for token in block] == sentence.heads()
        glued = [(token["misc"] or {}).get("SpaceAfter") == "No" for token in block]
        text = "".join(token["form"] + " " * (not tight) for token, tight in zip(block, glued, strict=True))
        assert text.rstrip() == sentence.text()


def test_the_leaves_of_the_tree_are_the_tokens(pairs: list[Pair]) -> None:
    for pair in pairs:
        tree = pair.english.tree
        assert tree is not None
        tree.check()
        assert tree.leaves() == [word.form for word in pair.english.words]
        assert read_brackets(write_brackets(tree)) == tree
        tags = [tree.nodes[tree.parents[node]] for node, leaf in enumerate(tree.is_leaf()) if leaf]
        assert tags == [word.xpos for word in pair.english.words]


def test_each_constituent_has_one_word_with_its_head_outside(pairs: list[Pair]) -> None:
    """The two English analyses agree: phrases are subtrees, except the verb phrase, which lacks its subject."""
    for pair in pairs:
        tree, heads = pair.english.tree, pair.english.heads()
        assert tree is not None
        words_under: dict[int, set[int]] = {node: set() for node in range(len(tree))}
        for number, leaf in enumerate((n for n, leaf in enumerate(tree.is_leaf()) if leaf), 1):
            node = leaf
            while node >= 0:
                words_under[node].add(number)
                node = tree.parents[node]
        for node, label in enumerate(tree.nodes):
            if label in {"S", "SBAR", "NP", "PP", "VP", "ADJP", "ADVP", "PRT"} and not tree.is_leaf()[node]:
                words = words_under[node]
                outward = [word for word in words if heads[word - 1] not in words]
                assert len(outward) == 1, (label, pair.english.text())


@pytest.mark.parametrize("side", ["english", "kel"])
def test_heads_form_one_projective_tree(pairs: list[Pair], side: str) -> None:
    for pair in pairs:
        sentence: Sentence = getattr(pair, side)
        heads = sentence.heads()
        assert heads.count(0) == 1
        assert is_projective(heads), sentence.text()
        for word in range(1, len(heads) + 1):
            for _ in heads:
                word = heads[word - 1] if word else 0
            assert word == 0, "a cycle"
        root = sentence.words[heads.index(0)]
        assert [word.deprel for word in sentence.words].count("root") == 1 and root.deprel == "root"


def test_every_kel_word_is_linked_within_range(pairs: list[Pair]) -> None:
    for pair in pairs:
        gold = pair.links()
        assert len(set(gold)) == len(gold)
        assert {target for _, target in gold} == set(range(len(pair.kel.words))), pair.kel.text()
        assert {source for source, _ in gold} <= set(range(len(pair.english.words)))


def test_content_words_are_linked_to_content_words(pairs: list[Pair]) -> None:
    for pair in pairs:
        linked = {source for source, _ in pair.links()}
        for place, word in enumerate(pair.english.words):
            if word.upos in {"NOUN", "PROPN", "VERB", "ADJ", "ADV"} and word.form.lower() != "when":
                assert place in linked, (word.form, pair.english.text())


def test_the_verb_comes_last_in_its_clause(pairs: list[Pair]) -> None:
    after_verb = {"conj", "punct", "mark", "cop"}
    for pair in pairs:
        place = {id(word): number for number, word in enumerate(pair.kel.words)}
        for word in pair.kel.words:
            if word.head and word.head.upos == "VERB" and word.deprel not in after_verb:
                assert place[id(word)] < place[id(word.head)], pair.kel.text()


def test_verb_endings_agree_with_the_number_of_the_subject(pairs: list[Pair]) -> None:
    endings: Counter[str] = Counter()
    for pair in pairs:
        for subject in (word for word in pair.kel.words if word.deprel == "nsubj"):
            predicate = subject.head
            assert predicate is not None
            verb = (dependents(pair.kel, predicate, "cop") or [predicate])[0]
            joined = dependents(pair.kel, subject, "conj")
            number = "Plur" if joined else subject.feats["Number"]
            ending = {"Sing": "t", "Plur": "ren"}[number]
            stem = verb.form.removesuffix("k" + kel.THEMES.get(int(verb.feats.get("NounClass", 0)), "-"))
            assert stem.endswith(ending), pair.kel.text()
            endings[ending] += 1
    assert min(endings["t"], endings["ren"]) > 100


def test_a_relative_verb_agrees_with_the_noun_it_describes(pairs: list[Pair]) -> None:
    seen = 0
    for pair in pairs:
        for verb in (word for word in pair.kel.words if word.deprel == "acl:relcl"):
            assert verb.head is not None
            inflected = (dependents(pair.kel, verb, "cop") or [verb])[0]
            theme = kel.THEMES[kel.CLASSES[verb.head.lemma[-1]]]
            assert inflected.form.endswith("k" + theme), pair.kel.text()
            seen += 1
    assert seen > 200


def test_the_role_of_a_noun_determines_its_case(pairs: list[Pair]) -> None:
    for pair in pairs:
        for word in pair.kel.words:
            if word.deprel in CASE_OF:
                assert word.form.endswith(kel.CASES[CASE_OF[word.deprel]]), pair.kel.text()


def test_an_adjective_agrees_with_its_noun_in_class_and_number(pairs: list[Pair]) -> None:
    for pair in pairs:
        for adjective in (word for word in pair.kel.words if word.deprel == "amod" and word.upos == "ADJ"):
            noun = adjective.head
            if noun is None or "Number" not in adjective.feats:  # "many" does not inflect
                continue
            theme = kel.THEMES[kel.CLASSES[noun.lemma[-1]]]
            assert adjective.form.endswith(theme + ("ri" if noun.feats["Number"] == "Plur" else "k"))


def test_particles_occur_on_both_sides_of_the_object(pairs: list[Pair]) -> None:
    """Whether or not they are separated in English, verb and particle become one prefixed Kel verb."""
    distances: Counter[bool] = Counter()
    for pair in pairs:
        words = pair.english.words
        linked = dict(pair.links())
        for place, word in enumerate(words):
            if word.deprel == "compound:prt" and word.head:
                verb = words.index(word.head)
                distances[place == verb + 1] += 1
                assert linked[place] == linked[verb]
                assert pair.kel.words[linked[place]].lemma.startswith(kel.PARTICLES[word.form])
    assert min(distances.values()) > 50 and len(distances) == 2


def test_english_expresses_everything_that_kel_needs() -> None:
    """One English sentence has one translation; shallow sentences repeat often enough to show it."""
    translations: dict[str, set[str]] = {}
    sampler = Sampler(random.Random(4))
    for number in range(12000):
        derivation = sampler.derivation(depth=number % 2)
        translations.setdefault(english.say(derivation).text(), set()).add(kel.say(derivation).text())
    assert sum(len(kinds) for kinds in translations.values()) < 12000, "no sentence was drawn twice"
    assert [kinds for kinds in translations.values() if len(kinds) > 1] == []


def test_depth_limits_the_nesting_and_all_constructions_occur(pairs: list[Pair]) -> None:
    flat = list(islice(draw_pairs(seed=2, depth=0), 300))
    assert not any(word.deprel in {"acl:relcl", "ccomp", "advcl"} for p in flat for word in p.english.words)
    deprels = Counter(word.deprel for pair in pairs for word in pair.english.words)
    for deprel in ("acl:relcl", "ccomp", "advcl", "conj", "compound:prt", "nmod:poss", "amod", "cop", "aux"):
        assert deprels[deprel] > 30, deprel
    lengths = [sum(word.upos != "PUNCT" for word in pair.english.words) for pair in pairs]
    assert (min(lengths), max(lengths)) == (LENGTHS[0], LENGTHS[-1])
    assert all(pair.english.text()[0].isupper() and pair.english.text()[-1] == "." for pair in pairs)
