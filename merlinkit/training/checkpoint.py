"""Checkpoints: whole or absent, verified when read, and free of anything that could run.

A run's ``checkpoints`` folder holds::

    index.json                 which checkpoint is the last and which the best
    step-00001200/
        model.safetensors      the weights
        training.safetensors   state of the optimizers and of the random generators
        state.json             step, epoch, metrics and the like
        manifest.json          size and SHA-256 of the files above

A checkpoint is written to a folder with a temporary name, flushed to disk, and only then given
its name. The index is a small file that is replaced as a whole afterwards, so at any moment,
also when the process is killed, it names checkpoints that are complete. What it no longer names
is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError

from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.training.checkpoint_files import (
    flush,
    read_json,
    read_tensors,
    verify,
    write_json,
    write_manifest,
    write_tensors,
)

__all__ = ["Checkpoint", "CheckpointStore", "Which"]

Which = Literal["last", "best"]

_INDEX = "index.json"
_MODEL = "model.safetensors"
_TRAINING = "training.safetensors"
_STATE = "state.json"
_TEMPORARY = ".tmp-"


@dataclass(frozen=True)
class Checkpoint:
    """All that a training needs to go on.

    Parameters
    ----------
    model
        The weights by name.
    training
        Other tensors by name: optimizer state, state of random generators. Empty when only the
        weights were read.
    state
        JSON values: step, epoch, metrics and the like.
    """

    model: dict[str, torch.Tensor]
    training: dict[str, torch.Tensor]
    state: dict[str, Any]


class CheckpointStore:
    """The checkpoints of one run.

    Parameters
    ----------
    folder
        Where they are; it is made by the first `save`.

    Examples
    --------
    >>> import tempfile
    >>> store = CheckpointStore(Path(tempfile.mkdtemp()) / "checkpoints")
    >>> path = store.save(Checkpoint({"w": torch.ones(2)}, {}, {"step": 7}), step=7, best=True)
    >>> path.name, store.read("best").model["w"].tolist()
    ('step-00000007', [1.0, 1.0])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, which: Which) -> Path | None:
        """Return the folder of the last or the best checkpoint, None when there is none.

        Raises
        ------
        ArtifactError
            If the index is damaged or names a checkpoint that is not there.
        """
        name = self._index().get(which)
        if name is None:
            return None
        path = self.folder / name
        if not path.is_dir():
            raise ArtifactError(
                f"{self.folder / _INDEX} names the {which} checkpoint {name}, which is not there"
            )
        return path

    def save(self, checkpoint: Checkpoint, *, step: int, best: bool) -> Path:
        """Write a checkpoint, make it the last one, and remove those that are no longer named.

        Parameters
        ----------
        checkpoint
            What to write. Tensors on a GPU are copied from there.
        step
            Steps done; part of the folder's name.
        best
            Whether it is the best one too.

        Raises
        ------
        RunDirError
            If it cannot be written, for example because the disk is full. Earlier checkpoints
            are as they were.
        """
        try:
            return self._save(checkpoint, step=step, best=best)
        except (OSError, SafetensorError) as error:
            raise RunDirError(
                f"cannot write a checkpoint to {self.folder}: {error}; "
                "earlier checkpoints are unchanged"
            ) from error

    def _save(self, checkpoint: Checkpoint, *, step: int, best: bool) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        index = self._index()
        final = self._free_path(step)
        temporary = self.folder / f"{_TEMPORARY}{final.name}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            write_tensors(temporary / _MODEL, checkpoint.model)
            write_tensors(temporary / _TRAINING, checkpoint.training)
            write_json(temporary / _STATE, checkpoint.state)
            write_manifest(temporary, (_MODEL, _TRAINING, _STATE))
            for path in temporary.iterdir():
                flush(path)
            flush(temporary)
            temporary.rename(final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        flush(self.folder)
        index["last"] = final.name
        if best or "best" not in index:
            index["best"] = final.name
        self._replace_index(index)
        self.clean()
        return final

    def read(self, which: Which, *, training: bool = True) -> Checkpoint:
        """Read and verify a checkpoint.

        Parameters
        ----------
        which
            The last or the best.
        training
            Whether to read the state of the optimizers too, which is larger than the weights.

        Raises
        ------
        ArtifactError
            If there is none, or a file is missing, altered or of another format version; the
            file is named.
        """
        path = self.path(which)
        if path is None:
            raise ArtifactError(f"there is no checkpoint in {self.folder}")
        wanted = [_MODEL, _STATE, *([_TRAINING] if training else [])]
        verify(path, wanted)
        state = read_json(path / _STATE)
        return Checkpoint(
            model=read_tensors(path / _MODEL),
            training=read_tensors(path / _TRAINING) if training else {},
            state={key: value for key, value in state.items() if key != "format"},
        )

    def clean(self) -> None:
        """Remove what the index does not name: older checkpoints and what a killed run left."""
        if not self.folder.is_dir():
            return
        named = set(self._index().values())
        for path in self.folder.iterdir():
            if path.name.startswith(("step-", _TEMPORARY)) and path.name not in named:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def _free_path(self, step: int) -> Path:
        """Return a folder that does not exist yet; one step can be saved in two states."""
        path = self.folder / f"step-{step:08d}"
        count = 1
        while path.exists():
            count += 1
            path = self.folder / f"step-{step:08d}.{count}"
        return path

    def _index(self) -> dict[str, str]:
        path = self.folder / _INDEX
        if not path.exists():
            return {}
        index = read_json(path)
        names: dict[str, str] = {key: index[key] for key in ("last", "best") if key in index}
        for name in names.values():
            # A name that left the folder would make reading and cleaning act elsewhere.
            if not isinstance(name, str) or not name.startswith("step-") or Path(name).name != name:
                raise ArtifactError(f"{path} names {name!r}, which is not a checkpoint")
        return names

    def _replace_index(self, index: Mapping[str, str]) -> None:
        temporary = self.folder / f"{_TEMPORARY}{_INDEX}"
        write_json(temporary, index)
        flush(temporary)
        os.replace(temporary, self.folder / _INDEX)
        flush(self.folder)
