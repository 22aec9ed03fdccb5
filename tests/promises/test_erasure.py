"""No word of an erased memory is left in any page, log or later backup, and its neighbours stay (V12)."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import ANY_STATUS, OWNER, SPACE, image, inside, open_vault, store_of, word

from engram.engine import Engram
from engram.errors import NotFound
from engram.types import Edge, Memory, Scope, Space, Status
from engram.values.query import JudgedQuestion


def traces(held: bytes, words: list[str]) -> list[str]:
    """Return those of the words that occur in the bytes, in UTF-8 or UTF-16, whole or as the text index cuts them."""
    found = set(re.findall(rb"zq[a-z]{8}", held))
    found |= {wide.replace(b"\0", b"") for wide in re.findall(rb"z\0q\0(?:[a-z]\0){8}", held)}
    return [one for one in words if one[:10].encode() in found]


def rich(mem: Engram, number: int, length: int) -> tuple[str, list[str]]:
    """Add one memory with words in every place that holds words; return its id and those words."""
    names = [word(number, f"{place}{length}") for place in ("text", "old", "summary", "value", "reason", "tag", "fact", "more")]
    text, old, summary, value, reason, tag, fact, more = names
    store = store_of(mem)
    draft = Memory(
        text=f"{old} " + " ".join(word(n, f"{number}-{length}") for n in range(length)),
        summary=summary,
        tag=tag,
        key_fact=fact,
        attributes={"place": value},
    )
    kept = store.memories.add(OWNER, [draft])[0]
    store.memories.update(OWNER, kept.id, {"text": f"{text} {more}"})
    store.memories.set_status(OWNER, kept.id, Status.ARCHIVED, reason)
    store.vectors.put(OWNER, SPACE, {kept.key: word(number, "vector").encode() * 16}, model="m", dimensions=220)
    asked = JudgedQuestion(
        words=word(number, "asked"), vector=word(number, "question").encode() * 16, space=Space(SPACE, "m", 220)
    )
    store.feedback.judge(OWNER, kept.id, False, asked)
    others = [word(number, "vector"), word(number, "question"), word(number, "asked")]
    return kept.id, [*names, *(word(n, f"{number}-{length}") for n in range(length)), *others]


def test_no_word_of_an_erased_memory_is_left_anywhere_and_its_neighbours_stay(path: Path) -> None:
    """V12: rows, text index, versions, reasons, attributes, vectors, free pages, the log, and a backup made later."""
    with open_vault(path) as mem:
        store = store_of(mem)
        lives = [rich(mem, number, length=number % 40 + 1) for number in range(60)]
        store.edges.put(OWNER, [Edge(a, b, "next") for (a, _), (b, _) in itertools.pairwise(lives)])
        doomed, kept = lives[::3], [life for number, life in enumerate(lives) if number % 3]
        report = mem.forget(*(one for one, _ in doomed), erase=True)
        assert report.counts["memories"] == len(doomed)
        assert [note for note in report.notes if "none is left" in note] == list(report.notes)
        erased = [each for _, names in doomed for each in names]
        assert traces(image(path), erased) == []
        backup = mem.backup()
        assert traces(image(path, database=backup.path), erased) == []
        for one, names in kept:
            memory = mem.get(one)
            assert memory is not None
            assert [hit.key for hit in store.text.search(OWNER, [names[0]], limit=3, where=ANY_STATUS)] == [memory.key]
        for _, names in doomed:
            assert store.text.search(OWNER, names, limit=3, where=ANY_STATUS) == []
        with inside(path) as connection:
            judged = {
                row[0] for row in connection.execute("SELECT m.id FROM feedback AS f LEFT JOIN memories AS m ON m.key = f.memory")
            }
        assert judged == {one for one, _ in kept}, "feedback on what was erased, or none on what was left"
        asked = [names[-2] for _, names in kept]
        assert traces(image(path), asked) == asked, "the vectors of questions are not where they are looked for"
        assert traces(image(path), [names[-1] for _, names in lives]) == [], "the words of a question were kept"
        ends = {end for edge in store.edges.of(OWNER, [one for one, _ in kept]) for end in (edge.source, edge.target)}
        assert ends == {one for one, _ in kept}, "a link to what was erased, or none where two were left"
    assert traces(image(path), erased) == []
    assert traces(image(path), [names[0] for _, names in kept]) != [], "the image shows nothing at all"


def test_copies_of_words_that_years_of_writing_left_in_pages_are_erased_too(path: Path) -> None:
    """V12: many rows of changing length make pages split, merge and leave copies behind; then half of them are erased."""
    dice = random.Random(3)
    with open_vault(path) as mem:
        store = store_of(mem)
        ids: dict[str, list[str]] = {}
        for number in range(500):
            names = [word(number, "a"), word(number, "b"), word(number, "c")]
            draft = Memory(
                text=f"{names[0]} " + "x" * dice.randrange(0, 900),
                attributes={"k": names[1]},
                scope=Scope(agent=f"a{number % 5}"),
            )
            kept = store.memories.add(OWNER, [draft])[0]
            ids[kept.id] = names
            if number % 3 == 0:
                one = dice.choice(list(ids))
                store.memories.update(OWNER, one, {"text": f"{ids[one][0]} {ids[one][2]} " + "y" * dice.randrange(0, 2500)})
        doomed = dice.sample(list(ids), 250)
        for start in range(0, len(doomed), 50):
            mem.forget(*doomed[start : start + 50], erase=True)
        erased = [each for one in doomed for each in ids[one]]
        left = traces(image(path), erased)
        assert left == [], f"{len(left)} of {len(erased)} erased words are still in the file"
        alive = [one for one in ids if one not in set(doomed)]
        assert len(store.memories.get(OWNER, alive)) == 250
        for one in alive[::10]:
            assert len(store.text.search(OWNER, [ids[one][0]], limit=3)) == 1


def test_erasing_a_memory_erases_all_its_earlier_wordings(path: Path) -> None:
    """V12: ten wordings of one memory."""
    with open_vault(path) as mem:
        names = [word(number, "wording") for number in range(10)]
        one = mem.remember(f"{names[0]} said").id
        for name in names[1:]:
            mem.update(one, text=f"{name} said")
        for number in range(30):
            mem.remember(f"{word(number, 'other')} said")
        mem.forget(one, erase=True)
        assert traces(image(path), names) == []
        with pytest.raises(NotFound):
            mem.versions(one)


def test_an_archived_memory_is_not_erased_and_an_erased_one_cannot_be_restored(path: Path) -> None:
    """V12: forgetting archives, erasing deletes."""
    with open_vault(path) as mem:
        archived = mem.remember(f"{word(0, 'archived')} said").id
        mem.forget(archived)
        assert traces(image(path), [word(0, "archived")]) != []
        assert mem.restore(archived).status is Status.ACTIVE
        mem.forget(archived, erase=True)
        assert mem.get(archived) is None
        assert traces(image(path), [word(0, "archived")]) == []


def test_the_log_holds_nothing_of_an_erased_memory_after_a_kill(children: Nursery, path: Path) -> None:
    """V12: the process is killed after an erasure; file and log together hold no word of the memory."""
    open_vault(path).close()
    for number in range(3):
        child = children.start("erase_and_wait", path=str(path), number=number)
        child.line()
        child.kill()
        # No connection has been opened since: the first one to come reads file and log as they were left.
        assert traces(image(path), [word(number, "erased"), word(number, "value")]) == []


def test_an_erasure_while_a_reader_holds_the_log_reports_that_words_remain_there(path: Path) -> None:
    """V12: an open read transaction keeps the old pages; the report says so, and no longer once it has ended."""
    with open_vault(path) as mem:
        store = store_of(mem)
        kept = [mem.remember(f"{word(number, 'snap')} said") for number in range(4)]
        store.vectors.put(OWNER, SPACE, {m.key: bytes(16) for m in kept}, model="m", dimensions=12)
        held = store.vectors.visible(OWNER, SPACE)
        next(held)
        report = mem.forget(kept[0].id, erase=True)
        assert any("reader" in note for note in report.notes), report.notes
        held.close()
        report = mem.forget(kept[1].id, erase=True)
        assert not any("reader" in note for note in report.notes)
        assert traces(image(path), [word(0, "snap"), word(1, "snap")]) == []
        assert mem.get(kept[2].id) is not None


def test_an_erasure_reports_older_backups_that_still_hold_the_words(path: Path) -> None:
    """V12: later backups do not hold them."""
    with open_vault(path) as mem:
        one = mem.remember(f"{word(0, 'backed')} said").id
        before = mem.backup()
        report = mem.forget(one, erase=True)
        assert any("backup" in note for note in report.notes)
        assert traces(image(path, database=before.path), [word(0, "backed")]) != []
        assert traces(image(path, database=mem.backup().path), [word(0, "backed")]) == []
