"""DropLowCardinality: leave out columns with few values."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.ops.base import State, UnchangedValues
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
    operators that learn the domains are fitted.

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
        """Return the columns that are kept."""
        return Schema(
            column
            for column in inputs
            if column.cardinality is None or column.cardinality >= self.min_cardinality
        )

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the column itself."""
        return {name: [name] for name in self.output_schema(inputs, None).names}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is; the schema says what comes out."""
        return frame
