"""A derivation in Kel, an invented language: words and Universal Dependencies.

The verb comes last: adverbial clause, subject, obliques, object, that-clause, adverbs, verb. Modifiers precede
their noun: relative clause, possessor, postpositional phrase, determiner, adjectives. Nouns take a plural, -ri,
and a case: subject -š, object -ned, oblique -mo (before a postposition), possessor -lun. The last vowel of a
noun's stem shows its class (a, o: 1; e, i: 2; u: 3). These agree with it: adjectives (-ak, -ek, -uk; plural
-ari, -eri, -uri), "this" (-a, -e, -u), a postposition that modifies the noun (-ga, -ge, -gu) and the verb of
its relative clause (-ka, -ke, -ku). A verb consists of a prefix (the English particle), its stem, aspect,
tense, and -t or -ren for the number of its subject. There are no articles; "not" is `ma` before the verb.
"""

from collections.abc import Hashable

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
from synmt.demo.lexicon import (
    COMPLEMENTISER,
    CONJUNCTIONS,
    COPULA,
    FREQUENCY_ADVERBS,
    MANNER_ADVERBS,
    NEGATION,
    PARTICLES,
    SUBORDINATORS,
    Number,
)
from synmt.demo.words import Sentence, Word

CLASSES = {"a": 1, "o": 1, "e": 2, "i": 2, "u": 3}
THEMES = {1: "a", 2: "e", 3: "u"}  # the vowel of a suffix that agrees with the class
CASES = {"Nom": "š", "Acc": "ned", "Obl": "mo", "Gen": "lun"}
PLURAL = "ri"
NUMBERS = {"singular": "Sing", "plural": "Plur"}
AGREEMENT = {"singular": "t", "plural": "ren"}
ASPECTS = {"": "", "will": "", "can": "ab", "must": "ud", "have": "er", "be": "im"}
TENSES = {"Past": "ata", "Pres": "oni", "Fut": "ise"}

Phrase = tuple[list[Word], Word]  # words in order, and their head


def say(derivation: Derivation) -> Sentence:
    """Return a derivation as a Kel sentence."""
    words, head = _main(derivation)
    stop = Word(".", ".", "PUNCT", meaning=(derivation, "stop"), glued=True).attach(head, "punct")
    words[0].form = words[0].form[0].upper() + words[0].form[1:]
    return Sentence([*words, stop])


def noun_class(nominal: Nominal) -> int:
    """Return the class of a nominal, for agreement; two joined nouns have the class of the nearer one."""
    match nominal:
        case Common():
            return CLASSES[nominal.noun.kel[-1]]
        case Pronoun():
            return CLASSES[nominal.person.kel[-1]]
        case Both():
            return noun_class(nominal.second)
        case Name():
            return CLASSES.get(nominal.name[-1], 1)


def _main(derivation: Derivation) -> Phrase:
    words, head = _clause(derivation.main)
    comma = Word(",", ",", "PUNCT", meaning=(derivation, "comma"), glued=True)
    if derivation.second:
        second, second_head = _clause(derivation.second)
        comma.attach(second_head, "punct")
        conjunction = _word(CONJUNCTIONS[derivation.conjunction], "CCONJ", (derivation, "conjunction"))
        return _joined((words, head), [comma, conjunction], (second, second_head))
    if derivation.adverbial:
        adverbial, adverbial_head = _clause(derivation.adverbial)
        adverbial_head.attach(head, "advcl")
        subordinator = _word(SUBORDINATORS[derivation.subordinator], "SCONJ", (derivation, "subordinator"))
        front = [*adverbial, subordinator.attach(adverbial_head, "mark")]
        if derivation.adverbial_first:
            comma.attach(adverbial_head, "punct")
            front.append(comma)
        return [*front, *words], head
    return words, head


def _word(form: str, upos: str, meaning: Hashable) -> Word:
    """Return a word that is never inflected."""
    return Word(form, form, upos, meaning=meaning)


def _joined(first: Phrase, between: list[Word], second: Phrase) -> Phrase:
    """Return two phrases and the words between them as one phrase; the last of these words is the conjunction."""
    (words, head), (others, second_head) = first, second
    between[-1].attach(second_head, "cc")
    second_head.attach(head, "conj")
    return [*words, *between, *others], head


def _clause(clause: Clause) -> Phrase:
    first, *others = (_predicate(predicate, clause) for predicate in clause.predicates)
    for other in others:
        first = _joined(first, [_word(CONJUNCTIONS["and"], "CCONJ", (clause, "and"))], other)
    words, head = first
    if clause.subject is clause.gap:
        return first
    subject, subject_head = _nominal(clause.subject, "Nom")
    subject_head.attach(head, "nsubj")
    return [*subject, *words], head


def _predicate(predicate: Predicate, clause: Clause) -> Phrase:
    """Return everything after the subject. The verb or copula is last."""
    verb = _verb(predicate, clause)
    head = verb
    words: list[Word] = []
    if predicate.adjective:
        head = _adjective(predicate.adjective.kel, clause.subject, (predicate, "adjective"))
        verb.attach(head, "cop")
    if predicate.oblique:
        words += _adpositional(predicate.oblique, head, "obl")
    if predicate.object and predicate.object is not clause.gap:
        thing, thing_head = _nominal(predicate.object, "Acc")
        thing_head.attach(head, "obj")
        words += thing
    if predicate.complement:
        words += _complement_clause(predicate, predicate.complement, head)
    for table, adverb, part in (
        (MANNER_ADVERBS, predicate.manner, "manner"),
        (FREQUENCY_ADVERBS, predicate.frequency, "frequency"),
    ):
        if adverb:
            words.append(_word(table[adverb], "ADV", (predicate, part)).attach(head, "advmod"))
    if predicate.adjective:
        words.append(head)
    if predicate.negated:
        words.append(_word(NEGATION, "PART", (predicate, "not")).attach(head, "advmod"))
    return [*words, verb], head


def _verb(predicate: Predicate, clause: Clause) -> Word:
    """Return prefix, stem, aspect, tense, number of the subject, and in a relative clause the class of its noun."""
    number: Number = clause.subject.number
    tense = "Fut" if predicate.auxiliary == "will" else "Past" if predicate.past else "Pres"
    if predicate.auxiliary in ("can", "must"):
        tense = "Pres"
    lemma = COPULA
    if predicate.frame:
        lemma = PARTICLES.get(predicate.frame.particle, "") + predicate.frame.verb.kel
    form = lemma + ASPECTS[predicate.auxiliary] + TENSES[tense] + AGREEMENT[number]
    feats = {"Number": NUMBERS[number], "Tense": tense}
    if clause.gap:
        feats["NounClass"] = str(noun_class(clause.gap))
        form += "k" + THEMES[noun_class(clause.gap)]
    return Word(form, lemma, "VERB" if predicate.frame else "AUX", feats=feats, meaning=(predicate, "verb"))


def _complement_clause(predicate: Predicate, clause: Clause, verb: Word) -> list[Word]:
    words, head = _clause(clause)
    head.attach(verb, "ccomp")
    # if English omits "that", only its verb shows that a clause follows
    meaning = (predicate, "that" if predicate.overt_that else "verb")
    return [*words, _word(COMPLEMENTISER[1], "SCONJ", meaning).attach(head, "mark")]


def _adpositional(phrase: Adpositional, head: Word, deprel: str, described: Common | None = None) -> list[Word]:
    """Return a postpositional phrase; if it modifies a noun, the postposition agrees with that noun."""
    words, inner = _nominal(phrase.object, "Obl")
    inner.attach(head, deprel)
    postposition = _word(phrase.preposition.kel, "ADP", (phrase, "preposition")).attach(inner, "case")
    if described:
        postposition.form += "g" + THEMES[noun_class(described)]
        postposition.feats["NounClass"] = str(noun_class(described))
    return [*words, postposition]


def _adjective(stem: str, described: Nominal, meaning: object) -> Word:
    theme = THEMES[noun_class(described)]
    ending = theme + ("k" if described.number == "singular" else PLURAL)
    feats = {"NounClass": str(noun_class(described)), "Number": NUMBERS[described.number]}
    return Word(stem + ending, stem, "ADJ", feats=feats, meaning=meaning)


def _nominal(nominal: Nominal, case: str) -> Phrase:
    match nominal:
        case Pronoun():
            word = _inflected(nominal.person.kel, "PRON", nominal, case)
        case Name():
            word = _inflected(nominal.name, "PROPN", nominal, case)
        case Both():
            first, second = _common(nominal.first, case), _common(nominal.second, case)
            return _joined(first, [_word(CONJUNCTIONS["and"], "CCONJ", (nominal, "and"))], second)
        case Common():
            return _common(nominal, case)
    return [word], word


def _common(nominal: Common, case: str) -> Phrase:
    noun = _inflected(nominal.noun.kel, "NOUN", nominal, case)
    words: list[Word] = []
    match nominal.modifier:
        case Relative():
            words, inner = _clause(nominal.modifier.clause)
            inner.attach(noun, "acl:relcl")
        case Complement():
            words = _possessor(nominal.modifier.object, noun, "nmod")
        case Adpositional():
            words = _adpositional(nominal.modifier, noun, "nmod", described=nominal)
    if nominal.possessor:
        words += _possessor(nominal.possessor, noun, "nmod:poss")
    words += _determiner(nominal, noun)
    for entry in nominal.adjectives:
        words.append(_adjective(entry.kel, nominal, (nominal, entry)).attach(noun, "amod"))
    return [*words, noun], noun


def _possessor(possessor: Nominal, noun: Word, deprel: str) -> list[Word]:
    words, head = _nominal(possessor, "Gen")
    head.attach(noun, deprel)
    return words


def _determiner(nominal: Common, noun: Word) -> list[Word]:
    determiner = nominal.determiner
    if not determiner or not determiner.kel:
        return []
    word = _word(determiner.kel, determiner.upos, (nominal, "determiner"))
    if determiner.agrees:
        word.form += THEMES[noun_class(nominal)]
        word.feats["NounClass"] = str(noun_class(nominal))
    return [word.attach(noun, determiner.deprel)]


def _inflected(stem: str, upos: str, nominal: Pronoun | Name | Common, case: str) -> Word:
    """Return stem, plural and case. The stem of a pronoun already shows its number."""
    plural = PLURAL if isinstance(nominal, Common) and nominal.number == "plural" else ""
    feats = {"Case": case, "Number": NUMBERS[nominal.number], "NounClass": str(noun_class(nominal))}
    return Word(stem + plural + CASES[case], stem, upos, feats=feats, meaning=(nominal, "noun"))
