"""DropLowCardinality: leave out columns with few values."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.ops.base import Finalized, State, Statistics, UnchangedValues
from merlinkit.ops.parameters import require_int
from merlinkit.schema import Schema

__all__ = ["DropLowCardinality"]


class DropLowCardinality(UnchangedValues):
    """Leave out columns whose domain has fewer ids than a number.

    Parameters
    ----------
    min_cardinality
        Fewest ids, reserved ones counted, of a column that is kept. A column that Categorify made
        of a constant has 4: padding, null, out of vocabulary and the constant.

    Notes
    -----
    The domain of the schema decides; columns without one are kept, and so are all before the
    operators that learn the domains are fitted. An update of the workflow leaves the choice as it
    is, so that what follows gets the columns that it was fitted on.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> from merlinkit import ops
    >>> frame = pl.DataFrame({"city": ["a", "b", "c"], "country": ["x", "x", "x"]})
    >>> node = ["city", "country"] >> ops.Categorify() >> DropLowCardinality(5)
    >>> mk.Workflow(node).fit(frame).output_schema.names
    ['city']
    """

    def __init__(self, min_cardinality: int = 2) -> None:
        require_int("DropLowCardinality", "min_cardinality", min_cardinality, minimum=1)
        self.min_cardinality = min_cardinality

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns that are kept; before the fit, all."""
        if state is None:
            return inputs
        return inputs.select(str(row["column"]) for row in state.values["kept"])

    def _kept(self, inputs: Schema) -> list[str]:
        return [
            column.name
            for column in inputs
            if column.cardinality is None or column.cardinality >= self.min_cardinality
        ]

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Return true: the domains are those of operators that were fitted before."""
        del inputs
        return True

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return nothing, since the schema is enough."""
        return {}

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Return nothing."""
        return {}

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Keep the names of the columns."""
        return Finalized(values={"kept": _names(self._kept(inputs))})

    def update(
        self, state: State, statistics: Statistics, inputs: Schema, dialect: Dialect
    ) -> Finalized:
        """Keep the columns that were kept before."""
        kept = [str(row["column"]) for row in state.values["kept"]]
        return Finalized(values={"kept": _names(kept)})

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return nothing."""
        return {}

    # -- apply --------------------------------------------------------------------------------

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is; the schema says what comes out."""
        return frame


def _names(columns: list[str]) -> pl.LazyFrame:
    return pl.LazyFrame({"column": columns}, schema={"column": pl.String})
