"""Which data types merlinkit works with, and which ones fit together."""

from __future__ import annotations

import polars as pl

from merlinkit.dtypes import dtype_name
from merlinkit.errors import SchemaError

__all__ = [
    "can_cast",
    "cast_to",
    "common_dtype",
    "offset_zone",
    "plain_dtype",
    "plain_or_same",
    "read_as",
]

_SIGNED: list[pl.DataType] = [pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()]
_UNSIGNED: list[pl.DataType] = [pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()]


def plain_dtype(dtype: pl.DataType) -> pl.DataType:
    """Return the data type that a column of a source is read as.

    Notes
    -----
    Categorical and Enum become String and Decimal becomes Float64, as cuDF plans have no such
    types. Arrays become lists. A column of nothing but nulls that has no type becomes String.
    Time stamps of a zone that is a fixed offset (``+05:00``, which Polars calls ``Etc/GMT-5``)
    become UTC, the same instants.

    Raises
    ------
    SchemaError
        If there is no such type: structs, objects, 128-bit integers.

    Examples
    --------
    >>> plain_dtype(pl.Categorical()), plain_dtype(pl.Array(pl.Float32, 8))
    (String, List(Float32))
    >>> plain_dtype(pl.Struct({"a": pl.Int8}))
    Traceback (most recent call last):
        ...
    merlinkit.errors.SchemaError: holds nested objects (Struct({'a': Int8}))
    """
    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(plain_dtype(dtype.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
        return pl.String()
    if isinstance(dtype, pl.Decimal):
        return pl.Float64()
    if isinstance(dtype, pl.Datetime) and offset_zone(dtype) is not None:
        return pl.Datetime(dtype.time_unit, "UTC")
    if str(dtype) == "Float16":
        return pl.Float32()
    if isinstance(dtype, pl.Struct):
        raise SchemaError(f"holds nested objects ({dtype})")
    if isinstance(dtype, pl.Object) or dtype in (pl.Int128, pl.UInt128):
        raise SchemaError(f"has a type that cannot be used ({dtype})")
    return dtype


def offset_zone(dtype: pl.DataType) -> str | None:
    """Return the time zone of time stamps that have a fixed offset, None of all other types.

    Examples
    --------
    >>> offset_zone(pl.Datetime("us", "Etc/GMT+8")), offset_zone(pl.Datetime("us", "Europe/Rome"))
    ('Etc/GMT+8', None)
    """
    if isinstance(dtype, pl.List | pl.Array):
        return offset_zone(dtype.inner)  # type: ignore[arg-type]
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    return zone if zone is not None and zone.startswith("Etc/GMT") else None


def common_dtype(left: pl.DataType, right: pl.DataType) -> pl.DataType | None:
    """Return the narrowest data type that holds all values of both, or None.

    Notes
    -----
    Integers and floats have none: a whole number beyond 2 ** 53 would change. Nanoseconds and
    coarser time stamps have none: years outside 1678 to 2261 do not fit the one, and digits would
    be cut for the other.

    Examples
    --------
    >>> common_dtype(pl.Int32(), pl.Int64()), common_dtype(pl.UInt32(), pl.Int8())
    (Int64, Int64)
    >>> common_dtype(pl.Int64(), pl.Float64()) is None
    True
    """
    if left == right:
        return left
    if isinstance(left, pl.Null):
        return right
    if isinstance(right, pl.Null):
        return left
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner = common_dtype(left.inner, right.inner)  # type: ignore[arg-type]
        return None if inner is None else pl.List(inner)
    if left.is_float() and right.is_float():
        return pl.Float64()
    if left.is_integer() and right.is_integer():
        return _common_integer(left, right)
    if not isinstance(left, pl.Datetime) or not isinstance(right, pl.Datetime):
        return None
    if left.time_zone != right.time_zone or "ns" in (left.time_unit, right.time_unit):
        return None
    return pl.Datetime("us", left.time_zone)


def _common_integer(left: pl.DataType, right: pl.DataType) -> pl.DataType | None:
    for kind in (_SIGNED, _UNSIGNED):
        if left in kind and right in kind:
            return max(left, right, key=kind.index)
    signed, unsigned = (left, right) if left in _SIGNED else (right, left)
    if signed not in _SIGNED or unsigned not in _UNSIGNED:
        return None
    needed = max(_SIGNED.index(signed), _UNSIGNED.index(unsigned) + 1)
    return _SIGNED[needed] if needed < len(_SIGNED) else None


def lacks_type(dtype: pl.DataType) -> bool:
    """Return whether a type, or one within it, is that of nothing but nulls.

    Examples
    --------
    >>> lacks_type(pl.List(pl.Null())), lacks_type(pl.Int8())
    (True, False)
    """
    if isinstance(dtype, pl.Struct):
        return any(lacks_type(field.dtype) for field in dtype.fields)  # type: ignore[arg-type]
    if isinstance(dtype, pl.List | pl.Array):
        return lacks_type(dtype.inner)  # type: ignore[arg-type]
    return isinstance(dtype, pl.Null)


def with_type(dtype: pl.DataType, other: pl.DataType) -> pl.DataType:
    """Return a type with the types of another where it has none itself.

    Examples
    --------
    >>> with_type(pl.List(pl.Null()), pl.List(pl.Int8()))
    List(Int8)
    """
    if isinstance(dtype, pl.Null):
        return other
    if isinstance(dtype, pl.List) and isinstance(other, pl.List):
        return pl.List(with_type(dtype.inner, other.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct) and isinstance(other, pl.Struct):
        fields = {field.name: field.dtype for field in other.fields}
        return pl.Struct(
            {
                field.name: with_type(field.dtype, fields.get(field.name, field.dtype))  # type: ignore[arg-type]
                for field in dtype.fields
            }
        )
    return dtype


def plain_with_nulls(dtype: pl.DataType) -> pl.DataType:
    """Return the plain type, but that of nothing but nulls as it is, also within lists."""
    if isinstance(dtype, pl.Null):
        return dtype
    if isinstance(dtype, pl.List | pl.Array) and lacks_type(dtype):
        return pl.List(plain_with_nulls(dtype.inner))  # type: ignore[arg-type]
    return plain_dtype(dtype)


def can_cast(source: pl.DataType, target: pl.DataType) -> bool:
    """Return whether values can be read as another type such that each fits or is an error.

    Examples
    --------
    >>> can_cast(pl.Float64(), pl.Int64()), can_cast(pl.Int64(), pl.Datetime("us"))
    (True, False)
    """
    source_nested, target_nested = isinstance(source, pl.List), isinstance(target, pl.List)
    if source == target or isinstance(source, pl.Null):
        return True
    if source_nested and target_nested:
        inner, wanted = source.inner, target.inner  # type: ignore[attr-defined]
        return can_cast(inner, wanted) and not (inner.is_float() and wanted.is_integer())
    if source_nested or target_nested or isinstance(source, pl.Binary):
        return False
    if isinstance(target, pl.String):
        return True
    if isinstance(source, pl.String):
        return target.is_numeric()
    if isinstance(source, pl.Boolean):
        return target.is_numeric()
    if source.is_numeric():
        return target.is_numeric()
    if isinstance(target, pl.Datetime) and isinstance(source, pl.Datetime | pl.Date):
        # Polars makes nulls of coarser time stamps that nanoseconds cannot hold.
        fits = target.time_unit != "ns" or getattr(source, "time_unit", None) == "ns"
        zoned = getattr(source, "time_zone", None) is not None
        return fits and zoned == (target.time_zone is not None)
    return False


def cast_to(name: str, source: pl.DataType, target: pl.DataType) -> pl.Expr:
    """Return a column as another type; on the CPU engine a value that does not fit is an error.

    Parameters
    ----------
    name
        The column.
    source, target
        Its type and the wanted one.

    Raises
    ------
    SchemaError
        If the types do not go together.
    """
    column = pl.col(name)
    if source == target:
        return column
    if not can_cast(source, target):
        raise SchemaError(
            f"column '{name}': {dtype_name(source)} cannot be read as {dtype_name(target)}; "
            "use an operator that says how to convert it"
        )
    if source.is_float() and target.is_integer():
        # A strict cast cuts fractions off but refuses infinity: so make one of the other.
        whole = column.is_null() | column.is_nan() | (column == column.floor())
        infinite = pl.lit(float("inf"), dtype=source)
        return pl.when(whole).then(column.fill_nan(None)).otherwise(infinite).cast(target)
    return column.cast(target)


def read_as(name: str, source: pl.DataType, target: pl.DataType) -> pl.Expr:
    """Return a column of a source as a data type that `plain_dtype` or the user chose."""
    plain = plain_or_same(source)
    if source == target:
        return pl.col(name)
    if isinstance(source, pl.Null) or plain == target:
        return pl.col(name).cast(target)
    return (
        cast_to(name, plain, target) if plain == source else pl.col(name).cast(plain).cast(target)
    )


def plain_or_same(dtype: pl.DataType) -> pl.DataType:
    """Return the plain type; nulls and what has none stay, so that the caller can judge them."""
    try:
        return plain_with_nulls(dtype)
    except SchemaError:
        return dtype
