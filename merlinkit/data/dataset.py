"""A data set: where rows come from, and the schema of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import polars as pl

from merlinkit.data.csv import CsvReader
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dtype_rules import plain_dtype
from merlinkit.data.frames import FrameReader, frame_from
from merlinkit.data.hive import HiveColumns
from merlinkit.data.jsonl import JsonlReader
from merlinkit.data.malformed import Malformed
from merlinkit.data.parquet import ParquetReader
from merlinkit.data.row_ranges import row_ranges
from merlinkit.data.sources import Files, resolve_files, short_names
from merlinkit.data.text_plan import TextReader, text_plan
from merlinkit.dtypes import DTypeLike, dtype_from_name
from merlinkit.errors import (
    ArtifactError,
    DataError,
    ParameterError,
    SchemaError,
    did_you_mean,
)
from merlinkit.schema import Schema

__all__ = ["SCHEMA_FILE", "Dataset"]

SCHEMA_FILE = "schema.json"
"""A schema of this name beside parquet files tells tags and domains of their columns."""


class Dataset:
    r"""Rows from files or a frame, as a lazy plan and a schema.

    Making one reads footers and first rows, never whole files.

    Parameters
    ----------
    source
        * a file, a folder (all data files in it and below; names that start with ``.`` or ``_``
          are left out), a glob (``**`` goes through folders), or a list of files and globs:
          parquet, csv, tsv, jsonl and ndjson, text also packed by gzip or zstd;
        * a polars DataFrame or LazyFrame, a pandas DataFrame, a pyarrow Table, or anything with
          ``__arrow_c_stream__``.
    format
        ``"parquet"``, ``"csv"``, ``"tsv"`` or ``"jsonl"``; None goes by the names of the files.
    csv
        How csv and tsv files are written.
    dtypes
        Data types to read columns as, by name. For text files, types that are not given are
        inferred from the first rows. For others, each value must fit the type it is given.
    schema
        The columns to read, in order, with their types, tags and domains. None reads all; a
        ``schema.json`` beside parquet files is used where its columns match.
    name
        A name for messages and reports; None takes it from the source.
    columns
        The columns to read, in order, where no schema says so. Columns that are not read may be
        of any type, differ between files, or be missing.
    fields
        For jsonl: columns that are made of values within nested objects, as paths of keys, such
        as ``{"city": "$.user.address.city"}``. They come after the other columns; the outermost
        keys (``user``) are no columns then. Elements of lists have no path.
    missing_columns
        What to do where a parquet, csv or tsv file lacks a column that is read: ``"error"``, or
        ``"null"``, which fills it with nulls, with a note.
    hive_partitioning
        Whether folders named ``column=value`` are read as columns of the files in them. None does
        so for folders below the one that is given, or below the part of a glob without wildcards;
        True for all folders of the paths; False for none.
    required
        Where neither columns nor a schema are given: the columns that must be readable. Others
        that are not (structs, intervals) are left out, with a note. None stands for all.

    Attributes
    ----------
    schema : Schema
        The columns. Categorical and Enum columns are String, Decimal is Float64, Array is List:
        types that every engine has.
    files : list of Path
        The files, sorted; empty for a frame.
    format : str
        The format of the files, ``"frame"`` for a frame.
    name : str
        Its name.
    notes : list of str
        What one may want to know about how it is read, such as columns that were widened.
    malformed : Malformed
        Rows of text files that ``CsvOptions(on_malformed="skip")`` dropped, for each file as of
        the last whole pass over it.

    Raises
    ------
    DataError
        If there is no such file, a file is damaged or not what its name says, there are no rows,
        or the files do not fit together. The message names file, line and column.
    SchemaError
        If a column that is named is not there or cannot have its type.
    ParameterError
        If the format is unknown or an option does not go with it.

    Notes
    -----
    Files of one data set need not be written alike. Columns go by name, in the order of the first
    file. Types that hold each other's values become the wider one: integers of any width, floats,
    strings of any kind, milli- and microseconds, nulls. Others (Int64 and String, Int64 and
    Float64, Date and Datetime) are one error that names files, column and types; `dtypes` says
    what to read them as. A column that the first file has and another lacks is an error, or null
    with ``missing_columns="null"``; one that the first file lacks is not read, with a note, unless
    missing columns are null. In jsonl a missing key is always null, and a key that first shows up
    behind the first 10,000 lines is an error. Types of text files come from the first rows of the
    first file that has a value in the column there, String if none has; a later value that does not
    fit is an error with file and line.

    Whole numbers with leading zeros (``007``) are String in csv files. Time stamps of a zone that
    is a fixed offset (``+05:30``) become UTC, the same instants, with a note. Decimals are
    Float64. Structs, maps, intervals, unions and list views are refused, if they are read. Files
    without any row are an error, a frame may be empty.

    Text files, and parquet files that Polars cannot read (`needs_cpu`), are read by the CPU anew in
    every pass: `merlinkit.data.convert.convert` writes them to parquet first. Errors in later rows
    of text files surface when a plan runs; see `merlinkit.data.failures`.

    Examples
    --------
    >>> data = Dataset(pl.DataFrame({"user": [1, 2], "city": ["Rome", None]}))
    >>> data.schema.names, data.num_rows()
    (['user', 'city'], 2)
    >>> data.scan().select(pl.col("city").null_count()).collect().item()
    1
    """

    def __init__(
        self,
        source: Any,
        *,
        format: str | None = None,
        csv: CsvOptions | None = None,
        dtypes: Mapping[str, DTypeLike] | None = None,
        schema: Schema | None = None,
        name: str | None = None,
        columns: Sequence[str] | None = None,
        fields: Mapping[str, str] | None = None,
        missing_columns: Literal["error", "null"] = "error",
        hive_partitioning: bool | None = None,
        required: Collection[str] | None = None,
    ) -> None:
        self.files: list[Path] = []
        self.notes: list[str] = []
        self.malformed = Malformed()
        self._frame: FrameReader | None = None
        self._parquet: ParquetReader | None = None
        self._text: TextReader | None = None
        self._hive: HiveColumns | None = None
        self._names: list[str] = []
        self.csv = csv
        wanted, given = _wanted(schema, columns, dtypes)
        if missing_columns not in ("error", "null"):
            raise ParameterError(
                f"missing_columns '{missing_columns}': expected 'error' or 'null'."
                f"{did_you_mean(str(missing_columns), ('error', 'null'))}"
            )
        self.fields = fields
        self.missing_columns = missing_columns
        self._required = required

        if isinstance(source, str | os.PathLike) or _is_list(source):
            files = resolve_files(source, format)
            self.files, self.format = list(files.paths), files.format
            self._names = short_names(files.paths, files.root)
            if csv is not None and self.format not in ("csv", "tsv"):
                raise ParameterError(f"csv options were given for {self.format} files")
            if fields is not None and self.format != "jsonl":
                raise ParameterError(f"fields were given for {self.format} files; jsonl has them")
            self.name = name or _name_of(source, files)
            if hive_partitioning is not False:
                self._hive = _hive_columns(files, given, hive_partitioning is None)
            plain = self._with_hive(files, given, wanted)
        else:
            raw = frame_from(source)
            if raw is None:
                raise DataError(
                    f"a {type(source).__name__} is no source of data; expected a path, a list of "
                    "paths, a glob, a folder, or a polars, pandas or pyarrow frame"
                )
            if format is not None or csv is not None or fields is not None:
                raise ParameterError("format, csv options or fields were given for a frame")
            if hive_partitioning is not None:
                raise ParameterError("hive_partitioning was given for a frame")
            self.format = "frame"
            self.name = name or "frame"
            self._names = ["frame"]
            frame = FrameReader(raw, given, wanted, required)
            self._frame, plain = frame, frame.schema
            self.notes += frame.notes
            self._require_columns(plain)
        self.schema = schema if schema is not None else Schema.from_polars(plain)
        if schema is None and self.format == "parquet":
            self._use_saved_schema(files.root, columns)

    # -- reading ------------------------------------------------------------------------------

    def _with_hive(
        self,
        files: Files,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
    ) -> pl.Schema:
        """Return the columns of files and folders; the latter are the last if no one says."""
        if self._hive is None:
            return self._read_files(files, dtypes, columns)
        folders = self._hive.schema
        inner = None if columns is None else [name for name in columns if name not in folders]
        # Without a column of their own the files still tell how many rows there are.
        found = self._read_files(
            files,
            {name: dtype for name, dtype in dtypes.items() if name not in folders},
            inner or None,
        )
        self.notes += [
            f"column '{name}' is that of the folders; the one in the files is not read"
            for name in folders
            if name in found
        ]
        merged = pl.Schema({**found, **folders})
        return merged if columns is None else pl.Schema({name: merged[name] for name in columns})

    def _read_files(
        self,
        files: Files,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
    ) -> pl.Schema:
        if self.format == "parquet":
            parquet = ParquetReader(
                self.files,
                dtypes,
                columns,
                missing_columns=self.missing_columns,
                required=self._required,
            )
            self._parquet, self.notes = parquet, parquet.notes
            if parquet.num_rows == 0:
                raise DataError(f"{_sources(self.files)}: no rows")
            self._require_columns(parquet.schema)
            return parquet.schema
        text: TextReader
        if self.format == "jsonl":
            text = JsonlReader(self.files, dtypes, columns, self.fields, self._required)
        else:
            options = self.csv or CsvOptions()
            text = CsvReader(
                self.files,
                self.format,
                options,
                dtypes,
                columns,
                self.malformed,
                self.missing_columns,
            )
        self._text, self.notes = text, text.notes
        if not text.has_rows:
            header = "" if self.format == "jsonl" else ", at most a header"
            raise DataError(f"{_sources(self.files)}: no rows{header}")
        self._require_columns(text.schema)
        return text.schema

    @property
    def untyped_columns(self) -> set[str]:
        """Columns whose type was assumed: those without one, and text taken for strings."""
        if self._parquet is not None:
            return self._parquet.untyped & set(self.schema.names)
        if self._text is None:
            return set()
        return {column.name for column in self.schema if column.polars_dtype == pl.String()}

    def _require_columns(self, schema: pl.Schema) -> None:
        if not schema:
            raise DataError(f"{_sources(self.files)}: no columns")

    def _use_saved_schema(self, root: Path, columns: Sequence[str] | None) -> None:
        """Take tags and domains from a schema beside the files, if it is about these columns."""
        folders = {path.parent for path in self.files}
        path = (folders.pop() if len(folders) == 1 else root) / SCHEMA_FILE
        if not path.is_file():
            return
        try:
            saved = Schema.load(path)
            if columns is not None:
                saved = saved.select(columns)
        except (ArtifactError, SchemaError, OSError) as error:
            self.notes.append(f"{path} is not used: {error}")
            return
        mine, theirs = dict(self.schema.to_polars()), dict(saved.to_polars())
        if mine != theirs:
            odd = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
            self.notes.append(
                f"{path} is not used: it does not match the data in {', '.join(odd[:5])}"
            )
            return
        # Columns that are folders come last only for want of something that knows better.
        in_order = self._hive is not None and columns is None
        self.schema = saved if in_order else saved.select(self.schema.names)

    # -- what there is ------------------------------------------------------------------------

    @property
    def is_text(self) -> bool:
        """Whether the files are text, which is parsed anew in every pass, by the CPU alone."""
        return self._text is not None

    @property
    def needs_cpu(self) -> bool:
        """Whether plans over it run on the CPU alone: text, or parquet that pyarrow must read."""
        return self.is_text or (self._parquet is not None and self._parquet.needs_cpu)

    def scan(self) -> pl.LazyFrame:
        """Return the whole data set as one lazy plan, columns in the order of the schema."""
        if self._frame is not None:
            return self._frame.plan
        if self._hive is None:
            return self._plan_of(range(len(self.files)))
        return pl.concat([self._plan_of(run) for run in self._hive.runs()])

    def _plan_of(self, indices: Sequence[int]) -> pl.LazyFrame:
        """Return the plan of some files, which have the same values of columns of folders."""
        if self._parquet is not None:
            plan = self._parquet.plan([self._parquet.files[index] for index in indices])
        else:
            assert self._text is not None
            plan = text_plan(self._text, [self.files[index] for index in indices])
        if self._hive is None:
            return plan
        return self._hive.add(plan, indices[0]).select(self.schema.names)

    def scan_files(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Yield a short distinct name and a plan for each file, sorted by path; one for a frame.

        The names can name files themselves. All plans have the same columns and types.
        """
        if self._frame is not None:
            yield self._names[0], self._frame.plan
        for index in range(len(self.files)):
            yield self._names[index], self._plan_of([index])

    def scan_partitions(self) -> Iterator[tuple[str, pl.LazyFrame]]:
        """Yield a name and a plan for each partition: a file, or some rows of a large one.

        Parquet files of more than `PARTITION_ROWS` rows are cut where row groups end, so that
        several workers share the work, and what is written of them is bounded.
        """
        for index, (name, plan) in enumerate(self.scan_files()):
            ranges = [] if self._parquet is None else row_ranges(self._parquet.files[index])
            if len(ranges) < 2:
                yield name, plan
                continue
            for start, stop in ranges:
                yield f"{name} (rows {start:,} to {stop:,})", plan.slice(start, stop - start)

    def scan_file(self, index: int) -> pl.LazyFrame:
        """Return the plan of one file, by its place among `files`; of a frame, index 0 is all."""
        return self._frame.plan if self._frame is not None else self._plan_of([index])

    def num_rows(self) -> int | None:
        """Return the number of rows; None where that would take a pass over the data."""
        if self._frame is not None:
            return self._frame.num_rows
        return None if self._parquet is None else self._parquet.num_rows

    def size_bytes(self) -> int | None:
        """Return the size of the files, or of a frame in memory; None for a lazy frame."""
        if self._frame is not None:
            return self._frame.size_bytes
        return sum(path.stat().st_size for path in self.files)

    def __repr__(self) -> str:
        rows = self.num_rows()
        where = "a frame" if self.format == "frame" else f"{len(self.files)} {self.format} files"
        size = "" if rows is None else f", {rows:,} rows"
        return f"Dataset({self.name!r}: {where}{size}, {len(self.schema)} columns)"


def _wanted(
    schema: Schema | None,
    columns: Sequence[str] | None,
    dtypes: Mapping[str, DTypeLike] | None,
) -> tuple[list[str] | None, dict[str, pl.DataType]]:
    """Return the columns to read and the data types that are given."""
    if dtypes is not None and not isinstance(dtypes, Mapping):
        raise ParameterError(
            f"dtypes is {dtypes!r}: data types by column were expected, as in {{'zip': 'String'}}"
        )
    given = {name: dtype_from_name(dtype) for name, dtype in (dtypes or {}).items()}
    given = {
        name: plain_dtype(dtype) if not isinstance(dtype, pl.Null) else dtype
        for name, dtype in given.items()
    }
    if schema is not None:
        if columns is not None:
            raise ParameterError("give schema or columns, not both")
        for name, dtype in given.items():
            if name in schema and schema[name].polars_dtype != dtype:
                raise ParameterError(f"column '{name}': dtypes and schema give different types")
        return schema.names, {**given, **schema.to_polars()}
    if columns is not None:
        if isinstance(columns, str):
            raise ParameterError(f"columns '{columns}': expected a list of names")
        repeated = sorted({name for name in columns if list(columns).count(name) > 1})
        if repeated:
            raise ParameterError(f"columns holds '{repeated[0]}' more than once")
        return list(columns), given
    return None, given


def _is_list(source: object) -> bool:
    return isinstance(source, list | tuple | set | frozenset) or (
        isinstance(source, Iterator) and not hasattr(source, "__arrow_c_stream__")
    )


def _name_of(source: Any, files: Files) -> str:
    if isinstance(source, str | os.PathLike) and len(files.paths) == 1:
        return short_names(files.paths, files.root)[0]
    return files.root.resolve().name or "data"


def _hive_columns(
    files: Files, dtypes: Mapping[str, pl.DataType], below_root: bool
) -> HiveColumns | None:
    """Return the columns that folders are named by, None if there are none."""
    root = files.root if below_root else None
    saved = files.root / SCHEMA_FILE
    if saved.is_file():
        # It knows what is no number though it looks like one.
        with suppress(ArtifactError, SchemaError, OSError):
            dtypes = {**Schema.load(saved).to_polars(), **dtypes}
    found = HiveColumns(files.paths, root, dtypes)
    return found if found.schema else None


def _sources(files: Sequence[Path]) -> str:
    if not files:
        return "the frame"
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"
