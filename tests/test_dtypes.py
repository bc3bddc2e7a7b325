"""Names of data types: there and back, what people write instead, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from merlinkit.dtypes import dtype_from_name, dtype_name
from merlinkit.errors import SchemaError
from tests.schema_strategies import dtypes

NAMES = {
    "Boolean": pl.Boolean(),
    "Int8": pl.Int8(),
    "Int16": pl.Int16(),
    "Int32": pl.Int32(),
    "Int64": pl.Int64(),
    "Int128": pl.Int128(),
    "UInt8": pl.UInt8(),
    "UInt16": pl.UInt16(),
    "UInt32": pl.UInt32(),
    "UInt64": pl.UInt64(),
    "Float32": pl.Float32(),
    "Float64": pl.Float64(),
    "String": pl.String(),
    "Binary": pl.Binary(),
    "Categorical": pl.Categorical(),
    "Date": pl.Date(),
    "Time": pl.Time(),
    "Null": pl.Null(),
    "Datetime(ms)": pl.Datetime("ms"),
    "Datetime(us, UTC)": pl.Datetime("us", "UTC"),
    "Datetime(ns, America/Argentina/Buenos_Aires)": pl.Datetime(
        "ns", "America/Argentina/Buenos_Aires"
    ),
    "Datetime(us, Etc/GMT+5)": pl.Datetime("us", "Etc/GMT+5"),
    "Duration(us)": pl.Duration("us"),
    "Decimal(10, 2)": pl.Decimal(10, 2),
    "List(Int64)": pl.List(pl.Int64()),
    "List(List(Datetime(us, UTC)))": pl.List(pl.List(pl.Datetime("us", "UTC"))),
    "Array(Float32, 8)": pl.Array(pl.Float32(), 8),
    "Array(Array(Int8, 3), 2)": pl.Array(pl.Int8(), (2, 3)),
    'Enum(["no", "it\'s (a), \\"yes\\""])': pl.Enum(["no", 'it\'s (a), "yes"']),
    "Enum([])": pl.Enum([]),
    'Struct({"a, b": "Int64", "c": "List(String)"})': pl.Struct(
        {"a, b": pl.Int64(), "c": pl.List(pl.String())}
    ),
}


@pytest.mark.parametrize(("name", "dtype"), NAMES.items(), ids=NAMES)
def test_name_and_back(name: str, dtype: pl.DataType) -> None:
    assert dtype_name(dtype) == name
    again = dtype_from_name(name)
    assert again == dtype
    assert isinstance(again, pl.DataType)


@settings(derandomize=True, database=None, max_examples=300)
@given(dtypes)
def test_any_data_type_survives(dtype: pl.DataType) -> None:
    assert dtype_from_name(dtype_name(dtype)) == dtype


@pytest.mark.parametrize(
    ("written", "dtype"),
    [
        ("int", pl.Int64()),
        ("INT32", pl.Int32()),
        (" float ", pl.Float64()),
        ("double", pl.Float64()),
        ("str", pl.String()),
        ("utf8", pl.String()),
        ("bytes", pl.Binary()),
        ("bool", pl.Boolean()),
        ("boolean", pl.Boolean()),
        ("date", pl.Date()),
        ("datetime", pl.Datetime("us")),
        ("datetime64[ns]", pl.Datetime("ns")),
        ("datetime[ms, UTC]", pl.Datetime("ms", "UTC")),
        ("timedelta64[us]", pl.Duration("us")),
        ("duration", pl.Duration("us")),
        ("list(int32)", pl.List(pl.Int32())),
        ("List( str )", pl.List(pl.String())),
        ("array(float32, 4)", pl.Array(pl.Float32(), 4)),
    ],
)
def test_what_people_write(written: str, dtype: pl.DataType) -> None:
    assert dtype_from_name(written) == dtype


@pytest.mark.parametrize(
    ("given_class", "dtype"),
    [
        (pl.Int64, pl.Int64()),
        (pl.Datetime, pl.Datetime("us")),
        (int, pl.Int64()),
        (float, pl.Float64()),
        (str, pl.String()),
        (bool, pl.Boolean()),
        (datetime.date, pl.Date()),
        (datetime.datetime, pl.Datetime("us")),
        (datetime.timedelta, pl.Duration("us")),
        (np.int8, pl.Int8()),
        (np.float32, pl.Float32()),
    ],
)
def test_classes_stand_for_data_types(given_class: type, dtype: pl.DataType) -> None:
    again = dtype_from_name(given_class)
    assert again == dtype
    assert isinstance(again, pl.DataType)


def test_data_types_are_returned_as_they_are() -> None:
    dtype = pl.List(pl.Datetime("ns", "UTC"))
    assert dtype_from_name(dtype) is dtype


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Int46", "unknown data type 'Int46'. Did you mean 'Int64'"),
        ("flaot32", "Did you mean 'Float32'"),
        ("List(Int46)", "unknown data type 'Int46'"),
        ("List(Int64", "unknown data type"),
        ("", "unknown data type ''"),
        ("Datetime(s)", "Known: Boolean"),
        ("Duration(us, UTC)", "unknown data type 'Duration(us, UTC)'"),
        ("Object", "unknown data type 'Object'"),
        ("Array(Int64)", "needs a width, as in Array(Float32, 8)"),
        ("Array(Int64, -1)", "needs a width, as in Array(Float32, 8)"),
        ("Decimal(5)", "needs precision and scale"),
        ("Decimal(39, 2)", "precision is at most 38 digits"),
        ("Decimal(5, 6)", "scale at most the precision"),
        ("Enum(a, b)", 'needs a list of strings, as in Enum(["a", "b"])'),
        ("Enum([1])", "needs a list of strings"),
        ('Enum(["a", "a"])', "lists a category twice"),
        ("Struct([])", 'needs names and types, as in Struct({"a": "Int64"})'),
        ('Struct({"a": "Int46"})', "unknown data type 'Int46'"),
    ],
)
def test_names_that_are_refused(written: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        dtype_from_name(written)
    assert message in str(caught.value)


@pytest.mark.parametrize("needs_parameters", [pl.List, pl.Enum, pl.Array])
def test_classes_without_their_parameters_are_refused(needs_parameters: type) -> None:
    with pytest.raises(SchemaError, match="needs its parameters"):
        dtype_from_name(needs_parameters)
    with pytest.raises(SchemaError, match="needs its parameters"):
        dtype_name(needs_parameters)


def test_something_else_is_refused_with_its_type() -> None:
    with pytest.raises(SchemaError, match=r"found 64 \(int\)"):
        dtype_from_name(64)  # type: ignore[arg-type]
