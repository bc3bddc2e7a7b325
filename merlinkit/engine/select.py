"""Engines by name."""

from __future__ import annotations

from merlinkit.engine.base import Engine
from merlinkit.engine.cpu import DEFAULT_ROW_GROUP_ROWS, CpuEngine
from merlinkit.errors import ParameterError, did_you_mean

__all__ = ["ENGINES", "get_engine"]

ENGINES = ("cpu",)


def get_engine(engine: str | Engine, *, row_group_rows: int = DEFAULT_ROW_GROUP_ROWS) -> Engine:
    """Return the engine of a name, or the engine that was given.

    Parameters
    ----------
    engine
        A name, or an engine.
    row_group_rows
        Rows of a row group in files that an engine made here writes.

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
    return CpuEngine(row_group_rows=row_group_rows)
