"""``google.protobuf.Struct``: the form in which Merlin keeps the properties of a column.

Text protobuf shows a Struct inside an Any in one of two ways: field by field, or as the bytes of
the message in protobuf's wire format (https://protobuf.dev/programming-guides/encoding).
merlin-core writes bytes. They are what every reader understands, the fields only one that has
loaded the Struct type, so bytes are written here; both are read.

A Struct has one kind of number, a double. Whole numbers up to 2**53 are read as ``int``, all
others as ``float``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from merlinkit.errors import SchemaError
from merlinkit.pbtxt.message import Message
from merlinkit.schema import JSONValue

__all__ = ["decode_struct", "encode_struct", "number_from_double", "struct_from_message"]

MAX_DEPTH = 30
"""Lists and mappings within each other. Each is up to three messages, and protobuf's own readers
stop at 100 of those."""

# Wire types.
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Fields of google.protobuf.Value.
_NULL, _NUMBER, _STRING, _BOOL, _STRUCT, _LIST = 1, 2, 3, 4, 5, 6


def number_from_double(value: float) -> int | float:
    """Return a double as ``int`` where it is whole and exact, else as it is.

    Examples
    --------
    >>> number_from_double(16.0), number_from_double(0.5), number_from_double(1e300)
    (16, 0.5, 1e+300)
    """
    return int(value) if value.is_integer() and abs(value) <= 2**53 else value


# -- bytes ------------------------------------------------------------------------------------


def encode_struct(values: Mapping[str, JSONValue]) -> bytes:
    r"""Return the bytes of a Struct, keys in the order of the mapping.

    Raises
    ------
    SchemaError
        If lists and mappings are nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> encode_struct({"p": 3})
    b'\n\x0e\n\x01p\x12\t\x11\x00\x00\x00\x00\x00\x00\x08@'
    """
    return _encode_struct(values, 0)


def _encode_struct(values: Mapping[str, JSONValue], depth: int) -> bytes:
    if depth > MAX_DEPTH:
        raise SchemaError(f"properties are nested deeper than {MAX_DEPTH} lists and mappings")
    return b"".join(
        _chunk(1, _chunk(1, key.encode()) + _chunk(2, _encode_value(value, depth)))
        for key, value in values.items()
    )


def _encode_value(value: JSONValue, depth: int) -> bytes:
    match value:
        case None:
            return _tag(_NULL, _VARINT) + b"\0"
        case bool():
            return _tag(_BOOL, _VARINT) + (b"\1" if value else b"\0")
        case int() | float():
            return _tag(_NUMBER, _FIXED64) + struct.pack("<d", value)
        case str():
            return _chunk(_STRING, value.encode())
        case list():
            if depth >= MAX_DEPTH:
                raise SchemaError(
                    f"properties are nested deeper than {MAX_DEPTH} lists and mappings"
                )
            each = (_chunk(1, _encode_value(item, depth + 1)) for item in value)
            return _chunk(_LIST, b"".join(each))
    return _chunk(_STRUCT, _encode_struct(value, depth + 1))


def _chunk(number: int, data: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(data)) + data


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_struct(data: bytes) -> dict[str, JSONValue]:
    """Return what the bytes of a Struct hold.

    Raises
    ------
    ValueError
        If the bytes are no Struct, or nested too deep.

    Examples
    --------
    >>> decode_struct(encode_struct({"name": "user", "sizes": [1, 2.5, None]}))
    {'name': 'user', 'sizes': [1, 2.5, None]}
    """
    return _decode_struct(data, 0)


def _decode_struct(data: bytes, depth: int) -> dict[str, JSONValue]:
    out: dict[str, JSONValue] = {}
    for entry in _chunks(data, 1, depth):
        # Both halves of an entry may be left out: an empty key, or no value.
        key, value = "", b""
        for number, part in _parts(entry):
            if number == 1 and isinstance(part, bytes):
                key = part.decode()
            elif number == 2 and isinstance(part, bytes):
                value = part
        out[key] = _decode_value(value, depth)
    return out


def _decode_value(data: bytes, depth: int) -> JSONValue:
    value: JSONValue = None
    for number, part in _parts(data):
        match number, part:
            case (1, int()):
                value = None
            case (2, float()):
                value = number_from_double(part)
            case (3, bytes()):
                value = part.decode()
            case (4, int()):
                value = bool(part)
            case (5, bytes()):
                value = _decode_struct(part, depth + 1)
            case (6, bytes()):
                items = _chunks(part, 1, depth + 1)
                value = [_decode_value(item, depth + 1) for item in items]
    return value


def _chunks(data: bytes, number: int, depth: int) -> list[bytes]:
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} lists and mappings")
    return [part for found, part in _parts(data) if found == number and isinstance(part, bytes)]


def _parts(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Yield number and value of each field."""
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, position = _read_varint(data, position)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, position = _read_varint(data, position)
        elif wire_type in (_FIXED64, _FIXED32):
            size = 8 if wire_type == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire_type} at byte {position} is not one of a Struct")
        part = data[position : position + size]
        if len(part) < size:
            raise ValueError(f"cut off at byte {len(data)}, where {size - len(part)} more belong")
        position += size
        yield number, struct.unpack("<d", part)[0] if wire_type == _FIXED64 else part


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
    raise ValueError(f"cut off or damaged at byte {position}")


# -- text -------------------------------------------------------------------------------------

_VALUE_FIELDS = (
    *("null_value", "number_value", "string_value"),
    *("bool_value", "struct_value", "list_value"),
)


def struct_from_message(message: Message, depth: int = 0) -> dict[str, JSONValue]:
    """Return what a Struct whose fields are printed as text holds.

    Raises
    ------
    DataError
        If the message is no Struct, or nested too deep, naming file and line.
    """
    message.check_names({"fields"})
    out: dict[str, JSONValue] = {}
    for entry in message.messages("fields"):
        entry.check_names({"key", "value"})
        value = entry.message("value")
        out[entry.string("key") or ""] = None if value is None else _value(value, depth)
    return out


def _value(message: Message, depth: int) -> JSONValue:
    if depth > MAX_DEPTH:
        raise message.error(f"properties are nested deeper than {MAX_DEPTH} lists and mappings")
    message.check_names(_VALUE_FIELDS)
    given = [each.name for each in message.fields]
    if len(given) > 1:
        raise message.error(f"a value is {given[0]} and {given[1]} at once")
    if (number := message.number("number_value")) is not None:
        return number_from_double(number)
    if (text := message.string("string_value")) is not None:
        return text
    if (truth := message.boolean("bool_value")) is not None:
        return truth
    if (inner := message.message("struct_value")) is not None:
        return struct_from_message(inner, depth + 1)
    if (items := message.message("list_value")) is not None:
        items.check_names({"values"})
        return [_value(each, depth + 1) for each in items.messages("values")]
    return None
