"""How parquet files are written: codec, row groups, files, partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from merlinkit.errors import ParameterError, did_you_mean

__all__ = ["DEFAULT_ROW_GROUP_ROWS", "Codec", "ParquetOutput"]

Codec: TypeAlias = Literal["zstd", "snappy", "lz4", "none"]

DEFAULT_ROW_GROUP_ROWS = 65_536
"""Small enough that a loader can shuffle across many row groups in little memory."""

_LEVELS = range(1, 23)


@dataclass(frozen=True)
class ParquetOutput:
    """How parquet files are written.

    Parameters
    ----------
    codec
        ``"zstd"``, ``"snappy"``, ``"lz4"`` or ``"none"``. All are read by Polars, pyarrow, Spark
        and cuDF; the last decompresses snappy, zstd and lz4 on the device.
    level
        For zstd, 1 (fast) to 22 (small).
    row_group_rows
        Rows of a row group: what a reader holds decoded at a time, and what a loader shuffles.
    rows_per_file
        The largest number of rows of a file; None writes one file for each file that is read.
    partition_by
        Columns that folders are made of, as Hive does: ``day=2026-11-01/part-00000.parquet``. They
        are not in the files then. Every combination of values is a file that is open while it is
        written, so these should be few.

    Raises
    ------
    ParameterError
        If a value is not one of these.

    Examples
    --------
    >>> ParquetOutput(codec="snappy", rows_per_file=1_000_000).row_group_rows
    65536
    """

    codec: Codec = "zstd"
    level: int = 1
    row_group_rows: int = DEFAULT_ROW_GROUP_ROWS
    rows_per_file: int | None = None
    partition_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        codecs = get_args(Codec)
        if self.codec not in codecs:
            raise ParameterError(
                f"codec is {self.codec!r}, one of {', '.join(codecs)} expected."
                f"{did_you_mean(str(self.codec), codecs)}"
            )
        if isinstance(self.level, bool) or not isinstance(self.level, int):
            raise ParameterError(f"level is {self.level!r}, a whole number from 1 to 22 expected")
        if self.level not in _LEVELS:
            raise ParameterError(f"level is {self.level}, 1 (fast) to 22 (small) expected")
        _require_rows("row_group_rows", self.row_group_rows)
        if self.rows_per_file is not None:
            _require_rows("rows_per_file", self.rows_per_file)
        if isinstance(self.partition_by, str):
            object.__setattr__(self, "partition_by", (self.partition_by,))
        names = tuple(self.partition_by)
        if not all(isinstance(name, str) and name for name in names):
            raise ParameterError(
                f"partition_by is {self.partition_by!r}, names of columns expected"
            )
        if len(set(names)) < len(names):
            raise ParameterError(f"partition_by names a column twice: {', '.join(names)}")
        object.__setattr__(self, "partition_by", names)

    @property
    def is_one_file(self) -> bool:
        """Whether the result of a plan is one file."""
        return self.rows_per_file is None and not self.partition_by


def _require_rows(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"{name} is {value!r}, a whole number of at least 1 expected")
