"""The Dask engine: plans and tasks on the workers of a cluster, each with a local engine.

Neither rows nor large tables go through the client or the scheduler. What travels is the plan of a
partition, which names files, and what comes back are numbers of rows, small frames and names of
files on storage that all workers see.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from merlinkit.engine.base import LocalEngine
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.dask_cluster import (
    ATTEMPTS,
    Cluster,
    open_cluster,
    require_visible,
)
from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.task import Task
from merlinkit.errors import EngineError

__all__ = ["DaskEngine"]

Result = TypeVar("Result")

_LOOK_SECONDS = 2.0
_POLL_SECONDS = 0.02
_GIVE_UP_SECONDS = 60.0

LARGEST_TASK = 32 * 2**20
"""Bytes of a task; one that is larger holds rows, which belong into files."""


class DaskEngine:
    """Runs tasks on the workers of a Dask cluster.

    Parameters
    ----------
    options
        Which cluster; None starts processes on this machine.
    output
        How files are written, where the caller of `sink` does not say.

    Attributes
    ----------
    bytes_sent, bytes_received : int
        Size of the tasks sent to workers and of the results that came back, so far.

    Raises
    ------
    EngineError
        If there is no such cluster, or its workers cannot do the work.

    Notes
    -----
    A task whose worker is lost is done again on another; one that three workers died of ends the
    run. Results are those of the CPU engine, except that sums of floats may differ in the last
    bits, since the parts of a sum are added in another order.
    """

    name = "dask"

    def __init__(
        self, options: DaskOptions | None = None, output: ParquetOutput | None = None
    ) -> None:
        self.options = options or DaskOptions()
        self.output = output or ParquetOutput()
        self.dialect: Dialect = _local_engine(self.output).dialect
        self.bytes_sent = 0
        self.bytes_received = 0
        self._cluster: Cluster = open_cluster(self.options)

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        return self._cluster

    @property
    def workers(self) -> int:
        """Workers that the cluster has now."""
        return max(1, self._cluster.workers())

    @property
    def where(self) -> str:
        """Number of workers, and addresses of scheduler and dashboard."""
        dashboard = self._cluster.dashboard
        seen = f", dashboard at {dashboard}" if dashboard else ""
        count = f"{self.workers} Dask worker{'s' if self.workers != 1 else ''}"
        ours = "started here" if self.options.is_started_here else "of a cluster"
        return f"{count} {ours}, scheduler at {self._cluster.address}{seen}"

    def require_visible(self, paths: Sequence[Path]) -> None:
        """Raise `EngineError` unless all workers see these files and folders."""
        require_visible(self._cluster, paths)

    # -- plans --------------------------------------------------------------------------------

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        """Run each plan on a worker and bring its small result here."""
        return list(self.run(Task("a query", partial(_collect, plan)) for plan in plans))

    def sink(self, plan: pl.LazyFrame, path: Path, output: ParquetOutput | None = None) -> int:
        """Write the result of a plan on a worker; see `LocalEngine.sink`."""
        work = partial(_sink, plan, path.absolute(), output)
        return next(self.run([Task(f"writing {path}", work)]))

    def sink_files(
        self, plan: pl.LazyFrame, folder: Path, name: str, output: ParquetOutput
    ) -> list[Path]:
        """Write the result of a plan on a worker; see `LocalEngine.sink_files`."""
        work = partial(_sink_files, plan, folder.absolute(), name, output)
        return next(self.run([Task(f"writing {folder / name}", work)]))

    def sink_by(self, plan: pl.LazyFrame, key: str, folder: Path) -> None:
        """Write the rows of each value into a file of their own; see `LocalEngine.sink_by`."""
        work = partial(_sink_by, plan, key, folder.absolute())
        next(self.run([Task(f"writing {folder}", work)]))

    # -- tasks --------------------------------------------------------------------------------

    def run(self, tasks: Iterable[Task[Result]]) -> Iterator[Result]:
        """Do tasks on the workers; see `Engine.run`."""
        sent: list[tuple[str, Any]] = []
        try:
            for task in tasks:
                sent.append((task.label, self._send(task)))
            for index, (label, future) in enumerate(sent):
                result: Result = self._receive(label, future)
                sent[index] = (label, None)
                yield result
        except BaseException as error:
            waiting = [future for _, future in sent if future is not None]
            if waiting:
                self._cancel(waiting, wait=not isinstance(error, KeyboardInterrupt))
            raise

    def _send(self, task: Task[Any]) -> Any:
        import cloudpickle

        payload = cloudpickle.dumps(task.work)
        if len(payload) > LARGEST_TASK:
            raise EngineError(
                f"{task.label} would send {len(payload) / 2**20:,.0f} MiB of rows through the "
                "scheduler of the cluster; write the frame to parquet, on storage that all workers "
                "see, and give its path instead. If it is what a workflow learned in memory, fit "
                "it with work_dir=..., or save and load it"
            )
        if self._cluster.client.status == "closed":
            raise EngineError("the engine is closed; make another one")
        self.bytes_sent += len(payload)
        return self._cluster.client.submit(
            _do,
            payload,
            self.output,
            str(Path.cwd()),
            key=f"merlinkit-{secrets.token_hex(8)}",
            pure=False,
        )

    def _receive(self, label: str, future: Any) -> Any:
        import cloudpickle
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            packed = self._wait(label, future)
        except KilledWorker as error:
            said = self._cluster.last_words()
            raise EngineError(
                f"{label}: {ATTEMPTS} workers died of it, the last at {error.last_worker.address}. "
                "Most often its rows need more memory than a worker may take: give workers more "
                "(engine.memory_limit, or fewer engine.workers), or cut the data into smaller files"
                + (f". The workers' last words:\n{said}" if said else "")
            ) from None
        except (CancelledError, CommClosedError) as error:
            raise EngineError(
                f"{label}: the scheduler at {self._cluster.address} is gone "
                f"({type(error).__name__}); start it again, and call the same command: what was "
                "finished is kept"
            ) from None
        self.bytes_received += len(packed)
        # Made by a worker of ours just now.
        return cloudpickle.loads(packed)

    def _wait(self, label: str, future: Any) -> bytes:
        """Return the result of a task; raise when there has been no worker for long."""
        alone_since: float | None = None
        while True:
            try:
                return bytes(future.result(timeout=_LOOK_SECONDS))
            except TimeoutError:
                if future.done():
                    return bytes(future.result())
                if self._cluster.workers():
                    alone_since = None
                    continue
            now = time.monotonic()
            alone_since = alone_since or now
            if now - alone_since > self.options.timeout:
                raise EngineError(
                    f"{label}: the scheduler at {self._cluster.address} has had no workers for "
                    f"{self.options.timeout:g} s; start some again, and call the same command: "
                    "what was finished is kept"
                )

    def _cancel(self, futures: list[Any], *, wait: bool) -> None:
        """Give tasks up; if told so, wait until none of them runs, and so writes, any more."""
        client = self._cluster.client
        keys = {future.key for future in futures}
        try:
            client.cancel(futures, force=True)
            until = time.monotonic() + _GIVE_UP_SECONDS
            while wait and time.monotonic() < until:
                running = client.run(_running, on_error="ignore").values()
                if keys.isdisjoint(key for some in running for key in some):
                    break
                time.sleep(_POLL_SECONDS)
        except Exception:  # nothing is left to be given up where there is no cluster any more
            return

    def close(self) -> None:
        """Leave the cluster; end the processes that were started for it."""
        self._cluster.close()


# -- on a worker ------------------------------------------------------------------------------

_engines: dict[ParquetOutput, CpuEngine] = {}


def _local_engine(output: ParquetOutput) -> CpuEngine:
    """Return the engine of this process, made once."""
    if output not in _engines:
        _engines[output] = CpuEngine(output)
    return _engines[output]


def _do(payload: bytes, output: ParquetOutput, folder: str) -> bytes:
    """Do a task and return its pickled result."""
    import cloudpickle

    # Relative paths mean here what they mean where they were written.
    if str(Path.cwd()) != folder and Path(folder).is_dir():
        os.chdir(folder)
    work = cloudpickle.loads(payload)
    try:
        packed: bytes = cloudpickle.dumps(work(_local_engine(output)))
    except pl.exceptions.PanicException as error:
        # As it is no `Exception`, it would end the thread that the worker does tasks in.
        raise pl.exceptions.ComputeError(f"Polars gave up: {error}") from None
    return packed


def _running(dask_worker: Any) -> list[str]:
    """Return the tasks that a worker is busy with, those that were given up among them."""
    return [task.key for task in dask_worker.state.executing]


def _collect(plan: pl.LazyFrame, engine: LocalEngine) -> pl.DataFrame:
    return engine.collect([plan])[0]


def _sink(plan: pl.LazyFrame, path: Path, output: ParquetOutput | None, engine: LocalEngine) -> int:
    return engine.sink(plan, path, output)


def _sink_files(
    plan: pl.LazyFrame, folder: Path, name: str, output: ParquetOutput, engine: LocalEngine
) -> list[Path]:
    return engine.sink_files(plan, folder, name, output)


def _sink_by(plan: pl.LazyFrame, key: str, folder: Path, engine: LocalEngine) -> None:
    engine.sink_by(plan, key, folder)
