"""Feature engineering of a log shaped like Criteo's, against DuckDB and Polars written by hand.

26 columns of hexadecimal strings to ids, 13 numbers filled, clipped, logged and normalized; fit and
transform, parquet to parquet, one row group of 65,536 rows after the other. The contenders do the
same job and write files of the same columns: DuckDB in SQL with a join for each column, Polars with
a replacement for each column. Each runs in a process of its own, in turns.

    pip install duckdb
    python benchmarks/criteo.py --rows 2000000
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

from merlinkit.data.synthetic.criteo import CATEGORIES, NUMBERS, CriteoSpec, generate_criteo

MERLINKIT = """
import merlinkit as mk
from merlinkit import ops
def work(source, target):
    cats = CATEGORIES >> ops.Categorify()
    nums = NUMBERS >> ops.FillMissing(0) >> ops.Clip(0) >> ops.LogOp() >> ops.Normalize()
    data = mk.Dataset(source)
    workflow = mk.Workflow(cats + nums + ["label"]).fit(data, work_dir=target + "-work")
    workflow.transform(data).to_parquet(target + "-out")
    workflow.save(target + "-workflow")
"""
POLARS = """
import polars as pl
def work(source, target):
    data = pl.scan_parquet(source)
    columns = [pl.col("label")]
    for name in CATEGORIES:
        counts = data.group_by(name).agg(pl.len()).collect(engine="streaming").drop_nulls(name)
        counts = counts.sort(["len", name], descending=[True, False])
        ids = pl.int_range(3, 3 + counts.height, eager=True)
        counts.with_columns(ids.alias("id")).write_parquet(f"{target}-{name}.parquet")
        value = pl.col(name)
        found = value.replace_strict(counts[name], ids, default=2, return_dtype=pl.Int64)
        columns.append(pl.when(value.is_null()).then(1).otherwise(found).alias(name))
    logs = {name: pl.col(name).fill_null(0).clip(0).log1p() for name in NUMBERS}
    stats = data.select(
        *(x.mean().alias(f"{name}_mean") for name, x in logs.items()),
        *(x.std().alias(f"{name}_std") for name, x in logs.items()),
    ).collect(engine="streaming")
    for name, x in logs.items():
        mean, std = stats[f"{name}_mean"].item(), stats[f"{name}_std"].item()
        columns.append(((x - mean) / std).cast(pl.Float32).alias(name))
    data.select(columns).sink_parquet(
        f"{target}.parquet", compression="zstd", compression_level=1, row_group_size=65_536
    )
"""
DUCKDB = """
import duckdb
def work(source, target):
    db = duckdb.connect(f"{target}.db")
    db.execute("SET threads = 2; SET enable_progress_bar = false")
    joins, columns = [], ["label"]
    for name in CATEGORIES:
        db.execute(
            f"CREATE TABLE t_{name} AS SELECT {name} AS v, 2 + row_number() OVER "
            f"(ORDER BY count(*) DESC, {name}) AS id, count(*) AS n FROM '{source}' "
            f"WHERE {name} IS NOT NULL GROUP BY {name}"
        )
        joins.append(f"LEFT JOIN t_{name} ON d.{name} = t_{name}.v")
        columns.append(f"CASE WHEN d.{name} IS NULL THEN 1 ELSE coalesce(t_{name}.id, 2) END")
    logs = {name: f"ln(1 + greatest(coalesce({name}, 0), 0))" for name in NUMBERS}
    stats = ", ".join(f"avg({x}), stddev_samp({x})" for x in logs.values())
    found = db.execute(f"SELECT {stats} FROM '{source}'").fetchone()
    for index, (name, x) in enumerate(logs.items()):
        mean, std = found[2 * index : 2 * index + 2]
        columns.append(f"CAST(({x} - {mean}) / {std} AS FLOAT) AS {name}")
    db.execute(
        f"COPY (SELECT {', '.join(columns)} FROM '{source}' d {' '.join(joins)}) TO "
        f"'{target}.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)"
    )
"""
CONTENDERS = {"merlinkit": MERLINKIT, "polars": POLARS, "duckdb": DUCKDB}
MEASURE = """
import json, resource, sys, time
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, began = peak(), time.perf_counter()
work(sys.argv[1], sys.argv[2])
print(json.dumps({"seconds": time.perf_counter() - began, "mib": peak()}))
"""


def measured(script: str, source: Path, target: Path) -> dict[str, float]:
    """Return seconds and peak MiB of a script's ``work``, in a process of its own."""
    names = f"CATEGORIES, NUMBERS = {list(CATEGORIES)!r}, {list(NUMBERS)!r}\n"
    result = subprocess.run(
        [sys.executable, "-c", names + script + MEASURE, source, target],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(result.stdout)
    return found


def write_log(rows: int, path: Path) -> None:
    """Write a log as one parquet file."""
    frames = pl.concat(list(generate_criteo(CriteoSpec(rows=rows))))
    frames.write_parquet(path, row_group_size=131_072)


def main() -> None:
    """Measure all in turns, and print the best of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "log.parquet"
        write_log(arguments.rows, source)
        for index in range(arguments.repeats):
            for name, script in CONTENDERS.items():
                target = Path(folder) / f"{name}-{index}"
                runs[name].append(measured(script, source, target))
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "duckdb"))
    print(f"python {' '.join(sys.argv)}\n{versions}; {arguments.rows:,} rows")
    best = {
        name: {what: min(run[what] for run in found) for what in ("seconds", "mib")}
        for name, found in runs.items()
    }
    for name, found in best.items():
        seconds = best["merlinkit"]["seconds"] / found["seconds"]
        memory = best["merlinkit"]["mib"] / found["mib"]
        print(
            f"{name:>10}: {found['seconds']:6.1f} s, {found['mib']:7,.0f} MiB; merlinkit takes "
            f"{seconds:.2f} of the time, {memory:.2f} of the memory"
        )


if __name__ == "__main__":
    main()
