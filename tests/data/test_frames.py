"""Frames of other libraries as data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dataset import Dataset
from merlinkit.errors import DataError, ParameterError, SchemaError

ROWS = [(1, "x", 1.5), (2, None, None)]
FRAME = pl.DataFrame(ROWS, schema=["a", "b", "c"], orient="row")


class Stream:
    """Offers its rows the Arrow way and no other."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return FRAME.__arrow_c_stream__(requested_schema)


class Device:
    """Offers a copy for the host alone."""

    def to_arrow(self) -> pa.Table:
        return FRAME.to_arrow()


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.lazy(),
        FRAME.to_arrow(),
        FRAME.to_arrow().to_batches()[0],
        FRAME.to_arrow().to_reader(),
        pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, np.nan]}),
        Stream(),
        Device(),
    ],
    ids=lambda source: type(source).__name__,
)
def test_each_kind_of_frame(source: Any) -> None:
    data = Dataset(source)
    assert data.files == []
    assert data.format == "frame"
    assert data.scan().collect().rows() == ROWS
    [(name, plan)] = data.scan_files()
    assert (name, plan.collect().rows()) == ("frame", ROWS)
    assert data.num_rows() == (None if isinstance(source, pl.LazyFrame) else 2)
    assert (data.size_bytes() is None) == isinstance(source, pl.LazyFrame)


def test_types_become_plain_ones() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["x", "y"]), "n": [None, None]})
    data = Dataset(frame)
    assert dict(data.schema.to_polars()) == {"c": pl.String, "n": pl.String}
    assert data.scan().collect().rows() == [("x", None), ("y", None)]


def test_named_levels_of_an_index_are_columns() -> None:
    frame = pd.DataFrame({"x": [1, 2], "user": [7, 8], "day": [1, 1]})
    assert Dataset(frame.set_index("user")).schema.names == ["user", "x", "day"]
    assert Dataset(frame.set_index(["user", "day"])).schema.names == ["user", "day", "x"]
    assert Dataset(frame[frame.x > 1]).schema.names == ["x", "user", "day"]


def test_columns_types_and_order_can_be_given() -> None:
    data = Dataset(FRAME, columns=["b", "a"], dtypes={"a": "Int8"}, name="clicks")
    assert data.scan().collect().schema == {"b": pl.String, "a": pl.Int8}
    assert data.name == "clicks"
    with pytest.raises(SchemaError, match="no column 'd'"):
        Dataset(FRAME, columns=["d"])
    with pytest.raises(SchemaError, match="String cannot be read as Datetime"):
        Dataset(FRAME, dtypes={"b": "Datetime(us)"})
    with pytest.raises(ParameterError, match="columns holds 'a' more than once"):
        Dataset(FRAME, columns=["a", "a"])


def test_a_value_that_does_not_fit_is_an_error_not_a_null() -> None:
    data = Dataset(pl.DataFrame({"a": [1, 300]}), dtypes={"a": "Int8"})
    with pytest.raises(pl.exceptions.InvalidOperationError, match="300"):
        data.scan().collect()


def test_structs_are_refused() -> None:
    with pytest.raises(DataError, match=r"column 's' holds nested objects.*unnest"):
        Dataset(pl.DataFrame({"s": [{"a": 1}], "x": [1]}))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "a int is no source of data"),
        (None, "a NoneType is no source of data"),
        ({"a": [1]}, "a dict is no source of data"),
        (pl.DataFrame({"a": [1]}).lazy().select("b"), "cannot be resolved"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column named 'a'"),
        (
            pd.DataFrame({"a": [1, "x", object()]}),
            "column 'a' of type object holds what has no one type",
        ),
        (pl.DataFrame({"a": [1]}).select([]), "no (rows|columns)"),
    ],
)
def test_sources_that_are_no_data(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(source)


def test_a_frame_may_be_empty() -> None:
    data = Dataset(FRAME.head(0))
    assert (data.num_rows(), data.schema.names) == (0, ["a", "b", "c"])
    assert data.scan().collect().height == 0


def test_options_of_files_do_not_go_with_frames() -> None:
    with pytest.raises(ParameterError, match="given for a frame"):
        Dataset(FRAME, csv=CsvOptions())
    with pytest.raises(ParameterError, match="given for a frame"):
        Dataset(FRAME, format="csv")
