"""ListSlice: a part of each list."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State
from merlinkit.ops.filling import filling, with_value
from merlinkit.ops.parameters import is_finite_number, require_bool, require_int
from merlinkit.schema import Column, Schema

__all__ = ["ListSlice"]

_LONGEST = 1_000_000


class ListSlice(Operator):
    """Keep a part of each list, as Python slices do.

    Parameters
    ----------
    start
        Alone, how many elements are kept: 10 the first ten, -10 the last ten. With `end`, where
        the part starts; negative numbers count from the end.
    end
        Where the part ends, the element there left out; negative numbers count from the end.
    pad
        Whether shorter lists are filled up behind, to the same length.
    pad_value
        What they are filled up with; the id of padding for columns that Categorify made.

    Raises
    ------
    ParameterError
        If nothing would be kept, or `pad` is set for a part whose length is not known.
    SchemaError
        If a column holds no lists, or `pad_value` does not fit its elements.

    Notes
    -----
    Null lists stay null, empty lists stay empty unless they are padded. The schema says how many
    elements are left, as far as the lengths of the lists are known; a known domain grows to hold
    `pad_value`.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"items": [[1, 2, 3], [4]]})
    >>> node = ["items"] >> ListSlice(-2, pad=True)
    >>> mk.Workflow(node).fit_transform(frame).collect()["items"].to_list()
    [[2, 3], [4, 0]]
    """

    def __init__(
        self,
        start: int,
        end: int | None = None,
        pad: bool = False,
        pad_value: int | float | str | bool = 0,
    ) -> None:
        require_int("ListSlice", "start", start, minimum=-_LONGEST, maximum=_LONGEST)
        require_bool("ListSlice", "pad", pad)
        if end is None and start == 0:
            raise ParameterError("ListSlice: start is 0, which keeps nothing; give end as well")
        if end is not None:
            require_int("ListSlice", "end", end, minimum=-_LONGEST, maximum=_LONGEST)
            if (start < 0) == (end < 0) and end <= start:
                raise ParameterError(
                    f"ListSlice: end={end} is not behind start={start}, so nothing would be kept"
                )
        if not isinstance(pad_value, str | bool) and not is_finite_number(pad_value):
            raise ParameterError(
                f"ListSlice: pad_value is {pad_value!r}, a number, string or boolean expected"
            )
        self.start = start
        self.end = end
        self.pad = pad
        self.pad_value = pad_value
        if pad and self._length() is None:
            raise ParameterError(
                f"ListSlice: how long a part from {start} to {end} is differs from list to list, "
                "so it cannot be padded; give start and end of the same sign"
            )

    def _bounds(self) -> tuple[int, int | None]:
        """Return start and end as Python's slices take them."""
        if self.end is not None:
            return self.start, self.end
        return (0, self.start) if self.start > 0 else (self.start, None)

    def _length(self) -> int | None:
        """Return the most elements that are kept; None where that depends on the list."""
        start, end = self._bounds()
        if end is None:
            return -start
        return end - start if (start < 0) == (end < 0) else None

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the list columns, with the lengths that are known."""
        return Schema(self._column(column) for column in inputs)

    def _column(self, column: Column) -> Column:
        if not column.is_list:
            raise SchemaError(
                f"ListSlice: column '{column.name}' is {column.polars_dtype}, lists expected"
            )
        # The type with its lists, since the constructor of a column unwraps one.
        dtype, length = column.polars_dtype, self._length()
        if self.pad and length is not None:
            padded = with_value(column, self._padding(column))
            return replace(padded, dtype=dtype, value_count=(length, length))
        return replace(column, dtype=dtype, value_count=self._lengths(column.value_count))

    def _padding(self, column: Column) -> int | float | str | bool:
        return filling("ListSlice", "pad_value", self.pad_value, column)

    def _lengths(self, value_count: tuple[int, int | None] | None) -> tuple[int, int | None] | None:
        """Return how many elements are kept, at least and at most; None where that is open."""
        start, end = self._bounds()
        fewest, most = value_count or (0, None)
        # What is kept grows or shrinks evenly with the length of the list between these lengths.
        turns = {abs(start), abs(end or 0), abs(start) + abs(end or 0)}
        last = max(fewest, *turns) if most is None else most
        sizes = {fewest, last} | {turn for turn in turns if fewest < turn < last}
        lengths = [len(range(size)[start:end]) for size in sizes]
        if most is None and start >= 0 and end is not None and end < 0:
            # The longer the list, the more is kept.
            return (min(lengths), None) if min(lengths) else None
        return min(lengths), max(lengths)

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Slice, then pad."""
        length = self._length()
        for name in inputs.names:
            frame = dialect.list_slice(frame, name, *self._bounds())
            if self.pad and length is not None:
                padding = self._padding(inputs[name])
                frame = dialect.list_pad(frame, name, length, padding)
        return frame
