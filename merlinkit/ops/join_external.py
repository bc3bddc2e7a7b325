"""JoinExternal: columns of another table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from merlinkit.data.dataset import Dataset
from merlinkit.data.frames import frame_from
from merlinkit.dtypes import dtype_from_name, dtype_name
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import DataError, MerlinkitError, ParameterError, SchemaError
from merlinkit.ops.base import Finalized, Operator, State, Statistics, scratch
from merlinkit.ops.group_key import GroupKey
from merlinkit.ops.parameters import require_bool, require_choice, text_list
from merlinkit.schema import Column, JSONValue, Schema

__all__ = ["JoinExternal"]


class JoinExternal(Operator):
    """Add the columns of another table to the rows whose key it has.

    Parameters
    ----------
    table
        A path (parquet, csv, tsv, jsonl), or a frame (Polars, pandas, pyarrow).
    on
        Column, or columns, of the key, in the data and in the table.
    how
        ``"left"`` keeps rows whose key the table does not have, with nulls; ``"inner"`` removes
        them.
    columns
        Columns of the table to add; None for all but the key.
    drop_duplicates
        Whether the first of several rows of the table with one key is taken. Without it they are
        an error at fit.

    Raises
    ------
    ParameterError
        If the table is no table, or a column is not in it.
    SchemaError
        If key columns differ in type, or a column would come out twice.
    DataError
        At fit, if the table has a key more than once.

    Notes
    -----
    The columns it is applied to come out with those of the table behind them; the key is taken from
    these or else from the data. Rows keep their order. A null in a key matches a null. The table
    becomes part of the workflow at fit, so that a saved workflow does not need the file.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> items = pl.DataFrame({"item": ["a", "b"], "brand": ["X", "Y"]})
    >>> node = ["item"] >> JoinExternal(items, on="item")
    >>> frame = pl.DataFrame({"item": ["b", "z"]})
    >>> mk.Workflow(node).fit_transform(frame).collect().to_dict(as_series=False)
    {'item': ['b', 'z'], 'brand': ['Y', None]}
    """

    def __init__(
        self,
        table: Any,
        on: str | Sequence[str],
        how: str = "left",
        columns: str | Sequence[str] | None = None,
        drop_duplicates: bool = False,
    ) -> None:
        name = "JoinExternal"
        self.on = text_list(name, "on", on)
        self.how = require_choice(name, "how", how, ("left", "inner"))
        require_bool(name, "drop_duplicates", drop_duplicates)
        self.drop_duplicates = drop_duplicates
        self.columns = None if columns is None else text_list(name, "columns", columns)
        self._saved: Schema | None = None
        if isinstance(table, dict) and set(table) == {"columns"}:
            # A saved workflow: the rows are in its state.
            self._saved = _schema_from(table["columns"])
            self.table: Any = table
        elif isinstance(table, str | Path) or frame_from(table) is not None:
            self.table = str(table) if isinstance(table, Path) else table
        else:
            raise ParameterError(
                f"{name}: table is {type(table).__name__}, a path or a frame (Polars, pandas, "
                "pyarrow) expected"
            )
        self.keeps_rows = how == "left"  # type: ignore[misc]

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters; a frame is shown by its columns."""
        shown = self.table if isinstance(self.table, str) else self._described()
        return {**super().parameters(), "table": shown, "columns": self.columns}

    def saved_parameters(self, inputs: Schema) -> dict[str, JSONValue]:
        """Return the parameters with the columns of the table in place of the table."""
        return {**self.parameters(), "table": self._described()}

    def _described(self) -> JSONValue:
        schema = self._table_schema()
        return {"columns": [[column.name, dtype_name(column.polars_dtype)] for column in schema]}

    def dependencies(self) -> list[str]:
        """Return the key."""
        return self.on

    def row_inputs(self, inputs: Schema) -> list[str]:
        """Return the key, by which rows are removed."""
        return self.on

    # -- schema -------------------------------------------------------------------------------

    def _rows(self) -> Dataset:
        try:
            return Dataset(self.table)
        except MerlinkitError as error:
            raise ParameterError(f"JoinExternal: table: {error}") from error

    def _table_schema(self) -> Schema:
        """Return the columns of the table that are used, the key first."""
        if self._saved is not None:
            return self._saved
        schema = self._rows().schema
        try:
            wanted = (
                [name for name in schema.names if name not in self.on]
                if self.columns is None
                else self.columns
            )
            return schema.select([*self.on, *wanted])
        except SchemaError as error:
            raise ParameterError(f"JoinExternal: table: {error}") from error

    def _added(self) -> list[Column]:
        return [column for column in self._table_schema() if column.name not in self.on]

    def _keys(self, inputs: Schema) -> tuple[GroupKey, GroupKey]:
        """Return the key as it is in the data, and as it is in the table."""
        table = self._table_schema()
        ours = GroupKey(self.name, tuple(inputs[name] for name in self.on))
        theirs = GroupKey(self.name, tuple(table[name] for name in self.on))
        for left, right in zip(ours.columns, theirs.columns, strict=True):
            same_kind = left.dtype.is_integer() and right.dtype.is_integer()
            same_kind |= left.dtype.is_float() and right.dtype.is_float()
            if left.dtype != right.dtype and not same_kind:
                raise SchemaError(
                    f"JoinExternal: key '{left.name}' is {dtype_name(left.dtype)} in the data and "
                    f"{dtype_name(right.dtype)} in the table; cast one of them"
                )
        return ours, theirs

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns, and those of the table."""
        self._keys(inputs)
        applied = [inputs[name] for name in self.applied_to(inputs)]
        names = {column.name for column in applied}
        for column in self._added():
            if column.name in names:
                raise SchemaError(
                    f"JoinExternal: there is a column '{column.name}' already; leave it out of "
                    "columns, or rename it in the table"
                )
        return Schema([*applied, *self._added()])

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the key for columns of the table, else the column itself."""
        made = {name: [name] for name in self.applied_to(inputs)}
        return made | {column.name: self.on for column in self._added()}

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true: the table becomes part of the state."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return nothing: the data does not matter."""
        return {}

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Return nothing."""
        return {}

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return nothing."""
        return {}

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the first row of each key, and some of the keys that have more."""
        _, theirs = self._keys(inputs)
        added = [pl.col(column.name).alias(f"value_{i}") for i, column in enumerate(self._added())]
        rows = self._rows().scan().select(*theirs.expressions(), *added)
        # The order of rows says which is the first.
        table = rows.group_by(theirs.names, maintain_order=True).agg(
            *(pl.col(f"value_{i}").first() for i in range(len(added))),
            pl.len().cast(pl.Int64).alias("times"),
        )
        repeated = table.filter(pl.col("times") > 1)
        keys = [f"key_{index}" for index in range(len(self.on))]
        shown = repeated.select(pl.col(key).cast(pl.String) for key in keys).sort(keys).head(3)
        count = repeated.select(pl.len().cast(pl.Int64).alias("count"))
        return Finalized({"repeated": shown, "count": count}, {"table": table.drop("times")})

    def check(self, state: State, inputs: Schema) -> None:
        """Refuse a table that has a key more than once."""
        count = sum(int(row["count"]) for row in state.values["count"])
        if count and not self.drop_duplicates:
            shown = ", ".join(
                "/".join(str(value) for value in row.values()) for row in state.values["repeated"]
            )
            raise DataError(
                f"JoinExternal: the table has {count:,} keys of {', '.join(self.on)} more than "
                f"once, for example {shown}; make them one, or set drop_duplicates=True to take "
                "the first row of each"
            )

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Join the table."""
        ours, theirs = self._keys(inputs)
        added = {f"value_{i}": column.name for i, column in enumerate(self._added())}
        found = scratch("found")
        table = state.tables["table"].frame.select(
            *theirs.names,
            *(pl.col(value).alias(name) for value, name in added.items()),
            pl.lit(1, dtype=pl.Int8).alias(found),
        )
        frame = ours.join(frame, table, dialect)
        if not self.keeps_rows:
            frame = frame.filter(pl.col(found).is_not_null())
        return frame.drop(found)


def _schema_from(described: Any) -> Schema:
    columns = []
    for name, dtype in described:
        resolved = dtype_from_name(dtype)
        columns.append((name, resolved))
    return Schema.from_polars(pl.Schema(columns))
