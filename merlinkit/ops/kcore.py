"""KCore: rows of users and items that occur often enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError
from merlinkit.ops.base import Finalized, State, Statistics, UnchangedValues, scratch
from merlinkit.ops.group_order import require_scalar
from merlinkit.ops.parameters import require_bool, require_int, require_text
from merlinkit.ops.vocabulary import canonical
from merlinkit.schema import Schema

__all__ = ["KCore"]

_PAIRS = "pairs"


class KCore(UnchangedValues):
    """Keep the rows of users and items that occur often enough among the rows that are kept.

    Rows of users with fewer than `min_user` rows are removed, then those of items with fewer than
    `min_item`, which may leave users with too few, and so on, until nothing changes.

    Parameters
    ----------
    user_col, item_col
        Columns of user and item.
    min_user, min_item
        Fewest rows of a user, and of an item.
    rounds
        Most rounds; None goes on until nothing changes.
    training_only
        Whether rows are only removed where a model is trained on them, so that evaluation and
        serving see every row.

    Raises
    ------
    ParameterError
        If both bounds are 1, which keeps everything.
    SchemaError
        If user or item is a list.

    Notes
    -----
    Users and items to keep are learned from the data that the workflow is fitted on; rows of
    others, and rows in which user or item is null, are removed wherever it is applied. The result
    is the k-core of the graph of users and items (Seidman, "Network structure and minimum degree",
    1983), with repeated interactions counted each time.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": ["a", "b", "a", "b", "b"]})
    >>> node = ["user", "item"] >> KCore("user", "item", min_user=2, min_item=2)
    >>> mk.Workflow(node).fit_transform(frame).collect()["user"].to_list()
    [1, 1, 2, 2]
    """

    keeps_rows = False
    widens_integers = True

    def __init__(
        self,
        user_col: str,
        item_col: str,
        min_user: int = 1,
        min_item: int = 1,
        rounds: int | None = None,
        training_only: bool = False,
    ) -> None:
        require_text("KCore", "user_col", user_col)
        require_text("KCore", "item_col", item_col)
        if user_col == item_col:
            raise ParameterError(f"KCore: user_col and item_col are both '{user_col}'")
        require_int("KCore", "min_user", min_user, minimum=1)
        require_int("KCore", "min_item", min_item, minimum=1)
        if min_user == min_item == 1:
            raise ParameterError("KCore: give min_user, min_item or both, above 1")
        if rounds is not None:
            require_int("KCore", "rounds", rounds, minimum=1)
        require_bool("KCore", "training_only", training_only)
        self.user_col = user_col
        self.item_col = item_col
        self.min_user = min_user
        self.min_item = min_item
        self.rounds = rounds
        self.training_only = training_only

    def dependencies(self) -> list[str]:
        """Return user and item."""
        return [self.user_col, self.item_col]

    def row_inputs(self, inputs: Schema) -> list[str]:
        """Return user and item."""
        return self.dependencies()

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns as they are."""
        require_scalar(self, "user_col", [self.user_col], inputs)
        require_scalar(self, "item_col", [self.item_col], inputs)
        return inputs.select(self.applied_to(inputs))

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the column itself."""
        return {name: [name] for name in self.applied_to(inputs)}

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true."""
        del inputs
        return True

    def _keys(self, inputs: Schema) -> list[pl.Expr]:
        return [
            canonical(pl.col(column), inputs[column].dtype).alias(name)
            for name, column in (("user", self.user_col), ("item", self.item_col))
        ]

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Count the rows of each pair of user and item."""
        pairs = frame.select(self._keys(inputs)).drop_nulls().group_by("user", "item")
        return {_PAIRS: pairs.agg(pl.len().cast(pl.Int64).alias("count"))}

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Add up the counts."""
        both = pl.concat([left[_PAIRS], right[_PAIRS]]).group_by("user", "item")
        return {_PAIRS: both.agg(pl.col("count").sum())}

    def refine(
        self, statistics: Statistics, history: Sequence[Mapping[str, int]]
    ) -> Statistics | None:
        """Return the pairs after another round, until nothing changes."""
        passes = len(history) - 1
        if passes and history[-1] == history[-2]:
            return None
        if self.rounds is not None and passes == self.rounds:
            return None
        pairs = statistics[_PAIRS]
        for key, least in (("user", self.min_user), ("item", self.min_item)):
            often = (
                pairs.group_by(key)
                .agg(pl.col("count").sum().alias("rows"))
                .filter(pl.col("rows") >= least)
                .select(key)
            )
            pairs = pairs.join(often, on=key, how="semi")
        return {_PAIRS: pairs}

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the users and the items that are left."""
        pairs = statistics[_PAIRS]
        tables = {
            key: pairs.group_by(key)
            .agg(pl.col("count").sum().alias("rows"))
            .sort(key)
            .select(pl.col(key).alias("value"), "rows")
            for key in ("user", "item")
        }
        return Finalized(tables=tables)

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Keep the rows, or all of them where a model is not trained on them."""
        return frame if self.training_only else self._keep(frame, inputs, state, dialect)

    def transform_training(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Keep the rows whose user and item are kept."""
        return self._keep(frame, inputs, state, dialect)

    def _keep(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        found = {key: scratch(f"{key}_rows") for key in ("user", "item")}
        keys = {key: scratch(key) for key in found}
        frame = frame.with_columns(
            expression.alias(keys[key])
            for key, expression in zip(keys, self._keys(inputs), strict=True)
        )
        frame = dialect.lookups(
            frame,
            [(keys[key], state.tables[key].lookup("value", "rows"), found[key]) for key in found],
        )
        present = pl.all_horizontal([pl.col(name).is_not_null() for name in found.values()])
        return frame.filter(present).drop(*keys.values(), *found.values())
