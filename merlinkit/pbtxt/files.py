"""Reads and writes Merlin's ``schema.pbtxt``."""

from __future__ import annotations

from pathlib import Path

from merlinkit.atomic import write_text
from merlinkit.errors import DataError, SchemaError
from merlinkit.pbtxt import fields
from merlinkit.pbtxt.feature import read_feature, write_feature
from merlinkit.pbtxt.mapping import column_from_feature, feature_from_column
from merlinkit.pbtxt.parser import parse_message
from merlinkit.schema import Column, Schema

__all__ = ["format_pbtxt", "parse_pbtxt", "read_pbtxt", "write_pbtxt"]

FILE_NAME = "schema.pbtxt"


def read_pbtxt(path: str | Path) -> Schema:
    """Read the schema of a file that Merlin or `write_pbtxt` wrote.

    Parameters
    ----------
    path
        The file, or a folder that holds ``schema.pbtxt``.

    Raises
    ------
    DataError
        If the file is missing or not readable, or not such a schema; see `parse_pbtxt`.
    """
    path = _file(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise DataError(f"no schema at {path}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8 ({error.reason})") from None
    return parse_pbtxt(text, source=str(path))


def write_pbtxt(schema: Schema, path: str | Path) -> None:
    """Write a schema where Merlin finds it; the file appears whole or not at all.

    Parameters
    ----------
    schema
        What to write.
    path
        The file, or an existing folder, in which it is named ``schema.pbtxt``.

    Raises
    ------
    SchemaError
        If the schema cannot be written; see `format_pbtxt`.
    OSError
        If the folder is missing or not writable.
    """
    write_text(_file(path), format_pbtxt(schema))


def parse_pbtxt(text: str, *, source: str = "schema.pbtxt") -> Schema:
    """Return the schema that a text holds.

    Parameters
    ----------
    text
        A text protobuf of tensorflow_metadata's Schema message.
    source
        Name of the text in error messages.

    Returns
    -------
    Schema
        One column a feature, in their order. Text that `format_pbtxt` made gives the schema that
        it was made from.

    Raises
    ------
    DataError
        If the text breaks the format, has unknown fields or contradicts itself, naming source
        and line.

    Notes
    -----
    Where Merlin's file says less than a `Column` holds, the rules are:

    * A whole number without a size is Int64, a float Float64, as in Merlin. Merlin's files do not
      tell unsigned from signed integers.
    * Merlin writes no type for strings, booleans and times. A column without a type is taken for
      String, or for ``Datetime(ns)`` if it has a size; change it with `Column.with_dtype`.
    * The tags ``user`` and ``id`` together add ``user_id``; merlin-core takes that tag apart.
      The same holds for ``item_id``, ``session_id`` and the two kinds of classification.
    * A domain without any number in it is unknown. One with a single number has its other end
      at 0, which Merlin leaves out.
    * What Merlin ignores (shape, presence, skew, string domains, ...) is ignored.

    Examples
    --------
    >>> schema = parse_pbtxt('''
    ...     feature {
    ...       name: "item" type: INT
    ...       value_count { min: 1 max: 20 }
    ...       int_domain { max: 99 is_categorical: true }
    ...     }
    ... ''')
    >>> schema
    Schema (1 columns)
    column  dtype              domain  embedding  tags
    item    List(Int64) 1..20  0..99   21         categorical
    """
    message = parse_message(text, "schema", source)
    message.check_names(fields.SCHEMA)
    columns: dict[str, Column] = {}
    lines: dict[str, int] = {}
    for each in message.messages("feature"):
        feature = read_feature(each)
        if feature.name in columns:
            raise each.error(
                f"a second feature named '{feature.name}'; the first is in line "
                f"{lines[feature.name]}"
            )
        try:
            columns[feature.name] = column_from_feature(feature)
        except SchemaError as error:
            raise each.error(f"feature '{feature.name}': {error}") from error
        lines[feature.name] = each.line
    return Schema(columns.values())


def format_pbtxt(schema: Schema) -> str:
    """Return a schema as text, laid out and escaped as merlin-core does it.

    Parameters
    ----------
    schema
        What to write.

    Returns
    -------
    str
        ASCII text, one ``feature`` for each column. Equal schemas give equal text.

    Raises
    ------
    SchemaError
        If a property is nested deeper than 30 lists and mappings, or a name, tag or property is
        no valid Unicode (half of a surrogate pair).

    Notes
    -----
    Merlin itself reads tags such as ``categorical`` and ``continuous`` on one column as an error;
    they are written as they are.

    Examples
    --------
    >>> text = format_pbtxt(Schema([Column("price", "Float32", tags=["continuous"])]))
    >>> print(text[:text.index("extra_metadata")])
    feature {
      name: "price"
      type: FLOAT
      annotation {
        tag: "continuous"
    """
    return "".join(write_feature(feature_from_column(column)) for column in schema)


def _file(path: str | Path) -> Path:
    path = Path(path)
    return path / FILE_NAME if path.is_dir() else path
