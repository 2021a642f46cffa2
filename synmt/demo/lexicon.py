"""The words of the demo grammar in English and Kel, and which of them go together.

Each table has one word per row. `+` marks the joints of a Kel compound. Kinds (person, food, inside …) keep
sentences sensible: the frame of a verb, and each preposition, list the kinds of noun that they take.
"""

from dataclasses import dataclass
from typing import Literal

Number = Literal["singular", "plural"]
Kinds = frozenset[str]

_NOUNS = """
boy        boys        hoshe           person
girl       girls       levo            person
man        men         rönvi           person
woman      women       vihöra          person
child      children    šäli            person
doctor     doctors     häjin+mara      person
teacher    teachers    šolod+mara      person
baker      bakers      tumi+mara       person
farmer     farmers     gälku+mara      person
hunter     hunters     smöret+mara     person
sailor     sailors     pösor+mara      person
painter    painters    jekvi+mara      person
soldier    soldiers    brekte          person
king       kings       dvosru          person
thief      thieves     nuše            person
friend     friends     sekbi           person,of-person
neighbour  neighbours  dömi+sekbi      person,of-person
owner      owners      kenu+mara       person,of-animal,of-inside
dog        dogs        bakšu           animal
cat        cats        tusi            animal
horse      horses      remšo           animal
wolf       wolves      gujoge          animal
bird       birds       lovi            animal
cow        cows        mumje           animal
apple      apples      pöso            food
cake       cakes       nebi            food
egg        eggs        umo             food
onion      onions      särku           food
book       books       satra           text
letter     letters     satra+ni        text
newspaper  newspapers  jom+satra       text
map        maps        konri+satra     text
story      stories     pälvo           text,of-person,of-animal
knife      knives      diru            tool
hammer     hammers     pambro          tool
rope       ropes       lösna           tool
stick      sticks      teki            tool
axe        axes        hadru           tool
hat        hats        šumi            garment
coat       coats       pako            garment
scarf      scarves     mölu            garment
shirt      shirts      rända           garment
box        boxes       kasho           thing
basket     baskets     viku+kasho      thing
chair      chairs      bädo            thing
lamp       lamps       säka            thing
bottle     bottles     nešu            thing
ring       rings       holi            thing
boat       boats       jusu            thing
picture    pictures    jekve           thing,of-person,of-animal,of-place
door       doors       temba           thing,of-inside
window     windows     säka+temba      thing,of-inside
roof       roofs       göju            thing,of-inside
house      houses      dömi            inside,place
garden     gardens     viku+lara       inside,place
village    villages    dömi+lara       inside,place
forest     forests     torme           inside,place
market     markets     köpon+lara      inside,place
school     schools     šolod+dömi      inside,place
church     churches    hejo+dömi       inside,place
castle     castles     dvosru+dömi     inside,place
kitchen    kitchens    tumi+lara       inside,place
library    libraries   satra+dömi      inside,place
hospital   hospitals   häjin+dömi      inside,place
river      rivers      melu            place
bridge     bridges     melu+brano      place
mountain   mountains   konra           place
station    stations    rašte           place
"""

# base, third person, past, past participle, -ing form, Kel stem
_VERBS = """
sleep     sleeps     slept      slept      sleeping   nol
wait      waits      waited     waited     waiting    tövot
laugh     laughs     laughed    laughed    laughing   hahil
work      works      worked     worked     working    grul
sing      sings      sang       sung       singing    lumir
see       sees       saw        seen       seeing     vid
hear      hears      heard      heard      hearing    šut
find      finds      found      found      finding    mejök
love      loves      loved      loved      loving     amil
know      knows      knew       known      knowing    kados
help      helps      helped     helped     helping    sovur
follow    follows    followed   followed   following  jugat
visit     visits     visited    visited    visiting   hedvon
chase     chases     chased     chased     chasing    smöret
eat       eats       ate        eaten      eating     jam
cook      cooks      cooked     cooked     cooking    tum
read      reads      read       read       reading    šol
write     writes     wrote      written    writing    satr
cut       cuts       cut        cut        cutting    dork
break     breaks     broke      broken     breaking   klät
paint     paints     painted    painted    painting   jekvar
open      opens      opened     opened     opening    bihir
close     closes     closed     closed     closing    pun
carry     carries    carried    carried    carrying   lodin
take      takes      took       taken      taking     köp
put       puts       put        put        putting    set
pick      picks      picked     picked     picking    nup
bring     brings     brought    brought    bringing   havar
throw     throws     threw      thrown     throwing   zörk
send      sends      sent       sent       sending    mapuk
hang      hangs      hung       hung       hanging    dvös
turn      turns      turned     turned     turning    rolt
give      gives      gave       given      giving     don
sell      sells      sold       sold       selling    torg
show      shows      showed     shown      showing    vidan
say       says       said       said       saying     rek
think     thinks     thought    thought    thinking   pens
believe   believes   believed   believed   believing  gešas
hope      hopes      hoped      hoped      hoping     spur
"""

# verb and particle; kinds of subject; kinds of object; other traits: that = takes a that-clause,
# to = takes "to" and a person, with = takes an instrument, stative = has no -ing form
_FRAMES = """
sleep       person,animal  -                          -
wait        person,animal  -                          -
laugh       person         -                          -
work        person         -                          -
sing        person         -                          -
see         person,animal  person,animal,place,thing  stative
hear        person,animal  person,animal              stative
find        person,animal  tool,garment,thing,food    -
love        person         person,animal              stative
know        person         person,place,text          stative
help        person         person,animal              -
follow      person,animal  person,animal              -
visit       person         person,inside              -
chase       person,animal  person,animal              -
eat         person,animal  food                       -
cook        person         food                       -
read        person         text                       -
write       person         text                       -
cut         person         food,garment               with
break       person         thing,tool                 with
paint       person         thing,person,inside        -
open        person         thing,text                 with
close       person         thing,text                 -
carry       person,animal  food,text,tool,thing       -
take.off    person         garment                    -
take.away   person         food,tool,thing            -
put.on      person         garment                    -
put.down    person         text,tool,thing            -
pick.up     person         text,tool,thing,food       -
bring.back  person,animal  text,tool,thing            -
bring       person,animal  food,garment               to
throw.away  person         food,text,garment          -
send.away   person         person,animal              -
send.back   person         text,garment               -
send        person         text,food                  to
hang.up     person         garment                    -
turn.over   person         text,thing                 -
give        person         text,food,tool,garment     to
sell        person         animal,thing,food          to
show        person         text,thing                 to
say         person         -                          that,stative
think       person         -                          that,stative
know        person         -                          that,stative
believe     person         -                          that,stative
hope        person         -                          that,stative
"""

# English, Kel stem, kinds of noun it modifies (everything: any)
_ADJECTIVES = """
old        brev     any
big        gros     any
small      nin      any
beautiful  lämvit   any
strange    opet     any
new        šar      text,tool,garment,thing,inside
red        kram     food,garment,thing
white      blok     animal,garment,thing,inside
heavy      gumd     tool,thing
young      hošt     person,animal
hungry     jamul    person,animal
tired      nolut    person,animal
angry      kräd     person,animal
brave      vorn     person,animal
clever     penses   person,animal
"""

# English, Kel, kinds of noun it governs
_PREPOSITIONS = """
in      hal     inside
near    demi    place
behind  boru    place
from    tesi    inside
to      nai     person
with    sum     garment
with    vilta   tool
"""

# singular, plural, tag, universal tag, relation, Kel (a final `-` takes the class suffix, `0` is nothing)
_DETERMINERS = """
the    the    DT  DET  det     0
a      -      DT  DET  det     0
this   these  DT  DET  det     kin-
every  -      DT  DET  det     pol
-      some   DT  DET  det     nem
-      many   JJ  ADJ  amod    tarvo
-      two    CD  NUM  nummod  dun
-      three  CD  NUM  nummod  sem
"""

# subject, object, possessive, number, kinds, Kel
_PRONOUNS = """
I     me    my     singular  person               mo
he    him   his    singular  person               su
she   her   her    singular  person               se
it    it    its    singular  animal,thing,tool    ti
we    us    our    plural    person               moli
they  them  their  plural    person,animal,thing  suli
"""

NAMES = ("Anna", "Clara", "Maria", "Peter", "Martin", "Thomas", "Julia", "Robert")
FREQUENCY_ADVERBS = {"often": "poli", "always": "semper", "never": "nikom", "sometimes": "alvi"}
MANNER_ADVERBS = {"quickly": "räpas", "quietly": "sömis", "slowly": "lentas", "carefully": "ködas"}
SUBORDINATORS = {
    "because": "kures", "when": "tolu", "before": "hanu", "after": "rešte", "although": "midek"
}  # fmt: skip
CONJUNCTIONS = {"and": "vi", "but": "osta"}
PARTICLES = {"up": "an", "down": "so", "off": "te", "away": "vör", "back": "ri", "on": "lo", "over": "umb"}
COMPLEMENTISER = ("that", "tir")
NEGATION = "ma"
COPULA = "es"


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun. The last vowel of its Kel stem shows its class (1, 2 or 3)."""

    singular: str
    plural: str
    kel: str
    kinds: Kinds
    complements: Kinds  # kinds of noun after "of"


@dataclass(frozen=True, eq=False)
class Verb:
    base: str
    present: str
    past: str
    participle: str
    gerund: str
    kel: str


@dataclass(frozen=True, eq=False)
class Frame:
    """A verb with its particle, if any, and the phrases it takes. Without kinds of object it is intransitive."""

    verb: Verb
    particle: str
    subjects: Kinds
    objects: Kinds
    traits: Kinds


@dataclass(frozen=True, eq=False)
class Adjective:
    english: str
    kel: str
    kinds: Kinds


@dataclass(frozen=True, eq=False)
class Preposition:
    english: str
    kel: str
    kinds: Kinds


@dataclass(frozen=True, eq=False)
class Determiner:
    """`singular` or `plural` is "" if it has no such form; `kel` is "" if Kel has no word for it."""

    singular: str
    plural: str
    xpos: str
    upos: str
    deprel: str
    kel: str
    agrees: bool


@dataclass(frozen=True, eq=False)
class Person:
    """A personal pronoun."""

    subject: str
    object: str
    possessive: str
    number: Number
    kinds: Kinds
    kel: str


def _rows(table: str) -> list[list[str]]:
    return [["" if cell == "-" else cell for cell in line.split()] for line in table.strip().splitlines()]


def _kinds(cell: str) -> Kinds:
    return frozenset(cell.split(",")) if cell else frozenset()


def _noun(singular: str, plural: str, kel: str, cell: str) -> Noun:
    complements = frozenset(kind.removeprefix("of-") for kind in _kinds(cell) if kind.startswith("of-"))
    kinds = frozenset(kind for kind in _kinds(cell) if not kind.startswith("of-"))
    return Noun(singular, plural, kel.replace("+", ""), kinds, complements)


def _frame(verb: str, subjects: str, objects: str, traits: str) -> Frame:
    base, _, particle = verb.partition(".")
    return Frame(VERBS[base], particle, _kinds(subjects), _kinds(objects), _kinds(traits))


def _determiner(singular: str, plural: str, xpos: str, upos: str, deprel: str, kel: str) -> Determiner:
    return Determiner(singular, plural, xpos, upos, deprel, kel.strip("-0"), kel.endswith("-"))


NOUNS = [_noun(*row) for row in _rows(_NOUNS)]
VERBS = {row[0]: Verb(*row) for row in _rows(_VERBS)}
FRAMES = [_frame(*row) for row in _rows(_FRAMES)]
ADJECTIVES = [Adjective(english, kel, _kinds(kinds)) for english, kel, kinds in _rows(_ADJECTIVES)]
PREPOSITIONS = [Preposition(english, kel, _kinds(kinds)) for english, kel, kinds in _rows(_PREPOSITIONS)]
DETERMINERS = [_determiner(*row) for row in _rows(_DETERMINERS)]
PERSONS = [
    Person(subject, object_, possessive, "plural" if number == "plural" else "singular", _kinds(kinds), kel)
    for subject, object_, possessive, number, kinds, kel in _rows(_PRONOUNS)
]


def preposition(kel: str) -> Preposition:
    """Return the English preposition of a Kel postposition; English "with" corresponds to two of them."""
    return next(entry for entry in PREPOSITIONS if entry.kel == kel)
