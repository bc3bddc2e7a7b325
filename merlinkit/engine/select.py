"""Engines by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from merlinkit.engine.base import Engine
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.dialect import Dialect
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.engine.polars_dialect import PolarsDialect
from merlinkit.errors import ParameterError, did_you_mean

__all__ = ["ENGINES", "dialect_of", "get_engine", "opened"]

ENGINES = ("cpu", "dask")


def get_engine(
    engine: str | Engine,
    output: ParquetOutput | None = None,
    options: DaskOptions | None = None,
) -> Engine:
    """Return the engine of a name, or the engine that was given.

    Parameters
    ----------
    engine
        A name, or an engine.
    output
        How an engine made here writes files.
    options
        The cluster of an engine made here, for those that have one.

    Notes
    -----
    Whoever gets an engine by its name closes it; `opened` does.

    Examples
    --------
    >>> get_engine("cpu").name
    'cpu'
    """
    if not isinstance(engine, str):
        return engine
    _require_known(engine)
    if engine == "cpu":
        return CpuEngine(output)
    # Imports Dask only where it is asked for.
    from merlinkit.engine.dask import DaskEngine

    return DaskEngine(options, output)


@contextmanager
def opened(
    engine: str | Engine,
    output: ParquetOutput | None = None,
    options: DaskOptions | None = None,
) -> Iterator[Engine]:
    """Give an engine; one that is made here, by its name, is closed at the end.

    Examples
    --------
    >>> with opened("cpu") as engine:
    ...     engine.workers
    1
    """
    chosen = get_engine(engine, output, options)
    try:
        yield chosen
    finally:
        if chosen is not engine:
            chosen.close()


def dialect_of(engine: str | Engine) -> Dialect:
    """Return the dialect of an engine, without making one."""
    if not isinstance(engine, str):
        return engine.dialect
    _require_known(engine)
    return PolarsDialect()


def _require_known(engine: str) -> None:
    if engine not in ENGINES:
        raise ParameterError(
            f"no engine '{engine}'.{did_you_mean(engine, ENGINES)} There are: {', '.join(ENGINES)}."
        )
