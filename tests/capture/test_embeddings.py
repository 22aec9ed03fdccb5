"""Missing vectors made by several at once: each is made once, and all are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from recall.vaults import OWNER, hashing_encoder, open_engram, store_of

from engram.capture.embeddings import SPACE, fill
from engram.models.embedders import CallableEmbedder, Vectors


def test_two_who_fill_one_vault_make_no_vector_twice(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        for number in range(40):
            mem.remember(f"The boat of harbour {number} is called Ida {number}")
    made: list[str] = []
    plain = hashing_encoder()

    def embed(texts: Sequence[str]) -> Vectors:
        made.extend(texts)
        return plain.passages(texts)

    counting = CallableEmbedder(embed, name="counting", dimensions=1024)
    with open_engram(tmp_path / "vault", words_only=True) as one, open_engram(tmp_path / "vault", words_only=True) as other:
        counts: list[int] = []
        start = threading.Barrier(2)

        def work(mem: object) -> None:
            start.wait()
            counts.append(fill(store_of(mem), OWNER, counting, page=3))  # type: ignore[arg-type]

        threads = [threading.Thread(target=work, args=(mem,)) for mem in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sum(counts) == 40
        assert len(made) == len(set(made)) == 40
        assert store_of(one).vectors.missing(OWNER, SPACE, after=0, limit=5) == []


def test_whoever_fills_waits_for_anothers_page_and_stops_when_told(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        mem.remember("The boat is called Ida")
        with store_of(mem).health.filling(0.0) as ours:
            assert ours
            assert fill(store_of(mem), OWNER, hashing_encoder(), page=3, rest=lambda: True) == 0
        assert fill(store_of(mem), OWNER, hashing_encoder(), page=3) == 1
