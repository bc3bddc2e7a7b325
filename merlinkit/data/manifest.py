"""`_SUCCESS`: what makes a folder of processed data complete.

The manifest is written last, into a folder under a temporary name that is then renamed, so that a
folder under its final name is whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from merlinkit.errors import ArtifactError
from merlinkit.schema import JSONValue, Schema

__all__ = ["MANIFEST", "FileEntry", "Manifest", "atomic_folder", "file_sha256", "write_json"]

MANIFEST = "_SUCCESS"
MANIFEST_FORMAT = 1
TEMPORARY_PREFIX = ".tmp-"


@dataclass(frozen=True)
class FileEntry:
    """One file of a folder: its rows, bytes and SHA-256."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a complete folder holds."""

    rows: int
    files: tuple[FileEntry, ...]
    schema: Schema
    details: Mapping[str, JSONValue] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the manifest into a folder."""
        data = {
            "format": MANIFEST_FORMAT,
            "rows": self.rows,
            "files": [vars(entry) for entry in self.files],
            "schema": self.schema.to_dict(),
            "details": dict(self.details),
        }
        write_json(folder / MANIFEST, data)

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of a folder.

        Raises
        ------
        ArtifactError
            If there is none, or it is damaged or of another version.
        """
        path = folder / MANIFEST
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != MANIFEST_FORMAT:
                raise ArtifactError(
                    f"{path} has format {data['format']!r}, {MANIFEST_FORMAT} expected; make the "
                    "folder again with this version of merlinkit"
                )
            files = tuple(FileEntry(**entry) for entry in data["files"])
            return cls(data["rows"], files, Schema.from_dict(data["schema"]), data["details"])
        except FileNotFoundError:
            raise ArtifactError(
                f"{folder} holds no complete data: it has no {MANIFEST}; make it again"
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise ArtifactError(f"{path} is damaged ({error}); make the folder again") from error

    def verify(self, folder: Path) -> None:
        """Raise `ArtifactError` unless every file is there with its size and checksum."""
        for entry in self.files:
            path = folder / entry.name
            if Path(entry.name).name != entry.name:
                raise ArtifactError(f"{folder / MANIFEST} names a file outside of it: {entry.name}")
            if not path.is_file():
                raise ArtifactError(f"{path} is missing; make {folder} again")
            if path.stat().st_size != entry.bytes or file_sha256(path) != entry.sha256:
                raise ArtifactError(f"{path} was altered or damaged; make {folder} again")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, data: JSONValue) -> None:
    """Write JSON to a file that appears whole or not at all."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{uuid.uuid4().hex}-{path.name}")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(data, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``folder`` when the block succeeds.

    A folder that is already there is replaced. If the block fails, or the process is killed, the
    old one is still there, or none; leftovers begin with ``.tmp-``.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    token = uuid.uuid4().hex
    temporary = folder.parent / f"{TEMPORARY_PREFIX}{token}-{folder.name}"
    temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        if folder.exists():
            old = folder.parent / f"{TEMPORARY_PREFIX}{token}-old-{folder.name}"
            os.replace(folder, old)
            os.replace(temporary, folder)
            shutil.rmtree(old)
        else:
            os.replace(temporary, folder)
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _sync(folder: Path) -> None:
    """Make the entries of a folder, and the files in it, survive a power cut."""
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith(TEMPORARY_PREFIX):
            _fsync(path)
    _fsync(folder)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
