"""Groupby: one row a group, over the whole data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, require_known, scratch, without_nan
from merlinkit.ops.group_order import group_order, require_scalar
from merlinkit.ops.parameters import require_bool, require_choice, text_list
from merlinkit.schema import Column, JSONValue, Schema, Tags

__all__ = ["Groupby"]

AGGREGATES = (
    "list",
    "first",
    "last",
    "count",
    "nunique",
    "sum",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "median",
)
_OF_NUMBERS = ("sum", "mean", "std", "var", "median")
_OF_ROWS = ("list", "first", "last")

Aggregates = str | Sequence[str] | Mapping[str, str | Sequence[str]]


class Groupby(Operator):
    """Make one row of each group of rows.

    Parameters
    ----------
    groupby_cols
        Columns whose equal values make a group; they come out under their names. Nulls are a
        group.
    aggs
        What becomes of the other columns: ``"list"``, ``["list", "count"]``, or by column,
        ``{"item": ["list", "last"], "ts": "min"}``, which leaves out columns that it does not
        name. One of list, first, last, count, nunique, sum, mean, std, var, min, max, median.
    sort_cols
        Columns that order the rows of a group, for list, first and last; nulls come first.
    ascending
        Whether `sort_cols` go up.
    name_sep
        Between the name of a column and its aggregate, ``item_list``.

    Raises
    ------
    SchemaError
        If a column named is not among those it is applied to, or an aggregate does not go with
        its data type.

    Notes
    -----
    Groups are those of the whole data set, however it is cut into files; NVTabular's operator
    makes a group in each partition. Rows that `sort_cols` leave equal are ordered by the other
    columns, in the order of their names. Rows come out in the order of the group columns; where
    the data is large and is written bucket by bucket, in that order within each bucket. Columns
    that do not go through the operator cannot stand beside its output.

    NaN is null. Lists keep nulls, count and the other aggregates leave them out (the sum of nothing
    is 0); first and last are those of the first and last row, null or not. Data types:
    count and nunique Int64; sum Int64, or Float64 for floats; mean, std, var (one degree of freedom
    less; null for one value), median Float64; the others as the column.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 2, 1], "ts": [2, 5, 1], "item": ["b", "x", "a"]})
    >>> node = ["user", "ts", "item"] >> Groupby("user", {"item": "list", "ts": "max"}, "ts")
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'user': [1, 2], 'item_list': [['a', 'b'], ['x']], 'ts_max': [2, 5]}
    """

    regroups = True

    def __init__(
        self,
        groupby_cols: str | Sequence[str],
        aggs: Aggregates = "list",
        sort_cols: str | Sequence[str] | None = None,
        ascending: bool = True,
        name_sep: str = "_",
    ) -> None:
        self.groupby_cols = text_list("Groupby", "groupby_cols", groupby_cols)
        self.sort_cols = [] if not sort_cols else text_list("Groupby", "sort_cols", sort_cols)
        require_bool("Groupby", "ascending", ascending)
        self.ascending = ascending
        if not isinstance(name_sep, str):
            raise ParameterError(f"Groupby: name_sep is {name_sep!r}, a string expected")
        self.name_sep = name_sep
        self.aggs: list[str] | dict[str, list[str]]
        if isinstance(aggs, Mapping):
            if not aggs:
                raise ParameterError("Groupby: aggs is empty; name an aggregate for a column")
            self.aggs = {str(column): _checked(listed) for column, listed in aggs.items()}
            for column in self.aggs:
                if column in self.groupby_cols:
                    raise ParameterError(
                        f"Groupby: aggs names '{column}', by which rows are grouped"
                    )
        else:
            self.aggs = _checked(aggs)

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters as JSON values."""
        saved = super().parameters()
        return {**saved, "sort_cols": self.sort_cols or None}

    def rows_together(self, inputs: Schema) -> list[str]:
        """Return the columns that make groups."""
        return self.groupby_cols

    # -- schema -------------------------------------------------------------------------------

    def _wanted(self, inputs: Schema) -> list[_Aggregate]:
        """Return what comes out beside the group columns, in order."""
        for parameter, named in (
            ("groupby_cols", self.groupby_cols),
            ("sort_cols", self.sort_cols),
            ("aggs", self.aggs if isinstance(self.aggs, dict) else ()),
        ):
            require_known(self, parameter, named, inputs.names)
        if isinstance(self.aggs, dict):
            named = self.aggs
        else:
            others = [name for name in inputs.names if name not in self.groupby_cols]
            named = dict.fromkeys(others, self.aggs)
        return [
            _Aggregate(inputs[column], aggregate, f"{column}{self.name_sep}{aggregate}")
            for column, aggregates in named.items()
            for aggregate in aggregates
        ]

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the group columns, then the aggregates."""
        wanted = self._wanted(inputs)
        require_scalar(self, "groupby_cols", self.groupby_cols, inputs)
        require_scalar(self, "sort_cols", self.sort_cols, inputs)
        keys = [inputs[name] for name in self.groupby_cols]
        return Schema([*keys, *(item.output() for item in wanted)])

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the column that is aggregated."""
        made = {name: [name] for name in self.groupby_cols}
        return made | {wanted.name: [wanted.column.name] for wanted in self._wanted(inputs)}

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Sort rows by group and order, then aggregate."""
        wanted = self._wanted(inputs)
        ordered = any(item.aggregate in _OF_ROWS for item in wanted)
        clean = [
            without_nan(pl.col(column.name), column.dtype)
            for column in inputs
            if not column.is_list and column.dtype.is_float()
        ]
        frame = frame.select(inputs.names).with_columns(clean)
        keys = {name: scratch(f"group_{index}") for index, name in enumerate(self.groupby_cols)}
        frame = frame.with_columns(pl.col(name).alias(key) for name, key in keys.items())
        if ordered:
            order = group_order(inputs, self.sort_cols)
            descending = [not self.ascending] * len(self.sort_cols)
            frame = frame.sort(
                [*keys.values(), *order],
                descending=[False] * len(keys)
                + descending
                + [False] * (len(order) - len(descending)),
                nulls_last=False,
            )
        grouped = frame.group_by(list(keys.values()), maintain_order=ordered).agg(
            item.expression() for item in wanted
        )
        if not ordered:
            grouped = grouped.sort(list(keys.values()))
        return grouped.select(
            *(pl.col(key).alias(name) for name, key in keys.items()),
            *(pl.col(item.name) for item in wanted),
        )


@dataclass(frozen=True)
class _Aggregate:
    """One output column."""

    column: Column
    aggregate: str
    name: str

    def output(self) -> Column:
        """Return its column.

        Raises
        ------
        SchemaError
            If the aggregate does not go with the data type.
        """
        column, aggregate = self.column, self.aggregate
        if column.is_list and aggregate not in ("first", "last"):
            raise SchemaError(
                f"Groupby: column '{column.name}' holds lists; first and last go with it, "
                f"{aggregate} does not"
            )
        if aggregate in _OF_NUMBERS and not (
            column.dtype.is_numeric() or isinstance(column.dtype, pl.Boolean)
        ):
            raise SchemaError(
                f"Groupby: column '{column.name}' is {column.polars_dtype}, a number expected for "
                f"{aggregate}"
            )
        if aggregate == "list":
            tags = column.tags | {Tags.LIST}
            return replace(column, name=self.name, is_list=True, tags=tags)
        if aggregate in ("first", "last", "min", "max"):
            return replace(column, name=self.name)
        tags = column.tags - {Tags.CATEGORICAL, Tags.ID}
        return Column(self.name, self._dtype(), tags=tags)

    def _dtype(self) -> pl.DataType:
        if self.aggregate in ("count", "nunique"):
            return pl.Int64()
        whole = self.aggregate == "sum" and not self.column.dtype.is_float()
        return pl.Int64() if whole else pl.Float64()

    def expression(self) -> pl.Expr:
        """Return the aggregate over a group."""
        value = pl.col(self.column.name)
        if self.aggregate in _OF_NUMBERS:
            value = value.cast(self._dtype())
        made = {
            "list": lambda: value,
            "first": value.first,
            "last": value.last,
            "count": lambda: value.count().cast(pl.Int64),
            "nunique": lambda: (
                # Null is no value.
                value.n_unique().cast(pl.Int64) - value.is_null().cast(pl.Int64).max()
            ),
            "sum": value.sum,
            "mean": value.mean,
            "std": value.std,
            "var": value.var,
            "min": value.min,
            "max": value.max,
            "median": value.median,
        }[self.aggregate]()
        return made.alias(self.name)


def _checked(aggregates: object) -> list[str]:
    listed = text_list("Groupby", "aggs", aggregates)
    for aggregate in listed:
        require_choice("Groupby", "aggs", aggregate, AGGREGATES)
        if listed.count(aggregate) > 1:
            raise ParameterError(f"Groupby: aggs names '{aggregate}' twice")
    return listed
