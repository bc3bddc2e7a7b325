"""The ``engine`` section: where plans run, and how files are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from merlinkit.engine.base import Engine
from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.parquet_output import DEFAULT_ROW_GROUP_ROWS, Codec, ParquetOutput
from merlinkit.engine.select import ENGINES, opened
from merlinkit.errors import ConfigError, ParameterError, did_you_mean

__all__ = ["OUTPUT_KEYS", "EngineConfig"]

OUTPUT_KEYS = ("codec", "level", "row_group_rows", "rows_per_file")
"""What decides how processed data looks; the rest only where it is made."""

_CLUSTER_KEYS = tuple(field.name for field in fields(DaskOptions))
_ON_CLUSTERS = ("dask",)


@dataclass(frozen=True)
class EngineConfig:
    """Where plans run (see `DaskOptions`), and how files are written (see `ParquetOutput`)."""

    name: str = "cpu"
    codec: Codec = "zstd"
    level: int = 1
    row_group_rows: int = DEFAULT_ROW_GROUP_ROWS
    rows_per_file: int | None = None
    scheduler: str | None = None
    scheduler_file: str | None = None
    workers: int | None = None
    threads: int | None = None
    memory_limit: str | None = None
    dashboard: bool = False
    timeout: float = DaskOptions.timeout

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise ConfigError(
                f"engine.name: no engine {self.name!r}.{did_you_mean(str(self.name), ENGINES)} "
                f"There are: {', '.join(ENGINES)}."
            )
        defaults = DaskOptions()
        given = [key for key in _CLUSTER_KEYS if getattr(self, key) != getattr(defaults, key)]
        if given and self.name not in _ON_CLUSTERS:
            raise ConfigError(
                f"engine.{given[0]} goes with engine=dask, not with engine={self.name}"
            )
        try:
            _ = self.output
            _ = self.cluster
        except ParameterError as error:
            raise ConfigError(f"engine.{error}") from None

    @property
    def output(self) -> ParquetOutput:
        """How processed files are written."""
        return ParquetOutput(self.codec, self.level, self.row_group_rows, self.rows_per_file)

    @property
    def cluster(self) -> DaskOptions:
        """The cluster of engines that have one."""
        return DaskOptions(**{key: getattr(self, key) for key in _CLUSTER_KEYS})

    @contextmanager
    def open(self) -> Iterator[Engine]:
        """Give the engine, and close it at the end."""
        with opened(self.name, self.output, self.cluster) as engine:
            yield engine

    @staticmethod
    def deciding(section: Any) -> dict[str, Any]:
        """Return what of a section as plain values decides the processed data."""
        if not isinstance(section, Mapping):
            return {}
        plain = EngineConfig()
        return {key: section.get(key, getattr(plain, key)) for key in OUTPUT_KEYS}
