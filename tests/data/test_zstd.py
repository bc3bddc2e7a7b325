"""Text files that are packed with zstd."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import merlinkit.data.text as text
from merlinkit.data.dataset import Dataset
from merlinkit.data.failures import data_errors
from merlinkit.errors import DataError

CSV = b"a,b\n1,x\n2,y\n"
EMPTY_FRAME = b"\x50\x2a\x4d\x18\x02\x00\x00\x00hi"


def zstd(body: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as packed:
        packed.write(body)
    return out.getvalue().to_pybytes()


def read(path: Path) -> pl.DataFrame:
    with data_errors():
        return Dataset(path).scan().collect(engine="streaming")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.csv.zst", CSV),
        ("a.tsv.zst", CSV.replace(b",", b"\t")),
        ("a.CSV.ZST", CSV),
        ("a.csv", CSV),
        ("a.jsonl.zst", b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'),
        ("a.ndjson.zst", b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}'),
    ],
)
def test_each_text_format_may_be_packed_with_zstd(tmp_path: Path, name: str, body: bytes) -> None:
    (tmp_path / name).write_bytes(zstd(body))
    assert read(tmp_path / name).rows() == [(1, "x"), (2, "y")]
    assert [found for found, _ in Dataset(tmp_path / name).scan_files()] == ["a"]
    if name.lower().endswith(".zst"):
        assert read(tmp_path).rows() == [(1, "x"), (2, "y")]


def test_several_frames_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zst"
    path.write_bytes(EMPTY_FRAME + zstd(CSV) + zstd(b"3,z\n"))
    assert read(path).rows() == [(1, "x"), (2, "y"), (3, "z")]


def test_memory_holds_a_block_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstd(b"a,b\n" + b"1,x\n" * 500_000))
    blocks = list(text.read_blocks(path, 1 << 16))
    assert sum(map(len, blocks)) == 4 * 500_001
    assert max(map(len, blocks)) <= 1 << 16


@pytest.mark.parametrize("body", [zstd(CSV)[:-3], zstd(CSV) + b"garbage", zstd(CSV)[:6] + b"x" * 9])
def test_a_damaged_file_is_one_error(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a.csv.zst").write_bytes(body)
    with pytest.raises(DataError, match=r"a\.csv\.zst is a damaged zstd file"):
        read(tmp_path)


def test_a_name_that_is_not_true(tmp_path: Path) -> None:
    (tmp_path / "a.csv.zst").write_bytes(CSV)
    with pytest.raises(DataError, match=r"its name ends in \.zst, but it is no zstd file"):
        read(tmp_path)
    with pytest.raises(DataError, match=r"a\.parquet\.zst.*does not tell|no data files"):
        (tmp_path / "a.csv.zst").rename(tmp_path / "a.parquet.zst")
        read(tmp_path)
