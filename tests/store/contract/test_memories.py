"""Memories, edges, vectors, text search, erasure, change log and audit: what every engine must do, each call with a reader."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from guard.test_visibility import may_change, refused, sees
from hand_clock import HandClock
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from store.contract.engines import ENGINES
from store.vaults import OWNER, quick_folder, state

from engram.env import Env
from engram.errors import AccessDenied, ContentTooLarge, DimensionMismatch, EngramError, InvalidContent, InvalidQuery, NotFound
from engram.store.limits import StoreLimits
from engram.store.ports import Store
from engram.text.terms import terms
from engram.types import Edge, Kind, Memory, Policy, Reader, Role, Scope, Source, Status
from engram.values.query import Filter

ME = Reader(Scope(agent="rex"))
EVERY = Filter(statuses=())

each_store = pytest.mark.parametrize("kind", ENGINES)


def examples(number: int) -> settings:
    """As many vaults, and no shrinking: making a counter-example small would take a thousand more."""
    return settings(max_examples=number, phases=(Phase.explicit, Phase.generate))


@contextmanager
def fresh(kind: str) -> Iterator[Store]:
    """A store for one example of a property; without padding, which other tests are about."""
    clock = HandClock()
    env = Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep)
    with quick_folder() as place:
        store = ENGINES[kind](place / "vault", env, size_bucket_kib=0, tuning=[StoreLimits(check_inline_mib=0)])
        try:
            yield store
        finally:
            store.close()


def draft(text: str, **fields: Any) -> Memory:
    return Memory(text=text, scope=fields.pop("scope", ME.scope), **fields)


def keep(store: Store, *texts: str, **fields: Any) -> list[Memory]:
    return store.memories.add(ME, [draft(text, **fields) for text in texts])


def vector(*numbers: float) -> bytes:
    """A stored vector: a scale, and one signed byte a dimension."""
    return struct.pack(f"<f{len(numbers)}b", 1.0, *numbers)


def found(store: Store, question: str, *, reader: Reader = ME, limit: int = 100, where: Filter = Filter()) -> list[str]:
    hits = store.text.search(reader, terms(question), limit=limit, where=where)
    return [memory.text for memory in store.memories.fetch(reader, [hit.key for hit in hits])]


def walk(store: Store, reader: Reader, *, limit: int, where: Filter = EVERY) -> list[Memory]:
    """Every page to the end."""
    memories, cursor = [], None
    while True:
        page = store.memories.page(reader, limit=limit, cursor=cursor, where=where)
        assert len(page) <= limit
        memories += page.memories
        if page.cursor is None:
            return memories
        assert len(page) == limit
        cursor = page.cursor


# ── keeping and finding by name ────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_added_is_there_with_identity_and_dates(store: Store, clock: HandClock) -> None:
    kept = keep(store, "dark mode everywhere")[0]
    assert len(kept.id) == 26
    assert kept.key > 0
    assert (kept.learned_at, kept.updated_at, kept.version) == (clock.now(), clock.now(), 1)
    assert (
        store.memories.get(ME, [kept.id])
        == store.memories.fetch(ME, [kept.key])
        == list(store.memories.page(ME, limit=5))
        == [kept]
    )


def test_adding_nothing_is_nothing(store: Store) -> None:
    before = state(store)
    assert store.memories.add(ME, []) == []
    assert state(store) == before


def test_get_and_fetch_keep_the_order_asked_and_drop_what_is_not_there(store: Store) -> None:
    a, b, c = keep(store, "a", "b", "c")
    assert store.memories.get(ME, [c.id, "no such id", a.id, c.id]) == [c, a]
    assert store.memories.fetch(ME, [b.key, 10**9, a.key, b.key, -1, 0]) == [b, a]
    assert store.memories.get(ME, []) == store.memories.fetch(ME, []) == []


def test_a_memory_is_read_by_the_end_of_its_id_if_no_other_visible_one_has_it(store: Store) -> None:
    mine, other = keep(store, "mine", "other")
    assert mine.short_id == mine.id[-4:].lower()
    for short in (mine.short_id, mine.short_id.upper(), f"[{mine.short_id}]"):
        assert store.memories.get(ME, [other.id, short]) == [other, mine]
    twin = f"{'0' * 22}{mine.id[-4:]}"
    hidden = Reader(Scope(agent="eve"))
    store.memories.add(hidden, [draft("hidden", id=twin, scope=hidden.scope)])
    assert store.memories.get(ME, [mine.short_id]) == [mine]
    keep(store, "twin", id=f"{'1' * 22}{mine.id[-4:]}")
    with pytest.raises(InvalidQuery, match="several") as refused:
        store.memories.get(ME, [mine.short_id])
    assert mine.id in refused.value.way_out
    assert twin not in refused.value.way_out


def test_an_imported_id_of_the_length_of_a_short_one_goes_first(store: Store) -> None:
    ulid = keep(store, "a", id=f"{'0' * 22}NOTE")[0]
    imported = keep(store, "b", id="NOTE")[0]
    assert imported.short_id == "NOTE"
    assert store.memories.get(ME, ["NOTE", "note"]) == [imported, ulid]


def test_more_ids_than_one_statement_takes(store: Store) -> None:
    kept = keep(store, *(f"number {i}" for i in range(1200)))
    assert store.memories.get(ME, [m.id for m in kept]) == kept
    assert store.memories.fetch(ME, [m.key for m in reversed(kept)]) == kept[::-1]
    strangers = [f"stranger {i}" for i in range(100_000)]
    assert store.memories.get(ME, strangers) == []
    assert store.edges.of(ME, strangers) == []


def test_an_id_given_by_an_import_is_kept_whatever_it_spells(store: Store) -> None:
    for odd in ("01JIMPORTED", "'; DROP TABLE memories; --", '" OR 1=1', "words:*", "id with spaces", "ид", "%_"):
        kept = keep(store, "imported", id=odd)[0]
        assert kept.id == odd
        assert store.memories.get(ME, [odd]) == [kept]
    assert store.memories.counts(ME).memories == 7


def test_ids_and_keys_rise(store: Store) -> None:
    kept = keep(store, "a", "b") + keep(store, "c")
    assert [m.id for m in kept] == sorted(m.id for m in kept)
    assert [m.key for m in kept] == sorted(m.key for m in kept)


def test_a_key_is_never_given_twice(store: Store) -> None:
    """Indexes and other processes know memories by key; a second life under the same key would be found as the first."""
    first = keep(store, "a")[0]
    store.erasure.erase(ME, [first.id])
    assert keep(store, "b")[0].key > first.key


def test_a_closed_store_says_so_and_closes_twice(store: Store) -> None:
    kept = keep(store, "a")[0]
    store.close()
    store.close()
    for call in (
        lambda: keep(store, "b"),
        lambda: store.memories.get(ME, [kept.id]),
        lambda: store.memories.page(ME, limit=1),
        lambda: store.erasure.erase(ME, [kept.id]),
        lambda: store.audit.select(ME, limit=1),
        lambda: list(store.vectors.visible(ME, "s")),
    ):
        with pytest.raises(EngramError, match="closed"):
            call()


# ── pages ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_are_newest_first_and_cursors_walk_to_the_end(store: Store) -> None:
    kept = keep(store, *(f"number {i}" for i in range(7)))
    for limit in (1, 2, 3, 6, 7, 8):
        assert walk(store, ME, limit=limit) == kept[::-1]
        assert store.memories.newest(ME, limit=limit) == kept[::-1][:limit]


def test_a_page_is_not_disturbed_by_what_comes_and_goes_meanwhile(store: Store) -> None:
    kept = keep(store, *(f"number {i}" for i in range(6)))
    first = store.memories.page(ME, limit=2)
    keep(store, "newer")
    store.erasure.erase(ME, [kept[3].id, first[-1].id])
    assert list(store.memories.page(ME, limit=10, cursor=first.cursor)) == [kept[2], kept[1], kept[0]]


def test_pages_by_kind_category_and_status(store: Store) -> None:
    fact = keep(store, "a", kind=Kind.FACT, category="work")[0]
    skill = keep(store, "b", kind=Kind.SKILL, category="home")[0]
    old = store.memories.set_status(ME, keep(store, "c", kind=Kind.FACT, category="home")[0].id, Status.ARCHIVED, "old")

    def listed(**narrowed: Any) -> list[Memory]:
        memories = list(store.memories.page(ME, limit=9, where=Filter(**narrowed)))
        assert store.memories.newest(ME, limit=9, where=Filter(**narrowed)) == memories
        return memories

    assert listed() == [skill, fact]
    assert listed(statuses=()) == [old, skill, fact]
    assert listed(statuses=(Status.ARCHIVED,)) == [old]
    assert listed(kinds=(Kind.FACT,)) == [fact]
    assert listed(kinds=(Kind.FACT, Kind.SKILL)) == [skill, fact]
    assert listed(categories=("home",)) == [skill]
    assert listed(categories=("home",), kinds=(Kind.FACT,), statuses=(Status.ARCHIVED, Status.ACTIVE)) == [old]
    assert listed(categories=("no such",)) == []


def test_pages_by_time_go_by_when_it_happened_else_when_it_was_learned(store: Store, clock: HandClock) -> None:
    start = clock.now()
    day = timedelta(days=1)
    happened = keep(store, "long ago", happened_at=start - 10 * day)[0]
    clock.advance(day.total_seconds())
    learned = keep(store, "yesterday")[0]

    def listed(since: datetime | None, until: datetime | None) -> list[Memory]:
        return list(store.memories.page(ME, limit=9, where=Filter(since=since, until=until)))

    assert listed(start, None) == [learned]
    assert listed(None, start) == [happened]
    assert listed(start - 10 * day, start + day) == [happened]  # `until` is not part of the range
    assert listed(start - 10 * day, start + 2 * day) == [learned, happened]
    assert listed(start + day, start) == []
    assert listed((start + day).replace(tzinfo=None), None) == [learned]
    east = timezone(timedelta(hours=9))
    assert listed((start + day).astimezone(east), None) == [learned]
    assert listed(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)) == [learned, happened]


def test_pages_by_attributes(store: Store) -> None:
    both = keep(store, "a", attributes={"lang": "py", "level": "1"})[0]
    one = keep(store, "b", attributes={"lang": "py"})[0]

    def listed(**attributes: str) -> list[Memory]:
        return list(store.memories.page(ME, limit=9, where=Filter(attributes=attributes)))

    assert listed(lang="py") == [one, both]
    assert listed(lang="py", level="1") == [both]
    assert listed(lang="PY") == listed(level="py") == listed(lang="' OR 1") == []
    assert found(store, "a b", where=Filter(attributes={"level": "1"})) == ["a"]


@pytest.mark.parametrize("limit", [0, -1, -(10**20), 10**20, 1001, 2.5, "5", None, float("nan")])
def test_a_page_of_no_sensible_size_is_refused(store: Store, limit: Any) -> None:
    with pytest.raises(InvalidQuery):
        store.memories.page(ME, limit=limit)


@pytest.mark.parametrize("limit", [0, -1, 10**20, 2.5, "5", None])
def test_other_limits_are_bounded_too(store: Store, limit: Any) -> None:
    """A negative limit means "no limit" to SQL."""
    keep(store, "word")
    for call in (
        lambda: store.changes.since(OWNER, after=0, limit=limit),
        lambda: store.audit.select(OWNER, limit=limit),
        lambda: store.text.search(ME, ["word"], limit=limit),
    ):
        with pytest.raises(InvalidQuery):
            call()


@pytest.mark.parametrize(
    "cursor",
    ["", " ", "x", "-1", "1.5", "1e3", "٣", "²", "0x10", "1; DROP TABLE", "1\x00", "\ud800", "9" * 5000, 7, b"7", ("7",)],
)
def test_a_cursor_that_no_page_gave_is_refused(store: Store, cursor: Any) -> None:
    keep(store, "a", "b")
    with pytest.raises(InvalidQuery):
        store.memories.page(ME, limit=1, cursor=cursor)


def test_a_cursor_is_of_one_listing_and_one_reader(store: Store) -> None:
    """Borrowed, changed or for other filters it is an error and never somebody's page; it shows no row's number."""
    keep(store, "a", "b", "c")
    where = Filter(statuses=(Status.ACTIVE, Status.ARCHIVED), attributes=None, since=None)
    cursor = store.memories.page(ME, limit=1, where=where).cursor
    assert cursor is not None
    assert not cursor.isdigit()
    same = replace(where, statuses=(Status.ARCHIVED, Status.ACTIVE))  # the same filter in other words
    assert [m.text for m in store.memories.page(ME, limit=2, cursor=cursor, where=same)] == ["b", "a"]
    others = [
        (ME, Filter()),
        (ME, replace(where, categories=("fact",))),
        (ME, replace(where, attributes={"a": "1"})),
        (ME, replace(where, as_of=datetime(2030, 1, 1, tzinfo=UTC))),
        (replace(ME, scope=replace(ME.scope, agent="somebody else")), where),
        (replace(ME, policy=Policy.OWN), where),
        (replace(ME, role=Role.GUEST), where),
    ]
    changed = [cursor[:-1] + chr(ord(cursor[-1]) ^ 1), cursor[:-1], cursor + "A", f" {cursor}", cursor.swapcase()]
    for reader, other, taken in [*((*one, cursor) for one in others), *((ME, where, one) for one in changed)]:
        with pytest.raises(InvalidQuery) as refused:
            store.memories.page(reader, limit=2, cursor=taken, where=other)
        assert taken not in str(refused.value)


def test_pages_hold_still_while_others_write(store: Store) -> None:
    """What is added, archived or erased between two pages makes nothing come twice and nothing that stays be left out."""
    kept = keep(store, *(f"row {number}" for number in range(9)))
    seen: list[str] = []
    cursor = None
    for number in range(9):
        page = store.memories.page(ME, limit=2, cursor=cursor)
        seen += [memory.id for memory in page]
        cursor = page.cursor
        if cursor is None:
            break
        keep(store, f"late {number}")
        if number == 0:
            store.erasure.erase(ME, [kept[7].id, kept[5].id])  # the last one shown, and one to come
        if number == 1:
            store.memories.set_status(ME, kept[4].id, Status.ARCHIVED, "old")
    assert seen == [kept[number].id for number in (8, 7, 6, 4, 3, 2, 1, 0)]


# ── text ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

CORPUS = (
    "The quick brown fox jumps over the lazy dog",
    "Rex prefers dark mode in every editor",
    "We moved the API to Fly.io on Tuesday; the platform team owns it",
    "def parse_query(self, max_depth=3): return HttpClient.get_url()",
    "Café Müller serves crème brûlée in Zürich",
    "東京タワーは高い。猫が好きです",
    "我喜欢用Python写代码",
    "Встреча перенесена на пятницу в Москве",
    "اجتماع الفريق يوم الثلاثاء في القاهرة",
    "Deploy went 🚀🚀 fine, 100% uptime — O’Brien's team",
    "C++ and C# are NOT near each other OR AND",
    "Σίσυφος pushes the boulder",
    "ฉันชอบกินข้าวผัด",
    "한국어 문장을 저장한다",
    "हिन्दी में एक वाक्य",
)


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("fox", 0),
        ("FOXES jumping", 0),
        ("dark-mode", 1),
        ("editors", 1),
        ("fly.io", 2),
        ("parse_query", 3),
        ("max_depth", 3),
        ("HttpClient", 3),
        ("get_url()", 3),
        ("cafe muller", 4),
        ("CREME BRULEE", 4),
        ("zürich", 4),
        ("Zu\u0308rich", 4),
        ("東京", 5),
        ("タワー", 5),
        ("ﾀﾜｰ", 5),
        ("python", 6),
        ("写代码", 6),
        ("встреча", 7),
        ("МОСКВЕ", 7),
        ("القاهرة", 8),
        ("o'brien", 9),
        ("uptime 100%", 9),
        ("σίσυφος", 11),
        ("ΣΊΣΥΦΟΣ", 11),
        ("ข้าวผัด", 12),
        ("문장을", 13),
        ("हिन्दी", 14),
    ],
)
def test_words_are_found_in_any_script(store: Store, question: str, index: int) -> None:
    keep(store, *CORPUS)
    assert found(store, question)[:1] == [CORPUS[index]]


@pytest.mark.parametrize("question", ["猫", "高", "我"])
def test_a_single_character_of_an_unspaced_script_is_a_word_too(store: Store, question: str) -> None:
    keep(store, *CORPUS)
    assert question in "".join(found(store, question))


@pytest.mark.parametrize(
    "term",
    [
        'quick" OR "rex', "quick OR rex", "quick AND fox", "quick NOT fox", "NEAR(quick fox)", "words:quick", "words : quick",
        "{words}:quick", "-words:quick", "^quick", "qui*", "quick*", '"quick"', "quick + brown", "(quick)", "lexicon", "rank",
        "quick; DROP TABLE memories", "quick\x00brown", "'", '"', '""', "*", "^", "()", "%", "_", "\\", "?", "?1", ":a", "$a",
        "", " ", "\n", "🚀", "…", "NOT", "AND", "OR", "NEAR",
    ],
)  # fmt: skip
def test_no_term_is_an_operator(store: Store, term: str) -> None:
    """A term is looked up as the words it holds, in a row; it never widens a search and never breaks it."""
    keep(store, *CORPUS)
    texts = {m.text for m in store.memories.fetch(ME, [hit.key for hit in store.text.search(ME, [term], limit=99)])}
    assert CORPUS[1] not in texts
    words = terms(term)
    assert all(all(word in " ".join(terms(text)) for word in words) for text in texts)
    assert found(store, "rex") == [CORPUS[1]]


def test_nothing_asked_is_nothing_found(store: Store) -> None:
    keep(store, *CORPUS)
    assert store.text.search(ME, [], limit=9) == []
    assert store.text.search(ME, ["zebra"], limit=9) == []
    assert found(store, "?!… 🚀") == []


def test_a_question_of_thousands_of_words_is_answered(store: Store) -> None:
    keep(store, *CORPUS)
    assert found(store, " ".join(f"w{i}" for i in range(3000)) + " rex") == [CORPUS[1]]


def test_ranking_goes_by_words_matched_rarity_and_length(store: Store) -> None:
    keep(store, *(f"the build number {n} is red" for n in range(20)))
    keep(
        store,
        "the build is green and the pipeline took an hour and nobody knows what it did in all that time",
        "pipeline green",
        "the the the the team",
    )
    assert found(store, "green pipeline")[0] == "pipeline green"
    assert found(store, "the pipeline green")[0] == "pipeline green"
    assert found(store, "the team")[0] == "the the the the team"
    assert found(store, "the green")[0] != "the the the the team"  # the rare word counts, not the common one
    hits = store.text.search(ME, ["green", "pipeline", "build"], limit=9)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(math.isfinite(hit.score) and hit.score > 0 for hit in hits)


def test_a_search_gives_the_best_up_to_its_limit(store: Store) -> None:
    keep(store, *(f"word {'filler ' * i}" for i in range(20)))
    everything = store.text.search(ME, ["word"], limit=100)
    assert len(everything) == 20
    assert store.text.search(ME, ["word"], limit=5) == everything[:5]


AGENTS = ("rex", "ada", "ida")


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("limit", [1, 3, 10, 60])
def test_a_filtered_search_gives_the_best_of_what_passes_however_rare(store: Store, agent: str, limit: int) -> None:
    """Of 240 matches rex has most, ada one in 30, ida three of the worst: a limit before the filter would lose theirs."""
    kept = store.memories.add(OWNER, [_one_of_many(number) for number in range(240)])
    ranked = [hit.key for hit in store.text.search(OWNER, ["word", "rare"], limit=1000, where=EVERY)]
    assert len(ranked) == len(kept)
    by_key = {memory.key: memory for memory in kept}
    start = kept[0].happened_at
    assert start is not None
    reader = Reader(Scope(agent=agent), Policy.AGENT)
    for where, passes in (
        (Filter(), lambda m: m.status is Status.ACTIVE),
        (EVERY, lambda m: True),
        (Filter(kinds=(Kind.FACT,)), lambda m: m.status is Status.ACTIVE and m.kind is Kind.FACT),
        (Filter(categories=("plan",), statuses=()), lambda m: m.category == "plan"),
        (Filter(until=start + timedelta(days=9), statuses=()), lambda m: m.happened_at < start + timedelta(days=9)),
        (Filter(attributes={"team": "blue"}, statuses=()), lambda m: m.attributes.get("team") == "blue"),
    ):
        wanted = [key for key in ranked if by_key[key].scope.agent == agent and passes(by_key[key])]
        assert [hit.key for hit in store.text.search(reader, ["word", "rare"], limit=limit, where=where)] == wanted[:limit]


def _one_of_many(number: int) -> Memory:
    agent = "ida" if number >= 237 else "ada" if number % 30 == 0 else "rex"
    return Memory(
        text=f"word {'rare ' * (number % 7 == 0)}{'filler ' * (number // 4)}",
        scope=Scope(agent=agent),
        status=Status.ARCHIVED if number % 5 == 0 else Status.ACTIVE,
        kind=Kind.FACT if number % 11 == 0 else Kind.PROPOSITION,
        category="plan" if number % 13 == 0 else "fact",
        happened_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
        attributes={"team": "blue"} if number % 17 == 0 else {},
    )


def test_equal_hits_come_newest_first(store: Store) -> None:
    kept = keep(store, "same words", "same words", "same words")
    assert [hit.key for hit in store.text.search(ME, ["same"], limit=9)] == [m.key for m in reversed(kept)]


def test_a_search_is_narrowed_as_a_page_is(store: Store) -> None:
    keep(store, "word one", kind=Kind.FACT)
    archived = store.memories.set_status(ME, keep(store, "word two")[0].id, Status.ARCHIVED, "")
    assert found(store, "word") == ["word one"]
    assert found(store, "word", where=Filter(statuses=(Status.ARCHIVED,))) == [archived.text]
    assert found(store, "word", where=Filter(kinds=(Kind.SKILL,))) == []
    assert set(found(store, "word", where=EVERY)) == {"word one", "word two"}


LETTERS = st.text(
    st.sampled_from(
        "abcXYZ019_-'’.,éüñßøÅğİıſµ ½²ﬁ 東京猫カﾀがを。ฉันก็ 한글ㅎ бвЯё مرحبا اָש ע हिन्दी\u0301\u0323\u0308\u200d🚀\0\n\"*"
    ),
    min_size=1,
    max_size=20,
)


@each_store
@examples(30)
@given(text=LETTERS)
def test_a_memory_is_found_by_each_of_its_own_words(kind: str, text: str) -> None:
    words = terms(text)
    if not words:
        return
    with fresh(kind) as store:
        kept = keep(store, text)[0]
        lost = [word for word in words if [hit.key for hit in store.text.search(ME, [word], limit=1)] != [kept.key]]
        assert lost == []
        store.memories.update(ME, kept.id, {"text": "another"})
        assert not any(store.text.search(ME, [word], limit=1) for word in words if word != "another")
        store.memories.update(ME, kept.id, {"text": text})
        store.erasure.erase(ME, [kept.id])
        assert store.text.search(ME, [*words, "another"], limit=1) == []


# ── changing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_update_changes_what_it_names_and_keeps_the_earlier_wording(store: Store, clock: HandClock) -> None:
    first = keep(store, "the API runs on Heroku", importance=0.3)[0]
    clock.advance(60)
    second = store.memories.update(ME, first.id, {"text": "the API runs on Fly", "importance": 0.9})
    assert second == replace(first, text="the API runs on Fly", importance=0.9, version=2, updated_at=clock.now())
    assert store.memories.get(ME, [first.id]) == [second]
    clock.advance(60)
    store.memories.update(ME, first.id, {"text": "the API runs at home"})
    assert [(v.number, v.text) for v in store.memories.versions(ME, first.id)] == [
        (1, "the API runs on Heroku"),
        (2, "the API runs on Fly"),
    ]
    assert [v.replaced_at for v in store.memories.versions(ME, first.id)] == [clock.now() - timedelta(seconds=60), clock.now()]


def test_search_follows_the_wording(store: Store) -> None:
    kept = keep(store, "the API runs on Heroku")[0]
    store.memories.update(ME, kept.id, {"text": "the API runs on Fly"})
    assert found(store, "heroku") == []
    assert found(store, "fly") == ["the API runs on Fly"]


def test_a_change_of_anything_but_the_words_makes_no_version(store: Store) -> None:
    kept = keep(store, "a")[0]
    new = store.memories.update(ME, kept.id, {"pinned": True, "attributes": {"x": "y"}, "category": "work", "text": "a"})
    assert (new.version, new.pinned, dict(new.attributes), new.category) == (1, True, {"x": "y"}, "work")
    assert store.memories.get(ME, [kept.id]) == [new]
    assert store.memories.versions(ME, kept.id) == []
    assert dict(store.memories.update(ME, kept.id, {"attributes": {}}).attributes) == {}


@pytest.mark.parametrize(
    "name", ["id", "key", "scope", "version", "learned_at", "updated_at", "status", "no_such", "", "text; --"]
)
def test_identity_place_and_dates_are_not_updated(store: Store, name: str) -> None:
    kept = keep(store, "a")[0]
    before = state(store)
    with pytest.raises(InvalidQuery):
        store.memories.update(ME, kept.id, {name: getattr(kept, name, "x")})
    assert state(store) == before


def test_statuses_leave_a_history(store: Store, clock: HandClock) -> None:
    kept = keep(store, "a")[0]
    clock.advance(1)
    old = store.memories.set_status(ME, kept.id, Status.ARCHIVED, "not needed")
    assert (old.status, old.updated_at, old.version) == (Status.ARCHIVED, clock.now(), 1)
    store.memories.set_status(ME, kept.id, Status.ARCHIVED, "again")
    clock.advance(1)
    store.memories.set_status(ME, kept.id, Status.ACTIVE, "needed")
    told = [(c.old, c.new, c.reason) for c in store.memories.status_history(ME, kept.id)]
    assert told == [(Status.ACTIVE, Status.ARCHIVED, "not needed"), (Status.ARCHIVED, Status.ACTIVE, "needed")]
    assert [c.at for c in store.memories.status_history(ME, kept.id)] == [clock.now() - timedelta(seconds=1), clock.now()]


def test_a_review_sets_the_status_and_a_confirmation_corroborates(store: Store) -> None:
    kept = keep(store, "a")[0]
    doubted = store.memories.review(ME, kept.id, Status.CHALLENGED, "disputed")
    assert (doubted.status, doubted.corroborations) == (Status.CHALLENGED, 0)
    sure = store.memories.review(ME, kept.id, Status.ACTIVE, "confirmed", confirmed=True)
    assert (sure.status, sure.corroborations) == (Status.ACTIVE, 1)
    assert sure.confidence >= kept.confidence
    assert [one.reason for one in store.memories.status_history(ME, kept.id)] == ["disputed", "confirmed"]
    with pytest.raises(NotFound):
        store.memories.review(Reader(Scope(agent="eve")), kept.id, Status.INVALIDATED, "not hers")
    assert store.memories.get(ME, [kept.id])[0].status is Status.ACTIVE


def test_setting_a_status_that_it_has_changes_nothing(store: Store) -> None:
    kept = keep(store, "a")[0]
    before = state(store)
    assert store.memories.set_status(ME, kept.id, Status.ACTIVE, "") == store.memories.get(ME, [kept.id])[0]
    assert state(store) == before


def test_erasing_takes_everything_that_hung_on_it(store: Store) -> None:
    doomed, other = keep(store, "secret plan", "other", attributes={"a": "b"})
    store.memories.update(ME, doomed.id, {"text": "secret scheme"})
    store.memories.set_status(ME, doomed.id, Status.CHALLENGED, "hm")
    store.edges.put(ME, [Edge(doomed.id, other.id, "near"), Edge(other.id, doomed.id, "far")])
    store.vectors.put(ME, "s", {doomed.key: vector(1), other.key: vector(2)}, model="m", dimensions=1)
    report = store.erasure.erase(ME, [doomed.id, doomed.id])
    assert (report.ids, report.counts["memories"]) == ((doomed.id,), 1)
    assert store.memories.get(ME, [doomed.id]) == store.memories.fetch(ME, [doomed.key]) == []
    assert found(store, "secret plan scheme", where=EVERY) == []
    assert store.edges.of(ME, [other.id]) == []
    assert list(store.vectors.visible(ME, "s")) == [(other.key, vector(2))]
    assert (store.memories.counts(ME).memories, store.memories.counts(ME).edges, store.memories.counts(ME).embeddings) == (
        1,
        0,
        1,
    )
    for look in (store.memories.versions, store.memories.status_history):
        with pytest.raises(NotFound):
            look(ME, doomed.id)
    last = store.changes.since(OWNER, after=0, limit=99)[-1]
    assert (last.key, last.what) == (doomed.key, "erase")


def test_erasing_is_all_or_none(store: Store) -> None:
    kept = keep(store, "a")[0]
    before = state(store)
    with pytest.raises(NotFound):
        store.erasure.erase(ME, [kept.id, "no such id"])
    assert state(store) == before
    assert store.memories.get(ME, [kept.id]) == [kept]


@pytest.mark.parametrize("odd", ["", "no such id", "' OR 1=1 --", "*", "%", "x" * 10_000, "\x00", "\ud800"])
def test_an_id_that_is_not_there_is_not_found(store: Store, odd: str) -> None:
    kept = keep(store, "a")[0]
    before = state(store)
    for look in (store.memories.get, store.edges.of):
        with suppress(InvalidQuery):  # refused is as good as not found
            assert look(ME, [odd]) == []
    for call in (
        lambda: store.memories.update(ME, odd, {"text": "b"}),
        lambda: store.memories.set_status(ME, odd, Status.ARCHIVED, "x"),
        lambda: store.erasure.erase(ME, [odd]),
        lambda: store.edges.put(ME, [Edge(kept.id, odd, "x")]),
        lambda: store.edges.put(ME, [Edge(odd, kept.id, "x")]),
        lambda: store.memories.versions(ME, odd),
        lambda: store.memories.status_history(ME, odd),
    ):
        with pytest.raises((NotFound, InvalidContent, InvalidQuery, ContentTooLarge)):
            call()
    assert state(store) == before


def test_a_refused_call_does_not_spoil_the_audit_trail(store: Store) -> None:
    with pytest.raises(EngramError):
        store.memories.update(ME, "\ud800", {"text": "b"})
    assert store.audit.select(ME, limit=5)


# ── links ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_links_are_seen_from_both_ends(store: Store, clock: HandClock) -> None:
    a, b, c = keep(store, "a", "b", "c")
    assert store.edges.put(ME, [Edge(a.id, b.id, "supports", 0.5, 0.25), Edge(b.id, c.id, "leads to")]) == 2
    ab = Edge(a.id, b.id, "supports", 0.5, 0.25, clock.now())
    bc = Edge(b.id, c.id, "leads to", 1.0, 1.0, clock.now())
    assert store.edges.of(ME, [a.id]) == [ab]
    assert sorted(store.edges.of(ME, [b.id]), key=lambda e: e.kind) == [bc, ab]
    assert store.edges.of(ME, [c.id]) == [bc]
    assert len(store.edges.of(ME, [a.id, b.id, c.id])) == 2
    assert store.edges.of(ME, []) == []


def test_a_link_made_again_is_the_same_link_with_new_weights(store: Store) -> None:
    a, b = keep(store, "a", "b")
    store.edges.put(ME, [Edge(a.id, b.id, "near", 0.1)])
    store.edges.put(ME, [Edge(a.id, b.id, "near", 0.9), Edge(a.id, b.id, "far", 0.2), Edge(b.id, a.id, "near", 0.3)])
    assert sorted((e.source, e.kind, e.weight) for e in store.edges.of(ME, [a.id])) == sorted(
        [(a.id, "near", 0.9), (a.id, "far", 0.2), (b.id, "near", 0.3)]
    )
    assert store.memories.counts(ME).edges == 3


def test_linking_is_all_or_none(store: Store) -> None:
    a, b = keep(store, "a", "b")
    before = state(store)
    with pytest.raises(NotFound):
        store.edges.put(ME, [Edge(a.id, b.id, "near"), Edge(a.id, "no such id", "near")])
    assert state(store) == before
    assert store.edges.put(ME, []) == 0


def test_a_date_of_a_link_is_kept(store: Store) -> None:
    a, b = keep(store, "a", "b")
    long_ago = datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    store.edges.put(ME, [Edge(a.id, b.id, "near", created_at=long_ago)])
    assert store.edges.of(ME, [a.id])[0].created_at == long_ago


@pytest.mark.parametrize(
    "fields",
    [{"weight": math.nan}, {"weight": math.inf}, {"weight": "x"}, {"confidence": math.nan}, {"kind": "\ud800"}, {"kind": None},
     {"kind": ""}, {"kind": "x" * 100_000}, {"created_at": "yesterday"}],
)  # fmt: skip
def test_a_link_that_makes_no_sense_is_refused(store: Store, fields: dict[str, Any]) -> None:
    a, b = keep(store, "a", "b")
    before = state(store)
    with pytest.raises(EngramError) as caught:
        store.edges.put(ME, [Edge(a.id, b.id, "fine"), replace(Edge(a.id, b.id, "near"), **fields)])
    assert caught.value.code.startswith(("E2", "E4"))
    assert state(store) == before


# ── vectors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_vectors_come_back_byte_for_byte_by_space(store: Store) -> None:
    a, b = keep(store, "a", "b")
    assert store.vectors.put(ME, "words", {a.key: vector(1, 2), b.key: vector(3, 4)}, model="m", dimensions=2) == 2
    assert store.vectors.put(ME, "faces", {a.key: vector(9)}, model="f", dimensions=1) == 1
    assert dict(store.vectors.visible(ME, "words")) == {a.key: vector(1, 2), b.key: vector(3, 4)}
    assert dict(store.vectors.visible(ME, "faces")) == {a.key: vector(9)}
    assert list(store.vectors.visible(ME, "no such space")) == []
    assert store.memories.counts(ME).embeddings == 2


def test_a_vector_is_replaced_by_the_next_one(store: Store) -> None:
    a = keep(store, "a")[0]
    for number in (1, 2):
        assert store.vectors.put(ME, "s", {a.key: vector(number)}, model="m", dimensions=1) == 1
    assert list(store.vectors.visible(ME, "s")) == [(a.key, vector(2))]


def test_vectors_go_when_the_words_change_and_only_then(store: Store) -> None:
    a, b = keep(store, "a", "b")
    store.vectors.put(ME, "s", {a.key: vector(1), b.key: vector(2)}, model="m", dimensions=1)
    store.memories.update(ME, b.id, {"importance": 0.9, "text": "b"})
    store.memories.set_status(ME, b.id, Status.CHALLENGED, "")
    store.memories.update(ME, a.id, {"text": "other words"})
    assert dict(store.vectors.visible(ME, "s", where=EVERY)) == {b.key: vector(2)}


@pytest.mark.parametrize(
    ("model", "dimensions", "numbers"),
    [
        ("m", 3, (1, 2, 3)),
        ("other", 2, (1, 2)),
        ("m", 2, (1, 2, 3)),
        ("m", 2, (1,)),
        ("m", 2, ()),
        ("m", 0, ()),
        ("m", -2, (1, 2)),
    ],
)
def test_a_space_holds_one_model_and_one_length(store: Store, model: str, dimensions: int, numbers: tuple[int, ...]) -> None:
    a, b = keep(store, "a", "b")
    store.vectors.put(ME, "s", {a.key: vector(1, 2)}, model="m", dimensions=2)
    before = state(store)
    with pytest.raises(DimensionMismatch):
        store.vectors.put(ME, "s", {b.key: vector(*numbers)}, model=model, dimensions=dimensions)
    assert state(store) == before
    assert dict(store.vectors.visible(ME, "s")) == {a.key: vector(1, 2)}


@pytest.mark.parametrize(("dimensions", "numbers"), [(2, (1, 2, 3)), (3, (1,)), (0, ()), (-1, (1,))])
def test_the_first_vector_of_a_space_has_the_length_it_claims(store: Store, dimensions: int, numbers: tuple[int, ...]) -> None:
    a = keep(store, "a")[0]
    with pytest.raises(DimensionMismatch):
        store.vectors.put(ME, "s", {a.key: vector(*numbers)}, model="m", dimensions=dimensions)
    assert store.vectors.put(ME, "s", {a.key: vector(1, 2)}, model="m", dimensions=2) == 1


def test_vectors_of_memories_that_are_not_there_are_left_out(store: Store) -> None:
    a = keep(store, "a")[0]
    assert store.vectors.put(ME, "s", {a.key: vector(1), 10**9: vector(2), -1: vector(3)}, model="m", dimensions=1) == 1
    assert store.vectors.put(ME, "s", {}, model="m", dimensions=1) == 0


def test_a_new_vector_is_in_the_change_log(store: Store) -> None:
    """V8: other processes' vector indexes follow the change log, and would not hear of it otherwise."""
    a = keep(store, "a")[0]
    seen = store.changes.since(OWNER, after=0, limit=99)[-1].seq
    store.vectors.put(ME, "s", {a.key: vector(1)}, model="m", dimensions=1)
    assert [change.key for change in store.changes.since(OWNER, after=seen, limit=9)] == [a.key]


def test_who_may_not_write_cannot_take_a_space(store: Store) -> None:
    guest = replace(ME, may_write=False)
    a = keep(store, "a")[0]
    with pytest.raises(AccessDenied):
        store.vectors.put(guest, "s", {a.key: vector(6)}, model="guest's", dimensions=1)
    assert store.vectors.put(ME, "s", {a.key: vector(1, 2)}, model="m", dimensions=2) == 1


def test_vectors_are_narrowed_as_pages_are(store: Store) -> None:
    a, b = keep(store, "a", "b")
    store.vectors.put(ME, "s", {a.key: vector(1), b.key: vector(2)}, model="m", dimensions=1)
    store.memories.set_status(ME, a.id, Status.ARCHIVED, "")
    assert dict(store.vectors.visible(ME, "s")) == {b.key: vector(2)}
    assert dict(store.vectors.visible(ME, "s", where=Filter(statuses=(Status.ARCHIVED,)))) == {a.key: vector(1)}


def test_vectors_left_half_read_hold_nothing_up(store: Store) -> None:
    kept = keep(store, *(f"number {i}" for i in range(50)))
    store.vectors.put(ME, "s", {m.key: vector(1) for m in kept}, model="m", dimensions=1)
    for _ in range(20):
        half = store.vectors.visible(ME, "s")
        next(half)
        del half
    new = keep(store, "new")[0]
    assert store.memories.get(ME, [new.id]) == [new]


# ── figures and logs ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_counts(store: Store) -> None:
    a, b = keep(store, "a", "b", kind=Kind.FACT)
    c = keep(store, "c")[0]
    store.memories.set_status(ME, c.id, Status.ARCHIVED, "")
    store.edges.put(ME, [Edge(a.id, b.id, "near")])
    for space in ("one", "two"):
        store.vectors.put(ME, space, {a.key: vector(1)}, model="m", dimensions=1)
    counts = store.memories.counts(ME)
    assert (counts.memories, counts.edges, counts.embeddings) == (3, 1, 1)
    assert (counts.by_kind, counts.by_status) == ({"fact": 2, "proposition": 1}, {"active": 2, "archived": 1})


def test_the_change_log_tells_each_change_once_in_order(store: Store) -> None:
    a, b = keep(store, "a", "b")
    store.memories.update(ME, a.id, {"text": "c"})
    store.memories.set_status(ME, b.id, Status.ARCHIVED, "")
    store.edges.put(ME, [Edge(a.id, b.id, "near")])
    store.erasure.erase(ME, [a.id])
    log = store.changes.since(OWNER, after=0, limit=99)
    assert [(c.key, c.what) for c in log[:4]] == [(a.key, "add"), (b.key, "add"), (a.key, "update"), (b.key, "update")]
    assert {(c.key, c.what) for c in log[4:6]} == {(a.key, "relate"), (b.key, "relate")}
    assert (log[-1].key, log[-1].what) == (a.key, "erase")
    assert [c.seq for c in log] == sorted({c.seq for c in log})
    assert store.changes.since(OWNER, after=log[2].seq, limit=2) == log[3:5]
    assert store.changes.since(OWNER, after=log[-1].seq, limit=9) == []


def test_the_change_log_is_the_owners(store: Store) -> None:
    keep(store, "a")
    for role in (Role.GUEST, Role.AGENT, Role.ORCHESTRATOR):
        with pytest.raises(AccessDenied):
            store.changes.since(replace(ME, role=role), after=0, limit=9)


def test_the_audit_trail_tells_writes_reads_and_refusals_without_words(store: Store) -> None:
    kept = keep(store, "the canary sings")[0]
    found(store, "canary")
    store.memories.get(ME, [kept.id])
    with pytest.raises(NotFound):
        store.erasure.erase(Reader(Scope(agent="zoe")), [kept.id])
    trail = store.audit.select(OWNER, limit=99)
    assert [e.operation for e in trail] == ["erase", "get", "fetch", "search", "add"]
    assert [e.ok for e in trail] == [False, True, True, True, True]
    assert trail[-1].subject == trail[1].subject == kept.id
    assert {e.scope.agent for e in trail} == {"rex", "zoe"}
    assert "canary" not in repr(trail)
    assert [e.operation for e in store.audit.select(ME, limit=99) if e.operation != "audit"] == ["get", "fetch", "search", "add"]
    assert len(store.audit.select(OWNER, limit=2)) == 2


# ── what cannot be kept ────────────────────────────────────────────────────────────────────────────────────────────────

FAR = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-14)))
LONG_AGO = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))

BAD: dict[str, dict[str, Any]] = {
    "empty": {"text": ""},
    "blank": {"text": " \t\n\u2003"},
    "one byte too long": {"text": "x" * 8193},
    "too long in bytes, not in characters": {"text": "é" * 4097},
    "half a character": {"text": "fine \ud83d"},
    "summary too long": {"summary": "x" * 513},
    "key fact too long": {"key_fact": "x" * 513},
    "tag too long": {"tag": "é" * 300},
    "half a character in the tag": {"tag": "\udc00"},
    "half a character in the category": {"category": "\ud800"},
    "category without end": {"category": "x" * 100_000},
    "half a character in the id": {"id": "\ud800"},
    "id without end": {"id": "x" * 100_000},
    "half a character in an attribute": {"attributes": {"a": "\ud800"}},
    "half a character in an attribute's name": {"attributes": {"\ud800": "a"}},
    "attribute without end": {"attributes": {"a": "x" * 100_000}},
    "attribute's name without end": {"attributes": {"x" * 100_000: "a"}},
    "attributes without end": {"attributes": {f"a{i}": "x" * 500 for i in range(10_000)}},
    "half a character in the scope": {"scope": Scope(agent="rex", user="\ud800")},
    "importance is no number": {"importance": math.nan},
    "importance has no end": {"importance": math.inf},
    "importance has no beginning": {"importance": -math.inf},
    "confidence is no number": {"confidence": math.nan},
    "strength is no number": {"strength": math.nan},
    "text is None": {"text": None},
    "text is bytes": {"text": b"hello"},
    "text is a number": {"text": 7},
    "summary is None": {"summary": None},
    "category is None": {"category": None},
    "kind is a word": {"kind": "no such kind"},
    "kind is None": {"kind": None},
    "source is a word": {"source": "no such source"},
    "status is a word": {"status": "no such status"},
    "importance is text": {"importance": "high"},
    "importance is None": {"importance": None},
    "pinned is a word": {"pinned": "perhaps"},
    "accesses without end": {"accesses": 2**70},
    "accesses is None": {"accesses": None},
    "time is text": {"happened_at": "yesterday"},
    "time is a number": {"happened_at": 1.5},
    "scope is a word": {"scope": "rex"},
    "scope is None": {"scope": None},
    "scope holds a number": {"scope": Scope(agent="rex", user=7)},  # type: ignore[arg-type]
    "attributes are None": {"attributes": None},
    "attributes are a list": {"attributes": ["a"]},
    "attribute is a number": {"attributes": {"a": 1}},
    "attribute's name is a number": {"attributes": {1: "a"}},
}


@pytest.mark.parametrize("why", BAD)
def test_what_cannot_be_kept_is_refused_by_name_and_takes_its_batch_with_it(store: Store, why: str) -> None:
    before = state(store)
    bad = Memory(**{"text": "fine", "scope": ME.scope} | BAD[why])
    with pytest.raises(EngramError) as caught:
        store.memories.add(ME, [draft("the canary sings"), bad, draft("after")])
    assert caught.value.code.startswith("E4")
    assert "canary" not in str(caught.value)
    assert state(store) == before
    keep(store, "works on")
    assert [m.text for m in store.memories.page(ME, limit=9)] == ["works on"]


@pytest.mark.parametrize("why", [why for why, fields in BAD.items() if not fields.keys() & {"id", "scope", "status"}])
def test_what_cannot_be_kept_does_not_come_in_by_an_update(store: Store, why: str) -> None:
    kept = keep(store, "the canary sings")[0]
    before = state(store)
    with pytest.raises(EngramError) as caught:
        store.memories.update(ME, kept.id, {"pinned": True} | BAD[why])
    assert caught.value.code.startswith("E4")
    assert "canary" not in str(caught.value)
    assert state(store) == before
    assert store.memories.get(ME, [kept.id]) == [kept]


@pytest.mark.parametrize("status", ["archived!", None, 7])
def test_a_status_that_there_is_not_is_refused(store: Store, status: Any) -> None:
    kept = keep(store, "a")[0]
    with pytest.raises(EngramError):
        store.memories.set_status(ME, kept.id, status, "reason")
    assert list(store.memories.page(ME, limit=9)) == [kept]


@pytest.mark.parametrize("reason", ["\ud800", "x" * 1_000_000, None])
def test_a_reason_that_cannot_be_kept_is_refused(store: Store, reason: Any) -> None:
    kept = keep(store, "a")[0]
    with pytest.raises(EngramError) as caught:
        store.memories.set_status(ME, kept.id, Status.ARCHIVED, reason)
    assert caught.value.code.startswith("E4")
    assert store.memories.get(ME, [kept.id]) == [kept]


@pytest.mark.parametrize("first", ["same", "there already"])
def test_an_id_is_given_once(store: Store, first: str) -> None:
    keep(store, "before", id="there already")
    before = state(store)
    with pytest.raises(EngramError) as caught:
        store.memories.add(ME, [draft("a", id=first), draft("b", id="same")])
    assert "safe to try again" not in str(caught.value)
    assert state(store) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.memories.get(ME, [7]),
        lambda store: store.memories.get(ME, ["\ud800"]),
        lambda store: store.memories.fetch(ME, [2**70]),
        lambda store: store.memories.fetch(ME, ["x"]),
        lambda store: store.text.search(ME, ["\ud800"], limit=5),
        lambda store: store.text.search(ME, [7], limit=5),
        lambda store: store.memories.page(ME, limit=5, where=Filter(categories=("\ud800",))),
        lambda store: store.memories.page(ME, limit=5, where=Filter(attributes={"a": "\ud800"})),
        lambda store: list(store.vectors.visible(ME, "\ud800")),
        lambda store: store.changes.since(OWNER, after=2**70, limit=5),
        lambda store: store.changes.since(OWNER, after="x", limit=5),
    ],
)
def test_a_question_that_makes_no_sense_gets_nothing_or_a_refusal(store: Store, call: Callable[[Store], Any]) -> None:
    keep(store, "a")
    try:
        assert len(call(store)) == 0
    except EngramError as error:
        assert error.code.startswith(("E2", "E4"))  # noqa: PT017  an answer of nothing is as good


def test_the_longest_memory_fits(store: Store) -> None:
    longest = keep(store, "é" * 4096, summary="s" * 512, key_fact="k" * 512, tag="t" * 512, attributes={"a": "v" * 512})[0]
    assert store.memories.get(ME, [longest.id]) == [longest]
    newer = store.memories.update(ME, longest.id, {"text": "x" * 8192})
    assert store.memories.get(ME, [longest.id]) == [newer]


@pytest.mark.parametrize("moment", [datetime(1, 1, 1), datetime(9999, 12, 31), datetime(2026, 3, 4, 5), datetime(1969, 7, 20)])
def test_a_naive_time_is_taken_as_utc_and_told_as_utc(store: Store, moment: datetime) -> None:
    kept = keep(store, "a", happened_at=moment, learned_at=moment)[0]
    again = store.memories.get(ME, [kept.id])[0]
    assert again.happened_at == again.learned_at == moment.replace(tzinfo=UTC)
    assert kept == again


@pytest.mark.parametrize("moment", [FAR, LONG_AGO, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar_can_be_written_and_read(store: Store, moment: datetime) -> None:
    kept = keep(store, "a", happened_at=moment, valid_until=moment)[0]
    again = store.memories.get(ME, [kept.id])[0]
    assert again.happened_at is not None
    assert abs(again.happened_at.replace(tzinfo=None) - moment.replace(tzinfo=None)) <= timedelta(hours=14)
    assert list(store.memories.page(ME, limit=5, where=Filter(since=moment))) == [again]


# ── any Unicode ────────────────────────────────────────────────────────────────────────────────────────────────────────

WORDS = st.text(max_size=40)
ODD = st.sampled_from(
    ["", "a", "A", " ", "a\0b", "a'b", 'a"b', "ä", "a\u0308", "%", "_", "*", "日本", "\u202e", "\U0010ffff", "\n"]
)
PLACES = st.builds(Scope, *[ODD | st.text(max_size=5)] * 5)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.none() | st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC) | OFFSETS)
SHARES = st.floats(0, 1)
MEMORIES = st.builds(
    Memory,
    text=st.text(min_size=1, max_size=60).filter(str.strip),
    kind=st.sampled_from(Kind),
    category=WORDS,
    summary=WORDS,
    key_fact=WORDS,
    tag=WORDS,
    scope=PLACES,
    source=st.sampled_from(Source),
    happened_at=MOMENTS,
    happened_until=MOMENTS,
    valid_from=MOMENTS,
    valid_until=MOMENTS,
    learned_at=MOMENTS,
    importance=SHARES,
    confidence=SHARES,
    strength=st.floats(0, 1e6),
    accesses=st.integers(0, 2**40),
    accessed_at=MOMENTS,
    status=st.sampled_from(Status),
    pinned=st.booleans(),
    attributes=st.dictionaries(ODD | st.text(max_size=10), ODD | WORDS, max_size=5),
)


@each_store
@examples(30)
@given(drafts=st.lists(MEMORIES, min_size=1, max_size=4), reason=WORDS, after=MEMORIES)
def test_a_memory_comes_back_as_it_went_in(kind: str, drafts: list[Memory], reason: str, after: Memory) -> None:
    with fresh(kind) as store:
        kept = store.memories.add(OWNER, drafts)
        for before, now in zip(drafts, kept, strict=True):
            given_by_store = {"id": now.id, "key": now.key, "updated_at": now.updated_at}
            assert now == replace(before, **given_by_store, learned_at=before.learned_at or now.learned_at)
        assert store.memories.get(OWNER, [m.id for m in kept]) == kept
        assert store.memories.fetch(OWNER, [m.key for m in kept]) == kept
        assert walk(store, OWNER, limit=2) == kept[::-1]
        for memory in kept:
            narrowed = Filter(statuses=(), categories=(memory.category,), attributes=memory.attributes)
            assert memory in walk(store, OWNER, limit=9, where=narrowed)
            assert memory in store.memories.page(Reader(memory.scope, Policy.OWN), limit=9, where=EVERY).memories
        names = ("text", "category", "summary", "key_fact", "tag", "attributes", "happened_at", "importance", "source", "kind")
        new = store.memories.update(OWNER, kept[0].id, {name: getattr(after, name) for name in names})
        assert store.memories.get(OWNER, [new.id]) == [new]
        assert [getattr(new, name) for name in names] == [getattr(after, name) for name in names]
        assert [v.text for v in store.memories.versions(OWNER, new.id)] == ([kept[0].text] if new.text != kept[0].text else [])
        store.memories.set_status(OWNER, new.id, after.status, reason)
        assert [c.reason for c in store.memories.status_history(OWNER, new.id)] == (
            [reason] if after.status is not new.status else []
        )


# ── scope in every verb ────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = st.sampled_from(["", "", "a", "b", "a\0", "%"])
NEAR_SCOPES = st.builds(Scope, NAMES, NAMES, NAMES, NAMES, NAMES)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Reader, list[Scope]]:
    """A reader, and memories around it: some with one of its places taken away, changed or added, some anywhere."""
    reader = draw(st.builds(Reader, NEAR_SCOPES, st.sampled_from(Policy), st.sampled_from(Role), st.booleans()))
    beside = st.builds(
        lambda dimension, name: replace(reader.scope, **{dimension: name}),
        st.sampled_from(["project", "squad", "agent", "channel", "user"]),
        NAMES,
    )
    return reader, draw(st.lists(beside | NEAR_SCOPES | st.just(reader.scope), min_size=1, max_size=6))


def populate(store: Store, scopes: list[Scope]) -> list[Memory]:
    """A memory in each scope, with a vector, an earlier wording, a status change, and links to all others."""
    kept = store.memories.add(OWNER, [Memory(text=f"first wording{i}", scope=scope) for i, scope in enumerate(scopes)])
    for i, memory in enumerate(kept):
        store.memories.update(OWNER, memory.id, {"text": f"shared own{i}"})
        store.memories.set_status(OWNER, memory.id, Status.CHALLENGED, f"reason{i}")
        store.memories.set_status(OWNER, memory.id, Status.ACTIVE, "back")
    store.edges.put(OWNER, [Edge(a.id, b.id, "near") for a, b in itertools.permutations(kept, 2)])
    store.vectors.put(OWNER, "s", {m.key: vector(i) for i, m in enumerate(kept)}, model="m", dimensions=1)
    return store.memories.get(OWNER, [m.id for m in kept])


@each_store
@examples(25)
@given(world=worlds())
def test_no_verb_shows_what_is_outside_and_each_shows_what_is_inside(kind: str, world: tuple[Reader, list[Scope]]) -> None:
    reader, scopes = world
    with fresh(kind) as store:
        kept = populate(store, scopes)
        ids, keys = [m.id for m in kept], [m.key for m in kept]
        looks: list[Callable[[], Any]] = [
            lambda: walk(store, reader, limit=2),
            lambda: store.memories.get(reader, ids),
            lambda: store.memories.fetch(reader, keys),
            lambda: store.text.search(reader, ["shared"], limit=99),
            lambda: list(store.vectors.visible(reader, "s")),
            lambda: store.edges.of(reader, ids),
            lambda: store.memories.counts(reader),
            lambda: store.memories.versions(reader, ids[0]),
            lambda: store.memories.status_history(reader, ids[0]),
        ]
        if refused(reader):
            for look in looks:
                with pytest.raises(AccessDenied):
                    look()
            return
        inside = [m for m in kept if sees(reader, m.scope)]
        shown = {m.id for m in inside}
        assert looks[0]() == inside[::-1]
        assert looks[1]() == looks[2]() == inside
        assert {hit.key for hit in looks[3]()} == {key for key, _ in looks[4]()} == {m.key for m in inside}
        assert {(e.source, e.target) for e in looks[5]()} == set(itertools.permutations(shown, 2))
        counts = looks[6]()
        assert (counts.memories, counts.edges, counts.embeddings) == (len(inside), len(inside) * (len(inside) - 1), len(inside))
        assert sum(counts.by_kind.values()) == sum(counts.by_status.values()) == len(inside)
        for i, memory in enumerate(kept):
            assert bool(store.text.search(reader, [f"own{i}"], limit=9)) is (memory.id in shown)
            assert {e.source for e in store.edges.of(reader, [memory.id])} <= shown
            if memory.id in shown:
                assert [v.text for v in store.memories.versions(reader, memory.id)] == [f"first wording{i}"]
                assert [c.reason for c in store.memories.status_history(reader, memory.id)] == [f"reason{i}", "back"]
            else:
                for look in (store.memories.versions, store.memories.status_history):
                    with pytest.raises(NotFound):
                        look(reader, memory.id)


@each_store
@examples(25)
@given(world=worlds())
def test_no_verb_changes_what_is_outside_and_each_changes_what_is_inside(kind: str, world: tuple[Reader, list[Scope]]) -> None:
    reader, scopes = world
    with fresh(kind) as store:
        kept = populate(store, scopes)
        mine = Memory(text="anchor", scope=reader.scope)
        for memory in kept:
            twin = store.memories.add(OWNER, [Memory(text="twin", scope=memory.scope)])[0]
            allowed = not refused(reader) and may_change(reader, memory.scope)
            tries: list[Callable[[], Any]] = [
                lambda memory=memory: store.memories.add(reader, [Memory(text="new", scope=memory.scope)]),
                lambda memory=memory: store.memories.update(reader, memory.id, {"text": "changed"}),
                lambda memory=memory: store.memories.set_status(reader, memory.id, Status.ARCHIVED, "gone"),
                lambda memory=memory, twin=twin: store.edges.put(reader, [Edge(memory.id, twin.id, "twin")]),
                lambda memory=memory: store.erasure.erase(reader, [memory.id]),
            ]
            for attempt in tries:
                before = state(store)
                if allowed:
                    attempt()
                    assert state(store) != before
                else:
                    with pytest.raises((AccessDenied, NotFound)):
                        attempt()
                    assert state(store) == before
            assert bool(store.memories.get(OWNER, [memory.id])) is not allowed
        if not refused(reader) and may_change(reader, reader.scope):
            anchor = store.memories.add(reader, [mine])[0]
            for memory in store.memories.get(
                OWNER, [m.id for m in kept]
            ):  # those that could not be erased are not linked to either
                for edge in (Edge(anchor.id, memory.id, "x"), Edge(memory.id, anchor.id, "x")):
                    with pytest.raises(NotFound):
                        store.edges.put(reader, [edge])


@each_store
@examples(25)
@given(world=worlds())
def test_vectors_are_put_only_where_the_reader_may_write(kind: str, world: tuple[Reader, list[Scope]]) -> None:
    reader, scopes = world
    with fresh(kind) as store:
        kept = populate(store, scopes)
        try:
            store.vectors.put(reader, "s", {m.key: vector(99) for m in kept}, model="m", dimensions=1)
        except AccessDenied:
            assert refused(reader) or not reader.may_write or reader.role is Role.GUEST
        stored = dict(store.vectors.visible(OWNER, "s"))
        for i, memory in enumerate(kept):
            allowed = not refused(reader) and may_change(reader, memory.scope)
            assert stored[memory.key] == vector(99 if allowed else i)


def test_one_scope_too_many_in_a_batch_keeps_nothing(store: Store) -> None:
    before = state(store)
    with pytest.raises(AccessDenied):
        store.memories.add(ME, [draft("mine"), Memory(text="not mine", scope=Scope(agent="zoe"))])
    assert state(store) == before


def test_what_is_not_visible_is_told_in_the_same_words_as_what_is_not_there(store: Store) -> None:
    hidden = store.memories.add(OWNER, [Memory(text="a", scope=Scope(agent="zoe"))])[0]
    mine = keep(store, "mine")[0]
    for verb in (
        lambda i: store.memories.update(ME, i, {"text": "b"}),
        lambda i: store.memories.set_status(ME, i, Status.ARCHIVED, ""),
        lambda i: store.erasure.erase(ME, [i]),
        lambda i: store.edges.put(ME, [Edge(mine.id, i, "x")]),
        lambda i: store.memories.versions(ME, i),
        lambda i: store.memories.status_history(ME, i),
    ):
        told = []
        for name in (hidden.id, "no such id"):
            with pytest.raises(EngramError) as caught:
                verb(name)
            told.append(str(caught.value))
        assert told[0] == told[1]


def test_an_id_that_others_use_is_not_told_by_adding_it(store: Store) -> None:
    """Whoever may give ids could otherwise ask whether one exists."""
    store.memories.add(OWNER, [Memory(text="a", id="hidden", scope=Scope(agent="zoe"))])
    keep(store, "mine", id="visible")
    told = []
    for name in ("hidden", "visible"):
        with pytest.raises(EngramError) as caught:
            keep(store, "b", id=name)
        told.append(str(caught.value))
    assert told[0] == told[1]
