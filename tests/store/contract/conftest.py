"""A store of every engine for each test of the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from store.contract.engines import ENGINES
from store.vaults import quick_folder

from engram.env import Env
from engram.store.ports import Store


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, env: Env) -> Iterator[Store]:
    with quick_folder() as place:
        store = ENGINES[request.param](place / "vault", env, size_bucket_kib=0)
        yield store
        store.close()
