"""What every engine must do alike: the same rows and ids, however the data is cut."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from merlinkit import Dataset, Workflow, ops
from merlinkit.data import row_ranges
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.splits import SPLITS
from merlinkit.data.splits.base import PARTS
from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import DataError
from merlinkit.pipeline.parts import as_parquet, split_parts
from merlinkit.workflow import program
from tests.ops.examples import EXAMPLES
from tests.ops.test_partitioning import write_files
from tests.ops.test_sequences import GRAPHS, events
from tests.ops.test_values import assert_values, workflow_of

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)


@each_example
@pytest.mark.parametrize("files", [1, 2, 5, 17])
def test_every_operator_on_any_number_of_partitions(example, files, engine, tmp_path):
    write_files(example.frame, tmp_path / "data", files)
    data = Dataset(tmp_path / "data")
    workflow = workflow_of(example).fit(data, engine, work_dir=tmp_path / "work")
    manifest = workflow.transform(data, engine, training=True).to_parquet(tmp_path / "out")
    written = pl.read_parquet([tmp_path / "out" / entry.name for entry in manifest.files])
    if example.ordered:
        assert_values(written, example.expected)
    else:
        expected = pl.DataFrame(dict(example.expected), schema=dict(example.dtypes))
        assert_frame_equal(written, expected, check_row_order=False)
    assert dict(written.schema) == dict(example.dtypes)
    if example.unseen is not None:
        unseen = workflow.transform(example.unseen, engine).collect()
        assert_values(unseen, example.unseen_expected)


@pytest.fixture
def seven_files(tmp_path):
    """Events of five users, spread over seven files."""
    frame = events(200, seed=1)
    (tmp_path / "in").mkdir()
    for index in range(7):
        frame[index::7].write_parquet(tmp_path / "in" / f"{index}.parquet")
    return Dataset(tmp_path / "in")


MORE_GRAPHS = {
    "lags by two keys": lambda: (
        (["ts"] >> ops.Lag("user", ["ts", "item"]))
        + (["ts"] >> ops.Rename(name="t") >> ops.Lag("kind", ["t", "item"]))
        + ["user"]
    ),
    "a lag of a lag by another key": lambda: (
        ["ts"]
        >> ops.DifferenceLag("user", ["ts", "item"])
        >> ops.FillMissing(0)
        >> ops.DifferenceLag("kind", ["ts_difference_lag_1", "item"])
        >> ops.FillMissing(0)
        >> ops.Normalize()
    ),
    "k-core, then lags of what is left": lambda: (
        (["user", "kind"] >> ops.KCore("user", "kind", 9, 9) >> ops.Categorify())
        + (["ts"] >> ops.DifferenceLag("user", ["ts", "item"]))
    ),
    "filter on a lag": lambda: (
        ["ts"] >> ops.DifferenceLag("user", ["ts", "item"]) >> ops.Filter("ts_difference_lag_1 > 2")
    ),
    "lists beside a lag": lambda: (
        (["tags"] >> ops.Categorify())
        + (["ts"] >> ops.Lag("user", ["ts", "item"]))
        + (["tags"] >> ops.Rename(name="raw tags"))
    ),
    "a key that is encoded in place": lambda: (
        (["user"] >> ops.Categorify())
        + (["ts"] >> ops.Lag("user", ["ts", "item"]))
        + (["user"] >> ops.Rename(name="0:user"))
    ),
    "statistics by a key of lagged columns": lambda: (
        (
            ["ts"]
            >> ops.DifferenceLag("user", ["ts", "item"])
            >> ops.FillMissing(0)
            >> ops.Clip(0, 9)
            >> ops.Bucketize([2, 5], null_bucket=True)
            >> ops.Categorify()
        )
        + ["user"]
    ),
}


@pytest.fixture
def listed_files(tmp_path):
    """Events with lists and null keys, in files of row groups of 20."""
    frame = events(300, seed=5).with_row_index("n")
    frame = frame.with_columns(
        user=pl.when(pl.col("n") % 11 != 0).then("user"),
        tags=pl.when(pl.col("n") % 7 != 0).then(
            pl.concat_list(pl.col("n") % 3, pl.col("n") % 5).list.head(pl.col("n") % 4)
        ),
        ts=pl.col("ts").fill_null(0),
        kind=pl.col("n") * 7 % 6,
    ).drop("n")
    (tmp_path / "lists").mkdir()
    for index in range(3):
        path = tmp_path / "lists" / f"{index}.parquet"
        frame[100 * index : 100 * (index + 1)].write_parquet(path, row_group_size=20)
    return Dataset(tmp_path / "lists")


@pytest.mark.parametrize("graph", MORE_GRAPHS.values(), ids=MORE_GRAPHS.keys())
def test_any_chain_of_steps(graph, listed_files, engine, tmp_path, monkeypatch):
    """One plan over all rows on one side; partitions, buckets and several steps on the other."""
    one = Workflow(graph()).fit(listed_files)
    expected = one.transform(listed_files, training=True).collect()
    monkeypatch.setattr(program, "BUCKET_ROWS", 40)
    monkeypatch.setattr(row_ranges, "PARTITION_ROWS", 40)
    many = Workflow(graph()).fit(listed_files, engine, work_dir=tmp_path / "work")
    found = written(many, listed_files, tmp_path / "out", engine)
    assert_frame_equal(found, expected, check_row_order=False)
    assert many.output_schema == one.output_schema
    many.save(tmp_path / "saved", engine)
    again = written(Workflow.load(tmp_path / "saved"), listed_files, tmp_path / "again", engine)
    assert_frame_equal(found, again)


def written(workflow, data, folder, engine) -> pl.DataFrame:
    manifest = workflow.transform(data, engine, training=True).to_parquet(folder)
    return pl.read_parquet([folder / entry.name for entry in manifest.files])


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_rows_are_brought_together_in_buckets(graph, seven_files, engine, tmp_path, monkeypatch):
    one = Workflow(graph()).fit(seven_files)
    expected = one.transform(seven_files, training=True).collect()
    monkeypatch.setattr(program, "BUCKET_ROWS", 50)
    many = Workflow(graph()).fit(seven_files, engine, work_dir=tmp_path / "work")
    found = written(many, seven_files, tmp_path / "out", engine)
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 1
    assert_frame_equal(found, expected, check_row_order=False)
    # The rows that were brought together are gone.
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()} == set()
    # The very same order on each engine, and again.
    here = written(many, seven_files, tmp_path / "again", CpuEngine())
    assert_frame_equal(found, here)


def test_rows_of_a_bucket_are_in_the_order_of_the_data(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "BUCKET_ROWS", 30)
    frame = pl.DataFrame({"user": [i % 7 for i in range(100)], "n": range(100)})
    (tmp_path / "in").mkdir()
    for index in range(4):
        frame[25 * index : 25 * (index + 1)].write_parquet(tmp_path / "in" / f"{index}.parquet")
    workflow = Workflow((["n"] >> ops.Lag("user", "n")) + ["user", "n"])
    data = Dataset(tmp_path / "in")
    found = written(workflow.fit(data, engine), data, tmp_path / "out", engine)
    assert sorted(found["n"].to_list()) == list(range(100))
    for path in (tmp_path / "out").glob("*.parquet"):
        assert pl.read_parquet(path)["n"].is_sorted()
    later = found.filter(pl.col("n") >= 7)
    assert (later["n"] - later["n_lag_1"]).unique().to_list() == [7]


def test_null_and_nan_are_one_key_in_buckets_too(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "BUCKET_ROWS", 2)
    nan = float("nan")
    frame = pl.DataFrame({"key": [None, nan, 1.0, None, nan, 1.0], "n": [1, 2, 3, 4, 5, 6]})
    frame.write_parquet(tmp_path / "in.parquet")
    workflow = Workflow(["key", "n"] >> ops.Groupby("key", {"n": ["count", "sum"]}))
    data = Dataset(tmp_path / "in.parquet")
    found = written(workflow.fit(data, engine), data, tmp_path / "out", engine)
    assert sorted(found.rows(), key=str) == [(1.0, 2, 9), (None, 4, 12)]


def test_no_row_is_left_before_rows_are_brought_together(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "BUCKET_ROWS", 2)
    frame = pl.DataFrame({"user": [1, 2, 1, 2], "n": [1, 2, 3, 4]})
    node = (["n"] >> ops.Filter("n > 3") >> ops.Lag("user", "n")) + ["user"]
    workflow = Workflow(node).fit(frame, engine)
    manifest = workflow.transform(frame[:3], engine).to_parquet(tmp_path / "out")
    assert manifest.rows == 0
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").columns == ["n_lag_1", "user"]


def test_a_large_file_is_several_partitions(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(row_ranges, "PARTITION_ROWS", 100)
    frame = pl.DataFrame({"n": range(1_000), "s": [f"v{n % 13}" for n in range(1_000)]})
    (tmp_path / "in").mkdir()
    frame.write_parquet(tmp_path / "in" / "large.parquet", row_group_size=70)
    frame[:200].write_parquet(tmp_path / "in" / "small.parquet", row_group_size=70)
    data = Dataset(tmp_path / "in")
    names = [name for name, _ in data.scan_partitions()]
    assert names[:2] == ["large (rows 0 to 140)", "large (rows 140 to 280)"]
    # 1,000 rows in groups of 70, two of which make a partition; the last one has what is left.
    assert len(names) == 8 + 1
    assert names[7:] == ["large (rows 980 to 1,000)", "small"]
    workflow = Workflow((["s"] >> ops.Categorify()) + ["n"]).fit(data, engine)
    found = written(workflow, data, tmp_path / "out", engine)
    assert found["n"].to_list() == [*range(1_000), *range(200)]
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 9
    here = Workflow((["s"] >> ops.Categorify()) + ["n"]).fit_transform(data).collect()
    assert_frame_equal(found, here)


def test_update_and_inverse(engine, seven_files, tmp_path):
    node = (["item"] >> ops.Categorify()) + (["ts"] >> ops.Normalize())
    workflow = Workflow(node).fit(seven_files, engine, work_dir=tmp_path / "a")
    workflow.update(seven_files, engine, work_dir=tmp_path / "b")
    tables = [table for state in workflow.states.values() for table in state.tables.values()]
    counts = tables[0].frame.collect()
    assert counts["count"].sum() == 400
    workflow.save(tmp_path / "saved", engine)
    loaded = Workflow.load(tmp_path / "saved")
    encoded = loaded.transform(seven_files, engine)
    encoded.to_parquet(tmp_path / "encoded")
    back = loaded.inverse_transform(tmp_path / "encoded", engine)
    back.to_parquet(tmp_path / "back")
    expected = seven_files.scan().select("item", "ts").collect()
    assert_frame_equal(pl.read_parquet(tmp_path / "back" / "*.parquet"), expected)


@pytest.mark.parametrize("kind", ["random", "temporal", "leave_last"])
def test_splits(kind, engine, tmp_path):
    frame = events(200, seed=1).filter(pl.col("ts").is_not_null())
    (tmp_path / "in").mkdir()
    for index in range(7):
        frame[index::7].write_parquet(tmp_path / "in" / f"{index}.parquet")
    data = Dataset(tmp_path / "in")
    parameters = {
        "random": {"valid": 0.2, "test": 0.2},
        "temporal": {"valid": 0.2, "test": 0.2, "column": "ts"},
        "leave_last": {"user": "user", "order_by": "ts"},
    }[kind]
    found = {}
    for place, where in (("here", CpuEngine()), ("there", engine)):
        split = SPLITS[kind](**parameters)
        _, parts = split_parts(data, split, where, tmp_path / place, "same")
        found[place] = [parts[part].scan().collect() for part in PARTS]
    for here, there in zip(found["here"], found["there"], strict=True):
        assert here.height > 0
        assert_frame_equal(here, there)


def test_text_is_read_where_tasks_are_done(engine, tmp_path):
    for index in range(3):
        (tmp_path / f"{index}.csv").write_text(f"a,b\n{index},x\n1,2,3\n{index},y\n")
    data = Dataset(str(tmp_path / "*.csv"), csv=CsvOptions(on_malformed="skip"))
    rows = as_parquet(data, tmp_path / "work", engine)
    assert rows.num_rows() == 6
    assert [row.line for row in data.malformed] == [3, 3, 3]


def test_what_is_wrong_with_the_data_is_said_as_on_one_machine(engine, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("a,b\n1,x\n2,y,z\n")
    with pytest.raises(DataError, match=r"b\.csv.*line 3"):
        as_parquet(Dataset(str(tmp_path / "*.csv")), tmp_path / "work", engine)
    for name in ("a", "b"):
        events(5_000, seed=1).write_parquet(tmp_path / f"{name}.parquet", compression="lz4")
    with (tmp_path / "b.parquet").open("r+b") as file:
        file.seek(200)
        file.write(b"\x55" * 3_000)
    data = Dataset(str(tmp_path / "*.parquet"))
    with pytest.raises(DataError, match="b cannot be split: "):
        split_parts(data, SPLITS["random"](0.1, 0.1), engine, tmp_path / "damaged", "same")
    frame = pl.DataFrame({"x": [1.0, float("inf")]})
    with pytest.raises(DataError, match="column 'x' holds infinite values"):
        Workflow(["x"] >> ops.Normalize()).fit(frame, engine)
