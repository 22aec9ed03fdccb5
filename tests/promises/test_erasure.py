"""No word of an erased memory is left in any page, log or later backup, and its neighbours stay (V12)."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest
from hand_clock import HandClock
from promises.children import Nursery
from promises.vaults_at_hand import ANY_STATUS, OWNER, SPACE, image, inside, open_vault, store_of, word

from engram.engine import Engram
from engram.env import Env
from engram.errors import NotFound
from engram.types import Draft, Edge, Memory, Scope, Space, Status, Turn
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


def observed(mem: Engram, *said: tuple[str, str, list[tuple[str, str]]]) -> list[Memory]:
    """Store turns of one session, (speaker, text, statements), and a memory of each statement: (own words, carried words)."""
    turns, drafts = [], []
    for number, (speaker, text, statements) in enumerate(said):
        turns.append(Turn(text, speaker, at=mem._vault.env.now(), session="s"))
        for words, carried in statements:
            shown = f"The user: {words} [{carried}]" if carried else f"The user: {words}"
            memory = Memory(text=shown, summary=shown, key_fact=shown, tag=shown, words_at=(10, 10 + len(words)), session="s")
            drafts.append(Draft(memory=memory, turns=(number,), passage=f'{shown} (asked: "{carried}")' if carried else ""))
    store = store_of(mem)
    made = store.capture.write(OWNER, Scope(), turns, drafts)
    vectors = {memory.key: word(number, "vector").encode() * 16 for number, memory in enumerate(made)}
    store.vectors.put(OWNER, SPACE, vectors, model="m", dimensions=220)
    return made


def test_words_that_another_memory_carries_are_erased_with_the_memory_they_are_from(path: Path) -> None:
    """V12: a statement is shown and encoded with earlier words that it needs; these belong to whoever said them."""
    boat, quay, sale, paid, hall, next_door = (word(number, "carried") for number in range(6))
    with open_vault(path) as mem:
        store = store_of(mem)
        named, same_turn, turn_after, far = observed(
            mem,
            ("user", f"My boat {boat} lies at {quay}. It is for {sale}.", [(f"My boat {boat} lies at {quay}.", ""),
                                                                           (f"It is for {sale}.", f"My boat {boat}")]),
            ("ann", f"She paid {paid}.", [(f"She paid {paid}.", f"lies at {quay}")]),
            ("user", f"I met her in {hall}.", [(f"I met her in {hall}.", f"She paid {paid}")]),
        )  # fmt: skip
        mem.update(same_turn.id, text=f"The boat is for {sale} {next_door}")
        report = mem.forget(named.id, erase=True)
        assert [note for note in report.notes if "none is left" in note] == list(report.notes)
        assert mem.get(same_turn.id).text == f"The boat is for {sale} {next_door}"
        assert [version.text for version in mem.versions(same_turn.id)] == [f"The user: It is for {sale}."]
        left = mem.get(turn_after.id)
        assert (left.text, left.words, left.carries) == (f"The user: She paid {paid}.", f"She paid {paid}.", "")
        assert left.summary == left.text, "nor in a shorter form"
        assert mem.get(far.id).carries == f"She paid {paid}", "these words are nobody's who was erased"
        for term, found in ((boat, []), (quay, []), (paid, [turn_after.key, far.key]), (sale, [same_turn.key])):
            assert sorted(hit.key for hit in store.text.search(OWNER, [term], limit=9)) == found
        assert {row[0] for row in store.vectors.missing(OWNER, SPACE, after=0, limit=9)} == {same_turn.key, turn_after.key}
        assert [row[3] for row in store.vectors.missing(OWNER, SPACE, after=0, limit=9)] == ["", ""]
        assert traces(image(path), [boat, quay, *(word(number, "vector") for number in range(3))]) == []
        assert traces(image(path), [word(3, "vector")]) != [], "of a memory that keeps its carried words"
        assert mem.check() == []


def test_words_of_a_turn_that_goes_with_an_erased_memory_are_carried_by_no_memory_after_it(path: Path) -> None:
    """V12: an answer of which nothing was kept repeats what was erased, and the next statement carries a piece of it."""
    told, echoed = word(0, "told"), word(1, "told")
    with open_vault(path) as mem:
        named, after = observed(
            mem,
            ("user", f"I live in {told}.", [(f"I live in {told}.", "")]),
            ("assistant", f"Oh, {told}! Which {echoed} is it?", []),
            ("user", "The green one.", [("The green one.", f"Which {echoed} is it")]),
        )
        mem.forget(named.id, erase=True)
        assert mem.get(after.id).text == "The user: The green one."
        assert traces(image(path), [told, echoed]) == []


def test_a_statement_of_a_remembered_text_is_erased_from_the_others_that_carry_it(path: Path) -> None:
    """V12: no turn is stored by which to tell whose words a memory carries."""
    told, other = word(0, "given"), word(1, "given")
    with open_vault(path) as mem:
        store = store_of(mem)
        first = store.memories.add(OWNER, [Memory(text=f"My sister {told} lives in Lisbon.")])[0]
        words = "She works at the harbour."
        text = f"{words} [My sister {told}]"
        carrying, else_ = store.memories.add(
            OWNER,
            [Memory(text=text, words_at=(0, len(words))), Memory(text=f"{words[:-1]} too. [{other}]", words_at=(0, 29))],
        )
        mem.forget(first.id, erase=True)
        assert (mem.get(carrying.id).text, mem.get(else_.id).carries) == (words, other)
        assert traces(image(path), [told]) == []


def test_words_of_a_turn_that_has_expired_are_erased_from_the_memories_that_carry_them(path: Path, clock: HandClock) -> None:
    """V12, M17: the turn is gone, and with it what says whose words they are."""
    told, asked = word(0, "expired"), word(1, "expired")
    with open_vault(path, env=Env(now=clock.now), turn_days=30.0) as mem:
        named, after = observed(
            mem,
            ("ann", f"I bought {told}. Is it {asked}?", [(f"I bought {told}.", "")]),
            ("user", "It is blue.", [("It is blue.", f"I bought {told}")]),
        )
        store = store_of(mem)
        clock.advance(40 * 86_400)
        assert store.turns.expire(OWNER) == 2
        assert traces(image(path), [asked]) == []
        assert mem.get(after.id).carries == f"I bought {told}", "what a memory is shown with stays"
        mem.forget(named.id, erase=True)
        assert mem.get(after.id).text == "The user: It is blue."
        assert traces(image(path), [told]) == []


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
        assert any(note.startswith("1 backup made before this still holds") for note in report.notes)
        assert traces(image(path, database=before.path), [word(0, "backed")]) != []
        assert traces(image(path, database=mem.backup().path), [word(0, "backed")]) == []


def test_an_earlier_wording_holds_no_words_that_the_memory_carried(tmp_path: Path) -> None:
    with Engram.open(tmp_path / "v", key=Env().random(32)) as mem:
        first = mem.remember("Quentin Farnsworth has cancer. He gets chemo on Mondays.")
        for other in first.others:
            mem.update(other.id, text="Chemo is on Mondays.")
            assert not any("Farnsworth" in version.text for version in mem.versions(other.id))
