"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["atomic_file"]

# A writer touches its temporary file all the time, so one that old belongs to a killed process.
STALE_SECONDS = 3600.0


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary name in the same folder and rename it to `path` at the end.

    The file is synced to disk before it is renamed, so a reader finds the old file, the whole
    new one or none, also after a power cut. Writers of the same path at the same time do not
    meet: each has a name of its own and the last rename wins. If the body raises, the temporary
    file is removed and `path` stays as it was. What killed writers of this path left behind is
    removed once it is an hour old.

    Parameters
    ----------
    path
        The file to write; its folder exists.

    Yields
    ------
    Path
        Where to write. The name starts with a dot and ends in ``.tmp``.

    Raises
    ------
    OSError
        If the folder is missing, full or not writable.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _sweep(path: Path) -> None:
    """Remove temporary files of `path` whose writers are long gone."""
    oldest = time.time() - STALE_SECONDS
    prefix, suffix = f".{path.name}.", ".tmp"
    with contextlib.suppress(OSError):
        for entry in path.parent.iterdir():
            if not (entry.name.startswith(prefix) and entry.name.endswith(suffix)):
                continue
            with contextlib.suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    entry.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, on systems where a folder can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
