"""Text to parquet: whole or not at all, once, with every dropped row counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from merlinkit.data.convert import convert
from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.dataset import Dataset
from merlinkit.data.manifest import Manifest
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.errors import DataError, RunDirError
from merlinkit.schema import Column, Schema


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "a.csv").write_text("n,s\n1,x\n2,\n")
    (folder / "b.csv").write_text("n,s\n3,z\n4,y,5\n6\n")
    (folder / "c.csv").write_text("n,s\n")
    return folder


SKIP = CsvOptions(on_malformed="skip")


class Counting(CpuEngine):
    """Counts what it writes; fails at one of the files if told to."""

    def __init__(self, fail_at: str = "") -> None:
        super().__init__()
        self.written: list[str] = []
        self.fail_at = fail_at

    def sink(self, plan: pl.LazyFrame, path: Path, output: ParquetOutput | None = None) -> int:
        if path.name == self.fail_at:
            raise KeyboardInterrupt
        self.written.append(path.name)
        return super().sink(plan, path, output)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Stand in for the engine that converts text."""
    engine = Counting()
    # The package exports the function under the name of the module.
    module = sys.modules[convert.__module__]
    monkeypatch.setattr(module, "CpuEngine", lambda: engine)
    return engine


def test_rows_types_and_what_was_dropped(raw: Path, tmp_path: Path) -> None:
    source = Dataset(raw, csv=SKIP, name="logs")
    data = convert(source, tmp_path / "out")
    assert data.scan().collect().rows() == [(1, "x"), (2, None), (3, "z")]
    assert data.schema == source.schema
    assert data.name == "logs"
    assert data.num_rows() == 3
    # A file without rows gets no file.
    assert [path.name for path in data.files] == ["a.parquet", "b.parquet"]
    for found in (data.malformed, source.malformed):
        assert dict(found.by_file) == {raw / "b.csv": 2}
        assert [(row.line, row.reason) for row in found.sample] == [
            (3, "3 fields found, 2 expected"),
            (4, "1 field found, 2 expected"),
        ]
    again = Dataset(tmp_path / "out")
    assert again.scan().collect().rows() == data.scan().collect().rows()
    manifest = Manifest.load(tmp_path / "out")
    manifest.verify(tmp_path / "out")
    assert manifest.rows == 3
    b = str(raw / "b.csv")
    assert manifest.details["malformed"] == {b: 2}
    assert manifest.details["malformed_sample"] == [
        {"file": b, "line": row.line, "text": row.text, "reason": row.reason}
        for row in source.malformed.sample
    ]
    assert [row["text"] for row in manifest.details["malformed_sample"]] == ["'4,y,5'", "'6'"]
    assert manifest.details["notes"] == []


def test_tags_travel(raw: Path, tmp_path: Path) -> None:
    schema = Schema([Column("n", "Int32", tags=["user_id"])])
    convert(Dataset(raw / "a.csv", schema=schema), tmp_path / "out")
    assert Dataset(tmp_path / "out").schema == schema


@pytest.mark.parametrize("rows", [1, 2, None])
def test_row_groups(tmp_path: Path, rows: int | None) -> None:
    import pyarrow.parquet as pq

    (tmp_path / "a.jsonl").write_text("".join(f'{{"n": {i}}}\n' for i in range(5)))
    output = None if rows is None else ParquetOutput(row_group_rows=rows)
    data = convert(Dataset(tmp_path / "a.jsonl"), tmp_path / "out", output=output)
    assert pq.ParquetFile(data.files[0]).num_row_groups == {1: 5, 2: 3, None: 1}[rows]


def test_frames_and_parquet_can_be_converted(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c": pl.Series(["x", "y"], dtype=pl.Categorical)})
    data = convert(Dataset(frame), tmp_path / "frame")
    assert [path.name for path in data.files] == ["frame.parquet"]
    engine = Counting()
    again = convert(Dataset(tmp_path / "frame"), tmp_path / "again", engine=engine)
    assert engine.written == ["frame.parquet"]
    assert again.scan().collect().rows() == [("x",), ("y",)]


def test_what_is_complete_is_not_done_again(raw: Path, tmp_path: Path, counting: Counting) -> None:
    out = tmp_path / "out"
    counting.fail_at = "b.parquet"
    with pytest.raises(KeyboardInterrupt):
        convert(Dataset(raw, csv=SKIP), out)
    assert counting.written == ["a.parquet"]
    for source in (out, out / "*.parquet", out / "a.parquet"):
        with pytest.raises(DataError, match="is incomplete: writing it was interrupted"):
            Dataset(source)
    counting.fail_at = ""
    data = convert(Dataset(raw, csv=SKIP), out)
    assert counting.written == ["a.parquet", "b.parquet", "c.parquet"]
    assert data.num_rows() == 3
    # All done: nothing is written, and the dropped rows are still known.
    again = convert(Dataset(raw, csv=SKIP), out)
    assert len(counting.written) == 3
    assert again.malformed.count == 2
    assert again.malformed.sample == data.malformed.sample


def test_a_changed_source_or_option_or_a_damaged_file_is_done_again(
    raw: Path, tmp_path: Path, counting: Counting
) -> None:
    out = tmp_path / "out"
    convert(Dataset(raw / "a.csv"), out)
    (raw / "a.csv").write_text("n,s\n7,q\n")
    assert convert(Dataset(raw / "a.csv"), out).scan().collect().rows() == [(7, "q")]
    assert len(counting.written) == 2
    convert(Dataset(raw / "a.csv", dtypes={"n": "Int8"}), out)
    convert(Dataset(raw / "a.csv", dtypes={"n": "Int8"}, csv=CsvOptions(null_values=["q"])), out)
    assert len(counting.written) == 4
    file = out / "a.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    options = CsvOptions(null_values=["q"])
    data = convert(Dataset(raw / "a.csv", dtypes={"n": "Int8"}, csv=options), out)
    assert len(counting.written) == 5
    assert data.scan().collect().rows() == [(7, None)]


def test_a_record_that_cannot_be_read_means_nothing_is_done(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(Dataset(raw / "a.csv"), out)
    for text in ("{", "[]", '{"format": 1}', json.dumps({"format": 99})):
        (out / "_convert.json").write_text(text)
        assert convert(Dataset(raw / "a.csv"), out).num_rows() == 2


def test_a_bad_row_leaves_an_incomplete_folder_and_one_clear_error(
    raw: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"b\.csv, line 3: 3 fields found, 2 expected"):
        convert(Dataset(raw), tmp_path / "out")
    with pytest.raises(DataError, match="is incomplete"):
        Dataset(tmp_path / "out")
    (raw / "b.csv").write_text("n,s\n3,z\n")
    assert convert(Dataset(raw), tmp_path / "out").num_rows() == 3


def test_a_folder_of_other_files_is_refused_untouched(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "other.parquet").write_bytes(b"x")
    with pytest.raises(RunDirError, match=r"holds other files, such as other\.parquet"):
        convert(Dataset(raw / "a.csv"), out)
    with pytest.raises(RunDirError, match=r"holds other files, such as a.csv"):
        convert(Dataset(raw / "a.csv"), raw)
    assert [path.name for path in out.iterdir()] == ["other.parquet"]
    assert len(list(raw.iterdir())) == 3


def test_a_file_where_the_folder_should_be(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(RunDirError, match="cannot write to"):
        convert(Dataset(raw / "a.csv"), tmp_path / "out")


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,s\n1,2\n")
    data = Dataset(path, csv=SKIP)
    path.write_text("n,s\n1\n")
    with pytest.raises(DataError, match="'a' has no rows: 1 malformed rows dropped, such as"):
        convert(data, tmp_path / "out")


def test_files_of_one_name_get_distinct_names(tmp_path: Path) -> None:
    for day in ("1", "2"):
        (tmp_path / "raw" / day).mkdir(parents=True)
        (tmp_path / "raw" / day / "part.csv").write_text(f"n\n{day}\n")
    data = convert(Dataset(tmp_path / "raw"), tmp_path / "out")
    assert [path.name for path in data.files] == ["1__part.parquet", "2__part.parquet"]
    assert data.scan().collect()["n"].to_list() == [1, 2]


@pytest.mark.parametrize("file", ["a.parquet", "b.parquet", "_convert.json", "_SUCCESS"])
def test_a_killed_conversion_never_looks_complete(raw: Path, tmp_path: Path, file: str) -> None:
    """The process dies where a file would have got its name."""
    out = tmp_path / "out"
    code = f"""
import os, signal, sys
from merlinkit.data import CsvOptions, Dataset, convert
replace = os.replace
def die(source, target):
    if os.path.basename(target) == {file!r}:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = die
convert(Dataset(sys.argv[1], csv=CsvOptions(on_malformed="skip")), sys.argv[2])
"""
    killed = subprocess.run([sys.executable, "-c", code, os.fspath(raw), os.fspath(out)])
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(DataError, match="is incomplete: writing it was interrupted"):
        Dataset(out)
    assert convert(Dataset(raw, csv=SKIP), out).num_rows() == 3
    assert not [path for path in out.iterdir() if path.name.startswith(".tmp-")]
