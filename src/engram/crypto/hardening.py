"""Process hardening (no core dumps, no debugger, keys locked out of swap), memory use, and secure removal of files.

Hardening is process-wide and best effort. It raises nothing: if the platform refuses a protection, the refusal is returned as a
sentence for `engram doctor`. Wiping a file is best effort too: on flash storage and on journaling or copy-on-write file systems
old blocks survive overwriting. Only a disk that was always encrypted protects them; see docs/security.md.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from _thread import allocate_lock  # not `threading`, which costs a hook 0.6 ms to load
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from engram.errors import WriteFailed

if sys.platform != "win32":
    import resource

    _PAGE = resource.getpagesize()
else:
    _PAGE = 4096  # unused: Windows pages are neither locked nor counted here

_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4

# mlock does not nest: one munlock unlocks a page for every buffer on it. Buffers per page are therefore counted, and two
# keys on one page stay locked until both are released.
_holders: Counter[int] = Counter()
_holders_lock = allocate_lock()


def harden() -> tuple[str, ...]:
    """Disable core dumps and debuggers for this process. Return what could not be disabled. Safe to call again."""
    return tuple(note for note in (_forbid_core_dumps(), _forbid_attaching()) if note)


def _forbid_core_dumps() -> str:
    if sys.platform == "win32":
        return "Crash dumps were not disabled: Windows keeps that setting outside the process."
    else:
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        except (OSError, ValueError) as error:
            return f"Core dumps could not be disabled ({type(error).__name__})."
        return ""


def _forbid_attaching() -> str:
    """Make the process not dumpable (Linux). This also stops dumps that `core_pattern` pipes to a program, which ignore
    RLIMIT_CORE = 0."""
    libc = _libc()
    if not sys.platform.startswith("linux") or libc is None:
        return "Other programs of this user can attach to the process: the platform offers no way to forbid it."
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0) != 0:
        return "Other programs of this user can attach to the process: the kernel refused to forbid it."
    return ""


def lock_buffer(buffer: bytearray) -> bool:
    """Keep the pages under `buffer` out of swap. Return False if the platform or its limit (RLIMIT_MEMLOCK) refuses.

    The buffer must not be resized until `unlock_buffer`: that would move it to other pages.
    """
    libc = _libc()
    if libc is None or not buffer:
        return False
    pages = _pages(buffer)
    with _holders_lock:
        locked: list[int] = []
        for page in pages:
            if not _holders[page]:
                if libc.mlock(page, _PAGE) != 0:
                    _release(libc, locked)
                    return False
                locked.append(page)
        _holders.update(pages)
    return True


def unlock_buffer(buffer: bytearray) -> None:
    """Undo one successful `lock_buffer` of the same buffer."""
    libc = _libc()
    if libc is None or not buffer:
        return
    with _holders_lock:
        for page in _pages(buffer):
            _holders[page] -= 1
            if _holders[page] <= 0:
                del _holders[page]
                _release(libc, [page])


def rss_bytes() -> int:
    """Return the resident memory of this process: current on Linux, peak elsewhere, 0 where it is unknown."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:
            return int(statm.read(256).split()[1]) * _PAGE
    except OSError:
        return _peak_rss_bytes()


def trim_heap() -> None:
    """Ask the allocator to return freed memory to the system, where it has a call for that (glibc)."""
    libc = _libc()
    if libc is not None and hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def _peak_rss_bytes() -> int:
    if sys.platform == "win32":
        return 0
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, other systems KiB


@functools.cache
def _libc() -> ctypes.CDLL | None:
    if sys.platform == "win32":
        return None
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mlock.argtypes = libc.munlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        if sys.platform.startswith("linux"):
            libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    except (OSError, AttributeError):
        return None
    return libc


def _pages(buffer: bytearray) -> range:
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    return range(start - start % _PAGE, start + len(buffer), _PAGE)


def _release(libc: ctypes.CDLL, pages: list[int]) -> None:
    for page in pages:
        libc.munlock(page, _PAGE)


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
