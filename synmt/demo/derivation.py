"""Derivations: the meanings of sentences, independent of language, and a sampler of random ones.

`english` and `kel` both read a derivation, so the two sides of a pair match by construction. English sentences are
never ambiguous: if a phrase could attach to two places, a rule decides. Instruments, recipients and places belong to
the verb, clothes and origins to the noun before them, and nothing that belongs to the verb follows a modified noun. So
syntax, not luck, decides the translation.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from synmt.demo.lexicon import (
    ADJECTIVES,
    DETERMINERS,
    FRAMES,
    FREQUENCY_ADVERBS,
    MANNER_ADVERBS,
    NAMES,
    NOUNS,
    PERSONS,
    SUBORDINATORS,
    Adjective,
    Determiner,
    Frame,
    Kinds,
    Noun,
    Number,
    Person,
    Preposition,
    preposition,
)

Auxiliary = Literal["", "will", "can", "must", "have", "be"]
T = TypeVar("T")

AUXILIARIES_OF_ACTION: list[Auxiliary] = ["be", "can", "must"]
ANIMATE = frozenset({"person", "animal"})


@dataclass(eq=False)
class Pronoun:
    person: Person

    @property
    def number(self) -> Number:
        return self.person.number


@dataclass(eq=False)
class Name:
    name: str
    number: Number = "singular"


@dataclass(eq=False)
class Adpositional:
    preposition: Preposition
    object: "Nominal"


@dataclass(eq=False)
class Relative:
    """A clause whose subject or object is the noun it modifies; `pronoun` is "" if there is none."""

    clause: "Clause"
    pronoun: str


@dataclass(eq=False)
class Common:
    """A noun and its modifiers: a determiner or a possessor, and at most one modifier after it."""

    noun: Noun
    number: Number
    determiner: Determiner | None = None
    possessor: "Nominal | None" = None
    adjectives: list[Adjective] = field(default_factory=list)
    modifier: "Complement | Adpositional | Relative | None" = None


@dataclass(eq=False)
class Complement:
    """The phrase after "of"."""

    object: "Nominal"


@dataclass(eq=False)
class Both:
    """Two nominals joined by "and"."""

    first: Common
    second: Common
    number: Number = "plural"


Nominal = Pronoun | Name | Common | Both


@dataclass(eq=False)
class Predicate:
    """A verb, or "be" and an adjective, with everything but the subject."""

    frame: Frame | None = None
    adjective: Adjective | None = None
    object: Nominal | None = None
    particle_last: bool = False
    oblique: Adpositional | None = None
    manner: str = ""
    frequency: str = ""
    complement: "Clause | None" = None
    overt_that: bool = True
    past: bool = True
    auxiliary: Auxiliary = ""
    negated: bool = False
    contracted: bool = False


@dataclass(eq=False)
class Clause:
    """A subject and one predicate, or two joined by "and"; `gap` is the nominal that a relative clause omits."""

    subject: Nominal
    predicates: list[Predicate]
    gap: Common | None = None


@dataclass(eq=False)
class Derivation:
    """A main clause; it may have an adverbial clause before or after it, or a second main clause."""

    main: Clause
    subordinator: str = ""
    adverbial: Clause | None = None
    adverbial_first: bool = False
    conjunction: str = ""
    second: Clause | None = None


class Sampler:
    """Draws derivations. `depth` bounds how deep modifiers or clauses may be nested."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def derivation(self, depth: int) -> Derivation:
        if depth == 0 or self._happens(0.7):
            return Derivation(self._clause(depth))
        if self._happens(0.4):
            conjunction = self._pick(["and", "but"])
            return Derivation(self._clause(depth - 1), conjunction=conjunction, second=self._clause(depth - 1))
        main, adverbial = self._clause(depth - 1), self._clause(depth - 1)
        adverbial.predicates[0] = _in_simple_tense(adverbial.predicates[0])
        first = _is_heavy(main.predicates[-1]) or self._happens(0.5)
        return Derivation(main, self._pick(list(SUBORDINATORS)), adverbial, adverbial_first=first)

    def _clause(self, depth: int) -> Clause:
        subject = self._nominal(self._pick([ANIMATE, frozenset({"person"})]), depth)
        first = self._predicate(subject, depth)
        if depth == 0 or first.auxiliary or first.negated or _is_heavy(first) or self._happens(0.85):
            return Clause(subject, [first])
        second = _in_simple_tense(self._predicate(subject, 0))
        return Clause(subject, [first, second] if first.past == second.past else [first])

    def _predicate(self, subject: Nominal, depth: int) -> Predicate:
        kinds = _kinds(subject)
        if self._happens(0.12):
            adjectives = [entry for entry in ADJECTIVES if _describes(entry, kinds)]
            predicate = Predicate(adjective=self._pick(adjectives))
            self._set_tense(predicate, ["", "", "", "will", "must"])
            return predicate
        frames = [entry for entry in FRAMES if kinds <= entry.subjects and (depth or "that" not in entry.traits)]
        return self._fill(self._pick(frames), depth)

    def _fill(self, frame: Frame, depth: int, gap: Common | None = None) -> Predicate:
        """Return a predicate with this frame; `gap` is its object if that precedes a relative clause."""
        predicate = Predicate(frame)
        stative = "stative" in frame.traits
        self._set_tense(predicate, ["", "", "", "", "have", "will", *([] if stative else AUXILIARIES_OF_ACTION)])
        predicate.past |= frame.verb.base == frame.verb.past  # otherwise "they cut" would be ambiguous
        if "that" in frame.traits:
            predicate.complement = self._complement_clause(depth - 1)
            predicate.overt_that = self._happens(0.75)
            return predicate
        if frame.objects:
            predicate.object = gap or self._nominal(frame.objects, 0 if "to" in frame.traits else depth)
        modified = gap is None and predicate.object is not None and _is_modified(predicate.object)
        if frame.particle and gap is None and not modified:
            predicate.particle_last = isinstance(predicate.object, Pronoun) or self._happens(0.5)
        if "to" in frame.traits:
            recipient = self._nominal(frozenset({"person"}), 0 if gap else depth)
            predicate.oblique = Adpositional(preposition("nai"), recipient)
        elif not modified:
            self._add_adjuncts(predicate, frame, 0 if gap else depth)
        return predicate

    def _add_adjuncts(self, predicate: Predicate, frame: Frame, depth: int) -> None:
        if self._happens(0.12):
            predicate.manner = self._pick(list(MANNER_ADVERBS))
        elif "with" in frame.traits and self._happens(0.5):
            predicate.oblique = Adpositional(preposition("vilta"), self._common(frozenset({"tool"}), 0))
        elif "stative" not in frame.traits and self._happens(0.3):
            predicate.oblique = self._adpositional(["hal", "demi", "boru"], depth)

    def _complement_clause(self, depth: int) -> Clause:
        subject = self._nominal(ANIMATE, depth)
        return Clause(subject, [self._predicate(subject, depth)])

    def _set_tense(self, predicate: Predicate, auxiliaries: list[Auxiliary]) -> None:
        predicate.past = self._happens(0.65)
        predicate.auxiliary = self._pick(auxiliaries)
        predicate.negated = self._happens(0.15)
        predicate.contracted = predicate.auxiliary == "can" or self._happens(0.4)
        if not predicate.negated and self._happens(0.08):
            predicate.frequency = self._pick(list(FREQUENCY_ADVERBS))

    def _nominal(self, kinds: Kinds, depth: int) -> Nominal:
        if "person" in kinds and self._happens(0.1):
            return Name(self._pick(list(NAMES)))
        persons = [entry for entry in PERSONS if entry.kinds & kinds]
        if persons and self._happens(0.12):
            return Pronoun(self._pick(persons))
        if depth and self._happens(0.08):
            return Both(self._common(kinds, 0), self._common(kinds, 0))
        return self._common(kinds, depth)

    def _common(self, kinds: Kinds, depth: int) -> Common:
        noun = self._pick([entry for entry in NOUNS if entry.kinds & kinds])
        number: Number = "plural" if self._happens(0.35) else "singular"
        common = Common(noun, number)
        if self._happens(0.12):
            common.possessor = self._possessor()
        else:
            common.determiner = self._determiner(number)
        if self._happens(0.3):
            common.adjectives = [self._pick([entry for entry in ADJECTIVES if _describes(entry, noun.kinds)])]
        if depth:
            common.modifier = self._modifier(common, depth - 1)
        return common

    def _determiner(self, number: Number) -> Determiner:
        if self._happens(0.6):
            return DETERMINERS[0]
        return self._pick([entry for entry in DETERMINERS[1:] if getattr(entry, number)])

    def _possessor(self) -> Nominal:
        if self._happens(0.5):
            return Pronoun(self._pick(PERSONS))
        return self._nominal(frozenset({"person"}), 0) if self._happens(0.3) else self._owner()

    def _owner(self) -> Common:
        noun = self._pick([entry for entry in NOUNS if entry.kinds & ANIMATE])
        return Common(noun, self._pick(["singular", "plural"]), DETERMINERS[0])

    def _modifier(self, common: Common, depth: int) -> "Complement | Adpositional | Relative | None":
        noun = common.noun
        if noun.complements and self._happens(0.6):
            return Complement(self._nominal(noun.complements, depth))
        if self._happens(0.4):
            return self._relative(common, depth)
        if "person" in noun.kinds and self._happens(0.25):
            return Adpositional(preposition("sum"), self._common(frozenset({"garment"}), 0))
        if noun.kinds & ANIMATE and self._happens(0.15):
            return self._adpositional(["tesi"], depth)
        if "place" in noun.kinds and self._happens(0.25):
            return self._adpositional(["hal", "demi", "boru"], depth)
        return None

    def _adpositional(self, postpositions: list[str], depth: int) -> Adpositional:
        chosen = preposition(self._pick(postpositions))
        return Adpositional(chosen, self._common(chosen.kinds, depth))

    def _relative(self, common: Common, depth: int) -> Relative:
        person = "person" in common.noun.kinds
        if common.noun.kinds & ANIMATE and self._happens(0.5):
            predicate = self._predicate(common, depth)
            return Relative(
                Clause(common, [predicate], gap=common), self._pick(["who", "who", "that"] if person else ["that"])
            )
        frames = [entry for entry in FRAMES if entry.objects & common.noun.kinds]
        frame = self._pick(frames)
        subject = self._nominal(frame.subjects, depth)
        pronoun = "" if self._happens(0.15) else self._pick(["who", "that"] if person else ["that", "which"])
        return Relative(Clause(subject, [self._fill(frame, 0, gap=common)], gap=common), pronoun)

    def _happens(self, probability: float) -> bool:
        return self._rng.random() < probability

    def _pick(self, choices: Sequence[T]) -> T:
        return self._rng.choice(choices)


def _kinds(nominal: Nominal) -> Kinds:
    match nominal:
        case Common():
            return nominal.noun.kinds
        case Both():
            return nominal.first.noun.kinds | nominal.second.noun.kinds
        case Pronoun():
            return frozenset({"person"}) if "person" in nominal.person.kinds else frozenset({"animal"})
        case Name():
            return frozenset({"person"})


def _in_simple_tense(predicate: Predicate) -> Predicate:
    predicate.auxiliary, predicate.negated, predicate.frequency = "", False, ""
    return predicate


def _describes(adjective: Adjective, kinds: Kinds) -> bool:
    return "any" in adjective.kinds or kinds <= adjective.kinds


def _is_modified(nominal: Nominal) -> bool:
    return isinstance(nominal, Both) or (isinstance(nominal, Common) and nominal.modifier is not None)


def _is_heavy(predicate: Predicate) -> bool:
    """Return whether a phrase added after the predicate could be taken for a part of its last phrase."""
    last = predicate.oblique.object if predicate.oblique else predicate.object
    return predicate.complement is not None or (last is not None and _is_modified(last))
