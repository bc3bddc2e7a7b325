"""Files and folders that appear whole or not at all, also when the process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = [
    "TEMPORARY_PREFIX",
    "atomic_file",
    "atomic_folder",
    "continue_folder",
    "resumable_folder",
    "write_json",
    "write_text",
]

TEMPORARY_PREFIX = ".tmp-"
"""How the names of files and folders begin that are being written, or that a kill left behind."""

# A writer touches its temporary file all the time, so one that old belongs to a killed process.
STALE_SECONDS = 3600.0

_MADE_FROM = "_made_from"


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
        Where to write; the name begins with `TEMPORARY_PREFIX`.

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
    temporary = _temporary(path)
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


@contextlib.contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the place of `folder` at the end.

    A folder that is already there is replaced. If the body raises, or the process is killed, the
    old one is still there, or none.

    Parameters
    ----------
    folder
        The folder to make; missing parents are made.

    Yields
    ------
    Path
        Where to write; an empty folder beside it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(folder)
    temporary.mkdir()
    try:
        yield temporary
        _make_durable(temporary)
        _take_place(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextlib.contextmanager
def resumable_folder(folder: Path, made_from: str) -> Iterator[Path]:
    """Give a folder that takes the place of `folder` at the end, and stays there until then.

    Like `atomic_folder`, but what is in it when the body raises, or the process is killed, is
    there again for the next call of the same `made_from`, which can go on with it.

    Parameters
    ----------
    folder
        The folder to make; missing parents are made.
    made_from
        Tells what the content is made of: leftovers of anything else are removed.

    Yields
    ------
    Path
        Where to write: ``.partial-NAME`` beside the folder.
    """
    partial = folder.with_name(f".partial-{folder.name}")
    continue_folder(partial, made_from)
    yield partial
    _make_durable(partial)
    (partial / _MADE_FROM).unlink()
    _take_place(partial, folder)


def continue_folder(folder: Path, made_from: str) -> None:
    """Make a folder, or keep it as a killed writer of the same left it.

    Parameters
    ----------
    folder
        The folder; missing parents are made.
    made_from
        Tells what the content is made of: leftovers of anything else are removed. Those of the same
        are kept, but for temporary files.
    """
    mark = folder / _MADE_FROM
    try:
        same = mark.read_text(encoding="utf-8") == made_from
    except (OSError, UnicodeDecodeError):
        same = False
    if same:
        for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
        return
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    write_text(mark, made_from)


def _make_durable(written: Path) -> None:
    for path in written.rglob("*"):
        if path.is_file():
            _sync(path)
    for path in written.rglob("*"):
        if path.is_dir():
            _sync_folder(path)
    _sync_folder(written)


def _take_place(written: Path, folder: Path) -> None:
    """Let what was written take the place of a folder."""
    if folder.exists():
        old = _temporary(folder)
        os.replace(folder, old)
        os.replace(written, folder)
        shutil.rmtree(old)
    else:
        os.replace(written, folder)
    _sync_folder(folder.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a small file as UTF-8 that appears whole or not at all.

    Parameters
    ----------
    path
        The file; its folder exists. A file of that name is replaced.
    text
        What it shall hold.

    Raises
    ------
    OSError
        If the folder is missing or not writable; an older file is then untouched.
    """
    with atomic_file(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, data: Any) -> None:
    """Write JSON values to a file that appears whole or not at all.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, which JSON cannot hold.
    """
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _temporary(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}-{path.name}")


def _sweep(path: Path) -> None:
    """Remove temporary files of `path` whose writers are long gone."""
    oldest = time.time() - STALE_SECONDS
    with contextlib.suppress(OSError):
        for entry in path.parent.iterdir():
            ours = entry.name.startswith(TEMPORARY_PREFIX) and entry.name.endswith(f"-{path.name}")
            if not ours:
                continue
            with contextlib.suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    entry.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, on file systems where a folder can be synced."""
    with contextlib.suppress(OSError):
        _sync(folder)
