"""NegativeSampling: rows of items that a user did not choose."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merlinkit.engine.dialect import Dialect, Lookup
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Finalized, State, Statistics, UnchangedValues, require_known, scratch
from merlinkit.ops.cross_hash import cross_hash
from merlinkit.ops.group_order import require_scalar
from merlinkit.ops.hash_bucket import hashable
from merlinkit.ops.parameters import (
    require_bool,
    require_choice,
    require_int,
    require_text,
    text_list,
)
from merlinkit.ops.vocabulary import canonical
from merlinkit.schema import JSONValue, Schema

__all__ = ["NegativeSampling"]

_DRAWS = 4
"""Items drawn for a row at most, until one is found that the user has not seen."""

_SLOTS = 2**20
"""Parts that popularity is rounded to: a share below half of one may never be drawn."""


class NegativeSampling(UnchangedValues):
    """Add rows of other items, with the label 0, for the rows of the training data labelled 1.

    Parameters
    ----------
    n
        Rows that are added for each row whose label is 1.
    user_col, item_col, label_col
        Columns of user, item and label.
    item_cols
        Other columns that belong to the item, and change with it.
    strategy
        ``"uniform"`` draws all items alike, ``"popularity"`` in proportion to their rows.
    exclude_seen
        Whether items are left out that the user has a row with.
    seed
        Another number gives other items.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    SchemaError
        If a column is a list, or not among those that the operator is applied to.

    Notes
    -----
    Only rows that a model is trained on get others; evaluation and serving see the data as it is.
    Items, how often they occur, and the smallest value of each of `item_cols` are those of the data
    that the workflow is fitted on. Which items are drawn is a function of the row and the seed, so
    it does not depend on files or order, and equal rows get equal items; the new rows come behind
    the others of a file. Popularity is rounded to one part in 1,048,576.

    With `exclude_seen`, up to four items are drawn until one is new to the user; where all have
    been seen there is no row, so there may be fewer than `n`. Without it an item may be one that
    the user chose. Rows without a user or item count for nothing in the fit. Sampling by
    popularity is that of Mikolov et al., "Distributed representations of words and phrases and
    their compositionality" (2013), with the exponent 1.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "click": [1, 1]})
    >>> node = ["user", "item", "click"] >> NegativeSampling(1, "user", "item", "click", seed=3)
    >>> mk.Workflow(node).fit_transform(frame).collect().rows()
    [(1, 'a', 1), (2, 'b', 1), (1, 'b', 0), (2, 'a', 0)]
    """

    regroups = True

    def __init__(
        self,
        n: int,
        user_col: str,
        item_col: str,
        label_col: str,
        item_cols: str | Sequence[str] | None = None,
        strategy: str = "uniform",
        exclude_seen: bool = True,
        seed: int = 42,
    ) -> None:
        name = "NegativeSampling"
        require_int(name, "n", n, minimum=1, maximum=1000)
        require_int(name, "seed", seed, minimum=0)
        for parameter, column in (
            ("user_col", user_col),
            ("item_col", item_col),
            ("label_col", label_col),
        ):
            require_text(name, parameter, column)
        self.item_cols = [] if not item_cols else text_list(name, "item_cols", item_cols)
        named = [user_col, item_col, label_col, *self.item_cols]
        for column in named:
            if named.count(column) > 1:
                raise ParameterError(f"{name}: column '{column}' is named for two things")
        require_bool(name, "exclude_seen", exclude_seen)
        self.n = n
        self.user_col = user_col
        self.item_col = item_col
        self.label_col = label_col
        self.strategy = require_choice(name, "strategy", strategy, ("uniform", "popularity"))
        self.exclude_seen = exclude_seen
        self.seed = seed

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters as JSON values."""
        return {**super().parameters(), "item_cols": self.item_cols or None}

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are."""
        for parameter, named in (
            ("user_col", [self.user_col]),
            ("item_col", [self.item_col]),
            ("label_col", [self.label_col]),
            ("item_cols", self.item_cols),
        ):
            require_known(self, parameter, named, inputs.names)
            require_scalar(self, parameter, named, inputs)
        label = inputs[self.label_col]
        if not (label.dtype.is_numeric() or isinstance(label.dtype, pl.Boolean)):
            raise SchemaError(
                f"NegativeSampling: label '{label.name}' is {label.dtype}, 0 and 1 expected"
            )
        return inputs

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count the rows of each pair of user and item, and describe each item."""
        user, item = (
            canonical(pl.col(column), inputs[column].dtype).alias(name)
            for name, column in (("user", self.user_col), ("item", self.item_col))
        )
        described = [pl.col(name).alias(f"value_{i}") for i, name in enumerate(self.item_cols)]
        pairs = frame.select(user, item).drop_nulls().group_by("user", "item")
        items = frame.select(item, *described).filter(pl.col("item").is_not_null())
        return {
            "pairs": pairs.agg(pl.len().cast(pl.Int64).alias("count")),
            "items": items.group_by("item").agg(
                pl.len().cast(pl.Int64).alias("count"),
                *(pl.col(f"value_{i}").min() for i in range(len(described))),
            ),
        }

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        values = [pl.col(f"value_{i}").min() for i in range(len(self.item_cols))]
        both = {name: pl.concat([left[name], right[name]]) for name in left}
        return {
            "pairs": both["pairs"].group_by("user", "item").agg(pl.col("count").sum()),
            "items": both["items"].group_by("item").agg(pl.col("count").sum(), *values),
        }

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Give the items numbers, and say in which part of all rows each is."""
        upto = pl.col("count").cum_sum()
        items = (
            statistics["items"]
            .sort("item")
            .with_row_index("number")
            .with_columns(
                pl.col("number").cast(pl.Int64),
                ((upto - pl.col("count")) / pl.col("count").sum()).alias("start"),
            )
        )
        numbers = items.select("item", "number")
        tables = {
            "items": items.drop("start"),
            "pairs": statistics["pairs"]
            .join(numbers, on="item", how="inner")
            .select("user", "item", "number", "count")
            .sort("user", "number"),
        }
        if self.strategy == "popularity":
            slots = pl.DataFrame({"slot": pl.int_range(_SLOTS, dtype=pl.Int64, eager=True)}).lazy()
            middle = (pl.col("slot").cast(pl.Float64) + 0.5) / float(_SLOTS)
            starts = items.select(pl.lit(None, dtype=pl.Int64).alias("slot"), "start", "number")
            tables["slots"] = (
                pl.concat(
                    [
                        starts,
                        slots.select(
                            "slot",
                            middle.alias("start"),
                            pl.lit(None, dtype=pl.Int64).alias("number"),
                        ),
                    ]
                )
                .sort("start", "slot", nulls_last=False)
                # The item whose part the middle of the slot is in is the last one before it.
                .select("slot", pl.col("number").forward_fill())
                .filter(pl.col("slot").is_not_null() & pl.col("number").is_not_null())
            )
        return Finalized(tables=tables)

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the counts."""
        return {
            "pairs": state.tables["pairs"].frame.select("user", "item", "count"),
            "items": state.tables["items"].frame.drop("number"),
        }

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the rows as they are."""
        return frame

    def transform_training(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the rows, and behind them those of other items."""
        frame = frame.select(inputs.names)
        if state.tables["items"].rows == 0:
            return frame
        label = pl.col(self.label_col)
        chosen = label if isinstance(inputs[self.label_col].dtype, pl.Boolean) else label == 1
        row = scratch("row")
        hashes = [
            dialect.hash64(*hashable(pl.col(column.name), column)).fill_null(0)
            for column in inputs
            if not column.is_list and not column.dtype.is_nested()
        ]
        seed = pl.lit(self.seed, dtype=pl.UInt64)
        positives = frame.filter(chosen).with_columns(cross_hash([seed, *hashes]).alias(row))
        added = [
            self._negatives(positives, row, number, inputs, state, dialect)
            for number in range(self.n)
        ]
        return pl.concat([frame, *added])

    def _negatives(
        self,
        frame: pl.LazyFrame,
        row: str,
        number: int,
        inputs: Schema,
        state: State,
        dialect: Dialect,
    ) -> pl.LazyFrame:
        """Return one other row for each of a frame's rows, where an item is found."""
        drawn = scratch("drawn")
        user = canonical(pl.col(self.user_col), inputs[self.user_col].dtype)
        frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias(drawn))
        for attempt in range(_DRAWS if self.exclude_seen else 1):
            candidate, seen, who = scratch("candidate"), scratch("seen"), scratch("user")
            counter = pl.lit(number * _DRAWS + attempt, dtype=pl.UInt64)
            bits = dialect.hash64(cross_hash([pl.col(row), counter]), pl.UInt64())
            frame = self._draw(frame, bits, candidate, state, dialect)
            found = pl.col(candidate)
            if self.exclude_seen:
                pairs = state.tables["pairs"].frame.select(
                    pl.col("user").alias(who),
                    pl.col("number").alias(candidate),
                    pl.col("count").alias(seen),
                )
                frame = frame.with_columns(user.alias(who))
                frame = dialect.join(frame, pairs, [who, candidate])
                found = pl.when(pl.col(seen).is_null()).then(found)
                spent = [candidate, who, seen]
            else:
                spent = [candidate]
            frame = frame.with_columns(pl.coalesce(pl.col(drawn), found).alias(drawn)).drop(spent)
        return self._with_items(
            frame.filter(pl.col(drawn).is_not_null()), drawn, inputs, state, dialect
        )

    def _draw(
        self, frame: pl.LazyFrame, bits: pl.Expr, into: str, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Add the number of an item."""
        if self.strategy == "uniform":
            items = state.tables["items"].rows
            return frame.with_columns((bits % items).cast(pl.Int64).alias(into))
        slot = scratch("slot")
        table: Lookup = state.tables["slots"].lookup("slot", "number")
        frame = frame.with_columns((bits % _SLOTS).cast(pl.Int64).alias(slot))
        return dialect.lookup(frame, slot, table, into).drop(slot)

    def _with_items(
        self, frame: pl.LazyFrame, drawn: str, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Put in the items of the numbers that were drawn, and the label 0."""
        places = {"item": scratch("item")}
        places |= {f"value_{i}": scratch(f"value_{i}") for i in range(len(self.item_cols))}
        table = state.tables["items"].frame.select(
            pl.col("number").alias(drawn), *(pl.col(old).alias(new) for old, new in places.items())
        )
        frame = dialect.join(frame, table, [drawn])
        changed = [
            pl.col(place).cast(inputs[name].dtype).alias(name)
            for place, name in zip(places.values(), [self.item_col, *self.item_cols], strict=True)
        ]
        label = pl.lit(0, dtype=pl.Int8).cast(inputs[self.label_col].dtype)
        return frame.with_columns(*changed, label.alias(self.label_col)).select(inputs.names)
