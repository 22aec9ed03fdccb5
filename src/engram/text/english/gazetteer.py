"""Names that are known beforehand: given names, places, technologies. Lists of the commonest, not of all there are.

A word that is also something else ("Rose", "Go", "Nice") is left out or needs its capital, so that a list can be trusted alone.
"""

from __future__ import annotations

import re

from engram.text.terms import word_set

GIVEN_NAMES = word_set("""
    aaron abdul abigail ada adam adele adrian agnes ahmed aisha alan albert alejandro alex alexander alexandra alfred alice alicia
    alina alison amanda amara amelia amina amir amit amy ana anders andre andrea andreas andrew andrzej angela anita anja ann
    anna anne annika anton antonio anya arjun arthur astrid audrey barbara beatrice ben benjamin bernard beth bianca bjorn bob
    boris brandon brenda brian bruno camila carl carla carlos carmen caroline cecilia charles charlotte chen chloe chris
    christian christina christopher claire clara claudia colin connor cristina cynthia daniel daniela david deborah deepak
    dennis derek diana diego dmitri dominic donald donna dorothy douglas edgar eduardo edward elena eli elias elif elisa elise
    elizabeth ella ellen emil emily emma eric erik erika erin ernesto esther ethan eugene eva evan evelyn fatima felix
    fernando fiona frances francesca francisco frank frederik gabriel gabriela george gerald giulia gloria greg gregory greta
    gustav hana hannah hans harald harold harry hassan heidi helen helena henrik henry hiroshi hugo ian ibrahim igor ines
    ingrid irene isaac isabel isabella ivan ivy jacob jakob james jamie jan jane janet jasmine jason javier jean jeff jeffrey
    jennifer jenny jeremy jerry jessica jesus jim joan joanna joe joel johan johannes john jonas jonathan jordan jorge jose
    josef joseph joshua juan judith julia julian juliana jules julie karen karim karin karl kate katherine kathleen katja
    keiko keith kelly ken kenji kenneth kevin khalid kim klaus kofi kumar kurt lars laura lauren layla lea lena leo leon
    leonard lewis liam lian lina linda lisa lisbeth liu liz lorenzo louis louise lucas lucia luigi luis luka lukas lydia
    magnus manuel marco marcus margaret maria mariana marie marina mario mark markus marta martha martin mary mateo matteo
    matthew matthias maya megan mei melissa mia michael michelle miguel mikael mike mila miriam mohamed mohammed monica monika
    nadia nancy naomi natalia natalie nathan neha nicholas nicole niklas nikolai nils nina noah noor nora olga oliver olivia
    omar oscar otto pablo pamela patricia patrick paul paula pavel pedro peter petra philip pierre piotr priya rachel rahul
    raj rajesh ralph ramon raquel ravi raymond rebecca reza ricardo richard rita robert roberto robin roger roland roman
    ronald rosa ruth ryan sabine salma sam samantha samir samuel sandra sanjay sara sarah scott sean sebastian selma sergei
    sergio sharon shirley silvia simon simone sofia sofie sonia sophia sophie stefan stella stephanie stephen steve steven
    stuart sunil susan susanne sven svetlana sylvia tamara tanya teresa theo theresa thomas tim timothy tina tobias tom tomas
    tomoko tony tyler ulrich ursula valentina vanessa vera veronica victor victoria vikram viktor vincent virginia vladimir
    walter wanda wei wendy werner wilhelm william xavier yasmin yuki yusuf yvonne zara zoe
    """)
_CONTINENTS = word_set("africa america antarctica asia europe")
_COUNTRIES = word_set("""
    australia afghanistan albania algeria argentina armenia austria azerbaijan bangladesh belarus belgium bolivia brazil
    bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus czechia denmark ecuador egypt estonia
    ethiopia finland france germany ghana greece guatemala hungary iceland india indonesia iran iraq ireland israel italy
    jamaica japan kazakhstan kenya kuwait laos latvia lebanon libya lithuania luxembourg madagascar malaysia malta mexico
    moldova mongolia morocco mozambique myanmar namibia nepal netherlands nicaragua nigeria norway oman pakistan panama
    paraguay peru philippines poland portugal qatar romania russia rwanda senegal serbia singapore slovakia slovenia
    somalia spain sudan sweden switzerland syria taiwan tanzania thailand tunisia uganda ukraine uruguay uzbekistan venezuela
    vietnam yemen zambia zimbabwe usa uk
    """)
_REGIONS = word_set("""
    alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas
    kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio
    oklahoma oregon pennsylvania tennessee texas utah vermont wisconsin wyoming ontario quebec bavaria tuscany catalonia
    england scotland wales
    """)
_CITIES = word_set("""
    amsterdam athens atlanta auckland baltimore bangalore bangkok barcelona basel beijing beirut belfast belgrade berlin bern
    bilbao birmingham bogota bologna bonn boston bratislava brisbane bristol brussels bucharest budapest cairo calgary
    cambridge cardiff chicago cologne copenhagen dallas delhi denver detroit dhaka dresden dubai dublin dusseldorf edinburgh
    florence frankfurt galway geneva genoa ghent glasgow gothenburg graz hamburg hanoi havana helsinki houston istanbul
    jakarta jerusalem johannesburg karachi kiev krakow kyiv kyoto lagos lausanne leeds leipzig lima lisbon liverpool ljubljana
    london lyon madrid malaga manchester manila marseille melbourne memphis miami milan minneapolis montevideo montreal moscow
    mumbai munich nairobi naples nashville oakland osaka oslo ottawa oxford paris philadelphia phoenix pittsburgh porto
    portland prague reykjavik riga rome rotterdam salzburg santiago sapporo sarajevo seattle seoul seville shanghai sofia
    stockholm strasbourg stuttgart sydney taipei tallinn tampa tbilisi tehran tokyo toronto toulouse tunis turin utrecht
    valencia vancouver venice vienna vilnius warsaw wellington yerevan zagreb zurich
    """) - {"sofia", "florence"}
PLACES = _CONTINENTS | _COUNTRIES | _REGIONS | _CITIES
_LONG_PLACES = (
    "new york|new york city|los angeles|san francisco|san diego|san jose|las vegas|new orleans|salt lake city|washington dc"
    "|mexico city|buenos aires|rio de janeiro|sao paulo|cape town|hong kong|tel aviv|abu dhabi|kuala lumpur|ho chi minh city"
    "|new delhi|new zealand|south africa|south korea|north korea|saudi arabia|sri lanka|costa rica|united states|united kingdom"
    "|united arab emirates|czech republic|northern ireland|north carolina|south carolina|north dakota|south dakota"
    "|new hampshire|new jersey|new mexico|west virginia|rhode island|british columbia|hong kong|the hague"
)
LONG_PLACES: frozenset[str] = frozenset(_LONG_PLACES.split("|"))
_LONG_COUNTRIES = re.compile(
    r"new zealand|(?:south|north) korea|south africa|saudi arabia|sri lanka|costa rica|united .*|czech republic"
)
_LONG_REGIONS = re.compile(
    r"(?:north|south) (?:carolina|dakota)|new (?:hampshire|jersey|mexico)|west virginia|rhode island|british columbia"
    r"|northern ireland"
)


def place_level(name: str) -> str:
    """Return the sort of a place by its lower-case name: city, region, country or continent; empty if it is not known."""
    if name in LONG_PLACES:
        return "country" if _LONG_COUNTRIES.fullmatch(name) else "region" if _LONG_REGIONS.fullmatch(name) else "city"
    levels = {"continent": _CONTINENTS, "country": _COUNTRIES, "region": _REGIONS, "city": _CITIES}
    return next((level for level, names in levels.items() if name in names), "")


_TECHNOLOGIES = (
    "python|javascript=js|typescript=ts|java|kotlin|scala|haskell|ruby|perl|c++|c#|php|elixir|erlang|clojure|golang|fortran|cobol"
    "|sql|html|css|bash|powershell|postgresql=postgres,pg|mysql|mariadb|sqlite|mongodb=mongo|redis|memcached|cassandra|dynamodb"
    "|elasticsearch|opensearch|clickhouse|snowflake|bigquery|redshift|duckdb|neo4j|kafka|rabbitmq|nats|celery|airflow|dbt|spark"
    "|hadoop|docker|kubernetes=k8s|podman|helm|terraform|ansible|pulumi|vagrant|jenkins|github actions|gitlab ci|circleci"
    "|github|gitlab|bitbucket|git|jira|confluence|slack|notion|figma|linux|ubuntu|debian|fedora|windows|macos|android|ios"
    "|nginx|apache|caddy|envoy|istio|grafana|prometheus|datadog|sentry|splunk|aws|azure|gcp|heroku|vercel|netlify|fly.io"
    "|cloudflare|s3|ec2|lambda|react|angular|vue=vue.js|svelte|next.js=nextjs|django|flask|fastapi|rails|laravel|spring boot"
    "|express|node.js=nodejs,node|deno|bun|webpack|vite|babel|eslint|pytest|jest|selenium|playwright|cypress|numpy|pandas"
    "|pytorch|tensorflow|keras|scikit-learn=sklearn|opencv|jupyter|excel|powerpoint|photoshop|vim|neovim|emacs|vscode=vs code"
    "|intellij|pycharm|xcode|graphql|grpc|rest|oauth|openapi|protobuf|json|yaml|toml|xml|markdown|latex|chatgpt|claude|gpt-4|llama"
    "|rust|swift|go|dart|flutter|unity|blender|arduino|raspberry pi|zoom|teams|trello|asana|stripe|twilio|auth0|okta|supabase"
    "|firebase|rabbit|kibana|logstash|vault|consul|nomad|sqlalchemy|hibernate|maven|gradle|cmake|bazel|webassembly=wasm"
)
_NEED_CAPITAL = word_set("""
    apache asana babel blender bun caddy cassandra celery claude consul cypress dart envoy excel express flutter go helm java
    jest lambda linear mongo node nomad notion perl rabbit rails react rest ruby rust sentry slack snowflake spark stripe
    swift teams unity vault vite windows zoom
    """) | {"spring boot"}


def _canonical() -> dict[str, str]:
    names: dict[str, str] = {}
    for entry in _TECHNOLOGIES.split("|"):
        name, _, others = entry.partition("=")
        names[name] = name
        names.update(dict.fromkeys(others.split(",") if others else (), name))
    return names


TECHNOLOGIES: dict[str, str] = _canonical()
"""Each name a technology goes by, lower case, to the one it is kept under."""


def is_technology(word: str) -> bool:
    """Is this a technology, as it is written here? Those that are also plain words need their capital."""
    low = word.lower()
    return low in TECHNOLOGIES and (low not in _NEED_CAPITAL or word[:1].isupper())
