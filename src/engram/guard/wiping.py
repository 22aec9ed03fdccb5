"""Secure removal of a plaintext file, as far as a program can.

On flash storage and on journaling or copy-on-write file systems old blocks survive overwriting. Only a disk that was always
encrypted protects them; see docs/security.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from engram.errors import WriteFailed

_PIECE = 1 << 20


def wipe_file(path: Path, random: Callable[[int], bytes]) -> None:
    """Overwrite the file with random bytes, truncate it, rename it to a random name, and remove it."""
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
            f"{path} could not be wiped ({type(error).__name__}).", way_out="The vault is unchanged. Remove the file by hand."
        ) from error
