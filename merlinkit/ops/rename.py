"""Rename: other names for columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.ops.base import Operator, State, require_known, scratch
from merlinkit.ops.parameters import require_text
from merlinkit.schema import JSONValue, Schema

__all__ = ["Rename"]


class Rename(Operator):
    """Rename columns, in exactly one of four ways.

    Parameters
    ----------
    name
        The new name of the only column.
    postfix
        Text to append to each name.
    mapping
        New names by old names; columns that are not in it keep theirs.
    function
        A function from old to new name. Saved as the mapping of the columns it was fitted on.

    Raises
    ------
    ParameterError
        If none or more than one way is given.
    SchemaError
        If `name` is given for several columns, the mapping names a column that is not there, or
        two columns would have the same name.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> frame = pl.DataFrame({"a": [1], "b": [2]})
    >>> mk.Workflow(["a", "b"] >> Rename(postfix="_raw")).fit_transform(frame).collect().columns
    ['a_raw', 'b_raw']
    """

    def __init__(
        self,
        name: str | None = None,
        postfix: str | None = None,
        mapping: Mapping[str, str] | None = None,
        function: Callable[[str], str] | None = None,
    ) -> None:
        given = [value for value in (name, postfix, mapping, function) if value is not None]
        if len(given) != 1:
            raise ParameterError(
                "Rename: give exactly one of name, postfix, mapping and function; "
                f"{len(given)} were given"
            )
        for parameter, value in (("name", name), ("postfix", postfix)):
            if value is not None:
                require_text("Rename", parameter, value)
        if mapping is not None and not (
            isinstance(mapping, Mapping)
            and all(isinstance(x, str) and x for pair in mapping.items() for x in pair)
        ):
            raise ParameterError(
                f"Rename: mapping is {mapping!r}, a mapping of old to new names expected"
            )
        if function is not None and not callable(function):
            raise ParameterError(f"Rename: function is {function!r}, a function expected")
        self.new_name = name
        self.postfix = postfix
        self.mapping = None if mapping is None else dict(mapping)
        self.function = function

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameter that was given."""
        given = {
            "name": self.new_name,
            "postfix": self.postfix,
            "mapping": self.mapping,
            "function": self.function,
        }
        return {key: value for key, value in given.items() if value is not None}

    def saved_parameters(self, inputs: Schema) -> dict[str, JSONValue]:
        """Return the parameter that was given; a function as the mapping that it makes."""
        if self.function is not None:
            return {"mapping": self._names(inputs)}
        return self.parameters()

    def _names(self, inputs: Schema) -> dict[str, str]:
        """Return new names by old names, in the order of the columns."""
        if self.new_name is not None:
            if len(inputs) != 1:
                raise SchemaError(
                    f"Rename: name={self.new_name!r} is for one column, {len(inputs)} given: "
                    f"{', '.join(inputs.names)}; use mapping or postfix"
                )
            names = {inputs.names[0]: self.new_name}
        elif self.postfix is not None:
            names = {name: name + self.postfix for name in inputs.names}
        elif self.mapping is not None:
            names = {name: self.mapping.get(name, name) for name in inputs.names}
        else:
            assert self.function is not None
            names = {name: self.function(name) for name in inputs.names}
            for old, new in names.items():
                if not isinstance(new, str) or not new:
                    raise SchemaError(
                        f"Rename: function gives {new!r} for '{old}', a name expected"
                    )
        return names

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns under their new names; the mapping must not name others."""
        require_known(self, "mapping", self.mapping or (), inputs.names)
        names = self._names(inputs)
        return Schema(column.renamed(names[column.name]) for column in inputs)

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return the old name of each new one."""
        return {new: [old] for old, new in self._names(inputs).items()}

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Rename in one go, so that names can be swapped."""
        return _rename(frame, self._names(inputs))

    @property
    def invertible(self) -> bool:
        """By the old names."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Give the old names back."""
        return _rename(frame, {new: old for old, new in self._names(inputs).items()})


def _rename(frame: pl.LazyFrame, names: Mapping[str, str]) -> pl.LazyFrame:
    """Rename by copy, since a new name may be an old one of another column."""
    copies = {old: scratch(f"rename_{index}") for index, old in enumerate(names)}
    frame = frame.with_columns(pl.col(old).alias(copy) for old, copy in copies.items())
    frame = frame.with_columns(pl.col(copies[old]).alias(new) for old, new in names.items())
    return frame.drop(copies.values())
