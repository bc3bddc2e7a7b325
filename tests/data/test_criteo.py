"""The log shaped like Criteo's: columns, formats, and rows that no number of files changes."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from merlinkit import Dataset
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.synthetic import CriteoSpec, criteo_schema, generate_criteo, write
from merlinkit.data.synthetic.criteo import CATEGORIES, NUMBERS
from merlinkit.errors import DataError, ParameterError
from merlinkit.metrics import auc

SPEC = CriteoSpec(rows=100_000, seed=3)


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return pl.concat(list(generate_criteo(SPEC)))


def test_columns_are_those_of_the_published_files(log):
    assert log.columns == ["label", *NUMBERS, *CATEGORIES]
    assert log.schema == criteo_schema().to_polars()
    assert log["label"].unique().sort().to_list() == [0, 1]
    assert 0.1 < log["label"].mean() < 0.4
    for name in CATEGORIES:
        assert log[name].drop_nulls().str.contains(r"^[0-9a-f]{8}$").all()
    assert log["C9"].n_unique() == 3
    assert log["C3"].n_unique() > 10_000
    assert log["I2"].min() == -2
    assert log["I12"].null_count() / log.height == pytest.approx(0.76, abs=0.01)
    assert log["C22"].null_count() / log.height == pytest.approx(0.76, abs=0.01)
    assert log["C1"].null_count() == 0


def test_rows_depend_on_their_number_alone(log):
    for start, stop in ((0, 5), (65_530, 65_540), (99_999, 100_000)):
        part = pl.concat(list(generate_criteo(SPEC, start=start, stop=stop)))
        assert_frame_equal(part, log[start:stop])
    other = next(generate_criteo(CriteoSpec(rows=100_000, seed=4)))
    assert not other["C3"].equals(log["C3"][: other.height])


def test_labels_follow_from_the_categories(log):
    # The rate of the value in one half of the log ranks the other half.
    first, second = log[:50_000], log[50_000:]
    for name, low, high in (("C2", 0.55, 0.7), ("C1", 0.49, 0.51)):
        rates = first.group_by(name).agg(rate=pl.col("label").mean())
        scored = second.join(rates, on=name, how="inner")
        found = auc(scored["label"].to_numpy(), scored["rate"].to_numpy())
        assert low < found < high, name


@pytest.mark.parametrize("format", ["parquet", "csv", "tsv", "jsonl"])
def test_every_format_holds_the_same_rows(format, log, tmp_path):
    spec = CriteoSpec(rows=3_000, seed=3, files=3)
    paths = write(spec, tmp_path, format)
    assert len(paths) == 3
    text = dict.fromkeys(CATEGORIES, "string")
    if format == "tsv":
        names = criteo_schema().names
        data = Dataset(paths, dtypes=text, csv=CsvOptions(has_header=False, names=names))
    else:
        data = Dataset(paths, dtypes=None if format == "parquet" else text)
    expected = pl.concat(list(generate_criteo(spec)))
    found = data.scan().collect().select(expected.columns)
    assert_frame_equal(found.cast(expected.schema), expected)


def test_a_folder_with_another_log_is_refused(tmp_path):
    write(CriteoSpec(rows=10), tmp_path)
    with pytest.raises(DataError, match="max_distinct 10000000 there, 5 asked for"):
        write(CriteoSpec(rows=10, max_distinct=5), tmp_path)


def test_bad_sizes_are_refused_together():
    with pytest.raises(ParameterError, match="rows=0 is not .*; files='x' is not"):
        CriteoSpec(rows=0, files="x")
    with pytest.raises(ParameterError, match="files=3 is more than rows=2"):
        CriteoSpec(rows=2, files=3)
