"""Extract the fields of a text (C6): people, technologies, places, paths, dates, URLs, programming language, sentiment, topics.

Pure, and computed on request (about 0.3 ms per statement): nothing is stored, so the fields are as private as the words and never
out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

from engram.text import sentences
from engram.text.english.affect import affect
from engram.values.frozen import frozen

_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
_FENCE = re.compile(r"^```([\w+#-]+)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]+")
_STEM = 5
_SENTENCES = 12
_TOPICS_SHOWN = 3

_ENDINGS = """
    python py pyi ipynb|javascript js mjs cjs jsx|typescript ts tsx|rust rs|go go|java java|kotlin kt kts|swift swift|c c h
    |c++ cpp cc cxx hpp|c# cs|ruby rb|php php|scala scala|haskell hs|elixir ex exs|lua lua|perl pl|r r|sql sql|shell sh bash zsh
    |html html htm|css css scss
"""
_LANGUAGES = {ending: words.split()[0] for words in _ENDINGS.split("|") for ending in words.split()}
"""Programming languages by the endings of their files, and by their names."""
_FENCED = {"python3": "python", "node": "javascript", "golang": "go", "csharp": "c#"}
_PLAIN_WORDS = frozenset({"c", "r", "go", "html", "css", "sql", "shell"})
_NAMES = "|".join(re.escape(name) for name in sorted(set(_LANGUAGES.values()) - _PLAIN_WORDS, key=len, reverse=True))
_NAMED = re.compile(rf"(?<![\w./-])(?:{_NAMES})(?![\w+#])", re.IGNORECASE)
_CODE_HINT = re.compile(rf"```|\w\.[a-zA-Z]|{_NAMES}", re.IGNORECASE)

_TOPIC_WORDS = """
    software code program deploy server database bug compiler api release branch commit test script library cluster container
    work work job office meeting manager colleague client project deadline career interview salary company team boss hire
    family mother father sister brother wife husband daughter child children parent grandmother uncle aunt cousin wedding baby
    health doctor hospital medicine allergy allergic sick illness pain surgery therapy diet sleep dentist injury fitness
    food food eat dinner lunch breakfast cook recipe restaurant coffee bread cake vegetarian vegan cheese kitchen bake
    travel travel trip flight train hotel airport vacation holiday passport journey visit beach luggage
    money money price cost budget rent invoice salary bank loan tax savings insurance euros dollars mortgage payment
    home house apartment flat garden kitchen furniture neighbour landlord rent roof bedroom balcony
    learning learn study school university course exam teacher lesson degree homework lecture student language
    sport running marathon football tennis swim gym hiking cycling race yoga climbing workout
    arts music concert guitar piano song band film movie book novel paint museum theatre photo poem
    pets dog cat puppy kitten pet vet parrot horse hamster
"""
_TOPICS = {line.split()[0]: frozenset(word[:_STEM] for word in line.split()[1:]) for line in _TOPIC_WORDS.strip().splitlines()}
"""Topics with the stems of their words."""


@frozen(kw_only=True)
class Metadata:
    """The fields of a text. `dates` are ISO dates, or two with a slash; `sentiment` is the valence, -1 to 1."""

    people: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    language: str = ""
    sentiment: float = 0.0
    topics: tuple[str, ...] = ()


def metadata(text: str, said_at: datetime | None = None, speaker: str = "") -> Metadata:
    """Return the fields of a text; dates are resolved against the moment at which it was said."""
    # late: these patterns take as long to compile as all that the list of operations loads
    from engram.text.english.entities import FILE, ORGANISATION, PERSON, PLACE, PROJECT, TECHNOLOGY, mentions

    urls = tuple(dict.fromkeys(_URL.findall(text)))
    bare = _URL.sub(" ", text)
    named: dict[str, list[str]] = {}
    for mention in mentions(bare, speaker):
        named.setdefault(mention.kind, []).append(mention.name)
    found = {kind: tuple(sorted(names)) for kind, names in named.items()}
    return Metadata(
        people=found.get(PERSON, ()),
        organisations=found.get(ORGANISATION, ()),
        projects=found.get(PROJECT, ()),
        technologies=found.get(TECHNOLOGY, ()),
        places=found.get(PLACE, ()),
        paths=found.get(FILE, ()),
        dates=tuple(dict.fromkeys(_dates(bare, said_at))) if said_at is not None else (),
        urls=urls,
        language=programming_language(text),
        sentiment=affect(bare).valence,
        topics=_topics(bare),
    )


def _dates(text: str, said_at: datetime) -> Iterator[str]:
    from engram.text.dates import read
    from engram.text.language import language_of

    language = language_of(text)
    for start, end in sentences.spans(text)[:_SENTENCES]:
        found = read(text[start:end], said_at, language=language)
        if found is not None:
            yield _days(found[0].date(), found[1].date(), whole=found[1].time() == datetime.min.time())


def _days(first: date, last: date, *, whole: bool) -> str:
    """Return one day, or two with a slash; a period of whole days ends where the next day begins."""
    until = date.fromordinal(last.toordinal() - 1) if whole and last > first else last
    return first.isoformat() if until <= first else f"{first.isoformat()}/{until.isoformat()}"


def languages(text: str) -> tuple[str, str]:
    """Return the code of the language of a text, empty for English and where it is not sure, and the programming language that it
    is about, empty if there is none."""
    from engram.text.language import language_of  # late, as above

    language = language_of(text)
    return ("" if language == "en" else language), programming_language(text)


def programming_language(text: str) -> str:
    """Return the programming language of a code block, else of a file that is named, else one that is named itself; or ""."""
    if not _CODE_HINT.search(text):
        return ""
    from engram.text.english.entities import files  # late, as above
    from engram.text.english.gazetteer import is_technology

    for fenced in map(str.lower, _FENCE.findall(text)):
        if (name := _FENCED.get(fenced) or _LANGUAGES.get(fenced)) is not None:
            return name
    bare = _URL.sub(" ", text)
    endings = (path.rpartition(".")[2].lower() for path in files(bare))
    of_file = next((_LANGUAGES[ending] for ending in endings if ending in _LANGUAGES), "")
    named = (name.lower() for name in _NAMED.findall(bare) if is_technology(name))
    return of_file or next(named, "")


def _topics(text: str) -> tuple[str, ...]:
    """Return the most frequent topics of a text, of a dozen known ones."""
    stems = [word.lower()[:_STEM] for word in _WORD.findall(text)]
    counts = {topic: sum(stem in words for stem in stems) for topic, words in _TOPICS.items()}
    found = sorted((topic for topic, count in counts.items() if count), key=lambda topic: (-counts[topic], topic))
    return tuple(found[:_TOPICS_SHOWN])
