"""Peak memory of etl and training in one run, beyond what the imports alone need.

Two processes are measured: one that only imports what a run imports, and one that runs.

    python benchmarks/memory.py --rows 1000000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

MIB = 2**10  # ru_maxrss counts KiB

IMPORTS = """
import hydra, polars, pyarrow, torch
import merlinkit.pipeline.verbs, merlinkit.training, merlinkit.models.registry, merlinkit.loader
from merlinkit.models.ranking.dlrm import DLRM
"""
RUN = """
import sys
from merlinkit.cli.main import main
if main(sys.argv[1:]):
    raise SystemExit("the run failed")
"""
REPORT = """
import resource
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_mib(script: str, *arguments: str) -> float:
    """Return the highest resident memory of a Python process that runs a script."""
    result = subprocess.run(
        [sys.executable, "-c", script + REPORT, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return int(result.stdout.rsplit("peak", 1)[1]) / MIB


def run_beyond_imports(rows: int, folder: Path, *overrides: str) -> tuple[float, float]:
    """Return peak MiB of the imports, and of a run on synthetic rows beyond them."""
    imports = peak_mib(IMPORTS)
    arguments = ["run", "dataset=synthetic", f"dataset.rows={rows}", f"run_dir={folder / 'run'}"]
    return imports, peak_mib(RUN, *arguments, "trainer.epochs=1", *overrides) - imports


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    arguments = parser.parse_args()
    lines = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            imports, beyond = run_beyond_imports(rows, Path(folder))
        lines.append(f"{rows:>12,} rows: imports {imports:,.0f} MiB, run {beyond:,.0f} MiB more")
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "torch", "pyarrow"))
    print(f"python {' '.join(sys.argv)}\n{versions}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
