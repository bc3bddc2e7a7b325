"""Parquet files: types from their footers, one plan over files that differ in harmless ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merlinkit.data.dtype_rules import (
    can_cast,
    common_dtype,
    plain_dtype,
    plain_or_same,
    read_as,
)
from merlinkit.data.text import reading, shown
from merlinkit.dtypes import dtype_name
from merlinkit.errors import DataError, SchemaError, did_you_mean

__all__ = ["ParquetFile", "ParquetReader"]

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"


@dataclass(frozen=True)
class ParquetFile:
    """What the footer of a file says.

    Parameters
    ----------
    path
        The file.
    schema
        Its columns, as Polars reads them.
    rows
        Its number of rows.
    """

    path: Path
    schema: pl.Schema
    rows: int

    @classmethod
    def read(cls, path: Path) -> ParquetFile:
        """Read the footer of a file.

        Raises
        ------
        DataError
            If the file is missing, unreadable, no parquet file, or cut short.
        """
        with reading(path):
            if path.is_dir():
                raise DataError(f"{path} is a folder where a file was expected")
            with path.open("rb") as file:
                head = file.read(64)
                size = file.seek(0, 2)
                file.seek(max(0, size - 4))
                tail = file.read(4)
        if not head:
            raise DataError(f"{path} is empty: 0 bytes, a parquet file was expected")
        if head.startswith(_ENCRYPTED):
            raise DataError(f"{path} is encrypted parquet, which cannot be read")
        if not head.startswith(_MAGIC):
            raise DataError(
                f"{path} is not a parquet file: it starts with {shown(head[:24])}, not PAR1. If it "
                "is text, name it .csv, .tsv or .jsonl, or give format=..."
            )
        if tail != _MAGIC or size < 12:
            raise DataError(
                f"{path} is a damaged parquet file: its {size:,} bytes do not end with PAR1, so "
                "its end is missing. Write or fetch it again"
            )
        try:
            plan = _scan([path])
            return cls(path, plan.collect_schema(), plan.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).partition("\n")[0]
            raise DataError(
                f"{path} is a damaged parquet file: its footer cannot be read ({first}). Write or "
                "fetch it again"
            ) from None


class ParquetReader:
    """Reads parquet files whose columns agree, or can be made to.

    Parameters
    ----------
    files
        The files, sorted.
    dtypes
        Data types to read columns as.
    columns
        The columns to read, in order; None reads all, in the order of the first file.

    Raises
    ------
    DataError
        If a column is missing in some files, has types that do not go together, or holds
        structs; all of them at once.
    SchemaError
        If a column that is named is not there or cannot have the data type it is given.
    """

    def __init__(
        self,
        files: Sequence[Path],
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
    ) -> None:
        self.notes: list[str] = []
        self.files = _read_footers(files)
        every = list(dict.fromkeys(name for file in self.files for name in file.schema))
        wanted = every if columns is None else list(columns)
        for name in [*wanted, *dtypes]:
            if name not in every:
                hint = did_you_mean(name, every) or f" There are: {', '.join(every[:20])}."
                raise SchemaError(f"{files[0]}: no column '{name}'.{hint}")
        self.schema = self._unify(wanted, dtypes)
        if columns is None and any(list(file.schema) != wanted for file in self.files):
            self.notes.append(f"columns are in the order of {self.files[0].path}")
        self.num_rows = sum(file.rows for file in self.files)

    def _unify(self, wanted: Sequence[str], dtypes: Mapping[str, pl.DataType]) -> pl.Schema:
        unified: dict[str, pl.DataType] = {}
        problems: list[str] = []
        for name in wanted:
            missing = [file.path for file in self.files if name not in file.schema]
            if missing:
                problems.append(f"column '{name}' is missing in {_listed(missing)}")
                continue
            kinds: dict[pl.DataType, list[Path]] = {}
            for file in self.files:
                kinds.setdefault(file.schema[name], []).append(file.path)
            try:
                unified[name] = self._one_type(name, kinds, dtypes.get(name))
            except SchemaError as error:
                problems.append(str(error))
        if problems:
            raise DataError("; ".join(problems))
        return pl.Schema(unified)

    def _one_type(
        self, name: str, kinds: Mapping[pl.DataType, list[Path]], wanted: pl.DataType | None
    ) -> pl.DataType:
        """Return the type of a column that has these types in these files."""
        found = ", ".join(f"{kind} in {_listed(paths)}" for kind, paths in kinds.items())
        if wanted is not None:
            for kind in kinds:
                if not can_cast(plain_or_same(kind), wanted):
                    raise SchemaError(f"column '{name}' is {found}, not {dtype_name(wanted)}")
            return wanted
        common: pl.DataType | None = pl.Null()
        try:
            for kind in kinds:
                plain = kind if isinstance(kind, pl.Null) else plain_dtype(kind)
                common = None if common is None else common_dtype(common, plain)
        except SchemaError as error:
            raise SchemaError(
                f"column '{name}' {error}; flatten it, or leave it out with columns=[...]"
            ) from None
        if common is None:
            raise SchemaError(
                f"column '{name}' has types that do not go together: {found}. Say what to read it "
                f"as, with dtypes={{'{name}': ...}}"
            )
        common = plain_dtype(common)
        if len(kinds) > 1:
            self.notes.append(f"column '{name}' is read as {dtype_name(common)}: it is {found}")
        return common

    def plan(self, files: Iterable[ParquetFile] | None = None) -> pl.LazyFrame:
        """Return one plan over some files, or all of them."""
        chosen = list(self.files if files is None else files)
        raw = [(list(file.schema.items()), file) for file in chosen]
        if all(schema == raw[0][0] for schema, _ in raw):
            return self._shaped(_scan([file.path for file in chosen]), chosen[0].schema)
        return pl.concat([self._shaped(_scan([file.path]), file.schema) for file in chosen])

    def _shaped(self, plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        if list(schema.items()) == list(self.schema.items()):
            return plan
        return plan.select(read_as(name, schema[name], kind) for name, kind in self.schema.items())


def _scan(paths: list[Path]) -> pl.LazyFrame:
    # Paths are files already: no character of theirs is a pattern, no folder a column.
    return pl.scan_parquet(paths, glob=False, hive_partitioning=False)


def _read_footers(paths: Sequence[Path]) -> list[ParquetFile]:
    files: list[ParquetFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            files.append(ParquetFile.read(path))
        except DataError as error:
            problems.append(str(error))
    if problems:
        more = "" if len(problems) <= 5 else f"; and {len(problems) - 5} more files"
        raise DataError("; ".join(problems[:5]) + more)
    return files


def _listed(paths: Sequence[Path], limit: int = 3) -> str:
    shown_paths = ", ".join(str(path) for path in paths[:limit])
    return shown_paths if len(paths) <= limit else f"{shown_paths} and {len(paths) - limit} more"
