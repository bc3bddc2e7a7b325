"""Options of the engines that run on a Dask cluster."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from merlinkit.errors import ParameterError

__all__ = ["DaskOptions"]

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B", re.IGNORECASE)
_ADDRESS = re.compile(r"(tcp|tls|ucxx?|ws|wss|inproc)://\S+")
_MOST_WORKERS = 4
LEAST_MEMORY = 500_000_000
"""Bytes of a worker; one with less is ended before it has done anything."""


@dataclass(frozen=True)
class DaskOptions:
    """A cluster of processes on this machine, or one whose scheduler runs already.

    Parameters
    ----------
    scheduler
        Address of a scheduler, ``"tcp://host:8786"``. The cluster stays as it is at the end. With
        None, and without `scheduler_file`, processes on this machine are started and stopped.
    scheduler_file
        File that ``dask scheduler --scheduler-file`` wrote, instead of an address.
    workers
        Processes to start; None starts one for two cores, at most four.
    threads
        Threads of Polars in each process that is started; None shares the cores among them.
    memory_limit
        Memory of each process that is started, such as ``"4GB"``; one that needs more is ended.
        None shares the memory of the machine among them.
    dashboard
        Whether to serve Dask's dashboard for a cluster that is started; its address is printed.
    timeout
        Seconds to wait for a scheduler to answer, and for its first worker.

    Raises
    ------
    ParameterError
        If a value is not possible, or does not go with another.

    Examples
    --------
    >>> DaskOptions(workers=2, memory_limit="4GB").is_started_here
    True
    """

    scheduler: str | None = None
    scheduler_file: str | None = None
    workers: int | None = None
    threads: int | None = None
    memory_limit: str | None = None
    dashboard: bool = False
    timeout: float = 30.0

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < 1
            ):
                raise ParameterError(f"{name} is {value!r}, a whole number of at least 1 expected")
        for name in ("scheduler", "scheduler_file", "memory_limit"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ParameterError(f"{name} is {value!r}, a text expected")
        if self.memory_limit is not None and not _MEMORY.fullmatch(self.memory_limit.strip()):
            raise ParameterError(
                f"memory_limit is {self.memory_limit!r}, a size such as 4GB or 512MiB expected"
            )
        if self.memory_limit is not None and _bytes_in(self.memory_limit) < LEAST_MEMORY:
            raise ParameterError(
                f"memory_limit is {self.memory_limit!r}; a worker needs at least "
                f"{LEAST_MEMORY // 10**6}MB, more than half of which is what it imports"
            )
        if not isinstance(self.dashboard, bool):
            raise ParameterError(f"dashboard is {self.dashboard!r}, true or false expected")
        timeout = self.timeout
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
            raise ParameterError(f"timeout is {timeout!r}, a number of seconds expected")
        self._check_address()

    def _check_address(self) -> None:
        if self.scheduler is not None and self.scheduler_file is not None:
            raise ParameterError(
                "scheduler and scheduler_file are both given; one of them says where it is"
            )
        if self.scheduler is not None and not _ADDRESS.fullmatch(self.scheduler):
            raise ParameterError(
                f"scheduler is {self.scheduler!r}, an address such as tcp://host:8786 expected"
            )
        if not self.is_started_here:
            given = [
                name
                for name in ("workers", "threads", "memory_limit")
                if getattr(self, name) is not None
            ]
            if given:
                raise ParameterError(
                    f"{', '.join(given)}: a scheduler that runs already has its own workers; set "
                    "this where they are started (dask worker --nworkers, --memory-limit, "
                    "POLARS_MAX_THREADS)"
                )

    @property
    def is_started_here(self) -> bool:
        """Whether the processes of the cluster are started and stopped by us."""
        return self.scheduler is None and self.scheduler_file is None

    def processes(self) -> int:
        """Return how many processes to start."""
        return self.workers or max(1, min(_MOST_WORKERS, _cores() // 2))

    def threads_each(self) -> int:
        """Return how many threads Polars has in each process that is started."""
        return self.threads or max(1, _cores() // self.processes())


def _bytes_in(size: str) -> float:
    found = _MEMORY.fullmatch(size.strip())
    assert found is not None
    number, letter, binary = found.groups()
    power = 1 + "kmgt".index(letter.lower()) if letter else 0
    unit: int = (1024 if binary else 1000) ** power
    return float(number) * unit


def _cores() -> int:
    return len(os.sched_getaffinity(0))
