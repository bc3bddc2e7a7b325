"""Rows a second of the CPU loader against a plain PyTorch DataLoader over the same rows.

The rows are those of a click log: 13 float32 and 26 int64 columns. They are written to parquet in
a temporary folder, which is gone afterwards. Run it from the root of the repository::

    python benchmarks/loader.py --rows 500000
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import torch
from torch.utils.data import DataLoader, Dataset

from merlinkit.loader import Loader
from merlinkit.schema import Schema

FLOATS = [f"dense_{k}" for k in range(13)]
INTEGERS = [f"id_{k}" for k in range(26)]
ROW_GROUP_ROWS = 32_768

Tensors = tuple[torch.Tensor, torch.Tensor]


class Rows(Dataset[Tensors]):
    """All rows in two matrices, handed out one by one: the plain way to feed a DataLoader."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.floats = torch.from_numpy(np.ascontiguousarray(frame.select(FLOATS).to_numpy()))
        self.integers = torch.from_numpy(np.ascontiguousarray(frame.select(INTEGERS).to_numpy()))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.floats)

    def __getitem__(self, index: int) -> Tensors:
        """Return one row."""
        return self.floats[index], self.integers[index]


def make_frame(rows: int) -> pl.DataFrame:
    """Return seeded rows with skewed ids, as click logs have them."""
    generator = np.random.default_rng(0)
    floats = {name: generator.random(rows, dtype=np.float32) for name in FLOATS}
    ids = {name: np.minimum(generator.zipf(1.3, rows), 1_000_000) for name in INTEGERS}
    return pl.DataFrame({**floats, **ids})


def write(frame: pl.DataFrame, folder: Path, files: int) -> float:
    """Write the rows as part files and return their size in MiB."""
    step = -(-len(frame) // files)
    for number in range(files):
        part = frame.slice(number * step, step)
        part.write_parquet(folder / f"part-{number:03}.parquet", row_group_size=ROW_GROUP_ROWS)
    return sum(file.stat().st_size for file in folder.iterdir()) / 2**20


def rate(make: Callable[[], Iterable[object]], rows: int, passes: int) -> float:
    """Return rows a second of the fastest of several passes."""
    best = float("inf")
    for _ in range(passes):
        begin = time.perf_counter()
        for _batch in make():
            pass
        best = min(best, time.perf_counter() - begin)
    return rows / best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--passes", type=int, default=3, help="the fastest of so many counts")
    options = parser.parse_args()
    rows, batch_size = options.rows, options.batch_size

    frame = make_frame(rows)
    schema = Schema.from_polars(frame.schema)

    def loader(buffer_rows: int) -> Loader:
        return Loader(
            folder, schema, batch_size=batch_size, shuffle=True, seed=0, buffer_rows=buffer_rows
        )

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write(frame, folder, options.files)
        in_memory = frame.estimated_size("mb")
        print(f"command: {Path(sys.executable).name} {' '.join(sys.argv)}")
        print(
            f"versions: Python {platform.python_version()}, torch {torch.__version__}, "
            f"polars {pl.__version__}, pyarrow {pa.__version__}, numpy {np.__version__}; "
            f"{os.cpu_count()} CPUs"
        )
        print(
            f"data: {rows:,} rows of {len(FLOATS)} float32 and {len(INTEGERS)} int64 columns, "
            f"{size:.0f} MiB in {options.files} files, {in_memory:.0f} MiB in memory, "
            f"batches of {batch_size:,}, shuffled"
        )
        kept = loader(rows)
        figures = {
            "loader, rows fit, first epoch with decoding": rate(
                lambda: loader(rows), rows, options.passes
            ),
            "loader, rows fit, later epochs": rate(lambda: kept, rows, 1 + options.passes),
            "loader, windows of an eighth of the rows": rate(
                lambda: loader(rows // 4), rows, options.passes
            ),
        }
    plain: DataLoader[Tensors] = DataLoader(
        Rows(frame),
        batch_size=batch_size,
        shuffle=True,
        generator=torch.Generator().manual_seed(0),
    )
    base = rate(lambda: plain, rows, max(1, options.passes - 1))
    for label, figure in figures.items():
        print(f"{label:<46} {figure / 1e6:8.2f} M rows/s   {figure / base:7.1f} x")
    print(f"{'torch DataLoader, one row at a time':<46} {base / 1e6:8.2f} M rows/s       1.0 x")


if __name__ == "__main__":
    main()
