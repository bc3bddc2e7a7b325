"""Which part of a `Column` goes where in Merlin's schema, and back.

=================  ============================================================================
Column             Merlin
=================  ============================================================================
dtype              ``type`` (INT, FLOAT, BYTES) and the property ``dtype_item_size`` (bits)
is_list, lists     properties ``_dims`` (shape), ``is_list``, ``is_ragged``; ``value_count``
domain             ``int_domain`` or ``float_domain``
tags               ``annotation.tag``
embedding_size     property ``embedding_sizes``: ``{"cardinality": ..., "dimension": ...}``
properties         the other properties
=================  ============================================================================

Merlin knows fewer types than Polars: unsigned integers are read as signed ones, and a column of
any type but numbers and strings comes back as one of unknown type. It has one kind of number in
properties, and domains only for numbers. What it cannot hold is written once more, as JSON text
in the property ``merlinkit.column``, so that our own round trip is exact. When Merlin has changed
a column in between, the JSON is stale: each part of it is used only where it still leads to what
Merlin's own fields say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import polars as pl

from merlinkit.errors import ArtifactError, SchemaError
from merlinkit.pbtxt.feature import Feature, FeatureType
from merlinkit.pbtxt.structs import number_from_double
from merlinkit.schema import Column, Domain, JSONValue

__all__ = ["column_from_feature", "feature_from_column"]

EXACT = "merlinkit.column"
"""Name of the property with what Merlin cannot hold."""

# Merlin keeps these of its own among the properties, or takes them out of there.
_RESERVED = frozenset(
    {EXACT, "_dims", "is_list", "is_ragged", "dtype_item_size", "domain", "value_count"}
)
# merlin-core takes such tags apart. Ours stand for one thing, so they are put together again.
_COMPOUND_TAGS = {
    "user_id": {"user", "id"},
    "item_id": {"item", "id"},
    "session_id": {"session", "id"},
    "binary_classification": {"binary", "classification"},
    "multi_class_classification": {"multi_class", "classification"},
}
# Parts of a column that only make sense together.
_SHAPE = ("dtype", "is_list", "value_count")

_INTEGERS: dict[int, pl.DataType] = {8: pl.Int8(), 16: pl.Int16(), 32: pl.Int32(), 64: pl.Int64()}
_FLOATS: dict[int, pl.DataType] = {32: pl.Float32(), 64: pl.Float64()}
if hasattr(pl, "Float16"):
    _FLOATS[16] = pl.Float16()
_SIZES = {
    **{dtype: ("INT", size) for size, dtype in _INTEGERS.items()},
    **{dtype: ("FLOAT", size) for size, dtype in _FLOATS.items()},
    pl.UInt8(): ("INT", 8),
    pl.UInt16(): ("INT", 16),
    pl.UInt32(): ("INT", 32),
    pl.UInt64(): ("INT", 64),
}
_LARGEST_FLOAT32 = float.fromhex("0x1.fffffep+127")

# Fewest and most elements along one axis of a shape.
_Dim = tuple[int, int | None]
_ANY: _Dim = (0, None)
_LONGEST = 2**53  # the numbers of a Struct are exact up to here


# -- to Merlin --------------------------------------------------------------------------------


def feature_from_column(column: Column) -> Feature:
    """Return a column in Merlin's terms; `column_from_feature` gives it back unchanged."""
    feature = _plain_feature(column)
    mine, theirs = column.to_dict(), _plain_column(feature).to_dict()
    lost = {
        key: mine.get(key)
        for key in {**mine, **theirs}
        if _canonical(mine.get(key)) != _canonical(theirs.get(key))
    }
    if not lost:
        return feature
    properties = {**feature.properties, EXACT: json.dumps(lost, sort_keys=True)}
    return replace(feature, properties=properties)


def _plain_feature(column: Column) -> Feature:
    """Return what Merlin can hold of a column."""
    dtype, lists = _innermost(column)
    kind, size = _type(dtype)
    properties = {
        key: _storable(value) for key, value in column.properties.items() if key not in _RESERVED
    }
    if column.embedding_size is not None:
        given = properties.get("embedding_sizes")
        sizes = dict(given) if isinstance(given, Mapping) else {}
        if column.cardinality is not None:
            sizes.setdefault("cardinality", _storable(column.cardinality))
        properties["embedding_sizes"] = {**sizes, "dimension": _storable(column.embedding_size)}
    shape = [_ANY, *lists]
    given = _shape(column.properties.get("_dims"))
    if given is not None and len(given) == len(shape) and given[1:2] == shape[1:2]:
        shape = given
    properties["_dims"] = [low if low == high else [low, high] for low, high in shape]
    properties["is_list"] = bool(lists)
    properties["is_ragged"] = any(low != high for low, high in shape[1:])
    if size is not None:
        properties["dtype_item_size"] = size
    return Feature(
        column.name,
        kind,
        (shape[1][0], shape[1][1] or 0) if lists else None,
        _storable_domain(column.domain, kind),
        column.tags,
        properties,
    )


def _innermost(column: Column) -> tuple[pl.DataType, list[_Dim]]:
    """Return the type of a single value, and the list lengths around it, outermost first."""
    count = column.value_count or _ANY
    if max(end or 0 for end in count) > _LONGEST:
        count = _ANY
    lists = [count] if column.is_list else []
    dtype = column.dtype
    while isinstance(dtype, pl.List | pl.Array):
        lists.append((dtype.size, dtype.size) if isinstance(dtype, pl.Array) else _ANY)
        dtype = cast(pl.DataType, dtype.inner)
    return dtype, lists


def _type(dtype: pl.DataType) -> tuple[FeatureType, int | None]:
    if isinstance(dtype, pl.String | pl.Binary | pl.Categorical | pl.Enum):
        return "BYTES", None
    kind, size = _SIZES.get(dtype, ("TYPE_UNKNOWN", None))
    return cast(FeatureType, kind), size


def _storable_domain(domain: Domain | None, kind: FeatureType) -> Domain | None:
    """Return the domain if Merlin can hold it: 64-bit integers, or finite 32-bit floats."""
    if domain is None:
        return None
    ends = domain.min, domain.max
    name = domain.name or None
    if kind == "INT" and all(isinstance(end, int) and -(2**63) <= end < 2**63 for end in ends):
        return Domain(domain.min, domain.max, name)
    if kind == "FLOAT" and all(abs(end) <= _LARGEST_FLOAT32 for end in ends):
        return Domain(float(domain.min), float(domain.max), name)
    return None


def _storable(value: JSONValue) -> JSONValue:
    """Return the value as it comes back from a Struct, whose numbers are finite doubles."""
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            try:
                double = float(value)
            except OverflowError:
                return None
            return number_from_double(double) if math.isfinite(double) else None
        case list():
            return [_storable(each) for each in value]
    return {key: _storable(each) for key, each in value.items()}


# -- from Merlin ------------------------------------------------------------------------------


def column_from_feature(feature: Feature) -> Column:
    """Return the column that a feature describes.

    Raises
    ------
    SchemaError
        If its properties contradict each other or hold something else than Merlin writes.
    """
    properties = dict(feature.properties)
    exact = properties.pop(EXACT, None)
    plain = _plain_column(replace(feature, properties=properties))
    if exact is None:
        return plain
    try:
        return _restored(plain, json.loads(exact))
    except (TypeError, ValueError, AttributeError, RecursionError, ArtifactError) as error:
        raise SchemaError(f"property '{EXACT}' is damaged: {error}") from None


def _restored(plain: Column, lost: dict[str, JSONValue]) -> Column:
    """Return the column with what Merlin could not hold, as far as that is still true."""
    base = plain.to_dict()
    again = _plain_column(_plain_feature(_changed(base, lost))).to_dict()
    same = {key for key in lost if _canonical(again.get(key)) == _canonical(base.get(key))}
    if not same.issuperset(key for key in _SHAPE if key in lost):
        same.difference_update(_SHAPE)
    return _changed(base, {key: value for key, value in lost.items() if key in same})


def _changed(base: dict[str, JSONValue], changes: dict[str, JSONValue]) -> Column:
    merged = {**base, **changes, "name": base["name"]}
    return Column.from_dict({key: value for key, value in merged.items() if value is not None})


def _plain_column(feature: Feature) -> Column:
    """Return the column that Merlin's own fields describe."""
    properties = dict(feature.properties)
    size = properties.pop("dtype_item_size", None)
    dims = properties.pop("_dims", None)
    shape = _shape(dims)
    if dims and shape is None:
        raise SchemaError(f"property '_dims' is {dims!r}, which is no shape")
    flagged = bool(properties.pop("is_list", False))
    properties.pop("is_ragged", None)
    if shape is None and feature.value_count not in (None, (0, 0)):
        low, high = feature.value_count
        lists = [(low, high or None)]
    elif shape is None:
        lists = [_ANY] if flagged else []
    else:
        lists = shape[1:]
        if shape[0] != _ANY or any(dim != _ANY for dim in shape[2:]):
            properties["_dims"] = dims
    dtype = _dtype(feature, size)
    for _ in lists[1:]:
        dtype = pl.List(dtype)
    cardinality = Column(feature.name, dtype, domain=feature.domain).cardinality
    embedding_size = _take_embedding_size(properties, cardinality)
    return Column(
        feature.name,
        pl.List(dtype) if lists else dtype,
        value_count=lists[0] if lists and lists[0] != _ANY else None,
        domain=feature.domain,
        tags=feature.tags.union(
            tag for tag, parts in _COMPOUND_TAGS.items() if parts <= feature.tags
        ),
        embedding_size=embedding_size,
        properties=properties,
    )


def _dtype(feature: Feature, size: JSONValue) -> pl.DataType:
    match feature.type:
        case "INT":
            return _INTEGERS.get(size, pl.Int64())
        case "FLOAT":
            return _FLOATS.get(size, pl.Float64())
        case "BYTES":
            return pl.String()
    # Merlin writes no type for strings, booleans and times, and a size for times alone.
    return pl.Datetime("ns") if size == 64 else pl.String()


def _shape(dims: JSONValue) -> list[_Dim] | None:
    """Return the axes of a shape, rows first; None if there are none or they make no sense."""
    if not isinstance(dims, Sequence) or not dims:
        return None
    shape: list[_Dim] = []
    for dim in dims:
        match dim:
            case None:
                shape.append(_ANY)
            case int() if 0 <= dim <= _LONGEST:
                shape.append((dim, dim))
            case [int() as low, None] if 0 <= low <= _LONGEST:
                shape.append((low, None))
            case [int() as low, int() as high] if 0 <= low <= high <= _LONGEST:
                shape.append((low, high))
            case _:
                return None
    return shape


def _take_embedding_size(properties: dict[str, JSONValue], cardinality: int | None) -> int | None:
    """Take the embedding's width out of the properties, and what follows from the domain."""
    sizes = properties.get("embedding_sizes")
    if not isinstance(sizes, Mapping):
        return None
    dimension = sizes.get("dimension")
    if not isinstance(dimension, int) or isinstance(dimension, bool) or dimension < 1:
        return None
    rest = {key: value for key, value in sizes.items() if key != "dimension"}
    if rest.get("cardinality") == _storable(cardinality):
        rest.pop("cardinality", None)
    if rest:
        properties["embedding_sizes"] = rest
    else:
        del properties["embedding_sizes"]
    return dimension


def _canonical(value: JSONValue) -> str:
    """Return a text that tells 1 from 1.0 and True, which ``==`` does not."""
    return json.dumps(value, sort_keys=True)
