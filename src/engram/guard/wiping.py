"""Removing a plain file as far as a program can.

On flash storage, journaling and copy-on-write file systems old blocks outlive any overwriting: only a disk that was always
encrypted keeps such a secret, and docs/security.md says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from engram.errors import WriteFailed

_PIECE = 1 << 20


def wipe_file(path: Path, random: Callable[[int], bytes]) -> None:
    """Overwrite with noise, cut to nothing, give it a name that says nothing, and remove it."""
    try:
        with path.open("r+b", buffering=0) as file:
            left = os.fstat(file.fileno()).st_size
            while left > 0:
                left -= file.write(random(min(left, _PIECE))) or 0
            os.fsync(file.fileno())
            file.truncate(0)
            os.fsync(file.fileno())
        nameless = path.with_name(random(8).hex())
        path.replace(nameless)
        nameless.unlink()
    except OSError as error:
        raise WriteFailed(
            f"{path} could not be wiped ({type(error).__name__}).", way_out="Nothing in the vault changed. Remove it by hand."
        ) from error
