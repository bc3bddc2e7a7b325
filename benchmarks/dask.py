"""Feature engineering on Dask workers against the same in one process, on the same cores.

A log shaped like Criteo's in many files; fit, transform and save, as in `benchmarks/criteo.py`. The
results are compared by checksum. Each engine runs in a process of its own, in turns; peak memory is
that of the process, what it had before the work shown apart, and of each worker.

    python benchmarks/dask.py --files 30 --rows 200000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from merlinkit.data.manifest import Manifest
from merlinkit.data.synthetic.criteo import CATEGORIES, NUMBERS, CriteoSpec, generate_criteo

WORK = """
import json, resource, sys, time
import merlinkit as mk
from merlinkit import ops
from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.select import opened

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

if __name__ == "__main__":
    name, source, target, workers = sys.argv[1:]
    with opened(name, options=DaskOptions(workers=int(workers))) as engine:
        before, began = peak(), time.perf_counter()
        cats = CATEGORIES >> ops.Categorify()
        nums = NUMBERS >> ops.FillMissing(0) >> ops.Clip(0) >> ops.LogOp() >> ops.Normalize()
        data = mk.Dataset(source)
        workflow = mk.Workflow(cats + nums + ["label"])
        workflow.fit(data, engine, work_dir=target + "-work")
        fitted = time.perf_counter() - began
        workflow.transform(data, engine).to_parquet(target)
        workflow.save(target + "-workflow", engine)
        found = {
            "seconds": time.perf_counter() - began, "fit": fitted, "before": before, "mib": peak()
        }
        if name == "dask":
            found["workers"] = list(engine.cluster.client.run(peak).values())
            found["sent"], found["received"] = engine.bytes_sent, engine.bytes_received
    print(json.dumps(found))
"""


def measured(engine: str, source: Path, target: Path, workers: int) -> dict[str, Any]:
    """Return what a run of the work on an engine took."""
    script = target.with_suffix(".py")
    names = f"CATEGORIES, NUMBERS = {list(CATEGORIES)!r}, {list(NUMBERS)!r}\n"
    script.write_text(names + WORK)
    result = subprocess.run(
        [sys.executable, script, engine, source, target, str(workers)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def checksums(folder: Path) -> list[str]:
    """Return the checksums of processed files."""
    return [entry.sha256 for entry in Manifest.load(folder).files]


def main() -> None:
    """Measure both in turns, and print the best of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=30)
    parser.add_argument("--rows", type=int, default=200_000, help="of each file")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "in").mkdir()
        spec = CriteoSpec(rows=arguments.files * arguments.rows)
        held = None
        index = 0
        for frame in generate_criteo(spec):
            held = frame if held is None else held.vstack(frame)
            while held.height >= arguments.rows:
                path = folder / "in" / f"{index:03d}.parquet"
                held[: arguments.rows].write_parquet(path, row_group_size=65_536)
                held, index = held[arguments.rows :], index + 1
        for repeat in range(arguments.repeats):
            for engine in ("cpu", "dask"):
                target = folder / f"{engine}-{repeat}"
                found = measured(engine, folder / "in", target, arguments.workers)
                if engine not in best or found["seconds"] < best[engine]["seconds"]:
                    best[engine] = found
        same = checksums(folder / "cpu-0") == checksums(folder / "dask-0")
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "distributed"))
    print(f"python {' '.join(sys.argv)}\n{versions}; {arguments.files} x {arguments.rows:,} rows")
    cpu, dask = best["cpu"], best["dask"]
    for name, run in best.items():
        print(
            f"{name:>5}: {run['seconds']:.1f} s (fit {run['fit']:.1f}), {run['mib']:,.0f} MiB in "
            f"the client, {run['mib'] - run['before']:,.0f} of them beyond its imports"
        )
    each = ", ".join(f"{peak:,.0f}" for peak in dask["workers"])
    print(f"workers: {each} MiB at most")
    print(f"through the scheduler: {dask['sent']:,} bytes out, {dask['received']:,} bytes back")
    print(f"dask takes {dask['seconds'] / cpu['seconds']:.2f} of the time of cpu")
    print(f"the same bytes: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()
