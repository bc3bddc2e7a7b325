"""The run directory: one process at a time, complete stages, and what they were made from."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from merlinkit._version import __version__
from merlinkit.atomic import TEMPORARY_PREFIX, write_json, write_text
from merlinkit.errors import RunDirError

__all__ = [
    "DATA_SECTIONS",
    "MODEL_SECTIONS",
    "RunDir",
    "clear",
    "fingerprint",
    "open_run_dir",
    "read_record",
    "read_saved_config",
]

DATA_SECTIONS = ("dataset", "split", "features", "engine", "seed")
"""What decides the processed data."""
MODEL_SECTIONS = ("model", "trainer", "loader")
"""What decides the model, besides the data."""

_LOCK = ".lock"
_RUN = "run.json"
CONFIG = "config.yaml"
_FORMAT = 1
_PACKAGES = ("polars", "torch", "pyarrow", "numpy", "hydra-core", "distributed")


def fingerprint(value: Any) -> str:
    """Return a short text that is equal for equal JSON values and the same merlinkit.

    Another version may make something else of the same, so what an earlier one left is made again.
    """
    canonical = json.dumps([__version__, value], sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


class RunDir:
    """A run directory that this process holds; made by `open_run_dir`.

    Attributes
    ----------
    path : Path
        The folder.
    record : dict
        What ``run.json`` holds: versions, command, status, and for each complete stage the
        fingerprint of what it was made from.
    """

    def __init__(self, path: Path, record: dict[str, Any]) -> None:
        self.path = path
        self.record = record

    # -- places -------------------------------------------------------------------------------

    @property
    def work(self) -> Path:
        """Files that are only needed until the stage that writes them is complete."""
        return self.path / "work"

    @property
    def workflow(self) -> Path:
        """The fitted workflow."""
        return self.path / "workflow"

    def data(self, part: str) -> Path:
        """Return the folder of the processed rows of a part."""
        return self.path / "data" / part

    # -- stages -------------------------------------------------------------------------------

    def stage_is_done(self, stage: str, made_from: str) -> bool:
        """Tell whether a stage is complete and was made from the same."""
        return bool(self.record["stages"].get(stage, {}).get("fingerprint") == made_from)

    def stage_details(self, stage: str) -> dict[str, Any] | None:
        """Return what was kept of a complete stage, None if it is not complete."""
        details = self.record["stages"].get(stage)
        return None if details is None else dict(details)

    def finish_stage(self, stage: str, made_from: str, details: Mapping[str, Any]) -> None:
        """Mark a stage as complete."""
        self.record["stages"][stage] = {"fingerprint": made_from, **details}
        self._save()

    def forget_stages(self, stages: Iterable[str]) -> None:
        """Mark stages as not complete, before what they left is replaced."""
        for stage in stages:
            self.record["stages"].pop(stage, None)
        self._save()

    def set_status(self, status: str) -> None:
        """Note how the run stands: running, complete or failed."""
        self.record["status"] = status
        self._save()

    def _save(self) -> None:
        write_json(self.path / _RUN, self.record)

    # -- configuration ------------------------------------------------------------------------

    def save_config(self, config: Mapping[str, Any], sections: Iterable[str]) -> None:
        """Write sections of the resolved configuration; the others stay as they were saved."""
        kept = read_saved_config(self.path) or {}
        taken = {name: config[name] for name in sections if name in config}
        merged = {**kept, **taken, "run_dir": str(self.path)}
        write_text(self.path / CONFIG, OmegaConf.to_yaml(OmegaConf.create(merged)))


def read_saved_config(path: Path) -> dict[str, Any] | None:
    """Return the configuration that a run left in its directory, None if there is none."""
    try:
        loaded = OmegaConf.to_container(OmegaConf.load(path / CONFIG))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (YAMLError, OmegaConfBaseException, UnicodeDecodeError) as error:
        raise RunDirError(f"{path / CONFIG} is damaged: {error}") from error
    if not isinstance(loaded, dict):
        raise RunDirError(f"{path / CONFIG} is damaged: it holds no mapping")
    return {str(key): value for key, value in loaded.items()}


@contextmanager
def open_run_dir(
    path: Path, command: str, seed: int, engine: str, check: Callable[[], None]
) -> Iterator[RunDir]:
    """Take a run directory for this process.

    Parameters
    ----------
    path
        The folder; it is made if it is not there.
    command
        What was typed, for the record.
    seed, engine
        Seed and name of the engine, for the record.
    check
        Called when the folder is ours and nothing in it has been touched yet; may raise.

    Raises
    ------
    RunDirError
        If the folder cannot be written, another process holds it, or it holds something else.
    """
    _require_ours(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / _LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise RunDirError(
            f"run_dir {path} cannot be written: {error.strerror}; choose another folder with "
            "run_dir=, or mend its permissions"
        ) from error
    with lock:
        _lock(lock, path)
        check()
        run = RunDir(path, _record(path, command, seed, engine))
        for leftover in path.rglob(f"{TEMPORARY_PREFIX}*"):
            # What a killed process left half written; nobody else writes here while we hold it.
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
        run.set_status("running")
        try:
            yield run
        except BaseException:
            # On a full disk this fails too, and what went wrong first is what counts.
            with suppress(OSError):
                run.set_status("failed")
            raise
        run.set_status("complete")


def clear(path: Path) -> None:
    """Delete what runs left in a folder, and nothing else.

    The record goes first and the configuration last: a kill in between leaves a folder in which
    nothing counts as complete, and which still says that it is of another configuration.
    """
    for name in (
        "run.json",
        "checkpoints",
        "data",
        "tensorboard",
        "work",
        "workflow",
        "calibration.json",
        "events.jsonl",
        "metrics.json",
        "profile.json",
        "report.html",
        "source.json",
        CONFIG,
    ):
        entry = path / name
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def _require_ours(path: Path) -> None:
    if path.is_file():
        raise RunDirError(f"run_dir {path} is a file, a folder expected")
    try:
        foreign = path.is_dir() and any(path.iterdir()) and not (path / _LOCK).exists()
    except OSError as error:
        raise RunDirError(f"run_dir {path} cannot be read: {error.strerror}") from error
    if foreign:
        raise RunDirError(
            f"run_dir {path} holds files that are not of a run of merlinkit; choose a new folder"
        )


def _lock(lock: TextIO, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        raise RunDirError(
            f"run_dir {path} is in use by {holder}; wait for it, or choose another run_dir"
        ) from None
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {platform.node()}")
    lock.flush()


def read_record(path: Path) -> dict[str, Any] | None:
    """Return what ``run.json`` of a run directory holds, None if there is none.

    Raises
    ------
    RunDirError
        If it is damaged or was written by another version.
    """
    try:
        record = json.loads((path / _RUN).read_text(encoding="utf-8"))
        if record["format"] != _FORMAT:
            raise RunDirError(
                f"run_dir {path} was written by another version of merlinkit (format "
                f"{record['format']}); choose a new folder"
            )
        stages, status = record["stages"], record["status"]
        if not isinstance(stages, dict) or not isinstance(status, str):
            raise TypeError("stages or status are not what they should be")
        if not all(isinstance(stage, dict) for stage in stages.values()):
            raise TypeError("a stage is not what it should be")
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise RunDirError(f"{path / _RUN} is damaged ({error}); choose a new folder") from error
    return dict(record)


def _record(path: Path, command: str, seed: int, engine: str) -> dict[str, Any]:
    old = read_record(path)
    return {
        "format": _FORMAT,
        "merlinkit": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "command": command,
        "started": time.time(),
        "seed": seed,
        "engine": engine,
        "status": "running",
        "stages": {} if old is None else old["stages"],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
