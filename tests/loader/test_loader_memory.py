"""What is read from disk and held in memory."""

import threading
import weakref

import polars as pl
import pyarrow.parquet as pq
import pytest

from merlinkit.errors import DataError
from merlinkit.loader.decode import Decoder
from merlinkit.loader.parts import read_parts
from merlinkit.loader.reader import PieceReader
from merlinkit.schema import Column, Schema


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("row_group_rows", [10, 1_000])
def test_rows_held_decoded(
    write_parts, make_loader, monkeypatch, row_group_rows, shuffle, prefetch
):
    write_parts([1_000], row_group_rows)
    held: weakref.WeakSet = weakref.WeakSet()
    peak = []
    lock = threading.Lock()
    plain = Decoder.decode

    def counted(self, window):
        with lock:
            peak.append((len(held) + 1, sum(store.rows for store in held) + window.rows))
        store = plain(self, window)
        held.add(store)
        return store

    monkeypatch.setattr(Decoder, "decode", counted)
    loader = make_loader(buffer_rows=100, batch_size=7, shuffle=shuffle, prefetch=prefetch)
    batches = list(loader)
    assert sum(len(batch["id"]) for batch in batches) == 1_000
    assert len(peak) >= 20
    most_windows, most_rows = max(peak)
    assert most_windows == (2 if prefetch else 1)
    # The last window is held until it is cut; the consumer's own batches do not hold it.
    assert most_rows <= 100
    assert not held


def test_one_huge_row_group_is_read_in_slices(write_parts, make_loader, monkeypatch, rows_of):
    written = write_parts([1_000], 1_000)
    sizes = []
    plain = PieceReader.read

    def counted(self, piece):
        sizes.append(piece.stop - piece.start)
        return plain(self, piece)

    monkeypatch.setattr(PieceReader, "read", counted)
    loader = make_loader(buffer_rows=160)
    assert sorted(rows_of(loader)) == written
    assert max(sizes) <= 5


def test_a_row_group_is_read_once_though_in_slices(write_parts, make_loader, monkeypatch):
    write_parts([300, 200], 100)
    opened = []
    plain = pq.ParquetFile.iter_batches

    def counted(self, batch_size=65536, row_groups=None, columns=None, **rest):
        opened.append(tuple(row_groups))
        return plain(self, batch_size, row_groups=row_groups, columns=columns, **rest)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    assert sum(len(batch["id"]) for batch in make_loader(buffer_rows=40)) == 500
    assert sorted(opened) == [(0,), (0,), (1,), (1,), (2,)]


def _break_column(file, name):
    """Overwrite the data of one column, and nothing else, with nonsense."""
    footer = pq.read_metadata(file).row_group(0)
    (chunk,) = [
        footer.column(k)
        for k in range(footer.num_columns)
        if footer.column(k).path_in_schema == name
    ]
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(file.read_bytes())
    data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    file.write_bytes(data)


def test_other_columns_are_not_read(tmp_path, make_loader):
    """The data of the column beside is damaged; who does not ask for it never notices."""
    file = tmp_path / "part-0.parquet"
    pl.DataFrame({"a": range(50), "broken": range(50), "word": ["x"] * 50}).write_parquet(file)
    _break_column(file, "broken")
    schema = Schema([Column("a", "Int64"), Column("broken", "Int64"), Column("word", "String")])
    (batch,) = make_loader(schema=schema, columns=["a"], shuffle=False, batch_size=50)
    assert batch["a"].tolist() == list(range(50))
    loader = make_loader(schema=schema, columns=["a", "broken"])
    with pytest.raises(DataError, match=r"part-0\.parquet, row group 0: cannot read columns a, br"):
        list(loader)


def test_a_reader_can_start_anywhere(write_parts, tmp_path):
    from merlinkit.loader.layout import Layout
    from merlinkit.loader.order import Piece

    write_parts([100, 50], 40)
    layout = Layout(Schema([Column("id", "Int64")]))
    reader = PieceReader(read_parts(tmp_path, layout), layout.names)

    def read(*piece):
        return [row for batch in reader.read(Piece(*piece)) for row in batch["id"].to_pylist()]

    assert read(1, 5, 8) == [45, 46, 47]
    assert read(3, 0, 2) == [100, 101]
    assert read(1, 8, 10) == [48, 49]
    assert read(1, 2, 3) == [42]
    assert read(3, 2, 40) == list(range(102, 140))
    assert read(4, 0, 10) == list(range(140, 150))
    assert read(2, 0, 20) == list(range(80, 100))


def test_many_half_read_files(write_parts, make_loader, rows_of):
    """More files than are kept open, each with a row group in use."""
    written = write_parts([40] * 40, 40)
    assert sorted(rows_of(make_loader(buffer_rows=64))) == written
