"""The store on SQLite: every verb of the protocol.

The class only joins what stands in `writing`, `judging`, `dreaming`, `world`, `recounting`, `boxing`, `purging`, `reading`,
`caring`, `shelving`, `suspending`, `granting`, `spending`, `probing`, `renewing`, `wondering`, `surveying`, `nearby` and
`relating` on the one `path`; `vault.open_vault` makes it.
"""

from __future__ import annotations

from engram.store.sqlite.access_tokens import Granting
from engram.store.sqlite.boxes import Boxing
from engram.store.sqlite.dreams import Dreaming
from engram.store.sqlite.health import Caring
from engram.store.sqlite.judging import Judging
from engram.store.sqlite.knowledge import Surveying
from engram.store.sqlite.nearby import Nearby
from engram.store.sqlite.probing import Probing
from engram.store.sqlite.purging import Purging
from engram.store.sqlite.reading import Reading
from engram.store.sqlite.recounting import Recounting
from engram.store.sqlite.relating import Relating
from engram.store.sqlite.renewing import Renewing
from engram.store.sqlite.shelving import Shelving
from engram.store.sqlite.spending import Spending
from engram.store.sqlite.suspending import Suspending
from engram.store.sqlite.wondering import Wondering
from engram.store.sqlite.world import World


class SqliteStore(
    Judging, Dreaming, World, Recounting, Boxing, Purging, Reading, Caring, Shelving, Suspending, Granting, Spending, Probing,
    Renewing, Wondering, Surveying, Nearby, Relating,
):  # fmt: skip
    """All verbs of one open vault."""
