"""DateTime: parts of a point in time as features."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, ParameterError, SchemaError
from merlinkit.ops.base import Finalized, Operator, State, Statistics, scratch
from merlinkit.ops.parameters import require_bool, require_choice, require_text, text_list
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["DateTime"]


@dataclass(frozen=True)
class _Part:
    """One part: how to read it, counted from 0 where it is cyclic, and its range."""

    read: Callable[[pl.Expr], pl.Expr]
    domain: tuple[int, int] | None
    period: int | None


_PARTS: dict[str, _Part] = {
    "second": _Part(lambda t: t.dt.second(), (0, 59), 60),
    "minute": _Part(lambda t: t.dt.minute(), (0, 59), 60),
    "hour": _Part(lambda t: t.dt.hour(), (0, 23), 24),
    "weekday": _Part(lambda t: t.dt.weekday() - 1, (0, 6), 7),
    "day": _Part(lambda t: t.dt.day(), (1, 31), 31),
    "week": _Part(lambda t: t.dt.week(), (1, 53), 53),
    "month": _Part(lambda t: t.dt.month(), (1, 12), 12),
    "quarter": _Part(lambda t: t.dt.quarter(), (1, 4), 4),
    "day_of_year": _Part(lambda t: t.dt.ordinal_day(), (1, 366), 366),
    "year": _Part(lambda t: t.dt.year(), None, None),
}
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Seconds of 1990-01-01 and 2100-01-01: an epoch whose unit is not named must fall between them
# in one unit, which no number can in two.
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800
_YEAR_1, _YEAR_9999 = -62_135_596_800, 253_402_300_799


class DateTime(Operator):
    """Add parts of a datetime, date, epoch or string as columns ``{column}_{part}``.

    Parameters
    ----------
    parts
        Any of second, minute, hour, weekday (0 Monday … 6 Sunday), day, week (ISO), month,
        quarter, day_of_year, year.
    cyclic
        Whether to give each part as a point on a circle, ``{column}_{part}_sin`` and ``…_cos``
        (Float32), so that 23:00 is near to 0:00. Not for year, which does not come around.
    timezone
        Zone in which the parts are read, for example ``"Europe/Paris"``; by default that of the
        data type, else UTC. Values without a zone are taken as UTC.
    format
        For strings a strptime format such as ``"%Y-%m-%d %H:%M:%S"``; for numbers the unit since
        1970, one of s, ms, us, ns, which is inferred at fit where it is not given.

    Raises
    ------
    ParameterError
        If a part, zone or format is unknown.
    SchemaError
        If a column holds no point in time.
    DataError
        At fit, if strings do not match the format, or no unit puts all numbers between 1990 and
        2100.

    Notes
    -----
    Plain parts are Int32 with a domain and the tag categorical (year: no domain, no tag); null
    stays null, NaN and numbers outside of the years 1 to 9999 become null. A string that does not
    match becomes null at transform. The input column itself is
    not kept; name it again in the graph to keep it.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"ts": [0, None]})
    >>> node = ["ts"] >> DateTime(["hour", "weekday"], format="s")
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'ts_hour': [0, None], 'ts_weekday': [3, None]}
    """

    def __init__(
        self,
        parts: str | Sequence[str] = ("hour", "weekday"),
        cyclic: bool = False,
        timezone: str | None = None,
        format: str | None = None,
    ) -> None:
        self.parts = text_list("DateTime", "parts", parts)
        for part in self.parts:
            require_choice("DateTime", "parts", part, list(_PARTS))
        if len(set(self.parts)) != len(self.parts):
            raise ParameterError(f"DateTime: parts name one twice: {', '.join(self.parts)}")
        require_bool("DateTime", "cyclic", cyclic)
        if cyclic and "year" in self.parts:
            raise ParameterError(
                "DateTime: year does not come around, so it cannot be cyclic; use two DateTime "
                "operators"
            )
        if timezone is not None:
            require_text("DateTime", "timezone", timezone)
            try:
                ZoneInfo(timezone)
                pl.select(pl.lit(0).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(timezone))
            except (KeyError, ValueError, OSError, pl.exceptions.PolarsError) as error:
                raise ParameterError(
                    f"DateTime: timezone {timezone!r} is unknown; names look like 'Europe/Paris'"
                ) from error
        if format is not None:
            require_text("DateTime", "format", format)
            if "%" not in format:
                require_choice("DateTime", "format", format, list(_UNITS))
        self.cyclic = cyclic
        self.timezone = timezone
        self.format = format

    # -- schema -------------------------------------------------------------------------------

    def _check_column(self, column: Column) -> None:
        if column.is_list:
            raise SchemaError(f"DateTime: column '{column.name}' holds lists, a scalar expected")
        dtype, named = column.dtype, f"DateTime: column '{column.name}' is "
        if isinstance(dtype, pl.String):
            if self.format is None or "%" not in self.format:
                raise SchemaError(
                    f"{named}String, so give its format, for example '%Y-%m-%d %H:%M:%S'; "
                    f"{self.format!r} found"
                )
        elif dtype.is_integer() or dtype.is_float():
            if self.format is not None and "%" in self.format:
                raise SchemaError(
                    f"{named}{dtype_name(dtype)}, so its format is a unit (s, ms, us or ns); "
                    f"{self.format!r} found"
                )
        elif not isinstance(dtype, pl.Datetime | pl.Date):
            raise SchemaError(
                f"{named}{dtype_name(dtype)}, a datetime, date, number or string expected"
            )
        elif isinstance(dtype, pl.Date) and {"second", "minute", "hour"} & set(self.parts):
            raise SchemaError(f"{named}Date, which has no second, minute or hour")

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the part columns."""
        out: list[Column] = []
        for column in inputs:
            self._check_column(column)
            tags = column.tags - {str(Tags.TIME)}
            for part in self.parts:
                name = f"{column.name}_{part}"
                if self.cyclic:
                    for wave in ("sin", "cos"):
                        out.append(
                            Column(
                                f"{name}_{wave}",
                                pl.Float32(),
                                domain=Domain(-1.0, 1.0),
                                tags=tags | {Tags.CONTINUOUS},
                            )
                        )
                    continue
                domain = _PARTS[part].domain
                out.append(
                    Column(
                        name,
                        pl.Int32(),
                        domain=None if domain is None else Domain(*domain),
                        tags=tags if domain is None else tags | {Tags.CATEGORICAL},
                    )
                )
        return Schema(out)

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return origins: each part is made from its column."""
        waves = ("_sin", "_cos") if self.cyclic else ("",)
        return {
            f"{name}_{part}{wave}": [name]
            for name in inputs.names
            for part in self.parts
            for wave in waves
        }

    # -- fit ----------------------------------------------------------------------------------

    def _fitted_columns(self, inputs: Schema) -> list[Column]:
        return [
            column
            for column in inputs
            if isinstance(column.dtype, pl.String)
            or (column.dtype.is_numeric() and self.format is None)
        ]

    def needs_fit(self, inputs: Schema) -> bool:
        """For strings, to check the format; for numbers without a unit, to infer it."""
        return bool(self._fitted_columns(inputs))

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return the range of numbers and the count of strings that do not match."""
        out: Statistics = {}
        for column in self._fitted_columns(inputs):
            value = pl.col(column.name)
            if isinstance(column.dtype, pl.String):
                bad = value.is_not_null() & self._instant(value, column, State()).is_null()
                number = pl.lit(None, dtype=pl.Float64)
            else:
                bad, number = pl.lit(False), value.cast(pl.Float64).fill_nan(None)
            out[column.name] = (
                frame.select(pl.lit(0).alias("all"), bad.alias("bad"), number.alias("x"))
                .group_by("all")
                .agg(
                    pl.col("bad").cast(pl.Int64).sum().alias("unmatched"),
                    pl.col("x").min().alias("min"),
                    pl.col("x").max().alias("max"),
                )
                .select("unmatched", "min", "max")
            )
        return out

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add the counts up and widen the ranges."""
        return {
            name: pl.concat([left[name], right[name]]).select(
                pl.col("unmatched").sum(), pl.col("min").min(), pl.col("max").max()
            )
            for name in left
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep ranges and counts."""
        return Finalized(values=statistics)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return ranges and counts."""
        schema = {"unmatched": pl.Int64, "min": pl.Float64, "max": pl.Float64}
        return {name: pl.LazyFrame(rows, schema=schema) for name, rows in state.values.items()}

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse strings that do not match and numbers of no plausible unit."""
        for column in self._fitted_columns(inputs):
            for row in state.values.get(column.name, []):
                if row["unmatched"]:
                    raise DataError(
                        f"DateTime: {row['unmatched']} values of column '{column.name}' do not "
                        f"match format {self.format!r}; correct the format or Filter them out"
                    )
            self._unit(column, state)

    def _unit(self, column: Column, state: State) -> str:
        """Return the named or inferred unit of an epoch."""
        if self.format is not None:
            return self.format
        rows = state.values.get(column.name, [])
        if isinstance(column.dtype, pl.String) or not rows or rows[0]["min"] is None:
            return "s"
        low, high = rows[0]["min"], rows[0]["max"]
        for unit, ticks in _UNITS.items():
            if low / ticks >= _EARLIEST and high / ticks <= _LATEST:
                return unit
        raise DataError(
            f"DateTime: column '{column.name}' holds numbers from {low:.0f} to {high:.0f}, which "
            "are not between 1990 and 2100 in any of s, ms, us, ns; name the unit with format, or "
            "Filter wrong values out"
        )

    # -- apply --------------------------------------------------------------------------------

    def _instant(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return a value as a date, or a datetime in local time, from which the parts are read."""
        dtype = column.dtype
        if isinstance(dtype, pl.String):
            assert self.format is not None
            instant = value.str.to_datetime(self.format, time_unit="us", strict=False, cache=False)
        elif dtype.is_numeric():
            ticks = _UNITS[self._unit(column, state)]
            number = value if dtype.is_float() else value.cast(pl.Int64)
            # Beyond the years 1 to 9999 there is no date; NaN and infinities are beyond as well.
            low, high = max(_YEAR_1 * ticks, -(2**63)), min(_YEAR_9999 * ticks, 2**63 - 1)
            number = pl.when((number >= low) & (number <= high)).then(number).otherwise(None)
            # Microseconds are exact for every unit but ns, whose rest no part shows.
            scaled = number * (1_000_000 // ticks) if ticks <= 1_000_000 else number // 1_000
            instant = scaled.cast(pl.Int64).cast(pl.Datetime("us"))
        else:
            instant = value
        if isinstance(dtype, pl.Date):
            return instant
        zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
        if self.timezone is not None:
            if not zoned:
                instant = instant.dt.replace_time_zone("UTC")
            instant = instant.dt.convert_time_zone(self.timezone)
            zoned = True
        # Local time without its zone: cuDF would read the parts of a zoned time in UTC.
        return instant.dt.replace_time_zone(None) if zoned else instant

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Add the parts of each column."""
        for column in inputs:
            instant = scratch("instant")
            frame = frame.with_columns(
                self._instant(pl.col(column.name), column, state).alias(instant)
            )
            parts = []
            for name in self.parts:
                part = _PARTS[name]
                value = part.read(pl.col(instant)).cast(pl.Int32)
                if not self.cyclic:
                    parts.append(value.alias(f"{column.name}_{name}"))
                    continue
                assert part.domain is not None and part.period is not None
                angle = (value - part.domain[0]).cast(pl.Float64) * (2 * math.pi / part.period)
                parts.append(angle.sin().cast(pl.Float32).alias(f"{column.name}_{name}_sin"))
                parts.append(angle.cos().cast(pl.Float32).alias(f"{column.name}_{name}_cos"))
            frame = frame.with_columns(parts).drop(instant)
        return frame
