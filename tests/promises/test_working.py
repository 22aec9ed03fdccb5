"""Saved working memory survives a kill, is resumed by another process, and is in no file in plaintext (M2, §10.19, §17.5.5)."""

from __future__ import annotations

from pathlib import Path

from promises.children import Nursery
from promises.vaults_at_hand import agent, image, open_vault, word


def test_saved_working_memory_survives_a_kill_and_another_process_resumes_it(children: Nursery, path: Path) -> None:
    names = [word(number, "mind") for number in range(3)]
    child = children.start("suspend", path=str(path), names=names)
    assert child.line() == {"suspended": True}
    child.kill()
    with open_vault(path, reader=agent("rex")) as mem:
        found = mem.resume()
        assert (found.goal, found.open) == (f"find {names[0]}", (names[2],))
        assert [slot.text for slot in found.slots] == [f"find {names[0]}", f"the {names[1]} is broken"]
    files = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    assert not any(name.encode() in files for name in names)


def test_erasing_a_memory_erases_it_from_saved_working_memory(path: Path) -> None:
    lost, kept = word(1, "lost"), word(2, "kept")
    with open_vault(path, reader=agent("rex")) as mem:
        memory = mem.remember(f"the {lost} is in the cellar")
        mem.remember(f"the {kept} is in the attic")
        mem.working.attend(memory)
        mem.working.suspend()
        assert lost.encode() in image(path)
        mem.forget(memory.id, erase=True)
        assert lost.encode() not in image(path)
    assert lost.encode() not in image(path)
    assert kept.encode() in image(path)
