"""One temporary folder a process, for the files that visitors have made: it goes with the process.

Its owner holds a lock on a file in it, which the system releases however the process ends; what nobody holds is removed
by the next process that starts.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: nobody can tell whether another's folder is in use, so none is touched
    fcntl = None  # type: ignore[assignment]

PREFIX, OWNER = "pmdviz-files-", "owner"
TRIES = 3  # a thread may be writing while the folder goes

_lock = threading.Lock()
_folder: Path | None = None
_owner: IO[bytes] | None = None  # open as long as the folder is this process's


def new_folder() -> Path:
    """A folder of one's own inside that of the process, which only its user can read."""
    global _folder, _owner
    with _lock:
        if _folder is None or not _folder.is_dir():
            remove_stale()
            _folder = Path(tempfile.mkdtemp(prefix=PREFIX))
            _owner = (_folder / OWNER).open("wb")
            _hold(_owner)
            atexit.register(remove)
        return Path(tempfile.mkdtemp(dir=_folder))


def remove() -> None:
    """Delete the folder of this process with all that is in it; the process is about to end."""
    global _folder, _owner
    with _lock:
        if _folder is not None:
            _delete(_folder)
            _owner.close()
        _folder = _owner = None


def remove_stale() -> None:
    """Delete the folders of processes that have ended without doing so."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another's, or it has just gone
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / OWNER).open("rb") as owner:
                _hold(owner)
                _delete(folder)


def _hold(owner: IO[bytes]) -> None:
    """Lock the file until it is closed. Raises OSError where another process holds it."""
    if fcntl is not None:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _delete(folder: Path) -> None:
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
