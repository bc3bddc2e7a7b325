"""Parquet files: types from their footers, one plan over files that differ in harmless ways."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa

from merlinkit.data.arrow_parquet import arrow_plan, arrow_schema
from merlinkit.data.arrow_types import arrow_target, breaks_polars, polars_reads, time_zone_of
from merlinkit.data.dtype_rules import (
    can_cast,
    common_dtype,
    offset_zone,
    plain_dtype,
    plain_or_same,
    plain_with_nulls,
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
        Its columns that can be read, as Polars has them then.
    rows
        Its number of rows.
    names
        All its columns, in order.
    unreadable
        What those hold that cannot be read.
    by_arrow
        Columns that Polars cannot read, or reads wrong, but pyarrow can.
    breaks_polars
        Whether Polars cannot read any column of the file.
    notes
        What columns hold that is not kept, by name.
    """

    path: Path
    schema: pl.Schema
    rows: int
    names: tuple[str, ...]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    by_arrow: frozenset[str] = frozenset()
    breaks_polars: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

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
        foreign = cls._by_arrow(path)
        if foreign is not None and foreign.breaks_polars:
            return foreign
        try:
            plan = _scan([path])
            schema = plan.collect_schema()
            rows = plan.select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            first = str(error).partition("\n")[0]
            raise DataError(
                f"{path} is a damaged parquet file: its footer cannot be read ({first}). Write or "
                "fetch it again"
            ) from None
        if foreign is None:
            return cls(path, schema, rows, tuple(schema))
        kept = {
            name: foreign.schema[name] if name in foreign.by_arrow else kind
            for name, kind in schema.items()
            if name not in foreign.unreadable
        }
        return replace(foreign, schema=pl.Schema(kept))

    @classmethod
    def _by_arrow(cls, path: Path) -> ParquetFile | None:
        """Return the file if pyarrow must read some of it, or there is what no one can read."""
        found = arrow_schema(path)
        if found is None:
            return None
        columns, rows, misread = found
        repeated = next((name for name in columns.names if columns.names.count(name) > 1), None)
        if repeated is not None:
            raise DataError(
                f"{path} has more than one column named '{repeated}', so that it is not clear "
                "which one is meant. Write it with distinct names"
            )
        broken = any(breaks_polars(column.type, column.metadata) for column in columns)
        odd = [
            column for column in columns if column.name in misread or not polars_reads(column.type)
        ]
        if not broken and not odd:
            return None
        targets: dict[str, pl.DataType] = {}
        unreadable: dict[str, str] = {}
        notes: dict[str, str] = {}
        for column in columns if broken else odd:
            try:
                empty = pa.array([], arrow_target(column.type))
            except SchemaError as error:
                unreadable[column.name] = str(error)
                continue
            targets[column.name] = pl.Series(empty).dtype
            zone = time_zone_of(column.type)
            if zone is not None:
                notes[column.name] = f"is read as UTC: its time zone is {zone}"
        return cls(
            path,
            pl.Schema(targets),
            rows,
            tuple(columns.names),
            unreadable,
            frozenset(targets),
            broken,
            notes,
        )


class ParquetReader:
    """Reads parquet files whose columns agree, or can be made to.

    Parameters
    ----------
    files
        The files, sorted.
    dtypes
        Data types to read columns as.
    columns
        The columns to read, in order; None reads those of the first file, in its order.
    missing_columns
        ``"error"``, or ``"null"``, which fills columns that a file lacks with nulls; with
        ``columns`` None all columns of all files are read then.
    required
        With ``columns`` None, the columns that must be readable; others that are not are left
        out, with a note. None stands for every column.

    Attributes
    ----------
    needs_cpu : bool
        Whether some files are read by pyarrow, which no other engine than the CPU can plan.

    Raises
    ------
    DataError
        If a column is missing in some files, has types that do not go together, or holds what
        cannot be read; all of them at once.
    SchemaError
        If a column that is named is not there or cannot have the data type it is given.
    """

    def __init__(
        self,
        files: Sequence[Path],
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
        *,
        missing_columns: Literal["error", "null"] = "error",
        required: Collection[str] | None = None,
    ) -> None:
        self.notes: list[str] = []
        # Columns that hold nothing but nulls in every file, and no type.
        self.untyped: set[str] = set()
        self.files = _read_footers(files)
        self._fill = missing_columns == "null"
        every = list(dict.fromkeys(name for file in self.files for name in file.names))
        for name in [*(columns or ()), *dtypes]:
            if name not in every:
                hint = did_you_mean(name, every) or f" There are: {', '.join(every[:20])}."
                raise SchemaError(f"{files[0]}: no column '{name}'.{hint}")
        wanted = self._wanted(every, dtypes) if columns is None else list(columns)
        self.schema = self._unify(wanted, dtypes, None if columns is not None else required)
        first = [name for name in self.files[0].names if name in self.schema]
        if columns is None and any(
            [name for name in file.names if name in self.schema] != first for file in self.files
        ):
            self.notes.append(f"columns are in the order of {self.files[0].path}")
        self.num_rows = sum(file.rows for file in self.files)
        self.needs_cpu = any(self._reads_by_arrow(file) for file in self.files)

    def _wanted(self, every: Sequence[str], dtypes: Mapping[str, pl.DataType]) -> list[str]:
        """Return the columns of the first file and those with a given type, or else all."""
        if self._fill:
            return list(every)
        first = self.files[0]
        extra = [name for name in every if name not in first.names and name not in dtypes]
        for name in extra:
            having = [file.path for file in self.files if name in file.names]
            self.notes.append(
                f"column '{name}' is not read: it is in {_listed(having)}, but not in {first.path}"
            )
        return [name for name in every if name not in extra]

    def _unify(
        self,
        wanted: Sequence[str],
        dtypes: Mapping[str, pl.DataType],
        required: Collection[str] | None,
    ) -> pl.Schema:
        unified: dict[str, pl.DataType] = {}
        problems: list[str] = []
        for name in wanted:
            before = len(self.notes)
            try:
                unified[name] = self._type_of(name, dtypes.get(name))
            except SchemaError as error:
                del self.notes[before:]
                if required is None or name in required:
                    problems.append(str(error))
                else:
                    self.notes.append(f"{error}; it is left out, since nothing needs it")
        if problems:
            raise DataError("; ".join(problems))
        return pl.Schema(unified)

    def _type_of(self, name: str, wanted: pl.DataType | None) -> pl.DataType:
        """Return the type to read a column as, noting what a user may want to know of it."""
        missing = [file.path for file in self.files if name not in file.names]
        if missing and not self._fill:
            having = next(file.path for file in self.files if name in file.names)
            raise SchemaError(
                f"column '{name}' is missing in {_listed(missing)}, though {having} has it; leave "
                "it out with columns=[...], or read it as null there with missing_columns='null'"
            )
        kinds: dict[pl.DataType, list[Path]] = {}
        for file in self.files:
            if name in file.unreadable:
                raise SchemaError(
                    f"column '{name}' {file.unreadable[name]}, in {file.path}; write it as another "
                    "type, or leave it out with columns=[...]"
                )
            if name in file.schema:
                kinds.setdefault(file.schema[name], []).append(file.path)
        kind = self._one_type(name, kinds, wanted)
        if missing:
            self.notes.append(f"column '{name}' is null in {_listed(missing)}, which lack it")
        self.notes += dict.fromkeys(
            f"column '{name}' {file.notes[name]}" for file in self.files if name in file.notes
        )
        return kind

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
                plain = plain_with_nulls(kind)
                common = None if common is None else common_dtype(common, plain)
        except SchemaError as error:
            raise SchemaError(
                f"column '{name}' {error}, in {_listed(kinds[kind])}; flatten it, or leave it out "
                "with columns=[...]"
            ) from None
        if common is None:
            raise SchemaError(
                f"column '{name}' has types that do not go together: {found}. Say what to read it "
                f"as, with dtypes={{'{name}': ...}}"
            )
        if isinstance(common, pl.Null):
            self.untyped.add(name)
        common = plain_dtype(common)
        zone = next(filter(None, map(offset_zone, kinds)), None)
        if zone is not None:
            self.notes.append(f"column '{name}' is read as UTC: its time zone is {zone}")
        elif len(kinds) > 1:
            self.notes.append(f"column '{name}' is read as {dtype_name(common)}: it is {found}")
        return common

    def _reads_by_arrow(self, file: ParquetFile) -> bool:
        return file.breaks_polars or not file.by_arrow.isdisjoint(self.schema)

    def plan(self, files: Iterable[ParquetFile] | None = None) -> pl.LazyFrame:
        """Return one plan over some files, or all of them."""
        chosen = list(self.files if files is None else files)
        first = list(chosen[0].schema.items())
        alike = all(
            list(file.schema.items()) == first and not self._reads_by_arrow(file) for file in chosen
        )
        if alike and not any(file.unreadable for file in chosen):
            return self._shaped(_scan([file.path for file in chosen]), chosen[0])
        return pl.concat([self._shaped(self._plan_of(file), file) for file in chosen])

    def _plan_of(self, file: ParquetFile) -> pl.LazyFrame:
        if self._reads_by_arrow(file):
            kept = {name: kind for name, kind in file.schema.items() if name in self.schema}
            return arrow_plan(file.path, pl.Schema(kept))
        return _scan([file.path])

    def _shaped(self, plan: pl.LazyFrame, file: ParquetFile) -> pl.LazyFrame:
        schema = file.schema
        if list(file.names) == self.schema.names() and list(schema.items()) == list(
            self.schema.items()
        ):
            return plan
        return plan.select(
            read_as(name, schema[name], kind)
            if name in schema
            else pl.lit(None, dtype=kind).alias(name)
            for name, kind in self.schema.items()
        )


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
