"""Bucketize: numbers to the ids of intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from merlinkit.errors import ParameterError, SchemaError, did_you_mean
from merlinkit.ops.base import (
    ElementwiseExpression,
    State,
    is_number,
    require,
    require_known,
    without_nan,
)
from merlinkit.ops.parameters import is_finite_number, require_bool
from merlinkit.schema import Column, Domain, Schema, Tags

__all__ = ["Bucketize"]

Boundaries = Sequence[int | float]


class Bucketize(ElementwiseExpression):
    """Replace x by the number of boundaries that it reaches, as Int32.

    With boundaries b0 < b1 < …: x < b0 gives 0, b0 <= x < b1 gives 1, and so on.

    Parameters
    ----------
    boundaries
        Strictly increasing numbers, for all columns or by column.
    null_bucket
        Whether nulls get a bucket of their own, after the last one; otherwise they stay null.

    Raises
    ------
    ParameterError
        If boundaries are missing, not finite or not increasing.
    SchemaError
        If a column is not numeric or has no boundaries.

    Notes
    -----
    NaN is null. In list columns it acts on the elements.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"age": [3, 18, 70, None]})
    >>> mk.Workflow(["age"] >> Bucketize([18, 65])).fit_transform(frame).collect()["age"].to_list()
    [0, 1, 2, None]
    """

    def __init__(
        self, boundaries: Boundaries | Mapping[str, Boundaries], null_bucket: bool = False
    ) -> None:
        self.boundaries: list[int | float] | dict[str, list[int | float]]
        if isinstance(boundaries, Mapping):
            self.boundaries = {
                str(column): _checked(values, f" for column '{column}'")
                for column, values in boundaries.items()
            }
        else:
            self.boundaries = _checked(boundaries, "")
        require_bool("Bucketize", "null_bucket", null_bucket)
        self.null_bucket = null_bucket

    def _of(self, column: Column) -> list[int | float]:
        if isinstance(self.boundaries, list):
            return self.boundaries
        if column.name not in self.boundaries:
            raise SchemaError(
                f"Bucketize: no boundaries for column '{column.name}'."
                f"{did_you_mean(column.name, self.boundaries)} Boundaries are given for "
                f"{', '.join(self.boundaries)}."
            )
        return self.boundaries[column.name]

    def output_column(self, column: Column, state: State | None) -> Column:
        """Return the column of bucket ids with their domain."""
        require(self, column, is_number, "a number")
        buckets = len(self._of(column)) + int(self.null_bucket)
        out = column.with_dtype(pl.Int32()).with_domain(Domain(0, buckets))
        return out.with_tags([Tags.CATEGORICAL])

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns; boundaries for a column that is not there are an error."""
        if isinstance(self.boundaries, dict):
            require_known(self, "boundaries", self.boundaries, inputs.names)
        return super().output_schema(inputs, state)

    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return the number of boundaries reached, summed as a balanced tree of comparisons."""
        number = without_nan(value, column.dtype)
        terms = [(number >= boundary).cast(pl.Int32) for boundary in self._of(column)]
        while len(terms) > 1:
            terms = [
                terms[i] + terms[i + 1] if i + 1 < len(terms) else terms[i]
                for i in range(0, len(terms), 2)
            ]
        if self.null_bucket:
            return terms[0].fill_null(len(self._of(column)) + 1).cast(pl.Int32)
        return terms[0]


def _checked(values: object, where: str) -> list[int | float]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(
            f"Bucketize: boundaries{where} are {values!r}, a list of numbers expected"
        )
    for value in values:
        if not is_finite_number(value):
            raise ParameterError(
                f"Bucketize: boundaries{where} hold {value!r}, finite numbers expected"
            )
    for left, right in pairwise(values):
        if left >= right:
            raise ParameterError(
                f"Bucketize: boundaries{where} must increase, but {left} comes before {right}"
            )
    return list(values)
