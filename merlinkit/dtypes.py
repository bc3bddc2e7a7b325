"""Names for Polars data types that survive in JSON, YAML and error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Literal, cast

import polars as pl

from merlinkit.errors import SchemaError, did_you_mean

__all__ = ["DTypeLike", "dtype_from_name", "dtype_name"]

DTypeLike = pl.DataType | type[pl.DataType] | str

# Some of these are missing from the oldest Polars release that merlinkit runs with.
_PLAIN_NAMES = (
    *("Boolean", "Int8", "Int16", "Int32", "Int64", "Int128"),
    *("UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "Float16", "Float32", "Float64"),
    *("String", "Binary", "Categorical", "Date", "Time", "Null"),
)
_PLAIN: dict[str, pl.DataType] = {
    name: getattr(pl, name)() for name in _PLAIN_NAMES if hasattr(pl, name)
}
# What people write in YAML when they mean the types above.
_ALIASES: dict[str, str] = {
    "bool": "Boolean",
    "str": "String",
    "utf8": "String",
    "bytes": "Binary",
    "int": "Int64",
    "float": "Float64",
    "double": "Float64",
    "datetime": "Datetime(us)",
    "duration": "Duration(us)",
    "timedelta": "Duration(us)",
}
_ANY_CASE: dict[str, str] = {**_ALIASES, **{name.lower(): name for name in _PLAIN}}
# Also NumPy's ``datetime64[us]`` and Polars' short ``datetime[us, UTC]``.
_TEMPORAL = re.compile(
    r"(datetime|timedelta|duration)(?:64)?[(\[](ms|us|ns)(?:,\s*([^()\[\],]+))?[)\]]",
    re.IGNORECASE,
)
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


def dtype_name(dtype: pl.DataType | type[pl.DataType]) -> str:
    """Return the name of a data type, readable and parsable by `dtype_from_name`.

    Parameters
    ----------
    dtype
        A Polars data type, or the class of one that needs no parameters.

    Notes
    -----
    ``Object`` and ``Unknown`` have a name for messages, but `dtype_from_name` refuses it: no
    file can hold such values. Of a ``Categorical`` only the kind is kept.

    Examples
    --------
    >>> import polars as pl
    >>> dtype_name(pl.Datetime("us", "UTC")), dtype_name(pl.List(pl.Int64)), dtype_name(pl.String)
    ('Datetime(us, UTC)', 'List(Int64)', 'String')
    >>> dtype_name(pl.Array(pl.Float32, 8)), dtype_name(pl.Enum(["no", "yes"]))
    ('Array(Float32, 8)', 'Enum(["no", "yes"])')
    """
    instance = _instance(dtype)
    match instance:
        case pl.List():
            return f"List({dtype_name(cast(pl.DataType, instance.inner))})"
        case pl.Array():
            # A shape of several axes is an array of arrays; each has its own width.
            return f"Array({dtype_name(cast(pl.DataType, instance.inner))}, {instance.size})"
        case pl.Datetime():
            zone = f", {instance.time_zone}" if instance.time_zone else ""
            return f"Datetime({instance.time_unit}{zone})"
        case pl.Duration():
            return f"Duration({instance.time_unit})"
        case pl.Decimal():
            return f"Decimal({instance.precision}, {instance.scale})"
        case pl.Enum():
            return f"Enum({_compact(instance.categories.to_list())})"
        case pl.Struct():
            fields = {
                field.name: dtype_name(cast(pl.DataType, field.dtype)) for field in instance.fields
            }
            return f"Struct({_compact(fields)})"
        case pl.Categorical():
            return "Categorical"
    return str(instance)


def dtype_from_name(name: DTypeLike) -> pl.DataType:
    """Return the data type that a name stands for.

    Parameters
    ----------
    name
        A name as `dtype_name` gives it, a common alias (``int``, ``str``, ``float``, ``int32``,
        ``datetime64[us]``), a Polars data type, which is returned as an instance, or a Python or
        NumPy scalar class such as ``int``.

    Raises
    ------
    SchemaError
        If the name is unknown, or the class needs parameters (``pl.List`` without an inner type).

    Examples
    --------
    >>> dtype_from_name("int32"), dtype_from_name("List(String)")
    (Int32, List(String))
    """
    if isinstance(name, pl.DataType):
        return name
    if isinstance(name, type) and issubclass(name, pl.DataType):
        return _instance(name)
    text = _text(name)
    plain = text if text in _PLAIN else _ANY_CASE.get(text.lower(), text)
    if plain in _PLAIN:
        return _PLAIN[plain]
    if match := _TEMPORAL.fullmatch(plain):
        kind, given, zone = match.groups()
        unit = cast(Literal["ms", "us", "ns"], given.lower())
        if kind.lower() == "datetime":
            return pl.Datetime(unit, zone and zone.strip())
        if zone is None:
            return pl.Duration(unit)
    elif match := _CALL.fullmatch(text):
        kind, inside = match.groups()
        if build := _PARAMETRIC.get(kind.lower()):
            return build(inside, text)
    raise SchemaError(
        f"unknown data type '{text}'.{did_you_mean(text, [*_PLAIN, *_ALIASES])} "
        "Known: Boolean, Int8 to Int64, UInt8 to UInt64, Float32, Float64, String, Binary, Date, "
        "Time, Datetime(us), Datetime(us, UTC), Duration(us), List(...), Array(..., 8), "
        'Decimal(38, 2), Categorical, Enum(["a", "b"]), Struct({"a": "Int64"}).'
    )


def _instance(dtype: pl.DataType | type[pl.DataType]) -> pl.DataType:
    if isinstance(dtype, pl.DataType):
        return dtype
    try:
        return dtype()
    except TypeError:
        raise SchemaError(
            f"data type {dtype.__name__} needs its parameters, as in pl.List(pl.Int64)"
        ) from None


def _text(name: object) -> str:
    if isinstance(name, str):
        return name.strip()
    if isinstance(name, type):
        return name.__name__
    raise SchemaError(
        f"expected the name of a data type or a Polars data type, found {name!r} "
        f"({type(name).__name__})"
    )


def _compact(value: list[str] | dict[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _list(inside: str, whole: str) -> pl.DataType:
    return pl.List(dtype_from_name(inside))


def _array(inside: str, whole: str) -> pl.DataType:
    inner, _, width = inside.rpartition(",")
    if not width.strip().isdecimal():
        raise SchemaError(f"data type '{whole}' needs a width, as in Array(Float32, 8)")
    return pl.Array(dtype_from_name(inner), int(width))


def _decimal(inside: str, whole: str) -> pl.DataType:
    parts = [part.strip() for part in inside.split(",")]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise SchemaError(f"data type '{whole}' needs precision and scale, as in Decimal(38, 2)")
    precision, scale = (int(part) for part in parts)
    if not 1 <= precision <= 38 or scale > precision:
        raise SchemaError(
            f"data type '{whole}': precision is at most 38 digits, scale at most the precision"
        )
    return pl.Decimal(precision, scale)


def _enum(inside: str, whole: str) -> pl.DataType:
    categories = _json(inside)
    if not isinstance(categories, list) or not all(isinstance(each, str) for each in categories):
        raise SchemaError(
            f"data type {whole!r} needs a list of strings, as in Enum({_compact(['a', 'b'])})"
        )
    if len(set(categories)) < len(categories):
        raise SchemaError(f"data type '{whole}' lists a category twice")
    return pl.Enum(categories)


def _struct(inside: str, whole: str) -> pl.DataType:
    fields = _json(inside)
    if not isinstance(fields, dict) or not all(isinstance(each, str) for each in fields.values()):
        raise SchemaError(
            f"data type {whole!r} needs names and types, as in Struct({_compact({'a': 'Int64'})})"
        )
    return pl.Struct({field: dtype_from_name(each) for field, each in fields.items()})


def _json(text: str) -> object:
    try:
        return cast(object, json.loads(text))
    except ValueError:
        return None


_PARAMETRIC: dict[str, Callable[[str, str], pl.DataType]] = {
    "list": _list,
    "array": _array,
    "decimal": _decimal,
    "enum": _enum,
    "struct": _struct,
}
