"""What an operator is: a few pure functions over plans.

An operator never runs anything. It says which columns come out (`Operator.output_schema`), which
plans gather what it must know of the data (`Operator.statistics`, `Operator.merge`,
`Operator.finalize`) and which plan applies it (`Operator.transform`). Engines run the plans, the
workflow keeps the state, so that an operator holds its parameters and nothing else.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import polars as pl

from merlinkit.engine.dialect import Dialect, Lookup
from merlinkit.errors import MerlinkitError, ParameterError, SchemaError, did_you_mean
from merlinkit.schema import Column, JSONValue, Schema

if TYPE_CHECKING:
    from merlinkit.workflow.graph import Node, Selectable

__all__ = [
    "ElementwiseExpression",
    "ElementwiseOperator",
    "Finalized",
    "Inputs",
    "Operator",
    "State",
    "Statistics",
    "Table",
    "UnchangedValues",
    "scratch",
]

Statistics = dict[str, pl.LazyFrame]
"""Plans that gather what an operator must know of the data, by name."""


def scratch(name: str) -> str:
    """Return a name for a column that lives inside one operator, out of the way of the data's."""
    return f"__mk_{name}"


class Table:
    """A parquet table of a fitted operator.

    Parameters
    ----------
    frame
        Plan that reads it.
    rows
        Number of its rows.
    """

    def __init__(self, frame: pl.LazyFrame, rows: int) -> None:
        self.frame = frame
        self.rows = rows
        self._lookups: dict[tuple[str, str], Lookup] = {}
        self.kept_by: object = None
        """What removes the file when nothing holds the table any more; None for files of others."""

    def __getstate__(self) -> dict[str, object]:
        # Whoever gets it reads the table itself.
        return {**self.__dict__, "_lookups": {}, "kept_by": None}

    def lookup(self, key: str, value: str) -> Lookup:
        """Return the pairs of two columns in which neither is null, for `Dialect.lookup`.

        The same object is returned each time, so that an engine reads the table once however many
        files are transformed with it.
        """
        if (key, value) not in self._lookups:
            self._lookups[key, value] = Lookup(
                self.frame.select(key, value).drop_nulls(), key, value
            )
        return self._lookups[key, value]


@dataclass(frozen=True)
class State:
    """What a fitted operator knows of the data.

    Parameters
    ----------
    values
        Small frames as rows of JSON values, by name.
    tables
        Tables that may be large, by name.
    """

    values: Mapping[str, list[dict[str, JSONValue]]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    def row(self, name: str, column: str) -> dict[str, JSONValue]:
        """Return the row about one column, of values that have a field ``column``."""
        for row in self.values[name]:
            if row["column"] == column:
                return row
        raise KeyError(f"{name} has no row for column {column!r}")


@dataclass(frozen=True)
class Finalized:
    """Plans of a state: ``values`` are collected, ``tables`` are written to parquet."""

    values: Statistics = field(default_factory=dict)
    tables: Statistics = field(default_factory=dict)


class Inputs(Schema):
    """The columns that go into an operator.

    Parameters
    ----------
    applied
        The columns that the operator is applied to.
    besides
        Other columns that it reads, see `Operator.dependencies`.
    """

    def __init__(self, applied: Schema, besides: Schema) -> None:
        super().__init__([*applied, *besides])
        self.applied = tuple(applied.names)


class Operator(ABC):
    """Base of all operators.

    Subclasses take their parameters as named arguments of ``__init__``, check them there, and keep
    each under its own name, which is how `parameters` finds them again.
    """

    keeps_rows: ClassVar[bool] = True
    """False for operators that remove rows; the workflow runs those as early as it can."""

    widens_integers: ClassVar[bool] = False
    """True for operators that take integers of any width for what they are."""

    takes_groups: ClassVar[bool] = False
    """True for operators that work on groups of columns, ``[["user", "item"], "city"]``."""

    regroups: ClassVar[bool] = False
    """True for operators whose rows are others than those that go in."""

    learns_little: ClassVar[bool] = False
    """True for operators whose statistics are a few rows whatever the data, kept in memory."""

    _units: tuple[tuple[str, ...], ...] | None = None

    @property
    def name(self) -> str:
        """Name of the operator in YAML and in saved workflows."""
        return type(self).__name__

    @classmethod
    def signature(cls) -> Mapping[str, inspect.Parameter]:
        """Return the parameters that the operator takes, by name."""
        if cls.__init__ is object.__init__:
            return {}
        described = inspect.signature(cls.__init__).parameters
        return {name: parameter for name, parameter in described.items() if name != "self"}

    def parameters(self) -> dict[str, JSONValue]:
        """Return the parameters as JSON values, from which an equal operator can be made."""
        return {name: getattr(self, name) for name in self.signature()}

    def saved_parameters(self, inputs: Schema) -> dict[str, JSONValue]:
        """Return the parameters as JSON values, for an operator applied to these columns."""
        del inputs
        return self.parameters()

    # -- what goes in -------------------------------------------------------------------------

    def dependencies(self) -> list[str]:
        """Return columns that are read besides those the operator is applied to.

        Each may be one of those as well, and is else taken from the data.
        """
        return []

    def on_groups(self, units: tuple[tuple[str, ...], ...]) -> Self:
        """Return the operator for these columns and groups of columns.

        Raises
        ------
        ParameterError
            If the operator works on single columns only.
        """
        if not self.takes_groups:
            group = next(unit for unit in units if len(unit) > 1)
            raise ParameterError(
                f"{self.name} works on single columns and takes no group such as {list(group)}; "
                "name the columns without the inner brackets"
            )
        bound = copy.copy(self)
        bound._units = units
        return bound

    def units(self, inputs: Schema) -> list[tuple[str, ...]]:
        """Return what the operator is applied to: groups as given, or each column alone."""
        if self._units is not None:
            return list(self._units)
        return [(name,) for name in self.applied_to(inputs)]

    def applied_to(self, inputs: Schema) -> list[str]:
        """Return the columns that the operator is applied to, without those it needs besides."""
        if isinstance(inputs, Inputs):
            return list(inputs.applied)
        return inputs.names

    def rows_together(self, inputs: Schema) -> list[str] | None:
        """Return the columns whose equal values must be in one frame, or None if rows are alone.

        An operator that returns names is given all rows of a value at once, from whatever files
        they come; large data is worked on in buckets by a hash of these columns.
        """
        del inputs
        return None

    # -- what comes out -----------------------------------------------------------------------

    @abstractmethod
    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns that come out.

        Parameters
        ----------
        inputs
            The columns that go in.
        state
            What was fitted; None before fit, when domains may be unknown.

        Raises
        ------
        SchemaError
            If a column has a data type that the operator cannot work with.
        """

    def origins(self, inputs: Schema) -> dict[str, list[str]]:
        """Return, for each output column, the input columns that it is made from."""
        return {name: [name] for name in inputs.names}

    def row_inputs(self, inputs: Schema) -> list[str]:
        """Return the input columns by which rows are removed."""
        return [] if self.keeps_rows else inputs.names

    # -- fit ----------------------------------------------------------------------------------

    def needs_fit(self, inputs: Schema) -> bool:
        """Tell whether anything must be learned from the data."""
        del inputs
        return False

    def statistics(self, frame: pl.LazyFrame, inputs: Schema, dialect: Dialect) -> Statistics:
        """Return the plans that gather what must be known of the data."""
        raise NotImplementedError(f"{self.name} has nothing to fit")

    def merge(self, left: Statistics, right: Statistics) -> Statistics:
        """Return the statistics of two data sets together, exactly."""
        raise NotImplementedError(f"{self.name} has nothing to fit")

    def finalize(self, statistics: Statistics, inputs: Schema, dialect: Dialect) -> Finalized:
        """Return the plans that make the state out of gathered statistics."""
        raise NotImplementedError(f"{self.name} has nothing to fit")

    def refine(
        self, statistics: Statistics, history: Sequence[Mapping[str, int]]
    ) -> Statistics | None:
        """Return plans of another pass over the gathered statistics, or None when there is none.

        Parameters
        ----------
        statistics
            What the last pass gathered.
        history
            Numbers of rows of the statistics, after gathering them and after each pass since.
        """
        del statistics, history
        return None

    def recall(self, state: State, inputs: Schema) -> Statistics:
        """Return the statistics that a state was made from, to be merged with new ones."""
        raise MerlinkitError(
            f"{self.name} cannot be updated: its state does not hold what it was made from; fit "
            "the workflow again on all data"
        )

    def update(
        self, state: State, statistics: Statistics, inputs: Schema, dialect: Dialect
    ) -> Finalized:
        """Return the plans of the state for the data of before and new data together."""
        merged = self.merge(self.recall(state, inputs), statistics)
        return self.finalize(merged, inputs, dialect)

    def check(self, state: State, inputs: Schema) -> None:  # noqa: B027 - most have nothing to say
        """Raise `DataError` if what was fitted shows that the operator does not fit the data."""

    # -- apply --------------------------------------------------------------------------------

    @abstractmethod
    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame with the output columns added or replaced.

        Parameters
        ----------
        frame
            Holds the input columns under their names, and others, which stay as they are.
        inputs
            The input columns.
        state
            What was fitted; empty for operators that need no fit.
        dialect
            How the engine spells lists, lookups and hashes.
        """

    def transform_training(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as `transform` does, for the rows that a model is trained on.

        Differs for operators that learn from the target, which must not see a row's own.
        """
        return self.transform(frame, inputs, state, dialect)

    @property
    def invertible(self) -> bool:
        """Whether `inverse` exists."""
        return False

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame with the output columns turned back into the given input columns."""
        raise NotImplementedError(f"{self.name} cannot be inverted")

    # -- graph --------------------------------------------------------------------------------

    def __rrshift__(self, selection: Selectable) -> Node:
        """Apply the operator to columns: ``["a", "b"] >> Operator()``."""
        # The graph is made of operators, so it can only be imported when both exist.
        from merlinkit.workflow.graph import as_node

        return as_node(selection) >> self

    def __repr__(self) -> str:
        signature = self.signature()
        shown = [
            f"{name}={value!r}"
            for name, value in self.parameters().items()
            if value != signature[name].default
        ]
        return f"{self.name}({', '.join(shown)})"


class UnchangedValues(Operator):
    """Base of operators that change the schema or remove rows, but no value."""

    @property
    def invertible(self) -> bool:
        """The values are as they were."""
        return True

    def inverse(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is."""
        return frame


class ElementwiseOperator(Operator):
    """An operator that acts on each value alone, and so on the elements of lists as well."""

    @abstractmethod
    def output_column(self, column: Column, state: State | None) -> Column:
        """Return what becomes of one column."""

    @abstractmethod
    def step(
        self, frame: pl.LazyFrame, name: str, column: Column, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame with one column of scalars changed."""

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns one by one."""
        return Schema(self.output_column(column, state) for column in inputs)

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Apply `step` to scalar columns and to the values of list columns."""
        for column in inputs:

            def step(part: pl.LazyFrame, name: str, column: Column = column) -> pl.LazyFrame:
                return self.step(part, name, column, state, dialect)

            into = self.output_column(column, state).dtype
            frame = apply_to_values(frame, column, step, into, dialect)
        return frame


class ElementwiseExpression(ElementwiseOperator):
    """An element-wise operator that is one expression."""

    @abstractmethod
    def expression(self, value: pl.Expr, column: Column, state: State) -> pl.Expr:
        """Return what becomes of one scalar value."""

    def step(
        self, frame: pl.LazyFrame, name: str, column: Column, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Apply `expression` to the column."""
        del dialect
        return frame.with_columns(self.expression(pl.col(name), column, state).alias(name))

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Apply `expression` to all scalar columns at once, and to the values of list columns."""
        scalars = [column for column in inputs if not column.is_list]
        frame = frame.with_columns(
            self.expression(pl.col(column.name), column, state).alias(column.name)
            for column in scalars
        )
        lists = Schema(column for column in inputs if column.is_list)
        return super().transform(frame, lists, state, dialect)


def apply_to_values(
    frame: pl.LazyFrame,
    column: Column,
    step: Callable[[pl.LazyFrame, str], pl.LazyFrame],
    into: pl.DataType,
    dialect: Dialect,
) -> pl.LazyFrame:
    """Apply a step on scalars to a scalar column or to the elements of a list column."""
    if column.is_list:
        return dialect.elementwise(frame, column.name, step, into)
    return step(frame, column.name)


def numbers_back(
    frame: pl.LazyFrame,
    inputs: Schema,
    raw: Callable[[pl.Expr, Column], pl.Expr],
    dialect: Dialect,
) -> pl.LazyFrame:
    """Turn numbers back into those of the input columns, rounded where these are integers.

    Parameters
    ----------
    frame
        Holds the numbers under the names of the columns.
    inputs
        The columns to get back.
    raw
        Returns the number of before for one of after, as Float64.
    dialect
        How the engine acts on lists.
    """
    for column in inputs:

        def back(part: pl.LazyFrame, name: str, column: Column = column) -> pl.LazyFrame:
            number = raw(pl.col(name).cast(pl.Float64), column)
            number = number.round() if column.dtype.is_integer() else number
            return part.with_columns(number.cast(column.dtype).alias(name))

        frame = apply_to_values(frame, column, back, column.dtype, dialect)
    return frame


def values_of(frame: pl.LazyFrame, column: Column, dialect: Dialect) -> pl.LazyFrame:
    """Return the values of a column, for list columns their elements, as a frame of one column."""
    if column.is_list:
        return dialect.elements(frame, column.name)
    return frame.select(column.name)


def require(
    operator: Operator, column: Column, accepted: Callable[[pl.DataType], bool], expected: str
) -> None:
    """Raise `SchemaError` unless a column has an accepted data type."""
    if not accepted(column.dtype):
        raise SchemaError(
            f"{operator.name}: column '{column.name}' is {column.polars_dtype}, {expected} expected"
        )


def require_known(
    operator: Operator, parameter: str, named: Iterable[str], known: Collection[str]
) -> None:
    """Raise `SchemaError` if a parameter by column names one that the operator does not get."""
    for name in named:
        if name not in known:
            raise SchemaError(
                f"{operator.name}: {parameter} names column '{name}', which is not among its "
                f"columns {', '.join(known)}.{did_you_mean(name, known)}"
            )


def is_number(dtype: pl.DataType) -> bool:
    """Tell whether a data type holds numbers (not booleans)."""
    return dtype.is_numeric()


def without_nan(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a value with NaN turned into null, which every operator takes NaN for."""
    return value.fill_nan(None) if dtype.is_float() else value
