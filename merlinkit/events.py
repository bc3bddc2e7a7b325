"""The event log of a run: one JSON object a line, appended as things happen.

Each line holds ``time`` (seconds since 1970), ``kind`` and the fields of that kind. A line is
written by one call and flushed, so that a reader sees whole lines while the run goes on, and a
run that is killed loses at most the line it was writing.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeAlias

from merlinkit.errors import ArtifactError, RunDirError

__all__ = ["JSON", "EventLog", "read_events"]

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""What ``json`` can hold."""

_RESERVED = ("time", "kind")
_TAIL_BLOCK = 64 * 1024


class EventLog:
    """Appends events to a file.

    Parameters
    ----------
    path
        The file; its folder exists. Events already in it are kept. A torn last line, left by a
        process that was killed while writing, is removed.
    clock
        Gives the time of an event in seconds since 1970.

    Raises
    ------
    RunDirError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> with EventLog(path, clock=lambda: 12.5) as log:
    ...     log.write("stage", {"stage": "train", "status": "start"})
    >>> read_events(path)
    [{'time': 12.5, 'kind': 'stage', 'stage': 'train', 'status': 'start'}]
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._clock = clock
        try:
            self._file = self.path.open("ab+")
            _drop_torn_line(self._file)
        except OSError as error:
            raise RunDirError(f"cannot write the event log {self.path}: {error}") from error

    def write(self, kind: str, fields: Mapping[str, JSON]) -> None:
        """Append one event.

        Parameters
        ----------
        kind
            What happened.
        fields
            The rest of the event. Numbers that JSON has no form for (NaN, infinities) are
            written as null.

        Raises
        ------
        ValueError
            If a field is named ``time`` or ``kind``, or the log is closed.
        """
        clash = [name for name in _RESERVED if name in fields]
        if clash:
            raise ValueError(f"an event field cannot be named {clash[0]!r}")
        event = {"time": self._clock(), "kind": kind, **fields}
        line = json.dumps(_finite(event), ensure_ascii=False, allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_events(path: str | Path, *, kind: str | None = None) -> list[dict[str, Any]]:
    """Read an event log, also while it is being written.

    Parameters
    ----------
    path
        The file. One that does not exist has no events.
    kind
        Return only events of this kind.

    Returns
    -------
    list of dict
        The events in the order they were written. A last line that is not whole yet is left
        out.

    Raises
    ------
    ArtifactError
        If another line is not a JSON object, naming file and line.
    """
    source = Path(path)
    try:
        content = source.read_bytes()
    except FileNotFoundError:
        return []
    lines = content.split(b"\n")
    # What follows the last line end is empty, or a line that is being written.
    whole = lines[:-1]
    events: list[dict[str, Any]] = []
    for number, line in enumerate(whole, start=1):
        try:
            event = json.loads(line)
        except ValueError as error:
            raise ArtifactError(f"{source}, line {number}: not valid JSON ({error})") from error
        if not isinstance(event, dict):
            raise ArtifactError(f"{source}, line {number}: not a JSON object")
        if kind is None or event.get("kind") == kind:
            events.append(event)
    return events


def _finite(value: JSON) -> JSON:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value


def _drop_torn_line(file: BinaryIO) -> None:
    """Cut the file after its last line end."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _TAIL_BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        file.truncate(end)
    file.seek(0, os.SEEK_END)
