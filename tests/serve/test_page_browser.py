"""The Memory Palace in a real browser: signing in, searching, correcting, the keyboard and accessibility. S5

The browser is an installed Chromium: `ENGRAM_CHROMIUM`, else one on the PATH. Without one these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright
from serve.paged import kept, showing

from engram.engine import Engram

NAMED = os.environ.get("ENGRAM_CHROMIUM", "")  # read before a fixture clears the environment
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = shutil.which(NAMED) if NAMED else next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
"""
RULES = {"light": ["wcag2a", "wcag2aa", "wcag21aa"], "dark": ["color-contrast"]}
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> </textarea><b>x</b>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is here: install one, or name it in ENGRAM_CHROMIUM")


@dataclass
class Palace:
    """A signed-in page over a vault, with the errors that the browser logged."""

    page: Page
    mem: Engram
    base: str
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str = "") -> Page:
        self.page.goto(f"{self.base}/ui{path}")
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS.split())
        yield made
        made.close()


@pytest.fixture
def palace(browser: Browser, tmp_path: Path) -> Iterator[Palace]:
    with kept(tmp_path / "vault") as mem:
        furnish(mem)
        with showing(mem) as (port, link), closing(browser.new_context()) as context:
            page = context.new_page()
            found = Palace(page, mem, f"http://127.0.0.1:{port}")
            page.on("console", lambda told: found.complaints.append(told.text) if told.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: found.complaints.append(str(error)))
            page.goto(found.base + link)
            page.wait_for_url("**/ui")
            yield found
            assert found.complaints == []  # a breach of the policy is a complaint


def furnish(mem: Engram) -> None:
    api = mem.remember("The harbour API runs on Heroku in Frankfurt", importance=0.8)
    ada = mem.remember("Ada Novak leads the harbour team with Bob Kranz")
    mem.remember("Lemon trees need plenty of sunlight", category="preference")
    mem.remember("Always test the harbour API before a release", category="principle")
    mem.relate(ada.id, api.id, "owner_of")
    mem.feedback(mem.remember("The garage code is 4711").id, False)
    with mem.episode("Release the harbour API") as course:
        course.event("ran", "all the tests")


def id_of(mem: Engram, words: str) -> str:
    return next(one.id for one in mem.list(limit=50) if words in one.text)


def test_a_user_signs_in_searches_and_corrects_a_memory(palace: Palace) -> None:
    page = palace.page
    assert "key=" not in page.url
    page.keyboard.press("Tab")
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("where does the harbour API run?")
    page.keyboard.press("Enter")
    hit = page.locator(".hit").filter(has_text="Heroku")
    hit.locator(".why summary").click()
    expect(hit.locator(".signals")).to_contain_text("words")
    hit.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("it helped")
    helped = palace.mem.get(id_of(palace.mem, "Heroku"))
    assert helped is not None
    assert helped.helpful == 1
    hit.locator(".correct summary").click()
    hit.get_by_label("What is true instead").fill("The harbour API runs on Fly in Amsterdam")
    hit.get_by_role("button", name="It takes its place").click()
    expect(page.locator("h1")).to_have_text("The harbour API runs on Fly in Amsterdam")
    found = [hit.memory.text for hit in palace.mem.recall("where does the harbour API run?")]
    assert "The harbour API runs on Fly in Amsterdam" in found
    assert not [one for one in palace.mem.list() if "Heroku" in one.text]


def test_every_page_is_accessible_and_fits_a_telephone(palace: Palace) -> None:
    """axe reports nothing serious or critical, and nothing is wider than a telephone; the dark theme differs only in colours."""
    page, axe = palace.page, Axe()
    page.set_viewport_size({"width": 390, "height": 844})
    id = id_of(palace.mem, "Ada Novak")
    palace.mem.consolidate()
    for path in (
        "",
        f"/search?q=harbour+API&why={id_of(palace.mem, 'Lemon')}",
        "/memories",
        f"/memory/{id}",
        f"/memory/{id}/forget",
        "/entities",
        "/entity?name=Ada+Novak",
        f"/graph?memory={id}",
        "/graph",
        "/timeline?about=harbour",
        "/review",
        "/rest",
        "/health",
        "/audit",
        "/settings?find=weight",
        "/reason?q=who+leads+the+harbour+team",
        "/context?q=release",
        "/sign-in",
    ):
        palace.go(path)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for scheme, rules in RULES.items():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = axe.run(page, options={"runOnly": rules, "resultTypes": ["violations"]}).response["violations"]
            grave = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
            assert grave == [], (path, scheme)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path


def test_hostile_markup_in_a_memory_is_shown_as_text(palace: Palace) -> None:
    id = palace.mem.remember(HOSTILE).id
    for path in (f"/memory/{id}", "/memories", f"/search?q={quote(HOSTILE)}&why={id}", f"/graph?memory={id}"):
        page = palace.go(path)
        page.wait_for_load_state("networkidle")
        assert "owned" not in page.title(), path
        assert page.locator("main b, main img").count() == 0, path
    expect(palace.go(f"/memory/{id}").locator("h1")).to_have_text(HOSTILE)


def test_the_graph_can_be_used_with_the_keyboard(palace: Palace) -> None:
    page = palace.go(f"/graph?memory={id_of(palace.mem, 'Ada Novak')}")
    drawing, other = page.locator("svg.wide"), page.locator(f'.wide [data-key="{id_of(palace.mem, "Heroku")}"]')
    whole = drawing.get_attribute("viewBox")
    page.locator(".graph").focus()
    page.keyboard.press("+")
    assert drawing.get_attribute("viewBox") != whole
    page.keyboard.press("0")
    assert drawing.get_attribute("viewBox") == whole
    other.focus()
    assert "near" in (other.get_attribute("class") or "")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Heroku")


def test_a_graph_fits_a_telephone(palace: Palace) -> None:
    page = palace.page
    page.set_viewport_size({"width": 390, "height": 844})
    palace.go(f"/graph?memory={id_of(palace.mem, 'Ada Novak')}")
    expect(page.locator("svg.wide")).to_be_hidden()
    drawing, frame = page.locator("svg.narrow"), page.locator(".graph").bounding_box()
    assert frame is not None
    for node in drawing.locator(".node").all():
        box = node.bounding_box()
        assert box is not None
        assert box["x"] >= frame["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    whole = drawing.get_attribute("viewBox")
    page.get_by_role("button", name="Nearer").click()
    assert drawing.get_attribute("viewBox") != whole
    page.get_by_role("button", name="Whole").click()
    assert drawing.get_attribute("viewBox") == whole


def test_the_pages_work_without_scripts(palace: Palace, browser: Browser) -> None:
    with closing(browser.new_context(java_script_enabled=False)) as context:
        context.add_cookies(palace.page.context.cookies())
        page = context.new_page()
        page.goto(f"{palace.base}/ui/memories")
        page.get_by_label("Category").fill("preference")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".card")).to_have_count(1)
        page.locator(".card a").click()
        page.get_by_role("button", name="Pin", exact=True).click()
        expect(page.locator(".notice")).to_contain_text("Pinned")
        page.goto(f"{palace.base}/ui/graph")
        assert page.locator("svg.wide .node").count() >= 2
    assert [one.text for one in palace.mem.list() if one.pinned] == ["Lemon trees need plenty of sunlight"]


def test_a_setting_changed_in_the_browser_takes_effect(palace: Palace) -> None:
    page = palace.go("/settings?find=recall_limit")
    page.get_by_label("recall_limit").fill("1")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("in force")
    page = palace.go("/search?q=harbour+API")
    expect(page.locator(".hit")).to_have_count(1)
