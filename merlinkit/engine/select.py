"""Engines by name."""

from __future__ import annotations

from merlinkit.engine.base import Engine
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.errors import ParameterError, did_you_mean

__all__ = ["ENGINES", "get_engine"]

ENGINES = ("cpu",)


def get_engine(engine: str | Engine, output: ParquetOutput | None = None) -> Engine:
    """Return the engine of a name, or the engine that was given.

    Parameters
    ----------
    engine
        A name, or an engine.
    output
        How an engine made here writes files.

    Examples
    --------
    >>> get_engine("cpu").name
    'cpu'
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise ParameterError(
            f"no engine '{engine}'.{did_you_mean(engine, ENGINES)} There are: {', '.join(ENGINES)}."
        )
    return CpuEngine(output)
