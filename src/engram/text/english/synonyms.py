"""Words that say the same of somebody or something: "lives in" and "has a home in", "is called" and "is named". Pure.

A list, not a thesaurus: words of one line may stand for each other in a statement; a word of one line never stands for one of
another, however near an encoder finds them ("starts" and "ends" are nearer than "starts" and "kicks off"). Of a word that is not
here nothing is known.
"""

from __future__ import annotations

_LINES = """
live lives living reside resides residing dwell dwells home based inhabits
work works working employ employed employs employer employee job
call calls called name names named
own owns owned owner owners belong belongs belonging responsible charge maintain maintains maintained maintainer
use uses used using utilise utilises utilize utilizes rely relies relying
like likes love loves enjoy enjoys prefer prefers preferred preference favour favours favourite favor favors favorite fond
dislike dislikes hate hates detest detests loathe loathes
want wants wish wishes hope hopes
need needs require requires required
start starts begin begins beginning commence commences
end ends ending finish finishes conclude concludes
open opens opened
close closes closed shut shuts
schedule scheduled plan planned slated booked arranged
run runs running listen listens listening serve serves serving host hosted hosts deploy deployed
child children kid kids
allergic allergy allergies intolerant intolerance
memory ram
disk storage drive
cost costs price priced
speak speaks speaking fluent
study studies studying student enrolled
lead leads leading manage manages manager boss heads headed
report reports reporting
locate located situated lies
phone telephone mobile cellphone
email mail e-mail
doctor physician gp
car automobile vehicle
flat apartment
house building
role position title occupation profession
birthday born birthdate
deadline due
meet meets meeting
visit visits visiting
travel travels travelling trip
teach teaches teaching teacher
write writes writing writer author
play plays playing player
build builds built
store stores stored kept keep keeps
send sends sent
pay pays paid salary earns earn
eat eats eating
drink drinks drinking
wear wears
married marry spouse wife husband
brother brothers
sister sisters sis
mother mum mom
father dad
son sons
daughter daughters
friend friends
colleague coworker
neighbour neighbor
dog puppy
cat kitten
old older former previous
new newer next
big large
small little
city town
monthly month
weekly week
yearly annually annual year
daily day
night evening
morning
buy buys
sell sells
test tests testing
monitor monitors
review reviews
support supports
know knows
see sees
help helps
"""

_SENSE = {word: line.split()[0] for line in _LINES.strip().splitlines() for word in line.split()}


def sense(word: str) -> str | None:
    """Return the one word that stands for all synonyms of a lower-case word; None if it has no known ones."""
    return _SENSE.get(word)


_TWINS = """
start begin commence
starts begins commences
started began commenced
end finish
ends finishes
live reside
lives resides
lived resided
need require
needs requires
buy purchase
buys purchases
bought purchased
big large
bigger larger
flat apartment
flats apartments
car automobile
cars automobiles
doctor physician
mother mum mom
father dad
child kid
children kids
phone telephone
email mail
"""
_TWIN = {word: line.split()[0] for line in _TWINS.strip().splitlines() for word in line.split()}


def twin(word: str) -> str:
    """The word, or the one that may stand for it anywhere, in the same tense and number. `sense` is wider: who uses something
    relies on it, but that is another statement."""
    return _TWIN.get(word, word)
