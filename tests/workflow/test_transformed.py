"""Writing what comes out: whole, in order, and with one clear error where it cannot be."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from merlinkit import Dataset, Schema, Workflow, ops
from merlinkit.data.manifest import MANIFEST, Manifest
from merlinkit.errors import DataError, RunDirError, SchemaError

LOGS = pl.DataFrame({"user": ["a", "b", "a", None], "n": [1, 2, 3, 4]})


@pytest.fixture
def workflow():
    return Workflow((["user"] >> ops.Categorify()) + ["n"]).fit(LOGS)


def test_folder_holds_rows_schema_and_manifest(workflow, tmp_path):
    for index in range(3):
        LOGS.with_columns(n=pl.col("n") + 10 * index).write_parquet(
            tmp_path / f"in-{index}.parquet"
        )
    manifest = workflow.transform(str(tmp_path / "in-*.parquet")).to_parquet(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        MANIFEST,
        "part-00000.parquet",
        "part-00001.parquet",
        "part-00002.parquet",
        "schema.json",
    ]
    rows = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert rows["n"].to_list() == [1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24]
    assert manifest.rows == Manifest.load(tmp_path / "out").rows == 12
    assert Schema.load(tmp_path / "out" / "schema.json") == workflow.output_schema
    # The folder is a data set, with tags and domains.
    assert Dataset(tmp_path / "out").schema == workflow.output_schema


def test_row_groups_are_as_asked(workflow, tmp_path):
    import pyarrow.parquet as pq

    workflow.transform(LOGS).to_parquet(tmp_path / "out", row_group_rows=3)
    file = pq.ParquetFile(tmp_path / "out" / "part-00000.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [3, 1]


def test_no_rows_leave_one_file_with_the_types(workflow, tmp_path):
    workflow.transform(LOGS.clear()).to_parquet(tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out" / "part-00000.parquet")
    assert frame.schema == workflow.output_schema.to_polars()
    assert Manifest.load(tmp_path / "out").rows == 0


def test_what_is_there_is_kept_unless_overwritten(workflow, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")
    with pytest.raises(RunDirError, match="is there already"):
        workflow.transform(LOGS).to_parquet(tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").exists()
    workflow.transform(LOGS).to_parquet(tmp_path / "again")
    with pytest.raises(RunDirError, match="is there already"):
        workflow.transform(LOGS).to_parquet(tmp_path / "again")
    workflow.transform(LOGS.head(1)).to_parquet(tmp_path / "again", overwrite=True)
    assert Manifest.load(tmp_path / "again").rows == 1
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunDirError, match="is a file"):
        workflow.transform(LOGS).to_parquet(tmp_path / "file")


def test_a_bad_row_names_file_and_line_and_leaves_nothing(workflow, tmp_path):
    (tmp_path / "logs.csv").write_text("user,n\na,1\nb,2,3\n")
    with pytest.raises(DataError, match=r"logs.csv.*line 3"):
        workflow.transform(tmp_path / "logs.csv").to_parquet(tmp_path / "out")
    with pytest.raises(DataError, match=r"logs.csv.*line 3"):
        Workflow(["user"] >> ops.Categorify()).fit(tmp_path / "logs.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs.csv"]


ODD = {
    "struct": pa.array([{"a": 1}, None]),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    "zone": pa.array([0, None], pa.timestamp("us", "+05:30")),
    "wide": pa.array([1, None]).cast(pa.decimal256(50, 0)),
}


@pytest.mark.parametrize("kind", ODD)
def test_columns_that_are_not_read_may_be_of_any_type(tmp_path: Path, kind: str) -> None:
    workflow = Workflow(["x"] >> ops.Clip(max_value=2)).fit(pl.DataFrame({"x": [1, 9]}))
    table = pa.table({"odd": ODD[kind], "x": [1, 9]})
    assert workflow.transform(table).collect().rows() == [(1,), (2,)]
    if kind == "struct":
        frame = pl.DataFrame({"odd": [{"a": 1}, None], "x": [1, 9]})
        assert workflow.transform(frame).collect().rows() == [(1,), (2,)]
        (tmp_path / "a.jsonl").write_text('{"odd": {"a": 1}, "x": 1}\n{"x": 9}\n')
        assert workflow.transform(tmp_path / "a.jsonl").collect().rows() == [(1,), (2,)]
    if kind != "interval":  # pyarrow cannot write those
        pq.write_table(table, tmp_path / "a.parquet")
        assert workflow.transform(tmp_path / "a.parquet").collect().rows() == [(1,), (2,)]


def test_a_column_that_is_read_must_still_be_readable(tmp_path: Path) -> None:
    workflow = Workflow(["x"] >> ops.Clip(max_value=2)).fit(pl.DataFrame({"x": [1, 9]}))
    with pytest.raises(DataError, match="column 'x' holds nested objects"):
        workflow.transform(pl.DataFrame({"x": [{"a": 1}]}))
    with pytest.raises(SchemaError, match="column 'x' is missing"):
        workflow.transform(pl.DataFrame({"odd": [{"a": 1}], "y": [1]}))


@pytest.mark.parametrize("unread", [{"a": 1}, None, [[1]]])
def test_columns_that_neither_fit_nor_transform_read_may_be_of_any_type(unread, tmp_path):
    frame = pl.DataFrame({"user": ["a", "b"], "other": [unread, unread]})
    frame.write_parquet(tmp_path / "odd.parquet")
    node = ["user"] >> ops.Categorify()
    for data in (frame, tmp_path / "odd.parquet"):
        workflow = Workflow(node).fit(data)
        assert workflow.transform(data).collect()["user"].to_list() == [3, 4]
    # Also where it was a number at fit.
    workflow = Workflow(node).fit(pl.DataFrame({"user": ["a", "b"], "other": [1, 2]}))
    assert workflow.transform(tmp_path / "odd.parquet").collect()["user"].to_list() == [3, 4]


@pytest.mark.parametrize("name", ["day.parquet", "day.csv", "day.jsonl"])
def test_a_column_without_any_value_has_the_type_of_the_fit(name, tmp_path):
    # Pain: a file in which a column is all null has no type for it, or another one.
    workflow = Workflow(["n", "x"] >> ops.FillMissing(0)).fit(
        pl.DataFrame({"n": [1, 2], "x": [0.5, None]})
    )
    path = tmp_path / name
    day = pl.DataFrame({"n": [None, None], "x": [None, 1.5]})
    {".parquet": day.write_parquet, ".csv": day.write_csv, ".jsonl": day.write_ndjson}[path.suffix](
        path
    )
    filled = workflow.transform(path).collect()
    assert filled.to_dict(as_series=False) == {"n": [0, 0], "x": [0.0, 1.5]}


def test_text_that_is_no_number_is_an_error_that_names_file_and_line(tmp_path):
    workflow = Workflow(["n"] >> ops.FillMissing(0)).fit(pl.DataFrame({"n": [1, 2]}))
    (tmp_path / "day.csv").write_text("n\n1\nmany\n")
    with pytest.raises(DataError, match="day.csv.*line 3.*'n'|day.csv.*'n'.*line 3"):
        workflow.transform(tmp_path / "day.csv").collect()
