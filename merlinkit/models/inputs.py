"""Which columns of a schema a model reads: ids, numbers and the label."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from merlinkit.errors import SchemaError, did_you_mean
from merlinkit.schema import Column, Schema, Tags

__all__ = ["ModelInputs", "model_inputs", "target_column"]


@dataclass(frozen=True, slots=True)
class ModelInputs:
    """The feature columns of a model, in the order of the schema.

    Parameters
    ----------
    categorical
        Columns of ids, scalar or list; each has a cardinality.
    continuous
        Scalar columns of numbers.
    """

    categorical: tuple[Column, ...]
    continuous: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of all feature columns, ids first."""
        return [column.name for column in (*self.categorical, *self.continuous)]


def model_inputs(schema: Schema) -> ModelInputs:
    """Return the feature columns of a schema by their tags.

    Columns tagged ``categorical`` are ids, columns tagged ``continuous`` are numbers. Columns
    tagged ``target`` are never features, and columns with none of these tags are ignored.

    Parameters
    ----------
    schema
        Columns of the processed data.

    Raises
    ------
    SchemaError
        If a column has both tags, a categorical column has no whole non-negative domain or is
        not of an integer type, or a continuous column holds lists or is not numeric; all such
        columns are named.

    Examples
    --------
    >>> from merlinkit.schema import Domain
    >>> inputs = model_inputs(
    ...     Schema(
    ...         [
    ...             Column("user_id", "Int64", domain=Domain(0, 9), tags=["categorical"]),
    ...             Column("price", "Float32", tags=["continuous"]),
    ...             Column("click", "Int8", tags=["target"]),
    ...         ]
    ...     )
    ... )
    >>> inputs.names
    ['user_id', 'price']
    """
    problems: list[str] = []
    categorical: list[Column] = []
    continuous: list[Column] = []
    for column in schema.without_tag(Tags.TARGET):
        is_ids = Tags.CATEGORICAL in column.tags
        is_numbers = Tags.CONTINUOUS in column.tags
        if is_ids and is_numbers:
            problems.append(f"column '{column.name}' is tagged both categorical and continuous")
        elif is_ids:
            categorical.append(column)
            problems.extend(_problems_of_ids(column))
        elif is_numbers:
            continuous.append(column)
            problems.extend(_problems_of_numbers(column))
    if problems:
        raise SchemaError("; ".join(problems))
    return ModelInputs(tuple(categorical), tuple(continuous))


def _problems_of_ids(column: Column) -> list[str]:
    if not column.dtype.is_integer():
        return [
            f"column '{column.name}' is tagged categorical but holds {column.dtype}; "
            "encode it with Categorify or Bucketize first"
        ]
    if column.domain is None or column.cardinality is None:
        return [
            f"column '{column.name}' is tagged categorical but has no domain of whole ids, so "
            "the size of its embedding table is unknown; encode it with Categorify or Bucketize"
        ]
    if column.domain.min < 0:
        return [
            f"column '{column.name}' is tagged categorical but its domain starts at "
            f"{column.domain.min}; ids must not be negative"
        ]
    return []


def _problems_of_numbers(column: Column) -> list[str]:
    if column.is_list:
        return [
            f"column '{column.name}' is tagged continuous but holds lists; "
            "aggregate it to one number a row, or remove the tag"
        ]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        return [f"column '{column.name}' is tagged continuous but holds {column.dtype}"]
    return []


def target_column(schema: Schema, name: str | None = None) -> Column:
    """Return the column a model learns to predict.

    Parameters
    ----------
    schema
        Columns of the processed data.
    name
        Which of several columns tagged ``target``; may be left out when there is one.

    Raises
    ------
    SchemaError
        If no column is tagged ``target``, several are and ``name`` is not given, ``name`` is not
        one of them, or the column holds lists or is not numeric.

    Examples
    --------
    >>> target_column(Schema([Column("click", "Int8", tags=["target"])])).name
    'click'
    """
    targets = schema.by_tag(Tags.TARGET)
    if not len(targets):
        raise SchemaError(
            "no column is tagged 'target', so there is nothing to learn; "
            "tag the label with AddTags(['target', 'binary_classification'])"
        )
    if name is None:
        if len(targets) > 1:
            raise SchemaError(
                f"{len(targets)} columns are tagged 'target': {', '.join(targets.names)}; "
                "name the one to learn"
            )
        column = next(iter(targets))
    elif name in targets:
        column = targets[name]
    else:
        hint = did_you_mean(name, targets.names)
        raise SchemaError(
            f"column '{name}' is not tagged 'target'.{hint} "
            f"Targets are: {', '.join(targets.names)}."
        )
    if column.is_list or not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise SchemaError(
            f"target '{column.name}' must hold one number a row, got {column.polars_dtype}"
        )
    return column
