"""What a split is: a rule that puts each row in exactly one part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import polars as pl

from merlinkit.engine.base import LocalEngine
from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError, SchemaError
from merlinkit.schema import Schema

__all__ = ["PARTS", "PART_COLUMN", "Split"]

PART_COLUMN = "__part__"
"""The String column that `Split.assign` adds."""

PARTS = ("train", "valid", "test")
"""Names of the parts."""


class Split(ABC):
    """Puts each row in ``train``, ``valid`` or ``test``, however the data is cut into files.

    Attributes
    ----------
    kind : str
        Its name in a saved split.
    row_local : bool
        Whether the part of a row depends on nothing but the row and constants that `fit` found,
        so that files can be split one by one. If not, `assign` needs all rows in one plan.
    """

    kind: ClassVar[str]
    row_local: ClassVar[bool]

    @abstractmethod
    def columns(self, schema: Schema) -> list[str]:
        """Return the columns that the split looks at.

        Raises
        ------
        SchemaError
            If one of them is not there or has a type that the split cannot use.
        """

    @abstractmethod
    def fit(self, frame: pl.LazyFrame, engine: LocalEngine) -> Split:
        """Return the split with the constants that it takes from the data.

        Parameters
        ----------
        frame
            All rows that will be split.
        engine
            Where the passes over them run.

        Raises
        ------
        DataError
            If there are rows that the split cannot put anywhere.
        """

    @abstractmethod
    def assign(self, frame: pl.LazyFrame, schema: Schema, dialect: Dialect) -> pl.LazyFrame:
        """Return the rows with the String column `PART_COLUMN`, one of `PARTS`.

        Parameters
        ----------
        frame
            The rows; all of them at once if the split is not `row_local`.
        schema
            Their columns.
        dialect
            How the engine that will run the plan spells hashes.

        Raises
        ------
        ParameterError
            If the split needs `fit` and has not been fitted.
        SchemaError
            If a column is missing, or one is named like `PART_COLUMN` already.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return kind and parameters as JSON values; see `split_from_dict`."""

    def __repr__(self) -> str:
        parameters = {key: value for key, value in self.to_dict().items() if key != "kind"}
        listed = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        return f"{type(self).__name__}({listed})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self))


def require_free(schema: Schema) -> None:
    """Raise if the data has a column of the name that `Split.assign` adds."""
    if PART_COLUMN in schema:
        raise SchemaError(f"the data has a column '{PART_COLUMN}' already; rename it")


def require_fractions(valid: float, test: float) -> None:
    """Raise unless two fractions leave something for the training part."""
    for name, fraction in (("valid", valid), ("test", test)):
        if isinstance(fraction, bool) or not isinstance(fraction, int | float):
            raise ParameterError(f"{name} {fraction!r}: expected a number from 0 to 1")
        if not 0 <= fraction < 1:
            raise ParameterError(f"{name} {fraction}: expected a fraction from 0 to less than 1")
    if valid + test >= 1:
        raise ParameterError(f"valid {valid} and test {test} leave no rows for training")


def require_name(name: str, value: object) -> None:
    """Raise unless a parameter is the name of a column."""
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} {value!r}: expected the name of a column")
