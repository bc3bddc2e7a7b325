"""Stages of the run: how long each took and how much memory it needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merlinkit.report.coerce import integer, number
from merlinkit.report.formats import short
from merlinkit.report.record import RunRecord

__all__ = ["Stage", "stages"]

MOST_STAGES = 200


@dataclass
class Stage:
    """One time that a stage ran."""

    name: str
    status: str
    started: float | None = None
    seconds: float | None = None
    peak_mib: float | None = None
    rows: int | None = None
    time_share: float = 0.0
    memory_share: float = 0.0

    @property
    def rows_per_second(self) -> float | None:
        """Throughput, where both numbers are known."""
        return self.rows / self.seconds if self.rows and self.seconds else None


def stages(record: RunRecord) -> list[Stage]:
    """Return the stages in the order in which they began.

    A stage that never ended is "running" where the run is, else "not finished". A stage that was
    started again after a kill is listed each time.
    """
    running = str(record.run.get("status", "")).lower() in {"running", "started"}
    found: list[Stage] = []
    unfinished: dict[str, Stage] = {}
    for event in record.events_of("stage"):
        name = short(event.get("stage"), 40)
        if event.get("status") == "start":
            if name in unfinished:
                unfinished[name].status = "not finished"
            stage = Stage(name, "running" if running else "not finished")
            stage.started = number(event.get("time"))
            unfinished[name] = stage
            found.append(stage)
            continue
        ended = unfinished.pop(name, None)
        if ended is None:
            ended = Stage(name, "done")
            found.append(ended)
        _finish(ended, event)
    found = found[:MOST_STAGES]
    slowest = max((stage.seconds or 0 for stage in found), default=0)
    largest = max((stage.peak_mib or 0 for stage in found), default=0)
    for stage in found:
        stage.time_share = (stage.seconds or 0) / slowest if slowest > 0 else 0
        stage.memory_share = (stage.peak_mib or 0) / largest if largest > 0 else 0
    return found


def _finish(stage: Stage, event: Mapping[str, Any]) -> None:
    status = event.get("status")
    stage.status = "done" if status == "end" and not event.get("error") else "failed"
    if status not in ("end", "failed", "error"):
        stage.status = short(status, 20)
    seconds, time = number(event.get("seconds")), number(event.get("time"))
    if seconds is None and time is not None and stage.started is not None:
        seconds = time - stage.started
    stage.seconds = None if seconds is None or seconds < 0 else seconds
    peak = number(event.get("peak_rss_mib"))
    stage.peak_mib = None if peak is None or peak < 0 else peak
    stage.rows = integer(event.get("rows"))
