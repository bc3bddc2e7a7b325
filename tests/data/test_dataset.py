"""What all sources have in common, and how one behaves when a file cannot be opened."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import as_data_error, data_errors
from merlinkit.engine.cpu import CpuEngine
from merlinkit.errors import DataError, ParameterError
from merlinkit.schema import Column, Schema

FRAME = pl.DataFrame({"user": [1, 2, 3], "city": ["Rome", None, "Oslo"], "tags": [[1], [], None]})


def write(path: Path, frame: pl.DataFrame) -> None:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.drop("tags").write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl"])
def test_files_of_every_format_give_the_same_rows(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"b.{suffix}", FRAME.tail(1))
    write(tmp_path / f"a.{suffix}", FRAME.head(2))
    data = Dataset(tmp_path)
    expected = FRAME.drop("tags") if suffix in ("csv", "tsv") else FRAME
    assert data.format == suffix
    assert data.name == tmp_path.name
    assert [path.name for path in data.files] == [f"a.{suffix}", f"b.{suffix}"]
    assert data.schema.to_polars() == expected.schema
    assert data.num_rows() == (3 if suffix == "parquet" else None)
    assert data.is_text == (suffix != "parquet")
    [whole] = CpuEngine().collect([data.scan()])
    assert whole.equals(expected)
    parts = CpuEngine().collect([plan for _, plan in data.scan_files()])
    assert pl.concat(parts).equals(expected)


def test_a_schema_gives_types_and_tags_to_text(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", FRAME)
    wanted = Schema([Column("city", "String"), Column("user", "Int32", tags=["user_id"])])
    data = Dataset(tmp_path / "a.csv", schema=wanted)
    assert data.schema == wanted
    assert data.scan().collect().schema == {"city": pl.String, "user": pl.Int32}


def test_parameters_that_contradict_each_other() -> None:
    schema = Schema([Column("user", "Int64")])
    with pytest.raises(ParameterError, match="schema or columns, not both"):
        Dataset(FRAME, schema=schema, columns=["user"])
    with pytest.raises(ParameterError, match="dtypes and schema give different types"):
        Dataset(FRAME, schema=schema, dtypes={"user": "Int8"})
    with pytest.raises(ParameterError, match="expected a list of names"):
        Dataset(FRAME, columns="user")  # type: ignore[arg-type]


def test_making_one_reads_first_rows_only(tmp_path: Path) -> None:
    """A file that goes away, or bad after its first block, is noticed when it is read."""
    path = tmp_path / "a.csv"
    path.write_text("n,s\n" + f"1,{'s' * 100}\n" * 100_000 + "x,s\n")
    data = Dataset(path)
    with pytest.raises(DataError, match="line 100002: column 'n' holds 'x'"), data_errors():
        data.scan().select(pl.col("n").sum()).collect(engine="streaming")
    path.unlink()
    with pytest.raises(DataError, match=r"no file .*a\.csv: it is gone"), data_errors():
        data.scan().collect()


def test_errors_of_readers_survive_a_sink(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n\n1\n")
    data = Dataset(path)
    path.write_text("n\nx\n")
    with (
        pytest.raises(DataError, match=r"^/.*a\.csv, line 2: column 'n' holds 'x'.*\]\)$"),
        data_errors(),
    ):
        CpuEngine().sink(pl.concat([data.scan(), data.scan()]), tmp_path / "b.parquet")
    assert [found.name for found in tmp_path.iterdir()] == ["a.csv"]


def test_other_errors_are_left_as_they_are() -> None:
    with pytest.raises(pl.exceptions.ColumnNotFoundError), data_errors():
        FRAME.lazy().select("nowhere").collect()
    assert as_data_error(ValueError("x")) is None


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """Give a folder that anyone can list, and take root's right to read everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        if os.geteuid() != os.getuid():
            os.seteuid(os.getuid())


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
def test_no_permission(as_nobody: Path, name: str) -> None:
    path = as_nobody / name
    write(path, FRAME)
    path.chmod(0o000)
    if os.getuid() == 0:
        os.seteuid(65534)
    with pytest.raises(DataError, match=rf"{name}: no permission to read it"):
        Dataset(path)


def test_no_permission_to_list_a_folder(as_nobody: Path) -> None:
    inner = as_nobody / "inner"
    inner.mkdir()
    inner.chmod(0o000)
    if os.getuid() == 0:
        os.seteuid(65534)
    with pytest.raises(DataError, match=r"cannot list folder .*inner: Permission denied"):
        Dataset(as_nobody)


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(DataError, match=r"no file .*a\.csv"):
        Dataset(tmp_path)


def test_its_text_form() -> None:
    assert repr(Dataset(FRAME)) == "Dataset('frame': a frame, 3 rows, 3 columns)"
