"""Time of feature engineering, files to files, against the same done with pandas.

Synthetic logs in parquet are fitted on and transformed to parquet: six columns to ids, two
numbers filled, logged and normalized. pandas does it the usual way, all in memory: value counts,
map, fillna, log1p, mean and std. Both run in processes of their own, so that memory can be told.

    python benchmarks/etl.py --rows 1000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from merlinkit.data.synthetic import SyntheticSpec, write

CATEGORIES = ["user_id", "item_id", "device", "city", "brand", "age"]
NUMBERS = ["price", "dwell_time"]

OURS = """
import merlinkit as mk
from merlinkit import ops
def work(source, target):
    cats = CATEGORIES >> ops.Categorify()
    nums = NUMBERS >> ops.FillMissing(0) >> ops.LogOp() >> ops.Normalize()
    data = mk.Dataset(source)
    mk.Workflow(cats + nums).fit(data, work_dir=target + "-work").transform(data).to_parquet(target)
"""
PEER = """
import numpy as np, pandas as pd, pathlib
def work(source, target):
    paths = sorted(map(str, pathlib.Path(source).glob("part-*.parquet")))
    frame = pd.read_parquet(paths, columns=CATEGORIES + NUMBERS)
    out = {}
    for name in CATEGORIES:
        counts = frame[name].value_counts().reset_index()
        counts = counts.sort_values(["count", name], ascending=[False, True])
        ids = pd.Series(np.arange(3, 3 + len(counts)), index=counts[name])
        out[name] = frame[name].map(ids).fillna(1).astype("int64")
    for name in NUMBERS:
        x = np.log1p(frame[name].fillna(0))
        out[name] = ((x - x.mean()) / x.std()).astype("float32")
    pathlib.Path(target).mkdir()
    path = target + "/part-0.parquet"
    pd.DataFrame(out).to_parquet(path, row_group_size=65536, compression="zstd")
"""
MEASURE = """
import json, resource, sys, time
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, began = peak(), time.perf_counter()
work(sys.argv[1], sys.argv[2])
print(json.dumps({"seconds": time.perf_counter() - began, "mib": peak() - before}))
"""


def measured(script: str, source: Path, target: Path) -> dict[str, float]:
    """Return seconds, and MiB beyond the imports, of a script's ``work``."""
    names = f"CATEGORIES, NUMBERS = {CATEGORIES!r}, {NUMBERS!r}\n"
    result = subprocess.run(
        [sys.executable, "-c", names + script + MEASURE, source, target],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(result.stdout)
    return found


def main() -> None:
    """Measure both, three times in turn, and print the best of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "raw"
        write(SyntheticSpec(rows=arguments.rows), source)
        ours, peer = [], []
        for index in range(arguments.repeats):
            ours.append(measured(OURS, source, Path(folder) / f"ours-{index}"))
            peer.append(measured(PEER, source, Path(folder) / f"peer-{index}"))
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "pandas", "pyarrow"))
    print(f"python {' '.join(sys.argv)}\n{versions}; {arguments.rows:,} rows")
    for what in ("seconds", "mib"):
        best, other = min(run[what] for run in ours), min(run[what] for run in peer)
        print(f"{what:>8}: merlinkit {best:,.1f}, pandas {other:,.1f}, ratio {other / best:.1f}")


if __name__ == "__main__":
    main()
