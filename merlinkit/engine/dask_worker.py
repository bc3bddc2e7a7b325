"""What a worker process that we started does first; Dask calls `dask_setup`."""

from __future__ import annotations

import signal

__all__ = ["dask_setup"]


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the client: it ends workers."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
