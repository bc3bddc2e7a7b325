"""Opening and closing a Dask cluster, and the checks that come before any work on it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import logging
import multiprocessing
import os
import platform
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from merlinkit.engine.dask_options import DaskOptions
from merlinkit.errors import EngineError

__all__ = ["Cluster", "open_cluster", "require_same_versions", "require_visible"]

ATTEMPTS = 3
"""A task that so many workers died of is not tried again."""

_GUARD = (
    'In a script, put the work under `if __name__ == "__main__":`, since each process that '
    "engine=dask starts imports the script again"
)
_PACKAGES = ("merlinkit", "polars", "distributed")


@dataclass
class Cluster:
    """A client, and the processes behind it if they are ours.

    Parameters
    ----------
    client
        Connected to the scheduler.
    started
        The ``LocalCluster``; None for one that ran already.
    dashboard
        Address of the dashboard of a cluster that we started, None if it has none.
    folder
        Folder of the processes that we started, None if there are none.
    """

    client: Any
    started: Any | None
    dashboard: str | None = None
    folder: Path | None = None

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(self.client.scheduler.address) if self.client.scheduler else "the scheduler"

    def workers(self) -> int:
        """Return how many workers there are now."""
        return len(self.client.nthreads())

    def last_words(self, lines: int = 5) -> str:
        """Return the last lines that the workers logged, as far as they can still be asked."""
        try:
            logs = self.client.get_worker_logs(n=lines, nanny=self.started is not None)
        except Exception:  # the cluster may be gone altogether, and this is about to be reported
            return ""
        said = [
            f"{worker}: {text}" for worker, log in logs.items() for _, text in list(log)[:lines]
        ]
        return "\n".join(said[-lines:])

    def close(self) -> None:
        """Close the client, and end the processes that we started."""
        try:
            self.client.close(timeout=5)
        finally:
            if self.started is not None:
                self.started.close(timeout=10)
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)


def open_cluster(options: DaskOptions) -> Cluster:
    """Start a cluster on this machine, or connect to one, and check that it can do our work.

    Raises
    ------
    EngineError
        If Dask is not installed, the scheduler does not answer or has no workers, or the workers
        have other versions than we have.
    """
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise EngineError(
            f"engine=dask needs Dask, and {error.name} is not installed: pip install "
            "'merlinkit[dask]'"
        ) from None
    # What workers and schedulers say when they are lost is part of our own messages.
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    start = _start if options.is_started_here else _connect
    cluster = start(distributed, options)
    try:
        _wait_for_a_worker(cluster, options)
        require_same_versions(cluster)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _start(distributed: Any, options: DaskOptions) -> Cluster:
    import dask

    if options.dashboard and importlib.util.find_spec("bokeh") is None:
        raise EngineError(
            "engine.dashboard=true needs Bokeh: pip install bokeh, or leave the dashboard out"
        )
    threads = str(options.threads_each())
    settings = {
        "distributed.scheduler.allowed-failures": ATTEMPTS - 1,
        # Polars makes its pool of threads when it is imported.
        "distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": threads,
        # Dask holds none of our rows, so it has nothing to spill, and a worker that it paused would
        # wait for memory that nobody frees. One that takes too much is ended, and its task retried.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "logging.distributed": "critical",
    }
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        # In a process that is just being started, and imports the script that starts it.
        raise EngineError(_GUARD)
    folder = Path(tempfile.mkdtemp(prefix="merlinkit-dask-"))
    started = None
    try:
        with dask.config.set(settings), _start_errors(), _interrupts_deferred():
            started = distributed.LocalCluster(
                n_workers=options.processes(),
                threads_per_worker=1,
                processes=True,
                memory_limit=options.memory_limit or "auto",
                host="127.0.0.1",
                # The scheduler answers questions of health there, with a dashboard or without.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": options.dashboard},
                silence_logs=logging.CRITICAL,
                local_directory=str(folder),
                env={"POLARS_MAX_THREADS": threads, "DASK_LOGGING__DISTRIBUTED": "critical"},
            )
        client = distributed.Client(started, set_as_default=False)
    except BaseException:
        if started is not None:
            started.close(timeout=10)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    dashboard = started.dashboard_link if options.dashboard else None
    return Cluster(client, started, dashboard, folder)


@contextmanager
def _start_errors() -> Iterator[None]:
    """Say what most often keeps processes from starting."""
    try:
        yield
    except (RuntimeError, OSError, TimeoutError) as error:
        raise EngineError(
            f"the processes of engine=dask cannot be started ({str(error).splitlines()[0]}). "
            f"{_GUARD}"
        ) from error


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C wait until processes are started, and never reach them: the client ends them.

    What is started half way cannot be ended in order. A thread and a process begin with the blocked
    signals of the thread that starts them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # It unblocks the signal in the thread that starts it, so it is started before.
    resource_tracker.ensure_running()
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt


def _connect(distributed: Any, options: DaskOptions) -> Cluster:
    address = options.scheduler or _address_in(Path(str(options.scheduler_file)))
    try:
        client = distributed.Client(address, timeout=options.timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineError(
            f"no scheduler answers at {address} ({reason}); start one with `dask scheduler`, check "
            "the address in engine.scheduler, or leave it out to start workers on this machine"
        ) from None
    return Cluster(client, None)


def _address_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise EngineError(
            f"engine.scheduler_file {path} is not there; `dask scheduler --scheduler-file` "
            "writes it"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"engine.scheduler_file {path} names no scheduler ({error}); `dask scheduler "
            "--scheduler-file` writes such a file"
        ) from None


def _wait_for_a_worker(cluster: Cluster, options: DaskOptions) -> None:
    try:
        cluster.client.wait_for_workers(1, timeout=options.timeout)
    except TimeoutError:
        raise EngineError(
            f"the scheduler at {cluster.address} has no workers after {options.timeout:g} s; start "
            f"some with `dask worker {cluster.address} --nthreads 1`"
        ) from None


def require_same_versions(cluster: Cluster) -> None:
    """Raise `EngineError` unless all workers have our Python, Polars, merlinkit and Dask."""
    problems = []
    major = _ask(cluster, platform.python_version)
    ours = platform.python_version()
    for worker, found in major.items():
        if str(found).split(".")[:2] != ours.split(".")[:2]:
            problems.append(f"{worker} has Python {found}, we have {ours}")
    for package in _PACKAGES:
        here = importlib.metadata.version(package)
        for worker, found in _ask(cluster, importlib.metadata.version, package).items():
            if isinstance(found, importlib.metadata.PackageNotFoundError):
                problems.append(f"{worker} has no {package}, we have {here}")
            elif found != here:
                problems.append(f"{worker} has {package} {found}, we have {here}")
    if problems:
        more = "" if len(problems) <= 5 else f", and {len(problems) - 5} more differences"
        raise EngineError(
            f"the workers of {cluster.address} cannot do this work: {'; '.join(problems[:5])}"
            f"{more}. Install the same versions where the workers run, and start them again"
        )


def require_visible(cluster: Cluster, paths: Sequence[Path]) -> None:
    """Raise `EngineError` unless all workers see these files and folders."""
    wanted = [str(path.absolute()) for path in paths]
    ours = socket.gethostname()
    for path in wanted:
        for worker, found in _ask(cluster, os.path.exists, path).items():
            # A worker that is just being replaced cannot answer.
            if found is False:
                raise EngineError(
                    f"worker {worker} does not see {path}, which is on {ours}; data and run_dir "
                    "must be on storage that the client and all workers see under the same name"
                )


def _ask(cluster: Cluster, question: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return what each worker answers; what is asked must not need merlinkit there."""
    return dict(cluster.client.run(question, *arguments, on_error="return"))
