"""One column as ``schema.pbtxt`` holds it: the Feature message of tensorflow_metadata.

Only what Merlin reads and writes is kept: name, type, value count, the domains of numbers, tags
and the properties, a Struct in the annotation's ``extra_metadata``. Other fields of the message
are allowed and ignored, names that it does not have are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from merlinkit.errors import SchemaError
from merlinkit.pbtxt import fields
from merlinkit.pbtxt.message import Message
from merlinkit.pbtxt.printer import Fields, Word, print_fields
from merlinkit.pbtxt.structs import decode_struct, encode_struct, struct_from_message
from merlinkit.schema import Domain, JSONValue

__all__ = ["Feature", "FeatureType", "read_feature", "write_feature"]

FeatureType = Literal["TYPE_UNKNOWN", "BYTES", "INT", "FLOAT"]

_TYPES = {"TYPE_UNKNOWN": 0, "BYTES": 1, "INT": 2, "FLOAT": 3, "STRUCT": 4}
_STRUCT = "google.protobuf.Struct"
_STRUCT_URL = f"type.googleapis.com/{_STRUCT}"


@dataclass(frozen=True, slots=True)
class Feature:
    """The parts of a Feature message that Merlin uses.

    Parameters
    ----------
    name
        Name of the column.
    type
        Kind of its values.
    value_count
        Fewest and most elements of a list; 0 for a most that is not known. None without lists.
    domain
        Range of the numbers; ``int`` for INT, ``float`` for FLOAT, None for other types.
    tags
        What the column is for.
    properties
        Everything else, as the Struct holds it.
    """

    name: str
    type: FeatureType = "TYPE_UNKNOWN"
    value_count: tuple[int, int] | None = None
    domain: Domain | None = None
    tags: frozenset[str] = frozenset()
    properties: Mapping[str, JSONValue] = field(default_factory=dict)


# -- reading ----------------------------------------------------------------------------------


def read_feature(message: Message) -> Feature:
    """Return what a feature message holds.

    Raises
    ------
    DataError
        If a field is unknown or of the wrong kind, naming file and line.
    """
    message.check_names(fields.FEATURE)
    name = message.string("name")
    if name is None:
        raise message.error("a feature without a name")
    kind = message.enum("type", _TYPES) or "TYPE_UNKNOWN"
    if kind == "STRUCT":
        raise message.error(
            f"feature '{name}' is of type STRUCT, which merlinkit has no column for; flatten it"
        )
    tags, properties = _annotation(message.message("annotation"))
    domain, categorical = _domain(message, kind)
    return Feature(
        name,
        cast(FeatureType, kind),
        _value_count(message.message("value_count")),
        domain,
        tags | {"categorical"} if categorical else tags,
        properties,
    )


def _value_count(message: Message | None) -> tuple[int, int] | None:
    if message is None:
        return None
    message.check_names(fields.VALUE_COUNT)
    low, high = message.integer("min") or 0, message.integer("max") or 0
    if low < 0 or high < 0 or 0 < high < low:
        raise message.error(f"value_count from {low} to {high} is no range of list lengths")
    return low, high


def _domain(message: Message, kind: str) -> tuple[Domain | None, bool]:
    """Return the domain that belongs to the type, and whether it is one of categories."""
    integers, floats = message.message("int_domain"), message.message("float_domain")
    low: int | float | None
    high: int | float | None
    if kind == "INT" and integers is not None:
        found = integers
        found.check_names(fields.INT_DOMAIN)
        low, high = found.integer("min"), found.integer("max")
    elif kind == "FLOAT" and floats is not None:
        found = floats
        found.check_names(fields.FLOAT_DOMAIN)
        low, high = found.number("min"), found.number("max")
    else:
        return None, False
    categorical = kind == "INT" and bool(found.boolean("is_categorical"))
    # Merlin leaves zeros out. Where a zero cannot be meant, the end is open and nothing is known.
    zero = 0 if kind == "INT" else 0.0
    if low is None:
        if high is None or high < zero:
            return None, categorical
        low = zero
    elif high is None:
        if low > zero:
            return None, categorical
        high = zero
    try:
        return Domain(low, high, found.string("name")), categorical
    except SchemaError as error:
        raise found.error(str(error)) from None


def _annotation(message: Message | None) -> tuple[frozenset[str], dict[str, JSONValue]]:
    if message is None:
        return frozenset(), {}
    message.check_names(fields.ANNOTATION)
    structs = [
        properties
        for extra in message.messages("extra_metadata")
        if (properties := _extra_metadata(extra)) is not None
    ]
    if len(structs) > 1:
        raise message.error(f"extra_metadata holds {len(structs)} sets of properties, expected one")
    return frozenset(message.strings("tag")), structs[0] if structs else {}


def _extra_metadata(message: Message) -> dict[str, JSONValue] | None:
    """Return the Struct that an Any holds, None if it holds something else."""
    for each in message.fields:
        if "/" in each.name and isinstance(each.value, Message):
            is_struct = each.name.rpartition("/")[2] == _STRUCT
            return struct_from_message(each.value) if is_struct else None
    message.check_names({"type_url", "value"})
    if (message.string("type_url") or "").rpartition("/")[2] != _STRUCT:
        return None
    try:
        return decode_struct(message.data("value") or b"")
    except ValueError as error:
        raise message.error(f"the bytes of the properties are damaged: {error}") from None


# -- writing ----------------------------------------------------------------------------------


def write_feature(feature: Feature) -> str:
    """Return the text of a feature message, fields in the order that protobuf prints them.

    Raises
    ------
    SchemaError
        If a property is nested too deep, or a string is no valid Unicode.
    """
    out: list[tuple[str, str | Word | Fields]] = [("name", feature.name)]
    if feature.value_count is not None:
        counts = zip(("min", "max"), feature.value_count, strict=True)
        out.append(("value_count", [(end, count) for end, count in counts if count]))
    if feature.type != "TYPE_UNKNOWN":
        out.append(("type", Word(feature.type)))
    if feature.domain is not None:
        name = "int_domain" if feature.type == "INT" else "float_domain"
        out.append((name, _domain_fields(feature, feature.domain)))
    try:
        struct = encode_struct(feature.properties)
        annotation: list[tuple[str, str | Fields]] = [("tag", tag) for tag in sorted(feature.tags)]
        annotation.append(("extra_metadata", [("type_url", _STRUCT_URL), ("value", struct)]))
        out.append(("annotation", annotation))
        return print_fields([("feature", out)])
    except SchemaError as error:
        raise SchemaError(f"column '{feature.name}': {error}") from None
    except UnicodeEncodeError as error:
        raise SchemaError(
            f"column {feature.name!r}: {error.object!r} is not valid Unicode: {error.reason}"
        ) from None


def _domain_fields(feature: Feature, domain: Domain) -> Fields:
    out: list[tuple[str, str | bool | int | float]] = []
    if domain.name is not None:
        out.append(("name", domain.name))
    # Merlin leaves zeros out; written, an empty domain is not taken for an unknown one.
    out += [("min", domain.min), ("max", domain.max)]
    if feature.type == "INT" and "categorical" in feature.tags:
        out.append(("is_categorical", True))
    return out
