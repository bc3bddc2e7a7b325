"""Operators that change what the schema says of columns, not the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from merlinkit.engine.dialect import Dialect
from merlinkit.errors import ParameterError
from merlinkit.ops.base import State, UnchangedValues
from merlinkit.ops.json_values import json_object
from merlinkit.ops.parameters import text_list
from merlinkit.schema import JSONValue, Schema, Tags

__all__ = [
    "AddMetadata",
    "AddProperties",
    "AddTags",
    "TagAsItemFeatures",
    "TagAsItemID",
    "TagAsUserFeatures",
    "TagAsUserID",
]


class AddMetadata(UnchangedValues):
    """Add tags and properties to columns.

    Parameters
    ----------
    tags
        Tags to add; see `Tags` for the usual ones.
    properties
        Properties to add, as JSON values; they win over those a column has.

    Raises
    ------
    ParameterError
        If neither is given, or a property is nothing that JSON holds: NaN, infinity, dates, bytes.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> workflow = mk.Workflow(["item"] >> AddMetadata(tags=["item_id"], properties={"shop": 1}))
    >>> workflow.fit(pl.DataFrame({"item": [1]})).output_schema["item"].properties
    {'shop': 1}
    """

    def __init__(
        self,
        tags: str | Sequence[str] | None = None,
        properties: Mapping[str, JSONValue] | None = None,
    ) -> None:
        if tags is None and properties is None:
            raise ParameterError(f"{self.name}: give tags, properties or both")
        self.tags = None if tags is None else text_list(self.name, "tags", tags)
        self.properties = (
            None if properties is None else json_object(self.name, "properties", properties)
        )

    def output_schema(self, inputs: Schema, state: State | None) -> Schema:
        """Return the columns with more tags and properties."""
        return Schema(
            column.with_tags(self.tags or ()).with_properties(self.properties or {})
            for column in inputs
        )

    def transform(
        self, frame: pl.LazyFrame, inputs: Schema, state: State, dialect: Dialect
    ) -> pl.LazyFrame:
        """Return the frame as it is."""
        return frame


class AddTags(AddMetadata):
    """Add tags to columns.

    Parameters
    ----------
    tags
        One or more tags; see `Tags` for the usual ones.

    Examples
    --------
    >>> import polars as pl
    >>> import merlinkit as mk
    >>> workflow = mk.Workflow(["click"] >> AddTags(["target", "binary_classification"]))
    >>> workflow.fit(pl.DataFrame({"click": [1]})).output_schema.by_tag("target").names
    ['click']
    """

    def __init__(self, tags: str | Sequence[str]) -> None:
        super().__init__(tags=tags)

    def parameters(self) -> dict[str, JSONValue]:
        """Return the tags."""
        return {"tags": self.tags}


class AddProperties(AddMetadata):
    """Add properties to columns.

    Parameters
    ----------
    properties
        Names and JSON values.

    Raises
    ------
    ParameterError
        If a value is nothing that JSON holds: NaN, infinity, dates, bytes.
    """

    def __init__(self, properties: Mapping[str, JSONValue]) -> None:
        super().__init__(properties=properties)

    def parameters(self) -> dict[str, JSONValue]:
        """Return the properties."""
        return {"properties": self.properties}


class _FixedTags(AddMetadata):
    """Adds the tags that the class names."""

    fixed: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        super().__init__(tags=self.fixed)

    def parameters(self) -> dict[str, JSONValue]:
        """Return nothing: the name of the operator says it all."""
        return {}


class TagAsUserID(_FixedTags):
    """Tag columns as identifiers of users."""

    fixed = (Tags.ID, Tags.USER, Tags.USER_ID)


class TagAsItemID(_FixedTags):
    """Tag columns as identifiers of items."""

    fixed = (Tags.ID, Tags.ITEM, Tags.ITEM_ID)


class TagAsUserFeatures(_FixedTags):
    """Tag columns as features of users."""

    fixed = (Tags.USER,)


class TagAsItemFeatures(_FixedTags):
    """Tag columns as features of items."""

    fixed = (Tags.ITEM,)
