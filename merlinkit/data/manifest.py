"""`_SUCCESS`: what makes a folder of processed data complete.

The manifest is written last, into a folder under a temporary name that is then renamed, so that a
folder under its final name is whole or not there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from merlinkit.atomic import write_json
from merlinkit.errors import ArtifactError
from merlinkit.schema import JSONValue, Schema

__all__ = ["MANIFEST", "FileEntry", "Manifest", "file_sha256"]

MANIFEST = "_SUCCESS"
MANIFEST_FORMAT = 1


@dataclass(frozen=True)
class FileEntry:
    """One file of a folder: its path in it with ``/``, rows, bytes and SHA-256."""

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
            parts = PurePosixPath(entry.name).parts
            if not parts or parts[0] == "/" or ".." in parts or "\\" in entry.name:
                raise ArtifactError(f"{folder / MANIFEST} names a file outside of it: {entry.name}")
            if not path.is_file():
                raise ArtifactError(f"{path} is missing; make {folder} again")
            if path.stat().st_size != entry.bytes or file_sha256(path) != entry.sha256:
                raise ArtifactError(f"{path} was altered or damaged; make {folder} again")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
