"""Peak memory of feature engineering as the rows grow and the vocabularies do not.

Logs shaped like Criteo's, with at most 100,000 distinct values a column, are fitted on and
transformed, parquet to parquet; each size in a process of its own. A graph goes to the path given.

    python benchmarks/scaling.py --rows 1000000 4000000 16000000 --graph docs/images/scaling.svg
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from criteo import MERLINKIT, measured

from merlinkit.data.synthetic import CriteoSpec, write


def graph(found: dict[int, float], path: Path) -> None:
    """Draw peak memory by rows as bars."""
    highest = max(found.values())
    bars = []
    for index, (rows, mib) in enumerate(found.items()):
        x, height = 40 + index * 130, 150 * mib / highest
        bars.append(
            f'<rect x="{x}" y="{190 - height:.0f}" width="80" height="{height:.0f}"/>'
            f'<text x="{x + 40}" y="{182 - height:.0f}">{mib:,.0f} MiB</text>'
            f'<text x="{x + 40}" y="208">{rows / 1e6:g} M rows</text>'
        )
    width = 60 + 130 * len(found)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 220" width="{width}" '
        'font-family="sans-serif" font-size="13" text-anchor="middle" fill="#3b6ea5">'
        f"<title>Peak memory by rows</title>{''.join(bars)}</svg>\n",
        encoding="utf-8",
    )


def main() -> None:
    """Measure each size and print seconds and peak memory, the imports included."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--graph", type=Path)
    arguments = parser.parse_args()
    print(f"python {' '.join(sys.argv)}")
    found = {}
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            spec = CriteoSpec(rows=rows, max_distinct=100_000, files=-(-rows // 1_000_000))
            write(spec, Path(folder) / "raw")
            result = measured(MERLINKIT, Path(folder) / "raw", Path(folder) / "result")
        found[rows] = result["mib"]
        print(f"{rows:>12,} rows: {result['seconds']:6.1f} s, peak {result['mib']:,.0f} MiB")
    if arguments.graph is not None:
        graph(found, arguments.graph)


if __name__ == "__main__":
    main()
