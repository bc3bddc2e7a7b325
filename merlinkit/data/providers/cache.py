"""The user's cache folder, and folders in it that count only when they are complete."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from merlinkit.atomic import atomic_file
from merlinkit.errors import DataError

__all__ = ["cache_root", "is_complete", "mark_complete"]

MARKER = "_complete.json"


def cache_root(cache: str | Path | None = None) -> Path:
    """Return the folder that holds fetched data sets. It is not created.

    Parameters
    ----------
    cache
        The folder; None takes ``$MERLINKIT_CACHE``, else ``$XDG_CACHE_HOME/merlinkit``, else
        ``~/.cache/merlinkit``. An ``XDG_CACHE_HOME`` that is not an absolute path is ignored,
        as its standard asks.

    Raises
    ------
    DataError
        If no folder is given and the home folder is unknown.

    Examples
    --------
    >>> cache_root("/data/cache").as_posix()
    '/data/cache'
    """
    try:
        if cache is not None:
            return Path(cache).expanduser().absolute()
        if ours := os.environ.get("MERLINKIT_CACHE"):
            return Path(ours).expanduser().absolute()
        xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = xdg if xdg.is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise DataError(
            f"no cache folder: {error}. Set MERLINKIT_CACHE to a folder that can be written."
        ) from error
    return base / "merlinkit"


def mark_complete(folder: Path, names: Iterable[str]) -> None:
    """Write the marker that says which files the folder has, with their SHA-256.

    Raises
    ------
    OSError
        If a named file cannot be read or the marker cannot be written.
    """
    files = {name: _sha256(folder / name) for name in sorted(names)}
    with atomic_file(folder / MARKER) as temporary:
        temporary.write_text(json.dumps({"files": files}, indent=2) + "\n", encoding="utf-8")


def is_complete(folder: Path, names: Iterable[str]) -> bool:
    """Tell whether the folder has its marker and the named files are as they were written."""
    try:
        files = json.loads((folder / MARKER).read_text(encoding="utf-8"))["files"]
        return all(_sha256(folder / name) == files[name] for name in names)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
