"""The files of one checkpoint: written, flushed, verified and read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from merlinkit.errors import ArtifactError

__all__ = [
    "FORMAT",
    "flush",
    "read_json",
    "read_tensors",
    "verify",
    "write_json",
    "write_manifest",
    "write_tensors",
]

FORMAT = 1
"""Version of the files; readers refuse any other."""

MANIFEST = "manifest.json"


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write named tensors; those on a GPU are copied from there."""
    save_file(_portable(tensors), path)


def write_manifest(folder: Path, names: Sequence[str]) -> None:
    """Write sizes and SHA-256 of files, for `verify`."""
    write_json(folder / MANIFEST, {"files": {name: _fingerprint(folder / name) for name in names}})


def _portable(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return tensors as the format wants them: contiguous, and none a view of another."""
    seen: set[int] = set()
    out: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        if plain.untyped_storage().data_ptr() in seen:
            plain = plain.clone()
        seen.add(plain.untyped_storage().data_ptr())
        out[name] = plain
    return out


def _fingerprint(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def verify(path: Path, names: Sequence[str]) -> None:
    """Refuse files of a checkpoint that are missing or differ from the manifest.

    Raises
    ------
    ArtifactError
        Naming the file and the difference.
    """
    files = read_json(path / MANIFEST).get("files")
    for name in names:
        expected = files.get(name) if isinstance(files, dict) else None
        if not isinstance(expected, dict):
            raise ArtifactError(f"{path / MANIFEST} does not list {name}")
        file = path / name
        if not file.is_file():
            raise ArtifactError(f"{file} is missing from the checkpoint")
        found = _fingerprint(file)
        if found != expected:
            raise ArtifactError(
                f"{file} is not as it was written: {found['bytes']} bytes with SHA-256 "
                f"{found['sha256']}, expected {expected.get('bytes')} bytes with "
                f"{expected.get('sha256')}; copy the checkpoint again or train anew"
            )


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read named tensors onto the CPU.

    Raises
    ------
    ArtifactError
        If the file is not in the safetensors format.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ArtifactError(f"{path} cannot be read as safetensors: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of this format.

    Raises
    ------
    ArtifactError
        If it is missing, not a JSON object, or of another format version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{path} is missing") from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise ArtifactError(f"{path} does not hold a JSON object")
    if data.get("format") != FORMAT:
        raise ArtifactError(
            f"{path} is of format {data.get('format')!r}, {FORMAT} expected; "
            "it was written by another version of merlinkit"
        )
    return data


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object, with the format version."""
    text = json.dumps({"format": FORMAT, **data}, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
