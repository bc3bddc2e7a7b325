"""One column: data type, list or scalar, domain, tags and embedding size.

Import these names from `merlinkit.schema`, which puts columns together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral, Real
from typing import Any, cast

import polars as pl

from merlinkit.dtypes import DTypeLike, dtype_from_name, dtype_name
from merlinkit.errors import ArtifactError, SchemaError, did_you_mean

__all__ = ["Column", "Domain", "JSONValue", "Tags", "default_embedding_size"]

JSONValue = Any
"""What ``json`` can hold: None, bool, int, float, str, and lists and dicts of these."""


class Tags(StrEnum):
    """What a column is for. Any other string is allowed as a tag too."""

    CATEGORICAL = "categorical"
    CONTINUOUS = "continuous"
    LIST = "list"
    SEQUENCE = "sequence"
    TEXT = "text"
    TIME = "time"
    TARGET = "target"
    BINARY_CLASSIFICATION = "binary_classification"
    MULTI_CLASS_CLASSIFICATION = "multi_class_classification"
    REGRESSION = "regression"
    ID = "id"
    USER = "user"
    ITEM = "item"
    USER_ID = "user_id"
    ITEM_ID = "item_id"
    SESSION = "session"
    SESSION_ID = "session_id"
    CONTEXT = "context"
    WEIGHT = "weight"
    EMBEDDING = "embedding"


def default_embedding_size(cardinality: int) -> int:
    """Return ``min(max(16, round(1.6 * cardinality ** 0.56)), 512)``, the rule fast.ai proposed.

    Examples
    --------
    >>> [default_embedding_size(n) for n in (2, 1_000, 1_000_000)]
    [16, 77, 512]
    """
    return min(max(16, round(1.6 * math.pow(cardinality, 0.56))), 512)


@dataclass(frozen=True, slots=True)
class Domain:
    """The range of values that can occur, both ends included.

    Parameters
    ----------
    min, max
        Smallest and largest value; an infinite end is open. NumPy numbers become Python's.
    name
        Columns whose domains share a name share a vocabulary, and so an embedding table.

    Raises
    ------
    SchemaError
        If an end is no number or NaN, or ``max`` is below ``min``.
    """

    min: int | float
    max: int | float
    name: str | None = None

    def __post_init__(self) -> None:
        # `Column.cardinality` asks for Python's int, which NumPy's integers are not.
        object.__setattr__(self, "min", _number(self.min, "min"))
        object.__setattr__(self, "max", _number(self.max, "max"))
        if self.max < self.min:
            raise SchemaError(f"domain max {self.max} is below its min {self.min}")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a `Schema`.

    Parameters
    ----------
    name
        Its name.
    dtype
        Data type of a value, or of an element when the column holds lists.
    is_list
        Whether each row holds a list of values.
    value_count
        Fewest and most elements of a list, where known. Equal ends mean lists of fixed length.
    domain
        Range of the values, where known. For encoded categories ``domain.max`` is the highest
        id that can occur.
    tags
        What the column is for.
    embedding_size
        Width of the embedding; None takes `default_embedding_size` of the cardinality.
    properties
        Anything else, as JSON values.

    Raises
    ------
    SchemaError
        If a parameter has no meaning: a name that is no string, an unknown data type or one that
        no file can hold (``Object``), a list length below 0 or with its ends swapped, an
        embedding size below 1, a property that is no JSON value.

    Notes
    -----
    A ``List`` data type stands for a list column of its inner type; a list of lists is
    ``Column("x", pl.List(pl.List(pl.Int64)))``, whose `dtype` is ``List(Int64)``. ``value_count``
    is dropped where there are no lists. A single string in place of tags is one tag.

    Examples
    --------
    >>> user = Column("user_id", "Int64", domain=Domain(0, 944), tags=["categorical", "user_id"])
    >>> user.cardinality, user.resolved_embedding_size
    (945, 74)
    """

    name: str
    dtype: pl.DataType
    is_list: bool = False
    value_count: tuple[int, int | None] | None = None
    domain: Domain | None = None
    tags: frozenset[str] = frozenset()
    embedding_size: int | None = None
    properties: Mapping[str, JSONValue] = field(default_factory=dict)

    def __init__(
        self,
        name: str,
        dtype: DTypeLike,
        is_list: bool = False,
        value_count: tuple[int, int | None] | None = None,
        domain: Domain | None = None,
        tags: Iterable[str] = (),
        embedding_size: int | None = None,
        properties: Mapping[str, JSONValue] | None = None,
    ) -> None:
        if not isinstance(cast(object, name), str):
            raise SchemaError(f"column name {name!r} is no string")
        resolved = dtype_from_name(dtype)
        if isinstance(resolved, pl.List):
            is_list = True
            resolved = cast(pl.DataType, resolved.inner)
        if isinstance(resolved, pl.Object | pl.Unknown):
            raise SchemaError(
                f"column '{name}': data type {resolved} cannot be saved; cast the column to String "
                "or to the type of its values"
            )
        set_ = object.__setattr__
        set_(self, "name", name)
        set_(self, "dtype", resolved)
        set_(self, "is_list", bool(is_list))
        set_(self, "value_count", _value_count(value_count, name) if is_list else None)
        set_(self, "domain", domain)
        set_(self, "tags", _tags(tags))
        set_(self, "embedding_size", _embedding_size(embedding_size, name))
        set_(self, "properties", _json_object(properties or {}, name))

    def __hash__(self) -> int:
        return hash((self.name, str(self.dtype), self.is_list, self.tags))

    @property
    def polars_dtype(self) -> pl.DataType:
        """The data type of the column in a frame: ``List(dtype)`` for list columns."""
        return pl.List(self.dtype) if self.is_list else self.dtype

    @property
    def cardinality(self) -> int | None:
        """Number of ids, ``domain.max + 1``; None where the domain is unknown or holds no ids.

        A domain holds ids when its largest value is a whole number from 0 on.
        """
        if self.domain is None or not isinstance(self.domain.max, int) or self.domain.max < 0:
            return None
        return self.domain.max + 1

    @property
    def resolved_embedding_size(self) -> int | None:
        """`embedding_size`, else the default rule, else None for columns without ids."""
        if self.embedding_size is not None:
            return self.embedding_size
        return None if self.cardinality is None else default_embedding_size(self.cardinality)

    def renamed(self, name: str) -> Column:
        """Return the same column under another name."""
        return self._with(name=name)

    def with_dtype(self, dtype: DTypeLike, *, is_list: bool | None = None) -> Column:
        """Return the column with another element data type.

        A ``List`` data type makes it a list column, as it does in `Column`.
        """
        return self._with(dtype=dtype, is_list=self.is_list if is_list is None else is_list)

    def with_tags(self, tags: Iterable[str]) -> Column:
        """Return the column with more tags."""
        return self._with(tags=self.tags | _tags(tags))

    def with_domain(self, domain: Domain | None) -> Column:
        """Return the column with another domain."""
        return self._with(domain=domain)

    def with_properties(self, properties: Mapping[str, JSONValue]) -> Column:
        """Return the column with more properties; given ones win over those it has."""
        return self._with(properties={**self.properties, **properties})

    def _with(self, **changes: Any) -> Column:
        """Return a copy with other values of some parameters.

        Not ``dataclasses.replace``: it would pass the element type of a list of lists, which the
        constructor unwraps once more.
        """
        same = {name: getattr(self, name) for name in self.__slots__}
        return Column(**{**same, "dtype": self._declared_dtype, **changes})

    @property
    def _declared_dtype(self) -> pl.DataType:
        """What the constructor needs to come to `dtype` again."""
        return self.polars_dtype if isinstance(self.dtype, pl.List) else self.dtype

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the column as JSON values, leaving out what is unset."""
        out: dict[str, JSONValue] = {"name": self.name, "dtype": dtype_name(self._declared_dtype)}
        if self.is_list:
            out["is_list"] = True
        if self.value_count is not None:
            out["value_count"] = list(self.value_count)
        if self.domain is not None:
            out["domain"] = {"min": self.domain.min, "max": self.domain.max}
            if self.domain.name is not None:
                out["domain"]["name"] = self.domain.name
        if self.tags:
            out["tags"] = sorted(self.tags)
        if self.embedding_size is not None:
            out["embedding_size"] = self.embedding_size
        if self.properties:
            out["properties"] = dict(self.properties)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, JSONValue]) -> Column:
        """Return the column that `to_dict` described."""
        if not isinstance(data, Mapping):
            raise ArtifactError(f"not a column description: {data!r}")
        where = f"column {data.get('name')!r}"
        if unknown := sorted(set(data) - set(cls.__slots__)):
            hint = did_you_mean(unknown[0], cls.__slots__)
            raise ArtifactError(f"{where}: unknown key '{unknown[0]}'.{hint}")
        if missing := [key for key in ("name", "dtype") if not isinstance(data.get(key), str)]:
            raise ArtifactError(f"{where}: '{missing[0]}' is missing or no string")
        count, domain, is_list = (data.get(key) for key in ("value_count", "domain", "is_list"))
        if not isinstance(is_list, bool | None):
            raise ArtifactError(f"{where}: is_list is {is_list!r}, expected true or false")
        try:
            return cls(
                data["name"],
                data["dtype"],
                is_list=is_list or False,
                value_count=None if count is None else tuple(count),
                domain=None if domain is None else Domain(**domain),
                tags=data.get("tags", ()),
                embedding_size=data.get("embedding_size"),
                properties=data.get("properties"),
            )
        except (TypeError, ValueError, AttributeError, SchemaError) as error:
            raise ArtifactError(f"{where} is not described right: {error}") from error


def _number(value: object, end: str) -> int | float:
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and not math.isnan(value):
        return float(value)
    raise SchemaError(f"domain {end} is {value!r}, expected a number")


def _value_count(value: object, name: str) -> tuple[int, int | None] | None:
    if value is None:
        return None
    match value:
        case (Integral() as low, None) if int(low) >= 0:
            return int(low), None
        case (Integral() as low, Integral() as high) if 0 <= int(low) <= int(high):
            return int(low), int(high)
    raise SchemaError(
        f"column '{name}': value_count {value!r}, expected the fewest and the most elements of a "
        "list as (min, max) or (min, None)"
    )


def _embedding_size(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, Integral):
        raise SchemaError(f"column '{name}': embedding_size {value!r} is no whole number")
    if int(value) < 1:
        raise SchemaError(f"column '{name}': embedding_size {value} is below 1")
    return int(value)


def _tags(tags: Iterable[str]) -> frozenset[str]:
    # A string is an iterable of strings too, but nobody tags a column with single letters.
    return frozenset({str(tags)} if isinstance(tags, str) else {str(tag) for tag in tags})


def _json_object(value: object, name: str) -> dict[str, JSONValue]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"column '{name}': properties are {value!r}, expected a mapping")
    return {str(key): _json_value(each, key, name) for key, each in value.items()}


def _json_value(value: object, key: object, name: str) -> JSONValue:
    """Return a copy that ``json`` writes and reads back equal."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Integral):  # NumPy's
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, list | tuple):
        return [_json_value(each, key, name) for each in value]
    if isinstance(value, Mapping):
        return {str(inner): _json_value(each, key, name) for inner, each in value.items()}
    raise SchemaError(
        f"column '{name}': property '{key}' holds {value!r} ({type(value).__name__}), which is no "
        "JSON value"
    )
