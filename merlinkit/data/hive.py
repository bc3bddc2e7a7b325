"""Columns that folders are named by, as Hive does: ``logs/day=2026-11-01/part-0.parquet``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.engine.partitioned import HIVE_NULL
from merlinkit.errors import DataError, SchemaError, did_you_mean
from merlinkit.schema import Schema

__all__ = ["HiveColumns", "check_partitions"]

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BOOLEANS = {"true": True, "false": False}


class HiveColumns:
    """The values that the folders of each file stand for.

    Parameters
    ----------
    files
        The files.
    root
        The folder below which names count; None counts all folders of the paths.
    dtypes
        Data types of columns, by name. Types that are not given are inferred from all values:
        Int64, Date, or else String.

    Attributes
    ----------
    schema : polars.Schema
        The columns; empty if no folder is named like one.

    Raises
    ------
    DataError
        If files are in folders of different columns, or a value does not fit the type that its
        column is given.

    Notes
    -----
    Names and values are percent-decoded, and ``__HIVE_DEFAULT_PARTITION__`` is null. A column of
    the same name in a file gives way.

    Examples
    --------
    >>> files = [Path(f"logs/day=2026-11-0{day}/h=7/a.parquet") for day in (1, 2)]
    >>> HiveColumns(files, Path("logs"), {}).schema
    Schema([('day', Date), ('h', Int64)])
    """

    def __init__(
        self, files: Sequence[Path], root: Path | None, dtypes: Mapping[str, pl.DataType]
    ) -> None:
        self._files = list(files)
        found = [_pairs(path, root) for path in files]
        names = list(found[0]) if found else []
        for path, pairs in zip(files, found, strict=True):
            if list(pairs) != names:
                raise DataError(
                    f"files are in folders of different columns: {files[0]} of "
                    f"{', '.join(names) or 'none'}, {path} of {', '.join(pairs) or 'none'}. Name "
                    "the files of one kind, or do not read columns from folders with "
                    "hive_partitioning=False"
                )
        columns = {}
        for name in names:
            texts = [pairs[name] for pairs in found]
            columns[name] = self._column(name, texts, dtypes.get(name))
        self._columns = columns
        self.schema = pl.Schema({name: column.dtype for name, column in columns.items()})

    def _column(
        self, name: str, texts: Sequence[str | None], dtype: pl.DataType | None
    ) -> pl.Series:
        wanted = _inferred([text for text in texts if text is not None]) if dtype is None else dtype
        values = []
        for path, text in zip(self._files, texts, strict=True):
            try:
                values.append(None if text is None else _value(text, wanted))
            except ValueError:
                raise DataError(
                    f"{path}: its folder gives column '{name}' the value {text!r}, which is no "
                    f"{dtype_name(wanted)}; give the column another type with dtypes=..., or leave "
                    "it out with hive_partitioning=False"
                ) from None
        return pl.Series(name, values, dtype=wanted)

    def runs(self) -> Iterator[list[int]]:
        """Yield the indices of files, those that follow each other with the same values at once."""
        run: list[int] = []
        for index in range(len(self._files)):
            if run and any(each[index] != each[run[0]] for each in self._columns.values()):
                yield run
                run = []
            run.append(index)
        if run:
            yield run

    def add(self, plan: pl.LazyFrame, index: int) -> pl.LazyFrame:
        """Return a plan of the rows of a file with these columns added, or put in their place."""
        return plan.with_columns(
            pl.lit(column[index], dtype=column.dtype).alias(name)
            for name, column in self._columns.items()
        )


def check_partitions(names: Sequence[str], schema: Schema) -> None:
    """Raise `SchemaError` unless a result of these columns can be written in such folders."""
    for name in names:
        if name not in schema:
            hint = did_you_mean(name, schema.names)
            raise SchemaError(
                f"partition_by: no column '{name}'.{hint} There are: "
                f"{', '.join(schema.names[:20])}."
            )
        dtype = schema[name].polars_dtype
        fits = dtype.is_integer() or isinstance(dtype, pl.String | pl.Boolean | pl.Date)
        if not fits:
            raise SchemaError(
                f"partition_by: column '{name}' is {dtype_name(dtype)}; folders can be named by "
                "integers, strings, booleans and dates"
            )
    if names and len(names) == len(schema):
        raise SchemaError("partition_by names every column, so that none is left for the files")


def _pairs(path: Path, root: Path | None) -> dict[str, str | None]:
    """Return names and values of the folders of a file, outermost first."""
    relative = str(path) if root is None else os.path.relpath(path, root)
    pairs: dict[str, str | None] = {}
    for part in Path(relative).parts[:-1]:
        name, sign, value = part.partition("=")
        if not sign or not name:
            continue
        name = unquote(name)
        if name in pairs:
            raise DataError(f"{path}: its folders name column '{name}' twice")
        pairs[name] = None if value == HIVE_NULL else unquote(value)
    return pairs


def _inferred(texts: Sequence[str]) -> pl.DataType:
    if texts and all(_WHOLE.fullmatch(text) for text in texts):
        return pl.Int64()
    if texts and all(_DAY.fullmatch(text) and _is_day(text) for text in texts):
        return pl.Date()
    return pl.String()


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _value(text: str, dtype: pl.DataType) -> object:
    """Return a value as a data type; raises ValueError if it is none of that type."""
    if isinstance(dtype, pl.String):
        return text
    if isinstance(dtype, pl.Boolean):
        if text.lower() not in _BOOLEANS:
            raise ValueError(text)
        return _BOOLEANS[text.lower()]
    if isinstance(dtype, pl.Date):
        return date.fromisoformat(text)
    if dtype.is_integer() or dtype.is_float() or isinstance(dtype, pl.Datetime):
        try:
            if isinstance(dtype, pl.Datetime):
                return pl.Series([text]).str.to_datetime(
                    time_unit=dtype.time_unit, time_zone=dtype.time_zone
                )[0]
            return pl.Series([text]).cast(dtype)[0]
        except pl.exceptions.PolarsError as error:
            raise ValueError(text) from error
    raise ValueError(text)
