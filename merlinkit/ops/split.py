"""Split: strings to lists of strings."""

from __future__ import annotations

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import SchemaError
from merlinkit.ops.base import Operator, State, require
from merlinkit.ops.parameters import require_text
from merlinkit.schema import Column, Schema, Tags

__all__ = ["Split"]


class Split(Operator):
    """Split strings such as ``"Action|Drama"`` into lists.

    Parameters
    ----------
    separator
        The text between two elements.

    Raises
    ------
    SchemaError
        If a column does not hold strings, or holds lists already.

    Notes
    -----
    Null stays null, an empty string gives an empty list. Pieces are kept as they are, empty ones
    between two separators included.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"genres": ["Action|Drama", "", None]})
    >>> mk.Workflow(["genres"] >> Split("|")).fit_transform(frame).collect()["genres"].to_list()
    [['Action', 'Drama'], [], None]
    """

    def __init__(self, separator: str) -> None:
        require_text("Split", "separator", separator)
        self.separator = separator

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return list columns of strings."""
        out = []
        for column in inputs:
            require(self, column, lambda dtype: dtype == pl.String, "String")
            if column.is_list:
                raise SchemaError(f"Split: column '{column.name}' holds lists already")
            out.append(
                Column(
                    column.name,
                    pl.String(),
                    is_list=True,
                    tags=column.tags | {Tags.LIST},
                    embedding_size=column.embedding_size,
                    properties=column.properties,
                )
            )
        return Schema(out)

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Split column by column, as the dialect does it."""
        for name in inputs.names:
            frame = dialect.split(frame, name, self.separator, name)
        return frame
