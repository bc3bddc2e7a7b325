"""Operators on rows that belong together, for more and more rows: time must grow no faster.

A lag within each user, encoded items and a group-by to one row a user, fit and transform, parquet
to parquet. Each size runs in a process of its own.

    python benchmarks/together.py --rows 4 16
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import polars as pl

WORK = """
import json, resource, sys, time
import merlinkit as mk
from merlinkit import ops

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

if __name__ == "__main__":
    source, target = sys.argv[1:]
    began = time.perf_counter()
    data = mk.Dataset(source)
    lags = ["ts"] >> ops.DifferenceLag("user", "ts") >> ops.FillMissing(0) >> ops.Normalize()
    lagged = mk.Workflow(lags + (["item"] >> ops.Categorify()) + ["user"])
    lagged.fit(data, work_dir=target + "-work").transform(data).to_parquet(target + "-lag")
    lag = time.perf_counter() - began
    began = time.perf_counter()
    node = ["user", "item", "ts"] >> ops.Groupby("user", {"item": ["list", "count"]}, "ts")
    grouped = mk.Workflow(node).fit(data, work_dir=target + "-work")
    grouped.transform(data).to_parquet(target + "-groups")
    print(json.dumps({"lag": lag, "group-by": time.perf_counter() - began, "mib": peak()}))
"""


def write_log(rows: int, folder: Path) -> None:
    """Write rows of users, items and times as files of a million rows."""
    folder.mkdir()
    for index in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - index)
        numbers = pl.int_range(index, index + n, dtype=pl.UInt64, eager=True)
        frame = pl.DataFrame(
            {
                "user": (numbers.hash(1) % (rows // 20)).cast(pl.Int64),
                "item": (numbers.hash(2) % 100_000).cast(pl.Int64),
                "ts": (numbers.hash(3) % 10_000_000).cast(pl.Int64),
            }
        )
        frame.write_parquet(folder / f"{index // 1_000_000:03d}.parquet")


def measured(script: Path, source: Path, target: str) -> dict[str, float]:
    """Return what the work took, in a process of its own."""
    result = subprocess.run(
        [sys.executable, script, source, target], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, float] = json.loads(result.stdout)
    return found


def main() -> None:
    """Measure each size, and print how time and memory grow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[4, 16], help="in millions")
    parser.add_argument("--repeats", type=int, default=3, help="of which the best counts")
    arguments = parser.parse_args()
    print(f"python {' '.join(sys.argv)}\npolars {version('polars')}")
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "work.py"
        script.write_text(WORK)
        for millions in arguments.rows:
            source = Path(place) / f"{millions}"
            write_log(millions * 1_000_000, source)
            runs = [
                measured(script, source, f"{source}-out-{repeat}")
                for repeat in range(arguments.repeats)
            ]
            found = {what: min(run[what] for run in runs) for what in runs[0]}
            first = first or {**found, "rows": millions}
            growth = ", ".join(
                f"{what} {found[what]:.1f} s ({found[what] / first[what]:.2f} times)"
                for what in ("lag", "group-by")
            )
            print(
                f"{millions:>4} M rows ({millions / first['rows']:.0f} times): {growth}, "
                f"{found['mib']:,.0f} MiB"
            )


if __name__ == "__main__":
    main()
