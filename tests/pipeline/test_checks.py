"""What is said of processed data that a model cannot read."""

from __future__ import annotations

import math
import re

import polars as pl
import pytest

from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import DataError
from merlinkit.pipeline.checks import check_processed, check_target, note_of_scale
from merlinkit.schema import Column, Domain, Schema

IDS = Column("ids", "Int64", is_list=True, domain=Domain(0, 9), tags=["categorical"])
PRICE = Column("price", "Float32", tags=["continuous"])
CLICK = Column("click", "Int8", tags=["target", "binary_classification"])
STARS = Column("stars", "Float64", tags=["target", "regression"])


def part(folder, **columns):
    pl.DataFrame(columns, schema_overrides={"price": pl.Float32}).write_parquet(
        folder / "part-00000.parquet"
    )
    return folder


def test_null_elements_of_id_lists_are_counted(tmp_path):
    folder = part(
        tmp_path, ids=[[1, None], [], None, [None, None]], price=[0.0] * 4, click=[0, 1, 0, 1]
    )
    with pytest.raises(DataError, match=r"the processed valid part .*'ids': 3 elements\."):
        check_processed(Schema([IDS, PRICE, CLICK]), folder, "valid", CpuEngine())


def test_missing_numbers_are_counted(tmp_path):
    folder = part(
        tmp_path, price=[1.0, None, math.nan, math.inf, -math.inf], click=[0, 1, None, 1, 0]
    )
    with pytest.raises(DataError, match=r"'price': 4 rows; column 'click': 1 rows\."):
        check_processed(Schema([PRICE, CLICK]), folder, "train", CpuEngine())


def test_null_and_empty_lists_are_fine(tmp_path):
    folder = part(tmp_path, ids=[[1, 2], [], None], price=[0.0] * 3, click=[0, 1, 0])
    check_processed(Schema([IDS, PRICE, CLICK]), folder, "train", CpuEngine())


def test_label_without_values_is_said_to_be_null(tmp_path):
    folder = part(tmp_path, price=[1.0, 2.0], click=pl.Series([None, None], dtype=pl.Int8))
    with pytest.raises(DataError, match="label 'click' is null in all training rows"):
        check_target(Schema([PRICE, CLICK]), folder, CpuEngine())


def test_number_to_learn_may_be_any(tmp_path):
    folder = part(tmp_path, price=[1.0, 2.0], stars=[3.5, 3.5])
    check_target(Schema([PRICE, STARS]), folder, CpuEngine())


def test_labels_that_are_nan_are_named_so(tmp_path):
    like = Column("like", "Float64", tags=["target", "binary_classification"])
    folder = part(tmp_path, price=[1.0, 2.0], like=[1.0, math.nan])
    with pytest.raises(DataError, match="label 'like' is NaN in 1 training rows"):
        check_target(Schema([PRICE, like]), folder, CpuEngine())


@pytest.mark.parametrize(
    ("stars", "said"),
    [([1.7e9, 1.8e9], "values of 1.75e\\+09 in the mean"), ([-5.0, 3.0], None), ([None], None)],
)
def test_numbers_too_large_to_learn_are_noted(stars, said, tmp_path):
    values = pl.Series(stars, dtype=pl.Float64)
    folder = part(tmp_path, price=[1.0] * len(stars), stars=values)
    note = note_of_scale(Schema([PRICE, STARS]), folder, CpuEngine())
    assert note is None if said is None else re.search(said, note)
