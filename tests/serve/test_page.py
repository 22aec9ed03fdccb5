"""The Memory Palace without a browser: the content of each page and the effect of its forms. S5"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from serve.paged import Visitor, kept, signed_in, token
from serve.served import serving

from engram.engine import Engram
from engram.serve.page import dreams, settings
from engram.serve.page.graph import NARROW, WIDE, Canvas, GraphLink, GraphNode, draw
from engram.serve.page.html import ago
from engram.serve.page.request import PageRequest, Redirect
from engram.serve.page.sign_in import Session
from engram.settings import TABLE
from engram.types import Kind, Policy, Reader, Role, Scope, Sensitivity, Status


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with kept(tmp_path / "vault") as opened:
        yield opened


@pytest.fixture
def owner(mem: Engram) -> Iterator[Visitor]:
    with signed_in(mem) as visitor:
        yield visitor


# ── what the pages tell and do ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_page_has_a_search_field_counts_and_the_latest_memories(mem: Engram, owner: Visitor) -> None:
    assert "Nothing is remembered here yet" in owner.read("/ui")
    mem.remember("The harbour office closes at five")
    told = owner.read("/ui")
    assert told.index('name="q"') < told.index("closes at five")
    assert "<strong>1</strong> memory" in told
    assert "Recall answers by words and meaning" in told


def test_a_search_explains_hits_and_memories_left_out(mem: Engram, owner: Visitor) -> None:
    mem.remember("The API runs on Heroku in Frankfurt")
    other = mem.remember("Lemon trees need plenty of sunlight")
    told = owner.read(f"/ui/search?q=where+does+the+API+run&why={other.id}")
    assert '<div class="outcome answered"' in told
    for word in ("relevance", "accuracy", "freshness", "utility"):
        assert f'aria-label="{word} ' in told
    assert re.search(r"(words|vectors) #1", told)
    assert re.search(r'<div class="card" id="explained">.*Lemon trees.*badge stage (search|threshold)', told, re.DOTALL)
    assert "no memory of that id" in owner.read("/ui/search?q=API&why=01JUNKJUNKJUNKJUNKJUNKJUNK")
    nothing = owner.read("/ui/search?q=zygomorphic+quaternions")
    assert re.search(r'class="outcome (nothing_known|below_threshold)"', nothing)
    assert "0 answers" not in nothing


def test_feedback_takes_effect_on_the_next_search(mem: Engram, owner: Visitor) -> None:
    id = mem.remember("The API runs on Heroku in Frankfurt").id
    question = "where does the API run?"
    owner.read("/ui/search?q=API")
    back = owner.post(f"/ui/memory/{id}/feedback", helpful="0", query=question, **{"from": "search"})
    assert back.headers["location"].startswith("/ui/search?q=where+does+the+API+run%3F&done=unhelpful")
    assert f'id="m-{id}"' not in owner.read(back.headers["location"])
    assert mem.recall(question).hits == ()
    corrected = owner.post(f"/ui/memory/{id}/feedback", correction="The API runs on Fly in Amsterdam")
    assert "Fly in Amsterdam" in owner.read(corrected.headers["location"])
    assert [one.text for one in mem.list()] == ["The API runs on Fly in Amsterdam"]


def test_feedback_returns_to_the_search_with_its_filters(mem: Engram, owner: Visitor) -> None:
    id = mem.remember("The API runs on Fly, never on Heroku", category="principle").id
    mem.remember("The API runs on Heroku in Frankfurt")
    narrowed = "/ui/search?q=where+does+the+API+run&category=principle"
    form = re.search(rf'action="/ui/memory/{id}/feedback">(.*?)</form>', owner.read(narrowed), re.DOTALL)
    assert form is not None
    back = owner.post(f"/ui/memory/{id}/feedback", **dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1])))
    assert back.headers["location"].startswith(f"{narrowed}&done=helped")
    assert "Frankfurt" not in owner.read(back.headers["location"].partition("#")[0]).partition("Why not?")[0]


def test_the_list_of_memories_has_filters_and_pages(mem: Engram, owner: Visitor) -> None:
    for number in range(35):
        mem.remember(f"Number {number} of the ledger", happened_at=datetime(2025, 1, 1 + number % 28, tzinfo=UTC))
    mem.remember("Always test first", category="principle", attributes={"team": "web"})
    first = owner.read("/ui/memories")
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older is not None
    second = owner.read(older[1])
    shown = [set(re.findall(r'id="m-(\w+)"', page)) for page in (first, second)]
    assert [len(one) for one in shown] == [30, 6]
    assert not shown[0] & shown[1]
    ada = mem.as_reader(Reader(Scope(agent="ada"))).remember("Ada was here").id
    assert re.findall(r'id="m-(\w+)"', owner.read("/ui/memories?of=ada")) == [ada]
    for filters in ("layer=procedural", "category=principle", "attribute=team%3Dweb"):
        assert re.findall(r'id="m-(\w+)"', owner.read(f"/ui/memories?{filters}")) == [mem.list(category="principle")[0].id]
    assert len(re.findall(r'id="m-', owner.read("/ui/memories?since=2025-01-28&until=2025-01-28"))) == 1
    assert "Nothing fits" in owner.read("/ui/memories?kind=skill")
    assert owner.get("/ui/memories?kind=nonsense").status == 400
    assert "E2004" in owner.get("/ui/memories?kind=nonsense").body.decode()


def test_the_list_shows_challenged_memories_and_marks_them(mem: Engram, owner: Visitor) -> None:
    old = mem.remember("The standup is at nine").id
    mem.review(old, "challenge")
    listed = owner.read("/ui/memories")
    assert re.findall(r'id="m-(\w+)"', listed) == [old]
    assert '<span class="badge state">challenged</span>' in listed
    assert "Nothing fits" in owner.read("/ui/memories?status=active")
    assert owner.read("/ui/review").count(f'<a href="/ui/memory/{old}">') == 1
    mem.review(old, "invalidate")
    assert "done=retired" in owner.post("/ui/remember", text="the standup is at nine!").headers["location"]


def test_a_memory_is_shown_with_its_provenance(mem: Engram, owner: Visitor) -> None:
    said = mem.observe(user="My sister Carla Novak moved to Lisbon in March because she found work at Acme.").ids[0]
    other = mem.remember("Lisbon is warm").id
    mem.relate(said, other, "related_to")
    mem.update(other, text="Lisbon is warm in May")
    mem.forget(other, reason="too vague")
    told = owner.read(f"/ui/memory/{said}")
    assert "Four sizes" in told
    assert re.search(r"whole</span><span>\d+ tokens", told)
    assert "My sister Carla Novak moved to Lisbon" in told
    assert 'href="/ui/entity?name=Carla+Novak"' in told
    assert "Lisbon is warm" in told
    past = owner.read(f"/ui/memory/{other}")
    assert "active → archived" in past
    assert "too vague" in past
    assert "wording 1" in past


def test_a_memory_page_shows_the_strongest_links_and_the_latest_versions(mem: Engram, owner: Visitor) -> None:
    hub = mem.remember("The harbour is the hub").id
    for number in range(40):
        mem.relate(hub, mem.remember(f"Quay {number} of the harbour").id, weight=number / 40)
        mem.update(hub, text=f"The harbour is the hub of {number}")
    told = owner.read(f"/ui/memory/{hub}")
    assert len(re.findall(r">Quay \d+ of the harbour<", told)) == 24
    assert ">Quay 39 of" in told
    assert ">Quay 3 of" not in told
    assert "16 more" in told
    assert "hub of 38" in told
    assert "hub of 3 " not in told


def test_a_skill_shows_its_steps_and_an_episode_its_course(mem: Engram, owner: Visitor) -> None:
    for _ in range(3):
        with mem.episode("Deploy the harbour API") as course:
            course.event("ran", "build the image")
            course.event("ran", "push the image")
    skill, episode = mem.list(kind=Kind.SKILL)[0], mem.list(kind=Kind.EPISODE)[0]
    told = owner.read(f"/ui/memory/{skill.id}")
    assert told.index("build the image</li>") < told.index("push the image</li>")
    assert re.search(r"went well</span><span>\d+ of \d+ times", told)
    assert re.search(r"Its course.*success.*build the image.*push the image", owner.read(f"/ui/memory/{episode.id}"), re.DOTALL)


def test_a_memory_is_changed_pinned_forgotten_and_restored(mem: Engram, owner: Visitor) -> None:
    id = mem.remember("The API runs on Heroku").id
    page = owner.read(f"/ui/memory/{id}")
    since = re.search(r'name="since" value="([^"]+)"', page)
    assert since is not None
    changed = {"text": "The API runs on Fly", "importance": "0.9", "tier": "sensitive"}
    assert owner.post(f"/ui/memory/{id}/update", since=since[1], **changed).status == 303
    now = mem.get(id)
    assert now is not None
    assert (now.text, now.importance, now.tier, now.version) == ("The API runs on Fly", 0.9, Sensitivity.SENSITIVE, 2)
    late = owner.post(f"/ui/memory/{id}/update", text="somebody was faster", since=since[1])
    assert (late.status, "E1009" in late.body.decode()) == (409, True)
    owner.post(f"/ui/memory/{id}/pin", pinned="1")
    assert "Forget this?" in owner.read(f"/ui/memory/{id}/forget")
    owner.post(f"/ui/memory/{id}/forget", reason="old")
    forgotten = mem.get(id)
    assert forgotten is not None
    assert (forgotten.pinned, forgotten.status) == (True, Status.ARCHIVED)
    assert "Restore" in owner.read(f"/ui/memory/{id}")
    owner.post(f"/ui/memory/{id}/restore")
    owner.post(f"/ui/memory/{id}/flag", flagged="1")
    back = mem.get(id)
    assert back is not None
    assert (back.status, back.flagged) == (Status.ACTIVE, True)
    assert owner.post(f"/ui/memory/{id}/forget", erase="1").headers["location"] == "/ui/memories?done=erased"
    assert mem.get(id) is None


def test_an_entity_page_has_facts_and_memories(mem: Engram, owner: Visitor) -> None:
    mem.remember("Ada Novak works at Acme", happened_at=datetime(2025, 3, 1, tzinfo=UTC))
    mem.remember("Ada Novak met Bob Kranz in Aalborg", happened_at=datetime(2025, 5, 1, tzinfo=UTC))
    assert 'href="/ui/entity?name=Ada+Novak"' in owner.read("/ui/entities")
    told = owner.read("/ui/entity?name=Ada+Novak")
    assert re.search(r"works at</th><td><a [^>]*>acme", told, re.IGNORECASE)
    assert "Bob Kranz" in told
    assert told.index("May 2025") < told.index("March 2025")
    line = owner.read("/ui/timeline?about=Ada+Novak")
    assert line.index("March 2025") < line.index("May 2025")
    assert '<rect class="' in line
    assert owner.get("/ui/entity?name=Nobody").status == 404


def test_an_entity_page_takes_decisions_and_takes_them_back(mem: Engram, owner: Visitor) -> None:
    mem.remember("Ada Novak works at Acme")
    mem.remember("I met Carla Kranz at the harbour")
    owner.read("/ui/entity?name=Carla+Kranz")
    sent = owner.post("/ui/entity/decide", name="Carla Kranz", action="merge", other="Ada Novak", reason="a pen name")
    assert sent.headers["location"] == "/ui/entity?name=Ada+Novak&done=decided"
    told = owner.read("/ui/entity?name=Carla+Kranz")
    assert "I met Carla Kranz" in told
    assert "works at" in told
    assert "a pen name" in told
    [decision] = mem.entity_decisions()
    assert owner.post("/ui/entity/undo", id=decision.id).status == 303
    assert "works at" not in owner.read("/ui/entity?name=Carla+Kranz")


def test_a_graph_is_drawn_around_a_memory_or_an_entity(mem: Engram, owner: Visitor) -> None:
    one, two, three = (mem.remember(f"Ada Novak {what}") for what in ("met Bob Kranz", "paints", "sings"))
    mem.relate(one.id, two.id, "leads_to")
    mem.relate(two.id, three.id, "contradicts")
    around = owner.read(f"/ui/graph?memory={one.id}")
    assert f'data-key="{three.id}"' in around
    assert 'class="against"' in around
    assert "leads to" in around
    assert 'data-key="entity ada novak"' in owner.read("/ui/graph?entity=Ada+Novak")
    assert 'data-key="entity bob kranz"' in owner.read("/ui/graph")


@pytest.mark.parametrize(("canvas", "least"), [(WIDE, 20), (NARROW, 8)])
def test_a_drawing_is_the_same_each_time_and_its_labels_do_not_overlap(canvas: Canvas, least: int) -> None:
    nodes = [GraphNode(str(number), f"label of {number}", "", "", "semantic", 8.0, min(number, 2)) for number in range(42)]
    links = [GraphLink("0", str(number), "k") for number in range(1, 30)] + [
        GraphLink(str(n), str(n + 1), "k") for n in range(20, 41)
    ]
    drawing = draw(nodes, links, canvas)
    assert drawing == draw(nodes, links, canvas)
    assert all(0 < one.x < canvas.width and 0 < one.y < canvas.height for one in drawing.nodes)
    named = [one for one in drawing.nodes if one.named]
    assert len(named) >= least
    assert drawing.nodes[0].named, "the label of the centre is always shown"
    boxes = []
    for one in named:
        wide = len(one.label) * 6.7
        left = {"start": one.label_x, "end": one.label_x - wide, "middle": one.label_x - wide / 2}[one.anchor]
        assert left >= 0
        assert left + wide <= canvas.width
        boxes.append((left, one.label_y, left + wide))
    for at, (left, y, right) in enumerate(boxes):
        assert not [1 for low, other, high in boxes[:at] if low < right - 1 and left < high - 1 and abs(other - y) < 16]
    assert len(draw([nodes[0]], []).nodes) == 1


def test_the_review_page_lists_and_settles_what_needs_a_decision(mem: Engram, owner: Visitor) -> None:
    assert "Nothing waits for you" in owner.read("/ui/review")
    mem._vault.store.gaps.put(mem.reader, "when is the company party?")
    assert "when is the company party?" in owner.read("/ui/review")
    owner.post("/ui/remember", text="The company party is on 12 May")
    assert "company party?" not in owner.read("/ui/review")
    doubted = mem.remember("The garage code is 4711")
    mem.feedback(doubted.id, False)
    old, new = mem.remember("We keep the XML feed"), mem.remember("The feed of XML is dropped in May")
    mem.relate(new.id, old.id, "contradicts")
    marked = mem.remember("Mind the gap")
    mem.update(marked.id, flagged=True)
    told = owner.read("/ui/review")
    for words in ("garage code", "XML feed", "Mind the gap"):
        assert words in told
    assert (
        owner.post(f"/ui/memory/{old.id}/forget", reason="x", **{"from": "review"}).headers["location"].startswith("/ui/review")
    )
    owner.post(f"/ui/memory/{doubted.id}/feedback", helpful="1", **{"from": "review"})
    owner.post(f"/ui/memory/{marked.id}/flag", flagged="0", **{"from": "review"})
    told = owner.read("/ui/review")
    for words in ("garage code", "Against each other", "Mind the gap"):
        assert words not in told


def test_a_background_pass_is_tried_run_and_undone(tmp_path: Path) -> None:
    with kept(tmp_path / "words", words_only=True) as mem, signed_in(mem) as owner:
        _rests(mem, owner)


def _rests(mem: Engram, owner: Visitor) -> None:
    assert "has not rested yet" in owner.read("/ui/rest")
    for text in ("The API runs on Fly in Frankfurt", "The API runs on Fly in Frankfurt now"):
        mem.remember(text)
    tried = owner.post("/ui/rest/trial", verb="dream").body.decode()
    assert re.search(r"What a dream would change now.*merge: merged.*runs on Fly", tried, re.DOTALL)
    assert "has not rested yet" in owner.read("/ui/rest"), "a trial leaves nothing"
    assert owner.post("/ui/rest/run", verb="purge").status == 400
    assert owner.post("/ui/rest/run", verb="consolidate").headers["location"] == "/ui/rest?done=rested"
    assert len(mem.list()) == 1
    assert "1 merge: merged" in owner.read("/ui/rest")
    assert "Last at rest" in owner.read("/ui")
    owner.post("/ui/rest/undo", id=mem.dreams()[0].id)
    assert len(mem.list()) == 2
    assert "Take it back" not in owner.read("/ui/rest")


def test_a_pass_that_outlasts_a_request_is_resumed(tmp_path: Path) -> None:
    with kept(tmp_path / "words", words_only=True) as mem:
        for text in ("The API runs on Fly in Frankfurt", "The API runs on Fly in Frankfurt now"):
            mem.remember(text)
        asked = PageRequest(mem, Session("", ""), {}, {}, {"verb": "consolidate"}, timeout=1e-6)
        untried, cut = dreams.trial(asked), dreams.run(asked)
        assert isinstance(untried, Redirect)
        assert (untried.place, cut.place) == ("/ui/rest?done=untried", "/ui/rest?done=unfinished")
        mem.settings.set(dream=True)
        everything = replace(asked, mem=mem.as_reader(Reader(policy=Policy.ALL, role=Role.OWNER)))
        assert dreams.run(everything).place == "/ui/rest?done=goes_on"
        assert dreams.run(replace(asked, timeout=300.0)).place == "/ui/rest?done=rested"
        assert len(mem.list()) == 1
        with signed_in(mem) as owner:
            assert "it goes on from there" in owner.read(cut.place)
            assert "It goes on by itself" in owner.read("/ui/rest?done=goes_on")
            assert "engram dream --dry-run" in owner.read(untried.place)


def test_health_and_audit_show_no_memory_text_and_a_backup_is_made(mem: Engram, owner: Visitor) -> None:
    mem.remember("The xylophone is out of tune")
    mem.working.attend("Think of the release")
    assert re.search(r"Writing: open.*Think of the release", owner.read("/ui/health"), re.DOTALL)
    assert owner.post("/ui/health/backup").status == 303
    assert len(mem.backups()) == 1
    assert "Every page of the vault is whole" in owner.post("/ui/health/check").body.decode()
    trail = owner.read("/ui/audit?limit=200")
    assert ">add<" in trail
    only = owner.read("/ui/audit?limit=200&only=add")
    assert len(re.findall(r'<th scope="row">', only)) == 1
    assert "xylophone" not in trail + owner.read("/ui/health")


def test_a_changed_setting_takes_effect_or_the_page_names_what_overrides_it(
    mem: Engram, owner: Visitor, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.read("/ui/settings?find=recall_limit")
    assert "done=set&" in owner.post("/ui/settings", name="recall_limit", value="1").headers["location"]
    assert config_file.read_text() == "recall_limit = 1\n"
    for number in range(3):
        mem.remember(f"The API has {number} owners")
    assert len(mem.recall("who owns the API?").hits) <= 1
    assert "done=bent" in owner.post("/ui/settings", name="vector_weight", value="7").headers["location"]
    assert mem.settings.now.vector_weight == 1.0
    for name, value in (("recall_limit", "many"), ("turn_days", "many"), ("nonsense", "1")):
        refused = owner.post("/ui/settings", name=name, value=value)
        assert (refused.status, "E2004" in refused.body.decode()) == (400, True)
    told = owner.read("/ui/settings")
    for begin, topic in settings.TOPICS.items():
        assert begin in TABLE
        assert re.search(rf"<h2 [^>]*>{topic} ", told), topic
    assert "fixed by the program" in owner.read("/ui/settings?find=answer_grid_ms")
    monkeypatch.setenv("ENGRAM_REASON_CALLS", "7")
    assert "fixed by the environment" in owner.read("/ui/settings?find=reason_calls")


def test_settings_can_be_changed_only_in_a_local_session(mem: Engram) -> None:
    owners, agents = token(mem, "rex", role=Role.OWNER), token(mem, "rex")
    with serving(mem) as api:
        remote, agent = Visitor(api.port), Visitor(api.port)
        remote.sign_in(owners)
        agent.sign_in(agents)
        remote.read("/ui")
        assert "engram ui" in remote.read("/ui/settings")
        assert remote.post("/ui/settings", name="recall_limit", value="1").status == 403
        assert agent.get("/ui/settings").status == 403
        assert mem.settings.now.recall_limit == 50


def test_an_error_is_a_page_with_its_code_and_a_way_out(owner: Visitor) -> None:
    for path, status, code in (
        ("/ui/memory/01NOPE", 404, "E1008"),
        ("/ui/nowhere", 404, "E1008"),
        ("/ui/audit?limit=x", 400, "E2004"),
    ):
        got = owner.get(path)
        assert (got.status, got.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert code in got.body.decode()
        assert 'href="/ui"' in got.body.decode()


def test_ago_gives_the_largest_whole_unit() -> None:
    now = datetime(2026, 3, 4, 12, tzinfo=UTC)
    for moment, told in (
        (datetime(2026, 3, 4, 11, 59, 40, tzinfo=UTC), "just now"),
        (datetime(2026, 3, 4, 11, 58, tzinfo=UTC), "2 minutes ago"),
        (datetime(2026, 3, 3, 11, tzinfo=UTC), "1 day ago"),
        (datetime(2024, 1, 4, tzinfo=UTC), "2 years ago"),
        (datetime(2026, 3, 6, 13, tzinfo=UTC), "in 2 days"),
    ):
        assert ago(moment, now) == told
