"""What is asked of parquet files is what pyarrow finds in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.parquet_output import ParquetOutput
from merlinkit.errors import ParameterError

FRAME = pl.DataFrame({"n": range(10), "s": [None, "a", "b", "a", "b"] * 2})


@pytest.mark.parametrize(
    ("codec", "found"),
    [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("lz4", "LZ4"), ("none", "UNCOMPRESSED")],
)
def test_codec(tmp_path: Path, codec: Any, found: str) -> None:
    engine = CpuEngine(ParquetOutput(codec=codec))
    assert engine.sink(FRAME.lazy(), tmp_path / "a.parquet") == 10
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert file.metadata.row_group(0).column(0).compression == found
    assert file.read().to_pydict() == FRAME.to_dict(as_series=False)


def test_a_higher_level_is_smaller(tmp_path: Path) -> None:
    frame = pl.DataFrame({"s": [f"user {i} saw the item {i * i % 10_007}" for i in range(30_000)]})
    sizes = []
    for level in (1, 19):
        path = tmp_path / f"{level}.parquet"
        CpuEngine().sink(frame.lazy(), path, ParquetOutput(level=level))
        sizes.append(path.stat().st_size)
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(("rows", "groups"), [(1, 10), (3, 4), (10, 1), (11, 1)])
def test_row_groups(tmp_path: Path, rows: int, groups: int) -> None:
    CpuEngine().sink(FRAME.lazy(), tmp_path / "a.parquet", ParquetOutput(row_group_rows=rows))
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == groups


@pytest.mark.parametrize(
    ("rows", "sizes"), [(1, [1] * 10), (4, [4, 4, 2]), (5, [5, 5]), (99, [10])]
)
def test_files_of_a_number_of_rows(tmp_path: Path, rows: int, sizes: list[int]) -> None:
    output = ParquetOutput(rows_per_file=rows, row_group_rows=2)
    files = CpuEngine().sink_files(FRAME.lazy(), tmp_path, "part", output)
    assert [file.name for file in files] == [f"part-{i:03d}.parquet" for i in range(len(sizes))]
    assert [pq.ParquetFile(file).metadata.num_rows for file in files] == sizes
    assert all(pq.ParquetFile(file).metadata.row_group(0).num_rows <= 2 for file in files)
    assert pl.concat([pl.read_parquet(file) for file in files]).equals(FRAME)


def test_nothing_gives_no_file(tmp_path: Path) -> None:
    for output in (ParquetOutput(rows_per_file=2), ParquetOutput(partition_by="s")):
        assert CpuEngine().sink_files(FRAME.lazy().head(0), tmp_path, "part", output) == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_folders_of_values(tmp_path: Path) -> None:
    output = ParquetOutput(partition_by="s")
    files = CpuEngine().sink_files(FRAME.lazy(), tmp_path, "part", output)
    assert {
        str(file.relative_to(tmp_path)): pq.read_table(file, partitioning=None).to_pydict()
        for file in files
    } == {
        "s=__HIVE_DEFAULT_PARTITION__/part.parquet": {"n": [0, 5]},
        "s=a/part.parquet": {"n": [1, 3, 6, 8]},
        "s=b/part.parquet": {"n": [2, 4, 7, 9]},
    }


def test_pyarrow_reads_the_folders_as_hive_does(tmp_path: Path) -> None:
    output = ParquetOutput(partition_by=["s", "flag"], rows_per_file=2)
    odd = ["a/b", "c=d", "e f", "ü%", ".", "__HIVE"]
    frame = pl.DataFrame({"n": range(12), "s": odd * 2, "flag": [True, False, None, True] * 3})
    CpuEngine().sink_files(frame.lazy(), tmp_path, "part", output)
    import pyarrow.dataset as ds

    schema = ds.partitioning(flavor="hive")
    read = ds.dataset(tmp_path, partitioning=schema, exclude_invalid_files=False).to_table()
    found = sorted(zip(*(read[name].to_pylist() for name in ("n", "s")), strict=True))
    assert found == sorted(zip(frame["n"], frame["s"], strict=True))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"codec": "gzip"}, "codec is 'gzip', one of zstd, snappy, lz4, none expected"),
        ({"codec": "snapy"}, "Did you mean 'snappy'"),
        ({"level": 0}, r"level is 0, 1 \(fast\) to 22 \(small\) expected"),
        ({"level": 1.5}, "level is 1.5, a whole number"),
        ({"level": True}, "level is True, a whole number"),
        ({"row_group_rows": 0}, "row_group_rows is 0, a whole number of at least 1"),
        ({"row_group_rows": "many"}, "row_group_rows is 'many'"),
        ({"rows_per_file": -1}, "rows_per_file is -1, a whole number of at least 1"),
        ({"partition_by": ["a", "a"]}, "partition_by names a column twice: a, a"),
        ({"partition_by": [""]}, "names of columns expected"),
        ({"partition_by": [1]}, "names of columns expected"),
    ],
)
def test_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ParquetOutput(**parameters)
