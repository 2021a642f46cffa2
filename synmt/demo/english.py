"""A derivation in English: words, Penn Treebank phrases and Universal Dependencies."""

from collections.abc import Hashable
from dataclasses import dataclass

from synmt.demo.derivation import (
    Adpositional,
    Both,
    Clause,
    Common,
    Complement,
    Derivation,
    Name,
    Nominal,
    Predicate,
    Pronoun,
    Relative,
)
from synmt.demo.lexicon import COMPLEMENTISER
from synmt.demo.words import Sentence, Word
from synmt.trees.constituency import Tree

UPOS = {
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "PRP": "PRON", "PRP$": "PRON", "WP": "PRON", "WDT": "PRON",
    "JJ": "ADJ", "RB": "ADV", "WRB": "ADV", "IN": "ADP", "TO": "ADP", "RP": "ADP", "POS": "PART",
    "CC": "CCONJ", "MD": "AUX", ".": "PUNCT", ",": "PUNCT",
}  # fmt: skip
BE = {"I": ("am", "was"), "singular": ("is", "was"), "plural": ("are", "were")}
HAVE = {"I": ("have", "had"), "singular": ("has", "had"), "plural": ("have", "had")}
DO = {"I": ("do", "did"), "singular": ("does", "did"), "plural": ("do", "did")}
BEFORE_NOT = {"will": "wo", "can": "ca", "am": "am"}  # forms that change before n't


@dataclass(slots=True)
class Phrase:
    """A constituent: its label, its parts, and its head word."""

    label: str
    children: list["Phrase | Word"]
    head: Word


def say(derivation: Derivation) -> Sentence:
    """Return a derivation as an English sentence."""
    main = _main(derivation)
    main.children.append(_word(".", ".", meaning=(derivation, "stop"), glued=True).attach(main.head, "punct"))
    words: list[Word] = []
    tree = _tree(main, words)
    words[0].form = words[0].form[0].upper() + words[0].form[1:]
    tree.nodes[tree.is_leaf().index(True)] = words[0].form
    return Sentence(words, tree)


def _tree(phrase: Phrase, words: list[Word]) -> Tree:
    """Return a phrase as a tree, and collect its words in order."""
    nodes: list[str] = []
    parents: list[int] = []

    def visit(part: Phrase | Word, parent: int) -> None:
        node = len(nodes)
        parents.append(parent)
        if isinstance(part, Word):
            nodes.extend((part.xpos, part.form))
            parents.append(node)
            words.append(part)
        else:
            nodes.append(part.label)
            for child in part.children:
                visit(child, node)

    visit(phrase, -1)
    return Tree(nodes, parents)


def _main(derivation: Derivation) -> Phrase:
    main = _clause(derivation.main)
    comma = _word(",", ",", meaning=(derivation, "comma"), glued=True)
    if derivation.second:
        second = _clause(derivation.second)
        comma.attach(second.head, "punct")
        conjunction = _word(derivation.conjunction, "CC", meaning=(derivation, "conjunction"))
        return _joined(main, [comma, conjunction], second)
    if derivation.adverbial:
        adverbial = _adverbial(derivation, derivation.adverbial)
        adverbial.head.attach(main.head, "advcl")
        if not derivation.adverbial_first:
            verb_phrase = main.children[-1]
            assert isinstance(verb_phrase, Phrase)
            verb_phrase.children.append(adverbial)
            return main
        comma.attach(adverbial.head, "punct")
        main.children[:0] = [adverbial, comma]
    return main


def _joined(first: Phrase, between: list[Word], second: Phrase) -> Phrase:
    """Return two phrases and the words between them as one phrase; the last of these words is the conjunction."""
    between[-1].attach(second.head, "cc")
    second.head.attach(first.head, "conj")
    return Phrase(first.label, [first, *between, second], first.head)


def _adverbial(derivation: Derivation, clause: Clause) -> Phrase:
    inner = _clause(clause)
    meaning = (derivation, "subordinator")
    if derivation.subordinator == "when":
        when = _word("when", "WRB", meaning=meaning).attach(inner.head, "advmod")
        return Phrase("SBAR", [Phrase("WHADVP", [when], when), inner], inner.head)
    subordinator = _word(derivation.subordinator, "IN", "SCONJ", meaning=meaning).attach(inner.head, "mark")
    return Phrase("SBAR", [subordinator, inner], inner.head)


def _clause(clause: Clause) -> Phrase:
    agreement = "I" if _is_speaker(clause.subject) else clause.subject.number
    verb_phrase, *others = (_predicate(predicate, agreement, clause.gap) for predicate in clause.predicates)
    for other in others:
        verb_phrase = _joined(verb_phrase, [_word("and", "CC", meaning=(clause, "and"))], other)
    if clause.subject is clause.gap:
        return Phrase("S", [verb_phrase], verb_phrase.head)
    subject = _nominal(clause.subject, "subject")
    subject.head.attach(verb_phrase.head, "nsubj")
    return Phrase("S", [subject, verb_phrase], verb_phrase.head)


def _is_speaker(nominal: Nominal) -> bool:
    return isinstance(nominal, Pronoun) and nominal.person.subject == "I"


def _predicate(predicate: Predicate, agreement: str, gap: Common | None) -> Phrase:
    """Return the verb phrase: auxiliary, negation, adverb, and the verb or adjective with everything after it."""
    auxiliary, main = _verbs(predicate, agreement)
    inner = _adjectival(predicate, main) if predicate.adjective else _verbal(predicate, main, gap)
    front: list[Phrase | Word] = []
    for word, deprel in ((auxiliary, "aux"), (_negation(predicate), "advmod")):
        if word:
            front.append(word.attach(inner.head, deprel))
    if predicate.frequency:
        front.append(_adverb(predicate.frequency, (predicate, "frequency"), inner.head))
    if auxiliary:
        if predicate.negated and predicate.contracted:
            auxiliary.form = BEFORE_NOT.get(auxiliary.form, auxiliary.form)
        return Phrase("VP", [*front, inner], inner.head)
    if predicate.adjective:  # "is not often hungry" is one phrase
        return Phrase("VP", [inner.children[0], *front, *inner.children[1:]], inner.head)
    return Phrase("VP", [*front, *inner.children], inner.head)


def _verbs(predicate: Predicate, agreement: str) -> tuple[Word | None, Word]:
    """Return the auxiliary, if any, and the main verb, which is "be" before an adjective."""
    meaning = (predicate, "verb")
    past = predicate.past
    if predicate.adjective:
        if predicate.auxiliary:
            auxiliary = _word(predicate.auxiliary, "MD", meaning=meaning)
            return auxiliary, _word("be", "VB", "AUX", meaning=meaning)
        return None, _word(BE[agreement][past], "VBD" if past else _present(agreement), "AUX", "be", meaning)
    assert predicate.frame
    verb = predicate.frame.verb
    if predicate.auxiliary in ("will", "can", "must"):
        auxiliary = _word(predicate.auxiliary, "MD", meaning=meaning)
        return auxiliary, _word(verb.base, "VB", "VERB", meaning=meaning)
    if predicate.auxiliary or predicate.negated:
        lemma, forms, form, xpos = {
            "have": ("have", HAVE, verb.participle, "VBN"),
            "be": ("be", BE, verb.gerund, "VBG"),
            "": ("do", DO, verb.base, "VB"),
        }[predicate.auxiliary]
        auxiliary = _word(forms[agreement][past], "VBD" if past else _present(agreement), "AUX", lemma, meaning)
        return auxiliary, _word(form, xpos, "VERB", verb.base, meaning)
    present = verb.present if agreement == "singular" else verb.base
    return None, _word(
        verb.past if past else present, "VBD" if past else _present(agreement), "VERB", verb.base, meaning
    )


def _present(agreement: str) -> str:
    return "VBZ" if agreement == "singular" else "VBP"


def _negation(predicate: Predicate) -> Word | None:
    if not predicate.negated:
        return None
    contracted = predicate.contracted
    return _word("n't" if contracted else "not", "RB", "PART", "not", (predicate, "not"), glued=contracted)


def _adjectival(predicate: Predicate, be: Word) -> Phrase:
    assert predicate.adjective
    adjective = _word(predicate.adjective.english, "JJ", meaning=(predicate, "adjective"))
    be.attach(adjective, "cop")
    return Phrase("VP", [be, Phrase("ADJP", [adjective], adjective)], adjective)


def _verbal(predicate: Predicate, verb: Word, gap: Common | None) -> Phrase:
    assert predicate.frame
    children: list[Phrase | Word] = [verb]
    if predicate.object and predicate.object is not gap:
        thing = _nominal(predicate.object, "object")
        thing.head.attach(verb, "obj")
        children.append(thing)
    if predicate.frame.particle:
        particle = _word(predicate.frame.particle, "RP", meaning=(predicate, "verb")).attach(verb, "compound:prt")
        children.insert(2 if predicate.particle_last else 1, Phrase("PRT", [particle], particle))
    if predicate.manner:
        children.append(_adverb(predicate.manner, (predicate, "manner"), verb))
    if predicate.oblique:
        children.append(_adpositional(predicate.oblique, verb, "obl"))
    if predicate.complement:
        children.append(_complement_clause(predicate, predicate.complement, verb))
    return Phrase("VP", children, verb)


def _complement_clause(predicate: Predicate, clause: Clause, verb: Word) -> Phrase:
    inner = _clause(clause)
    inner.head.attach(verb, "ccomp")
    if not predicate.overt_that:
        return Phrase("SBAR", [inner], inner.head)
    that = _word(COMPLEMENTISER[0], "IN", "SCONJ", meaning=(predicate, "that")).attach(inner.head, "mark")
    return Phrase("SBAR", [that, inner], inner.head)


def _adverb(form: str, meaning: Hashable, head: Word) -> Phrase:
    adverb = _word(form, "RB", meaning=meaning).attach(head, "advmod")
    return Phrase("ADVP", [adverb], adverb)


def _adpositional(phrase: Adpositional, head: Word, deprel: str) -> Phrase:
    xpos = "TO" if phrase.preposition.english == "to" else "IN"
    inner = _nominal(phrase.object, "object")
    inner.head.attach(head, deprel)
    word = _word(phrase.preposition.english, xpos, "ADP", meaning=(phrase, "preposition"))
    return Phrase("PP", [word.attach(inner.head, "case"), inner], inner.head)


def _nominal(nominal: Nominal, role: str) -> Phrase:
    match nominal:
        case Pronoun():
            form = nominal.person.subject if role == "subject" else nominal.person.object
            pronoun = _word(form, "PRP", lemma=nominal.person.subject, meaning=(nominal, "noun"))
            return Phrase("NP", [pronoun], pronoun)
        case Name():
            name = _word(nominal.name, "NNP", meaning=(nominal, "noun"))
            return Phrase("NP", [name], name)
        case Both():
            first, second = _nominal(nominal.first, role), _nominal(nominal.second, role)
            return _joined(first, [_word("and", "CC", meaning=(nominal, "and"))], second)
        case Common():
            return _common(nominal)


def _common(nominal: Common) -> Phrase:
    noun = _word(
        getattr(nominal.noun, nominal.number),
        "NN" if nominal.number == "singular" else "NNS",
        lemma=nominal.noun.singular,
        meaning=(nominal, "noun"),
    )
    adjectives = [
        _word(entry.english, "JJ", meaning=(nominal, entry)).attach(noun, "amod") for entry in nominal.adjectives
    ]
    front: list[Phrase | Word] = []
    if nominal.possessor:
        front.append(_possessor(nominal.possessor, noun))
    elif nominal.determiner:
        front.append(_determiner(nominal, (adjectives or [noun])[0].form, noun))
    phrase = Phrase("NP", [*front, *adjectives, noun], noun)
    match nominal.modifier:
        case None:
            return phrase
        case Complement():
            modifier = _complement(nominal.modifier, noun)
        case Adpositional():
            modifier = _adpositional(nominal.modifier, noun, "nmod")
        case Relative():
            modifier = _relative(nominal.modifier, noun)
    return Phrase("NP", [phrase, modifier], noun)


def _determiner(nominal: Common, following: str, noun: Word) -> Word:
    determiner = nominal.determiner
    assert determiner
    form = getattr(determiner, nominal.number)
    if form == "a" and following[0] in "aeiou":
        form = "an"
    word = _word(form, determiner.xpos, determiner.upos, determiner.singular or form, (nominal, "determiner"))
    return word.attach(noun, determiner.deprel)


def _possessor(possessor: Nominal, noun: Word) -> Phrase | Word:
    if isinstance(possessor, Pronoun):
        return _word(possessor.person.possessive, "PRP$", meaning=(possessor, "noun")).attach(noun, "nmod:poss")
    phrase = _nominal(possessor, "object")
    head = phrase.head.attach(noun, "nmod:poss")
    mark = _word("'" if head.form.endswith("s") else "'s", "POS", lemma="'s", meaning=head.meaning, glued=True)
    return Phrase("NP", [*phrase.children, mark.attach(head, "case")], head)


def _complement(complement: Complement, noun: Word) -> Phrase:
    phrase = _nominal(complement.object, "object")
    head = phrase.head.attach(noun, "nmod")
    of = _word("of", "IN", meaning=head.meaning).attach(head, "case")
    return Phrase("PP", [of, phrase], head)


def _relative(relative: Relative, noun: Word) -> Phrase:
    inner = _clause(relative.clause)
    inner.head.attach(noun, "acl:relcl")
    if not relative.pronoun:
        return Phrase("SBAR", [inner], inner.head)
    pronoun = _word(relative.pronoun, "WP" if relative.pronoun == "who" else "WDT", meaning=(relative, "pronoun"))
    pronoun.attach(inner.head, "nsubj" if relative.clause.subject is relative.clause.gap else "obj")
    return Phrase("SBAR", [Phrase("WHNP", [pronoun], pronoun), inner], inner.head)


def _word(form: str, xpos: str, upos: str = "", lemma: str = "", meaning: Hashable = None, glued: bool = False) -> Word:
    return Word(form, lemma or form, upos or UPOS[xpos], xpos, meaning=meaning, glued=glued)
