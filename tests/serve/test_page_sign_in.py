"""The Memory Palace without a browser: signing in, sessions and visibility. S5"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hand_clock import HandClock
from patience import PATIENCE_S, wait_until
from serve.console import COMMAND
from serve.console import Engram as Console
from serve.paged import Visitor, every_page, kept, showing, signed_in, token
from serve.served import serving

from engram.engine import Engram
from engram.env import Env
from engram.serve.page.html import ASSETS
from engram.serve.page.sign_in import Sessions
from engram.types import Reader, Role, Scope

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7919*7907}}"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with kept(tmp_path / "vault") as opened:
        yield opened


@pytest.fixture
def owner(mem: Engram) -> Iterator[Visitor]:
    with signed_in(mem) as visitor:
        yield visitor


# ── who gets in ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_link_signs_in_once(mem: Engram) -> None:
    with showing(mem) as (port, link):
        stranger, first, second = Visitor(port), Visitor(port), Visitor(port)
        turned_away = stranger.get("/ui/memories?kind=fact")
        assert (turned_away.status, turned_away.headers["location"]) == (303, "/ui/sign-in?next=%2Fui%2Fmemories%3Fkind%3Dfact")
        assert first("HEAD", link).status == 401, "a look ahead does not use it up"
        entered = first.get(link)
        assert re.fullmatch(r"engram_\w{8}=[\w-]{43}; HttpOnly; Path=/ui; SameSite=strict", entered.headers["set-cookie"])
        assert "Keep something" in first.read("/ui")
        again = second.get(link)
        assert (again.status, second.cookies) == (401, {})
        assert "used already" in again.body.decode()
        assert second.get(link.replace("key=", "key=x")).status == 401


def test_a_session_ends_on_request_or_when_it_is_not_used(env: Env, clock: HandClock) -> None:
    sessions = Sessions(env, lambda: 1.0)
    kept, gone, old = (sessions.begin("Bearer t") for _ in range(3))
    sessions.end(gone)
    assert sessions.find(gone) is None
    for _ in range(3):
        clock.advance(1800)
        assert sessions.find(kept) is not None
    assert sessions.find(old) is None
    secret = sessions.invite("Bearer t")
    clock.advance(601)
    assert sessions.accept(secret) is None, "a link is good for ten minutes"


def test_a_token_signs_in_its_reader_until_it_is_revoked(mem: Engram) -> None:
    granted = mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT, writes=False)
    with serving(mem) as api:
        visitor = Visitor(api.port)
        assert visitor.sign_in("engram_wrong").status == 401
        assert visitor.cookies == {}
        entered = visitor.sign_in(granted.secret)
        assert (entered.status, entered.headers["location"]) == (303, "/ui")
        assert "reading only" in visitor.read("/ui")
        assert granted.secret not in visitor.read("/ui")
        mem.revoke(granted.token.id)
        assert visitor.get("/ui").headers["location"].startswith("/ui/sign-in")
        assert visitor.get("/ui/memories").status == 303


def test_signing_in_leads_to_no_other_site(mem: Engram) -> None:
    secret = token(mem, "rex")
    with serving(mem) as api:
        for elsewhere in ("https://evil.example/ui", "//evil.example/ui", "/ui/\\evil", "javascript:alert(1)", "/v1/memories"):
            got = Visitor(api.port)("POST", "/ui/sign-in", {"token": secret, "next": elsewhere})
            assert got.headers["location"] == "/ui", elsewhere
        inside = Visitor(api.port)("POST", "/ui/sign-in", {"token": secret, "next": "/ui/graph?entity=Ada"})
        assert inside.headers["location"] == "/ui/graph?entity=Ada"


def test_a_foreign_page_can_sign_nobody_in_or_out(mem: Engram) -> None:
    """Not even a page that may call the API can: it could sign a user in as itself and read what they write."""
    secret, friend = token(mem, "rex"), "http://friend.example"
    mem.settings.set(serve_origins=friend)
    with serving(mem) as api:
        for headers in ({"Origin": friend}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "cross-site", "Origin": friend}):
            visitor = Visitor(api.port)
            assert visitor("POST", "/ui/sign-in", {"token": secret}, **headers).status == 403, headers
            assert visitor.cookies == {}
            visitor.sign_in(secret)
            assert visitor("POST", "/ui/sign-out", {}, **headers).status == 403, headers
            assert visitor.get("/ui").status == 200


def test_signing_in_again_ends_the_earlier_session(mem: Engram) -> None:
    secret = token(mem, "rex")
    with serving(mem) as api:
        visitor = Visitor(api.port)
        visitor.sign_in(secret)
        before = Visitor(api.port, dict(visitor.cookies))
        visitor.sign_in(secret)
        assert (before.get("/ui").status, visitor.get("/ui").status) == (303, 200)


def test_the_repr_of_a_session_hides_its_secrets(env: Env) -> None:
    sessions = Sessions(env, lambda: 1.0)
    session = sessions.find(sessions.begin("Bearer owner"))
    assert session is not None
    assert repr(session) == "Session(local=False)"


def test_many_sessions_of_one_token_end_no_session_of_another(env: Env) -> None:
    sessions = Sessions(env, lambda: 1.0)
    owner = sessions.begin("Bearer owner")
    many = [sessions.begin("Bearer guest") for _ in range(300)]
    assert sessions.find(owner) is not None
    assert [sessions.find(one) is not None for one in (many[0], many[-1])] == [False, True]


def test_signing_out_ends_the_session(owner: Visitor) -> None:
    cookies = dict(owner.cookies)
    assert owner.post("/ui/sign-out").headers["location"] == "/ui/sign-in"
    assert Visitor(owner.port, cookies).get("/ui").status == 303


def test_a_form_without_the_csrf_secret_does_nothing(mem: Engram, owner: Visitor) -> None:
    owner.read("/ui")
    for form, headers in (
        ({"text": "planted"}, {}),
        ({"text": "planted", "csrf": "x"}, {}),
        ({"text": "planted", "csrf": owner.csrf}, {"Sec_Fetch_Site": "same-site"}),
        ({"text": "planted", "csrf": owner.csrf}, {"Origin": "http://evil.example"}),
        ({"text": "planted", "csrf": owner.csrf}, {"Host": "evil.example"}),
        ({"text": "planted", "csrf": owner.csrf}, {"Content_Type": "text/plain"}),
    ):
        assert owner("POST", "/ui/remember", form, **headers).status >= 400, (form, headers)
    assert len(mem.list()) == 0
    assert owner.post("/ui/remember", text="kept").status == 303
    assert [one.text for one in mem.list()] == ["kept"]


def test_every_page_forbids_framing_foreign_content_and_caching(mem: Engram, owner: Visitor) -> None:
    id = mem.remember("Ada Novak lives in Aalborg").id
    for path in (*every_page(id, "Ada"), "/ui/sign-in", "/ui/nowhere"):
        headers = owner.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';"), path
        assert "unsafe" not in policy
        assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store"), path
        assert headers["referrer-policy"] == "same-origin"
        for at in re.findall(r'(?:href|src|action)="([^"]*)"', owner.get(path).body.decode()):
            assert re.match(r"/ui\b|#", at), (path, at)
    for name, kind in ASSETS.items():
        got = Visitor(owner.port).get(f"/ui/assets/{name}")
        assert got.headers["content-type"].startswith(kind)
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", got.body.decode()), name
    assert owner.get("/ui/assets/../sessions.py").status == 404


# ── who sees what ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_token_of_one_agent_sees_nothing_of_another_on_any_page(mem: Engram) -> None:
    ada = mem.as_reader(Reader(Scope(agent="ada")))
    hers = ada.remember("Zqorvath Mulfrid lives in Aalborg", category="hersalone")
    other = ada.remember("Zqorvath Mulfrid keeps bees")
    ada.relate(hers.id, other.id, "contradicts")
    ada.feedback(other.id, False)
    secret = token(mem, "rex")
    with showing(mem) as (port, link):
        owner, rex = Visitor(port), Visitor(port)
        owner.get(link)
        rex.sign_in(secret)
        for path in every_page(hers.id, "Zqorvath"):
            told = rex.get(path).body.decode().lower()
            assert "mulfrid" not in told, path
            assert other.id.lower() not in told, path
        seen = [path for path in every_page(hers.id, "Zqorvath") if "mulfrid" in owner.get(path).body.decode().lower()]
        assert len(seen) > 12, "there is something to be seen"
        rex.read("/ui")
        for action, form in (
            ("update", {"text": "mine"}),
            ("pin", {"pinned": "1"}),
            ("forget", {}),
            ("forget", {"erase": "1"}),
            ("restore", {}),
            ("flag", {"flagged": "1"}),
            ("move", {"to": "down"}),
            ("relate", {"target": other.id}),
            ("feedback", {"helpful": "0"}),
            ("feedback", {"correction": "mine"}),
        ):
            assert rex.post(f"/ui/memory/{hers.id}/{action}", **form).status == 404, action
    kept = ada.get(hers.id)
    assert kept is not None
    assert replace(kept, accesses=0, accessed_at=None) == hers


def test_a_read_only_reader_is_offered_no_change_and_can_make_none(mem: Engram) -> None:
    id = mem.remember("The API runs on Fly").id
    secret = token(mem, "rex", role=Role.GUEST, writes=False)
    with serving(mem) as api:
        guest = Visitor(api.port)
        guest.sign_in(secret)
        for path in every_page(id, "API"):
            got = guest.get(path)
            assert got.status in (200, 403, 404), path
            assert not re.search(r'<form method="post" action="/ui/(?!sign-out)', got.body.decode()), path
        assert guest.get("/ui/settings").status == 403
        assert guest.get("/ui/audit").status == 403
        assert guest.post("/ui/remember", text="no").status == 403
    assert len(mem.list()) == 1


def test_a_token_gets_no_more_and_no_faster_from_the_pages_than_from_the_api(mem: Engram) -> None:
    secret = token(mem, "rex")
    mem.remember("The API runs on Heroku in Frankfurt")
    mem.settings.set(ask_per_minute=2)
    with showing(mem) as (port, link):
        owner, rex = Visitor(port), Visitor(port)
        owner.get(link)
        rex.sign_in(secret)
        assert " ms</dd>" in owner.read("/ui/search?q=API")
        for _ in range(2):
            assert " ms</dd>" not in rex.read("/ui/search?q=API")
        late = rex.get("/ui/search?q=API")
        assert (late.status, "E2003" in late.body.decode()) == (429, True)
        assert "Frankfurt" in rex.read("/ui/memories"), "what is no question goes on"
        assert owner.get("/ui/search?q=API").status == 200


def test_memory_text_is_always_escaped(mem: Engram, owner: Visitor) -> None:
    kept = mem.remember(HOSTILE, category="<b>bold</b>", attributes={"<i>": "<u>"})
    mem.update(kept.id, text=f"{HOSTILE} Ada Novak <script>")
    for path in every_page(kept.id, "%3Cscript%3Ealert(1)%3C/script%3E"):
        html = owner.get(path).body.decode()
        assert not re.search(r"<script(?! type=\"module\" src=\"/ui/assets/)|<img src=x|<b>|<i>|<u>", html), path
        assert "62615533" not in html, "no template is made of it"
    assert "<script>alert(1)</script>" in owner.read(f"/ui/memory/{kept.id}")


@pytest.mark.parametrize("said", ["%00", "%ff%fe", "-1", "nan", "2025-13-45", "..%2f", "a" * 3000])
def test_no_page_fails_by_its_query_parameters(mem: Engram, owner: Visitor, said: str) -> None:
    id = mem.remember("Ada Novak met Bob Kranz").id
    asked = "&".join(f"{name}={said}" for name in ("why", "since", "attribute", "cursor", "limit", "budget", "kind", "done"))
    for path in every_page(id, said):
        assert owner.get(f"{path}{'&' if '?' in path else '?'}{asked}").status < 500, path
    assert owner.get(f"/ui/memory/{said}").status in (400, 404)
    assert owner.post("/ui/remember", text=said).status < 500


# ── the command ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_engram_ui_serves_this_vault_until_it_is_interrupted(
    made: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made("--agent", "ada", "remember", "The harbour office closes at five")
    browser, given = tmp_path / "browser", tmp_path / "given"
    told = f'{{ echo "$1"; ls -l "$f" | cut -c1-10; cat "$f"; }} > {given}.part; mv {given}.part {given}'
    browser.write_text(f'#!/bin/sh\nf="${{1#file://}}"; {told}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    with subprocess.Popen([*COMMAND, "ui", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            address = json.loads("".join(iter(running.stdout.readline, "}\n")) + "}")["address"]
            port, _, link = address.removeprefix("http://127.0.0.1:").partition("/")
            wait_until(given.exists, "the browser was not started")
            argument, mode, page = given.read_text().split("\n", 2)
            assert (argument[:7], "key=" in argument, mode) == ("file://", False, "-rw-------")
            assert f"url={address}" in page
            visitor = Visitor(int(port))
            assert visitor.get(f"/{link}").status == 200
            assert "closes at five" in visitor.read("/ui"), "the owner sees the whole vault"
            running.terminate()
            assert running.wait(PATIENCE_S) is not None
            assert running.stderr is not None
            assert "Traceback" not in running.stderr.read()
        finally:
            if running.poll() is None:
                running.kill()
    assert not Path(argument.removeprefix("file://")).exists()


def test_engram_ui_names_the_missing_extra(made: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    refused = made("ui", "--no-open")
    assert refused.code == 1
    assert "engram-local[server]" in refused.err
