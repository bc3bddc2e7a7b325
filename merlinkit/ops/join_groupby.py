"""JoinGroupby: statistics of the rows of a category, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Finalized, Operator, State, Statistics, scratch, without_nan
from merlinkit.ops.group_key import GroupKey
from merlinkit.ops.parameters import is_finite_number, require_choice, text_list
from merlinkit.schema import Column, JSONValue, Schema, Tags

__all__ = ["JoinGroupby"]

STATS = ("count", "sum", "mean", "std", "var", "min", "max")
_MOMENTS = ("n", "sum", "m2", "min", "max")


class JoinGroupby(Operator):
    """Add statistics of the rows that share a category.

    Parameters
    ----------
    cont_cols
        Columns of numbers that are summed up; None for counts alone.
    stats
        Any of count, sum, mean, std, var, min, max. All but count need `cont_cols`.
    fill
        The value of all statistics of categories that were not seen; None leaves them null.

    Raises
    ------
    ParameterError
        If a statistic is unknown, or needs columns that are not given.
    SchemaError
        If a column of `cont_cols` is no number, or a category holds lists.

    Notes
    -----
    The outputs are ``{category}_{column}_{stat}``, Float64, and ``{category}_count``, Int64, the
    number of rows; for a group of columns, ``[["user", "item"]]``, the names are joined by ``_``.
    Null and NaN are a category; null and NaN numbers do not count. Standard deviation and variance
    are the sample's (one degree of freedom less), null for one value. Moments are merged by Chan,
    Golub and LeVeque's formula, as in `Normalize`, so that they are exact for large numbers.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "price": [1.0, 3.0, 5.0]})
    >>> node = ["user"] >> JoinGroupby("price", ["count", "mean"])
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'user_count': [2, 2, 1], 'user_price_mean': [2.0, 2.0, 5.0]}
    """

    takes_groups = True

    def __init__(
        self,
        cont_cols: str | Sequence[str] | None = None,
        stats: str | Sequence[str] = ("count",),
        fill: float | None = None,
    ) -> None:
        name = "JoinGroupby"
        self.cont_cols = [] if not cont_cols else text_list(name, "cont_cols", cont_cols)
        self.stats = text_list(name, "stats", stats)
        for stat in self.stats:
            require_choice(name, "stats", stat, STATS)
            if self.stats.count(stat) > 1:
                raise ParameterError(f"{name}: stats names '{stat}' twice")
            if stat != "count" and not self.cont_cols:
                raise ParameterError(f"{name}: {stat} needs cont_cols, the columns it is of")
        if self.cont_cols and self.stats == ["count"]:
            raise ParameterError(
                f"{name}: cont_cols are given, but count alone is of rows; leave them out, or "
                "name more stats"
            )
        if fill is not None and not is_finite_number(fill):
            raise ParameterError(f"{name}: fill is {fill!r}, a finite number expected")
        self.fill = fill

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters as JSON values."""
        return {**super().parameters(), "cont_cols": self.cont_cols or None}

    def dependencies(self) -> list[str]:
        """Return the columns of numbers."""
        return self.cont_cols

    # -- schema -------------------------------------------------------------------------------

    def _keys(self, inputs: Schema) -> dict[str, GroupKey]:
        return {
            "_".join(unit): GroupKey(self.name, tuple(inputs[name] for name in unit))
            for unit in self.units(inputs)
        }

    def _wanted(self, group: str) -> list[tuple[str, str, int]]:
        """Return name, statistic and number of the column, for each output of a group."""
        wanted = [(f"{group}_count", "count", -1)] if "count" in self.stats else []
        return wanted + [
            (f"{group}_{column}_{stat}", stat, index)
            for index, column in enumerate(self.cont_cols)
            for stat in self.stats
            if stat != "count"
        ]

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return a continuous column for each group, number and statistic."""
        for name in self.cont_cols:
            column = inputs[name]
            number = column.dtype.is_numeric() or isinstance(column.dtype, pl.Boolean | pl.Null)
            if column.is_list or not number:
                raise SchemaError(
                    f"JoinGroupby: column '{name}' is {column.polars_dtype}, a number expected"
                )
        return Schema(
            Column(name, pl.Int64() if stat == "count" else pl.Float64(), tags=[Tags.CONTINUOUS])
            for group in self._keys(inputs)
            for name, stat, _ in self._wanted(group)
        )

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the columns of the group; the numbers are not among what a row needs."""
        return {
            name: [column.name for column in key.columns]
            for group, key in self._keys(inputs).items()
            for name, _, _ in self._wanted(group)
        }

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return rows, and count, sum, squared deviations and extremes of numbers, by category."""
        numbers = [
            without_nan(pl.col(name).cast(pl.Float64), pl.Float64()).alias(f"x_{index}")
            for index, name in enumerate(self.cont_cols)
        ]
        aggregates = [pl.len().cast(pl.Int64).alias("rows")]
        for index in range(len(self.cont_cols)):
            x = pl.col(f"x_{index}")
            aggregates += [
                x.count().cast(pl.Int64).alias(f"n_{index}"),
                x.sum().alias(f"sum_{index}"),
                x.var().alias(f"m2_{index}"),
                x.min().alias(f"min_{index}"),
                x.max().alias(f"max_{index}"),
            ]
        squares = [
            (
                pl.col(f"m2_{index}").fill_null(0.0) * (pl.col(f"n_{index}").cast(pl.Float64) - 1.0)
            ).alias(f"m2_{index}")
            for index in range(len(self.cont_cols))
        ]
        return {
            group: frame.select(*key.expressions(), *numbers)
            .group_by(key.names)
            .agg(aggregates)
            .with_columns(squares)
            for group, key in self._keys(inputs).items()
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Merge moments by Chan's formula."""
        numbers = range(len(self.cont_cols))
        moments = {f"{kind}_{index}" for index in numbers for kind in _MOMENTS}
        merged = {}
        for group in left:
            both = pl.concat([left[group], right[group]])
            keys = [
                name for name in both.collect_schema() if name != "rows" and name not in moments
            ]
            apart, aggregates = [], [pl.col("rows").sum()]
            for index in numbers:
                n, total = pl.col(f"n_{index}"), pl.col(f"sum_{index}")
                # The distance of a part's mean from that of all.
                off = _mean(total, n) - _mean(total.sum().over(keys), n.sum().over(keys))
                apart.append((n.cast(pl.Float64) * off * off).fill_null(0.0).alias(f"off_{index}"))
                aggregates += [
                    n.sum(),
                    total.sum(),
                    (pl.col(f"m2_{index}") + pl.col(f"off_{index}")).sum().alias(f"m2_{index}"),
                    pl.col(f"min_{index}").min(),
                    pl.col(f"max_{index}").max(),
                ]
            merged[group] = both.with_columns(apart).group_by(keys).agg(aggregates)
        return merged

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the moments, in the order of the keys."""
        keys = self._keys(inputs)
        return Finalized(
            tables={group: statistics[group].sort(key.names) for group, key in keys.items()}
        )

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the moments."""
        return {group: state.tables[group].frame for group in self._keys(inputs)}

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Join the statistics to the rows of their category."""
        for group, key in self._keys(inputs).items():
            wanted = self._wanted(group)
            places = {name: scratch(name) for name, _, _ in wanted}
            table = state.tables[group].frame.select(
                *key.names,
                *(self._value(stat, index).alias(places[name]) for name, stat, index in wanted),
                pl.lit(1, dtype=pl.Int8).alias(scratch("seen")),
            )
            frame = key.join(frame, table, dialect)
            values = []
            for name, stat, _ in wanted:
                value = pl.col(places[name])
                if self.fill is not None:
                    fill = pl.lit(self.fill).cast(pl.Int64() if stat == "count" else pl.Float64())
                    seen = pl.col(scratch("seen")).is_not_null()
                    value = pl.when(seen).then(value).otherwise(fill)
                values.append(value.alias(name))
            frame = frame.with_columns(values).drop(*places.values(), scratch("seen"))
        return frame

    @staticmethod
    def _value(stat: str, index: int) -> pl.Expr:
        """Return a statistic from the moments."""
        if stat == "count":
            return pl.col("rows")
        n = pl.col(f"n_{index}")
        if stat == "mean":
            return _mean(pl.col(f"sum_{index}"), n)
        if stat in ("sum", "min", "max"):
            return pl.col(f"{stat}_{index}")
        variance = pl.when(n > 1).then(pl.col(f"m2_{index}") / (n.cast(pl.Float64) - 1.0))
        return variance if stat == "var" else variance.sqrt()


def _mean(total: pl.Expr, n: pl.Expr) -> pl.Expr:
    return pl.when(n > 0).then(total / n.cast(pl.Float64))
