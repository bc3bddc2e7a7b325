"""Data frames of other libraries as Polars frames: polars, pandas, pyarrow, cuDF and others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from merlinkit.data.arrow_types import arrow_target, convert_array, polars_reads, time_zone_of
from merlinkit.data.dtype_rules import offset_zone, plain_dtype, read_as
from merlinkit.errors import DataError, SchemaError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Frame", "FrameReader", "frame_from"]


@dataclass(frozen=True)
class Frame:
    """A frame as Polars has it.

    Parameters
    ----------
    rows
        Its columns that Polars can hold.
    unreadable
        What the others hold, by name.
    notes
        What columns hold that is not kept, by name.
    """

    rows: pl.LazyFrame | pl.DataFrame
    unreadable: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def frame_from(source: object) -> Frame | None:
    """Return a frame as Polars has it, or None if it is no frame.

    Parameters
    ----------
    source
        A polars DataFrame or LazyFrame, a pandas DataFrame, a pyarrow Table, RecordBatch or
        reader, or anything with ``__arrow_c_stream__``. Device frames that offer ``to_arrow``
        alone, as cuDF's do, are copied to the host.

    Raises
    ------
    DataError
        If the frame cannot be converted, or has two columns of the same name.

    Notes
    -----
    NaN in pandas is null. Named levels of a pandas index become columns, others are left out.
    Names of columns that are no text become text. A stream is read once, here. What Arrow types
    that Polars lacks are read as, `merlinkit.data.arrow_types.arrow_target` says.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame_from(pa.table({"a": [1, None]})).rows.columns
    ['a']
    >>> frame_from("no frame") is None
    True
    """
    if isinstance(source, Frame):
        return source
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return Frame(source)
    if isinstance(source, pl.Series):
        return Frame(source.to_frame(source.name or "column_0"))
    kind = f"{type(source).__module__}.{type(source).__qualname__}"
    try:
        if kind.startswith("pandas.") and kind.endswith(".DataFrame"):
            return _from_pandas(source)
        if hasattr(source, "__arrow_c_stream__"):
            return _from_arrow(source)
        if hasattr(source, "to_arrow"):
            return _from_arrow(source.to_arrow())
    except DataError:
        raise
    # Converters of other libraries raise errors of many kinds, ImportError among them.
    except (Exception, pl.exceptions.PanicException) as error:
        first = str(error).partition("\n")[0]
        raise DataError(
            f"a {kind} cannot be read as a frame: {first}. Convert its columns to plain types first"
        ) from error
    return None


class FrameReader:
    """Reads a frame as plain types.

    Parameters
    ----------
    frame
        The frame.
    dtypes
        Data types to read columns as.
    columns
        The columns to read, in order; None reads all.
    required
        With ``columns`` None, the columns that must be readable; others that are not are left
        out, with a note. None stands for every column.

    Attributes
    ----------
    plan : polars.LazyFrame
        The rows.
    schema : polars.Schema
        Their columns.
    num_rows, size_bytes : int or None
        Number and size in memory of the rows; None for a lazy frame.
    notes : list of str
        What a user may want to know about how it is read.

    Raises
    ------
    DataError
        If a lazy frame cannot be resolved, or columns have types that cannot be used.
    SchemaError
        If a column that is named is not there or cannot have the data type it is given.
    """

    def __init__(
        self,
        frame: Frame,
        dtypes: Mapping[str, pl.DataType],
        columns: Sequence[str] | None,
        required: Collection[str] | None = None,
    ) -> None:
        self.num_rows: int | None = None
        self.size_bytes: int | None = None
        self.notes: list[str] = []
        if isinstance(frame.rows, pl.DataFrame):
            self.num_rows = frame.rows.height
            self.size_bytes = int(frame.rows.estimated_size())
        plan = frame.rows.lazy()
        try:
            raw = plan.collect_schema()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            first = str(error).partition("\n")[0]
            raise DataError(f"the lazy frame cannot be resolved: {first}") from error
        every = [*raw, *frame.unreadable]
        wanted = every if columns is None else list(columns)
        for name in [*wanted, *dtypes]:
            if name not in every:
                hint = did_you_mean(name, every) or f" There are: {', '.join(every[:20])}."
                raise SchemaError(f"the frame has no column '{name}'.{hint}")
        plain: dict[str, pl.DataType] = {}
        problems: list[str] = []
        for name in wanted:
            try:
                if name in frame.unreadable:
                    raise SchemaError(frame.unreadable[name])
                plain[name] = dtypes[name] if name in dtypes else plain_dtype(raw[name])
            except SchemaError as error:
                if columns is not None or required is None or name in required:
                    problems.append(f"column '{name}' {error}")
                else:
                    self.notes.append(
                        f"column '{name}' {error}; it is left out, since nothing needs it"
                    )
                continue
            zone = offset_zone(raw[name])
            if name in frame.notes:
                self.notes.append(f"column '{name}' {frame.notes[name]}")
            elif zone is not None:
                self.notes.append(f"column '{name}' is read as UTC: its time zone is {zone}")
        if problems:
            raise DataError(
                f"{'; '.join(problems)}. Flatten it (`unnest`) or cast it, or leave it out with "
                "columns=[...]"
            )
        unchanged = list(plain.items()) == list(raw.items())
        shaped = [read_as(name, raw[name], kind) for name, kind in plain.items()]
        self.plan = plan if unchanged else plan.select(shaped)
        self.schema = pl.Schema(plain)


def _from_arrow(source: Any) -> Frame:
    """Return a frame of Arrow, its types converted where Polars lacks them."""
    if not isinstance(source, pa.Table | pa.RecordBatch):
        source = pa.RecordBatchReader.from_stream(source).read_all()
    names = list(source.schema.names)
    _require_distinct(names)
    if all(polars_reads(column.type) for column in source.schema):
        return Frame(pl.DataFrame(source))
    arrays: dict[str, Any] = {}
    unreadable: dict[str, str] = {}
    notes: dict[str, str] = {}
    for name, column in zip(names, source.columns, strict=True):
        try:
            target = column.type if polars_reads(column.type) else arrow_target(column.type)
        except SchemaError as error:
            unreadable[name] = str(error)
            continue
        arrays[name] = column if target == column.type else convert_array(column, target)
        zone = time_zone_of(column.type)
        if zone is not None:
            notes[name] = f"is read as UTC: its time zone is {zone}"
    rows = pl.DataFrame(pa.table(arrays)) if arrays else pl.DataFrame(height=source.num_rows)
    return Frame(rows, unreadable, notes)


def _require_distinct(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"the frame has more than one column named '{repeated[0]}'")


def _from_pandas(frame: pd.DataFrame) -> Frame:
    named = [level for level in frame.index.names if level is not None]
    if named:
        unnamed = [place for place, level in enumerate(frame.index.names) if level is None]
        frame = (frame.droplevel(unnamed) if unnamed else frame).reset_index()
    names = [str(name) for name in frame.columns]
    _require_distinct(names)
    renamed = frame.set_axis(names, axis="columns")
    zones = {name: str(kind.tz) for name, kind in renamed.dtypes.items() if hasattr(kind, "tz")}
    odd = {name: zone for name, zone in zones.items() if not polars_reads(pa.timestamp("ns", zone))}
    for name in odd:
        renamed[name] = renamed[name].dt.tz_convert("UTC")
    notes = {name: f"is read as UTC: its time zone is {zone}" for name, zone in odd.items()}
    try:
        return Frame(pl.from_pandas(renamed, include_index=False), notes=notes)
    except (Exception, pl.exceptions.PanicException) as whole:
        # Only columns that are read matter, so each is tried alone.
        columns: list[pl.DataFrame] = []
        unreadable: dict[str, str] = {}
        for name in names:
            try:
                columns.append(pl.from_pandas(renamed[[name]], include_index=False))
            except (Exception, pl.exceptions.PanicException) as error:
                first = str(error).partition("\n")[0]
                unreadable[name] = (
                    f"of type {renamed[name].dtype} holds what has no one type ({first})"
                )
        if not unreadable:
            raise whole
        rows = pl.concat(columns, how="horizontal") if columns else pl.DataFrame(height=len(frame))
        return Frame(rows, unreadable, notes)
